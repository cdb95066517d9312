"""The CRDs: structural, strict for our kinds, open for other people's."""

from functools import cache
from typing import Any

import pytest

from global_sched.shared.api import federation
from global_sched.shared.api.schema import at, crd
from global_sched.shared.api.structural import OPEN, QUANTITY, schema_of
from global_sched.shared.kinds.crds import CRD_KINDS, crds

PASSED_ON = {".spec.entries[].gang"}
"""A gang in a Directive: JSON of the model's own codec."""
BY_NAME = {kind.name: kind for kind in CRD_KINDS}


@cache
def crd_of(name: str) -> dict[str, Any]:
    """The CRD of a kind."""
    return crd(BY_NAME[name])


def schema(name: str) -> dict[str, Any]:
    """The schema of a CRD's only version."""
    found: dict[str, Any] = crd_of(name)["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    return found


def walk(part: Any, path: str = ""):
    """Every schema inside a schema, with its path."""
    yield path, part
    for name, below in part.get("properties", {}).items():
        yield from walk(below, f"{path}.{name}")
    if isinstance(part.get("items"), dict):
        yield from walk(part["items"], f"{path}[]")
    if isinstance(part.get("additionalProperties"), dict):
        yield from walk(part["additionalProperties"], f"{path}{{}}")


@pytest.mark.parametrize("name", sorted(BY_NAME))
def test_schemas_are_structural(name):
    """Every part has a type (or is open, or an int-or-string), and nothing refers elsewhere."""
    for path, part in walk(schema(name)):
        assert "$ref" not in part, path
        open_or_quantity = part.get(OPEN) or part.get("x-kubernetes-int-or-string")
        assert "type" in part or open_or_quantity, path


@pytest.mark.parametrize("name", sorted(name for name in BY_NAME if "global-sched" in name))
def test_our_kinds_are_strict(name):
    """Unknown fields of our kinds are dropped, except in parts that are passed on unread."""
    opened = {path for path, part in walk(schema(name)) if OPEN in part}

    assert opened <= PASSED_ON


@pytest.mark.parametrize("name", sorted(name for name in BY_NAME if "global-sched" not in name))
def test_other_peoples_kinds_keep_unknown_fields(name):
    """Every object of Karmada's, Volcano's and Kubeflow's kinds keeps what we do not read."""
    for path, part in walk(schema(name)):
        if path == ".metadata" or part.get("type") != "object":
            continue
        assert part.get(OPEN) or "additionalProperties" in part, path


@pytest.mark.parametrize(
    ("name", "path", "want"),
    [
        pytest.param(
            "tenants.federation.global-sched.io",
            "spec.weight",
            {
                "type": "integer",
                "format": "int64",
                "minimum": 1,
                "maximum": 65535,
                "default": 1,
                "description": "Its share of the federation against other tenants; "
                "2 gets twice as much as 1.",
            },
            id="bounds, a default and the field's docstring of one of ours",
        ),
        pytest.param(
            "queues.scheduling.volcano.sh",
            "spec.capability",
            {"type": "object", "additionalProperties": QUANTITY},
            id="quantities are ints or strings of the quantity's shape",
        ),
        pytest.param(
            "propagationpolicies.policy.karmada.io",
            "spec.placement.replicaScheduling.replicaSchedulingType",
            {"type": "string", "enum": ["Duplicated", "Divided"], "default": "Divided"},
            id="Karmada's enum with its CRD default",
        ),
        pytest.param(
            "resourcebindings.work.karmada.io",
            "spec.placement",
            {"type": "object", OPEN: True},
            id="what we keep as raw text is an open object",
        ),
        pytest.param(
            "jobs.batch.volcano.sh",
            "spec.minAvailable",
            {"type": "integer", "format": "int32", "minimum": 0},
            id="what Volcano's webhook would default has no default",
        ),
        pytest.param(
            "jobs.batch.volcano.sh",
            "spec.maxRetry",
            {"type": "integer", "format": "int32", "minimum": 0, "default": 3},
            id="what Volcano's CRD defaults has that default",
        ),
    ],
)
def test_fields(name, path, want):
    """A field's schema is the wire type's, with the rules of its kind."""
    assert at(schema(name), path) == want


def test_a_type_inside_itself_ends_as_an_open_object():
    """A CRD has no references: the second level of a recursive type is not described."""
    overflow = at(
        schema("propagationpolicies.policy.karmada.io"),
        "spec.placement.clusterAffinity.overflowAffinities",
    )

    assert overflow["items"] == {"type": "object", OPEN: True}


def test_names_and_subresources():
    """Short names, categories, status and scale are those of the real kinds."""
    binding = crd_of("resourcebindings.work.karmada.io")["spec"]
    training = crd_of("pytorchjobs.kubeflow.org")["spec"]["versions"][0]
    policy = crd_of("propagationpolicies.policy.karmada.io")["spec"]["versions"][0]

    assert binding["names"]["shortNames"] == ["rb"]
    assert binding["names"]["categories"] == ["karmada-io"]
    assert [column["name"] for column in binding["versions"][0]["additionalPrinterColumns"]] == [
        "SCHEDULED",
        "FULLYAPPLIED",
        "AGE",
    ]
    assert sorted(training["subresources"]) == ["scale", "status"]
    assert policy["subresources"] == {}


def test_files_are_named_by_group_and_plural():
    """One file per kind, and the same text every time."""
    assert "federation.global-sched.io_directives.yaml" in crds()
    assert len(crds()) == len(CRD_KINDS)
    assert crds() == crds()


def test_strict_and_open_schemas_of_one_type_differ_only_in_openness():
    """Openness is a property of the kind, not of the wire type."""
    strict = schema_of(federation.DirectiveSpec, strict=True)
    loose = schema_of(federation.DirectiveSpec, strict=False)

    assert strict["properties"].keys() == loose["properties"].keys()
    assert OPEN in loose
    assert OPEN not in strict
