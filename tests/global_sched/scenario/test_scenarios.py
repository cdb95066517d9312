"""Every scenario file of the repository holds."""

from pathlib import Path

import pytest

from global_sched.scenario import ScenarioError, parse, parse_all, run
from tools.scenarios.agents import ShippedAgents
from tools.scenarios.check import Watching

ROOT = Path(__file__).parents[3]
FILES = [
    *sorted((ROOT / "tests/scenarios").glob("*.yaml")),
    ROOT / "examples/demo.yaml",
    ROOT / "examples/kinds.yaml",
]
CASES = [
    pytest.param(path, scenario, id=f"{path.stem}: {scenario.scenario}")
    for path in FILES
    for scenario in parse_all(path.read_text(encoding="utf-8"), path.name)
]


@pytest.mark.parametrize(("path", "scenario"), CASES)
def test_what_a_scenario_expects_comes_out(path, scenario):
    """A scenario is a test: what it expects comes out, no rule is broken, all of it is proven."""
    shipped = ShippedAgents()
    agents = Watching(shipped)

    report = run(scenario, lambda name: (path.parent / name).read_text(encoding="utf-8"), agents)

    assert report.failures == ()
    assert agents.violations == []
    assert (report.unproven, shipped.unproven) == ((), 0)


WORLD = "scenario: s\nworld:\n  clusters:\n  - {name: a, nodes: [{}]}\n"


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("scenario: [", "x: not YAML", id="text that is not YAML"),
        pytest.param("scenario: s", "x: Object missing required field `world`", id="no world"),
        pytest.param(
            WORLD + "  quues: []\n",
            "x: Object contains unknown field `quues` - at `$.world`",
            id="a misspelt field",
        ),
        pytest.param(
            WORLD + "  tenants: [{name: t, weight: 0}]\n",
            "x: Expected `int` >= 1 - at `$.world.tenants[0].weight`",
            id="a weight of nothing",
        ),
    ],
)
def test_a_file_that_cannot_be_read_names_the_place(text, want):
    """Errors say where in the file and why."""
    with pytest.raises(ScenarioError) as caught:
        parse(text, "x")

    assert str(caught.value).startswith(want)


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param("expect: {nobody: {pods: 1}}\n", "'nobody' is not a job", id="an unknown job"),
        pytest.param(
            "  policy: {packing: 3}\n",
            "world.policy.packing: is no field of a Policy",
            id="an unknown policy",
        ),
        pytest.param(
            "  manifests: [m.yaml]\n", "a manifest needs apiVersion", id="an empty manifest"
        ),
    ],
)
def test_a_world_that_cannot_be_built_says_why(more, want):
    """Errors in the world name the object."""
    with pytest.raises(ScenarioError, match=want):
        run(parse(WORLD + more), lambda _: "kind: Job\n")


def test_an_expectation_that_does_not_hold_is_told_with_both_sides():
    """A difference names the job, the field, what is, what was wanted, and the reason."""
    text = WORLD + "  jobs:\n  - {name: big, tasks: [{replicas: 2}]}\nexpect: {big: {pods: 2}}\n"

    report = run(parse(text), lambda _: "")

    assert report.failures == (
        f"at the start: big: pods is 0, wanted 2 ({report.jobs[0].outcome.verdict.detail})",
    )
