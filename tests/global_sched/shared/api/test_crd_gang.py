"""The gang inside a Directive: the CRD's schema has every field of the value, and no other."""

import typing
from dataclasses import fields, is_dataclass

import msgspec
import pytest

from global_sched.shared.api.crd_gang import GANG_RULE
from global_sched.shared.api.federation import WantedShape
from global_sched.shared.api.resource import CAPACITY_REPORTS, DIRECTIVES
from global_sched.shared.kube.errors import Invalid
from global_sched.shared.model.gang import (
    Gang,
    Mode,
    Partition,
    PodSet,
    TopologyConstraint,
)
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.pods import (
    Effect,
    Operator,
    PodShape,
    Requirement,
    Toleration,
)
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Wanted
from global_sched.shared.placement import decode_demand, encode_demand
from tests.flows.control_plane import control_plane


def part_of(hint):
    """The dataclass in an annotation, through lists, tuples and None."""
    if is_dataclass(hint):
        return hint
    return next((found for arg in typing.get_args(hint) if (found := part_of(arg))), None)


def differences(value, schema, path="gang"):
    """Fields that only one side has."""
    while schema.get("type") == "array":
        schema = schema["items"]
    hints = typing.get_type_hints(value)
    names = {field.name for field in fields(value)}
    found = [f"{path}.{name}" for name in names ^ schema["properties"].keys()]
    for name in names & schema["properties"].keys():
        inner = part_of(hints[name])
        if inner is not None:
            found += differences(inner, schema["properties"][name], f"{path}.{name}")
    return found


def test_the_schema_has_the_fields_of_the_value():
    """A field of `model.Gang` that the schema lacks would be dropped by the server.

    Sizes are the leader's alone (tests/global_sched/cache/test_directives.py).
    """
    assert differences(Gang, GANG_RULE) == ["gang.elastic"]


async def test_a_full_gang_passes_the_server_unchanged(tmp_path):
    """What the leader writes is what the agent reads: nothing is dropped, nothing is refused."""
    hard = TopologyConstraint(mode=Mode.HARD, highest_tier=1)
    named = TopologyConstraint(mode=Mode.SOFT, highest_tier_name="rack")
    shape = PodShape(
        requests=Resources((("cpu", 1000), ("pods", 1))),
        selector=(("zone", "a"),),
        affinity=((Requirement("gpu", Operator.IN, ("h100",)),),),
        tolerations=(Toleration("gpu", True, "", Effect.NO_SCHEDULE), Toleration("x")),
        anti_affine=True,
    )
    sets = PodSet(
        name=PodSetName("worker"),
        count=4,
        minimum=2,
        shape=shape,
        partition=Partition(size=2, total=2, minimum=1, constraint=hard),
    )
    gang = Gang(pod_sets=(sets,), minimum=2, constraint=named)
    body = {
        "apiVersion": DIRECTIVES.api_version,
        "kind": DIRECTIVES.kind,
        "metadata": {"name": "directive-0"},
        "spec": {"cluster": "m1", "entries": [{"binding": "b", "gang": msgspec.to_builtins(gang)}]},
    }
    mix = (Wanted(shape=shape, pods=4),)
    told = {"cluster": "m1", "demand": msgspec.to_builtins(encode_demand(mix))}
    report = body | {"kind": CAPACITY_REPORTS.kind, "metadata": {"name": "m1-0"}, "spec": told}
    async with control_plane(tmp_path) as plane:
        await plane.namespace("karmada-es-m1")
        stored = await plane.client.create(DIRECTIVES, body, namespace="karmada-es-m1")
        reported = await plane.client.create(CAPACITY_REPORTS, report, namespace="karmada-es-m1")
        body["spec"]["entries"][0]["gang"]["minimum"] = "two"
        body["metadata"]["name"] = "directive-1"
        with pytest.raises(Invalid, match=r"spec.entries\[0\].gang.minimum"):
            await plane.client.create(DIRECTIVES, body, namespace="karmada-es-m1")

    stored = stored["spec"]["entries"][0]["gang"]
    assert msgspec.convert(stored, Gang, strict=True) == gang
    demand = msgspec.convert(reported["spec"]["demand"], list[WantedShape])
    assert decode_demand(demand) == mix
