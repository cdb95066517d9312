"""Statements of the repository about itself are true."""

import re
from pathlib import Path

import pytest

from global_sched.shared.api import yaml_text
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds.crds import CRD_KINDS
from global_sched.shared.telemetry.metrics import SPECS
from tools.generate import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), *ROOT.glob("deploy/**/*.md")])
LINK = re.compile(r"\]\(([^)#\s]+)(?:#[^)]*)?\)")
SOURCES = [
    *sorted((ROOT / "global_sched").rglob("*.py")),
    *sorted((ROOT / "member_agent").rglob("*.py")),
]
OTHERWISE = ("charts", "kind")
"""Templates, which are made from the other manifests; what kind reads."""
DEPLOYED = sorted(
    one
    for one in (ROOT / "deploy").rglob("*.yaml")
    if one.relative_to(ROOT / "deploy").parts[0] not in OTHERWISE
)
MANIFESTS = sorted([*DEPLOYED, *(ROOT / "examples").glob("*.yaml")])


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_somewhere(page):
    """Every relative link of a page names a file that is there."""
    targets = [
        target
        for target in LINK.findall(page.read_text(encoding="utf-8"))
        if not target.startswith(("http://", "https://"))
    ]

    assert [target for target in targets if not (page.parent / target).exists()] == []


def test_every_room_is_in_the_architecture():
    """docs/architecture.md lists each package of both programs."""
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    rooms = [
        path.parent.name
        for top in ("global_sched", "member_agent")
        for path in (ROOT / top).glob("*/__init__.py")
    ]

    assert [room for room in rooms if f"{room}/" not in text] == []


def test_every_declared_metric_is_set_somewhere():
    """A metric that nothing sets would show nothing for ever."""
    table = ROOT / "global_sched/shared/telemetry/metrics.py"
    names = re.findall(
        r"^([A-Z_]+): Final = (?:counter|gauge|histogram)", table.read_text(), re.MULTILINE
    )
    code = "\n".join(path.read_text(encoding="utf-8") for path in SOURCES if path != table)

    assert len(names) == len(SPECS)
    assert sorted({*names} - {*re.findall(r"\w+", code)}) == []


@pytest.mark.parametrize("path", MANIFESTS, ids=lambda path: str(path.relative_to(ROOT)))
def test_manifests_are_objects(path):
    """Every document of a manifest has a kind; a scenario has its sentence."""
    documents = [one for one in yaml_text.read_all(path.read_text(encoding="utf-8")) if one]

    assert documents
    for one in documents:
        assert "scenario" in one or {"apiVersion", "kind", "metadata"} <= set(one)


def test_no_role_asks_for_secrets_or_everything():
    """Rights in deploy/ name what they are for: no wildcard, no secret, no proxy, no escalation."""
    for path in DEPLOYED:
        for one in yaml_text.read_all(path.read_text(encoding="utf-8")):
            for rule in (one or {}).get("rules") or []:
                words = {*rule["apiGroups"], *rule["resources"], *rule["verbs"]}
                assert not words & {"*", "secrets", "impersonate", "escalate", "bind"}, path
                assert not any(word.endswith("/proxy") for word in words), path


def test_the_page_for_tenants_names_reasons_that_there_are():
    """A reason in the first column of docs/why-waiting.md is one that a condition has."""
    text = (ROOT / "docs/why-waiting.md").read_text(encoding="utf-8")
    cells = [line.split("|")[1] for line in text.splitlines() if line.startswith("| `")]
    named = {name for cell in cells for name in re.findall(r"`(\w+)`", cell)}

    assert len(named) >= 15
    assert named - {one.value for one in Reason} == set()


def test_our_kinds_are_deployed_from_crds():
    """Each kind of ours has its CRD file."""
    ours = [k.resource for k in CRD_KINDS if k.resource.group == "federation.global-sched.io"]

    assert len(ours) == 4
    for one in ours:
        assert (ROOT / f"crds/{one.group}_{one.plural}.yaml").is_file()


def test_the_changelog_has_an_unreleased_part():
    """Keep a Changelog: the top entry collects what comes next."""
    text = Path(ROOT / "CHANGELOG.md").read_text(encoding="utf-8")

    assert text.index("## [Unreleased]") < text.index("### Added")


INVARIANT = re.compile(r"(?ms)^(\d+)\. (.*?)(?=^\d+\. |\Z)")
HELD_BY = re.compile(r"\[`([^`]+)`\]\((\.\./tests/[^)]+)\)")


@pytest.mark.parametrize("page", ["fairness", "reclaim"])
def test_every_invariant_names_a_test_that_there_is(page):
    """They are numbered from 1, and each links to a test or a suite of scenarios."""
    text = (ROOT / f"docs/{page}.md").read_text(encoding="utf-8")
    found = INVARIANT.findall(text.split("## Invariants\n", 1)[1].split("\n## ", 1)[0])

    assert [int(number) for number, _ in found] == list(range(1, len(found) + 1))
    assert len(found) >= 6
    for number, said in found:
        held_by = HELD_BY.findall(said)
        assert held_by, f"invariant {number} of {page} names no test"
        for name, link in held_by:
            path = (ROOT / "docs" / link).resolve()
            assert path.is_file(), link
            if name.startswith("test_"):
                assert f"def {name}(" in path.read_text(encoding="utf-8"), f"{name} in {link}"
