"""Directives."""

from dataclasses import replace

import msgspec

from global_sched.cache.directives import SLICE_LIMIT, directive_specs
from global_sched.shared.api.federation import DirectiveSpec
from global_sched.shared.model.gang import (
    Amounts,
    Elastic,
    Gang,
    Mode,
    Partition,
    PodSet,
    TopologyConstraint,
)
from global_sched.shared.model.pods import Effect, Operator, PodShape, Requirement, Toleration
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement import decode_demand
from tests.builders import NOW, workload
from tests.global_sched.cache.worlds import feed, state_of
from tests.wire import binding as wire_binding
from tests.wire import cluster_object, pod_template, report, task, vcjob


def entries(specs):
    return [entry for spec in specs for entry in spec.entries or ()]


def test_an_entry_carries_the_decision():
    """Binding id, decision, order, domain and amounts; the gang until it is counted."""
    waiting = workload("a", pods=4, gpus=8, on="m1", domain="rack-0", bound=1)
    counted = workload("b", pods=2, on="m1")
    [spec] = directive_specs("m1", [counted, waiting], label_keys=("zone",), epoch=3)
    first, second = spec.entries or ()

    assert (spec.cluster, spec.epoch, spec.slice, spec.slices) == ("m1", 3, 0, 1)
    assert spec.label_keys == ["zone"]
    assert (first.binding, first.workload, first.domain) == ("id-a", "jobs/a", "rack-0")
    assert (first.admitted, first.decision) == ({"main": 4}, "decision-a")
    assert msgspec.convert(first.gang, type(waiting.demand.gang)) == waiting.demand.gang
    assert second.gang is None
    assert first.at == second.at == "2026-01-31T11:50:00.000000Z"
    assert first.checkpoint_call == ""


def test_an_entry_carries_the_call_for_a_checkpoint():
    """By which the agent asks the gang's pods."""
    one = workload("a", pods=4, on="m1")
    called = replace(one, decision=replace(one.decision, called=NOW))
    [spec] = directive_specs("m1", [called], label_keys=(), epoch=1)
    [entry] = spec.entries or ()
    assert entry.checkpoint_call == "2026-01-31T12:00:00.000000Z"


def test_a_gang_is_told_without_what_everybody_assumes():
    """Every field costs the API server a check, so that those of a plain gang are left out."""
    plain = workload("a", pods=4, gpus=8, on="m1", bound=0)
    [spec] = directive_specs("m1", [plain], label_keys=(), epoch=1)
    [entry] = spec.entries or ()

    [pod_set] = (entry.gang or {})["pod_sets"]
    assert set(entry.gang or {}) == {"pod_sets", "minimum"}
    assert set(pod_set) == {"name", "count", "minimum", "shape"}
    assert set(pod_set["shape"]) == {"requests"}


def test_a_gang_that_uses_every_field_is_told_whole():
    """What is read back is what was decided on, a minimum of 0 and an empty value too."""
    shape = PodShape(
        requests=Resources.of({"cpu": 1000, "pods": 1}),
        selector=(("zone", ""),),
        affinity=((Requirement("", Operator.IN, ("", "b")), Requirement("c", Operator.EXISTS)),),
        tolerations=(Toleration(), Toleration("k", exists=True, effect=Effect.NO_EXECUTE)),
        anti_affine=True,
        per_node=2,
        apart="x",
        ports=("TCP/80",),
    )
    hard = TopologyConstraint(mode=Mode.HARD, highest_tier=0)
    groups = Partition(size=2, total=2, minimum=1, constraint=hard, together="a")
    pod_set = PodSet(name="main", count=4, minimum=0, shape=shape, partition=groups)
    gang = Gang(pod_sets=(pod_set,), minimum=0, constraint=hard)
    one = workload("a", pods=4, on="m1", bound=0)
    one = replace(one, demand=replace(one.demand, gang=gang))
    [spec] = directive_specs("m1", [one], label_keys=(), epoch=1)
    read = msgspec.json.decode(msgspec.json.encode(spec), type=DirectiveSpec)
    [entry] = read.entries or ()

    assert msgspec.convert(entry.gang, Gang, strict=True) == gang


def test_sizes_are_not_written():
    """Agents get amounts: an API server would drop a field that the CRD does not have."""
    one = workload("a", pods=4, gpus=8, on="m1", bound=0)
    assert one.demand.gang is not None
    sized = replace(one.demand.gang, elastic=Elastic(sizes=(4,), cooldown=60))
    plain, told = (
        directive_specs(
            "m1", [replace(one, demand=replace(one.demand, gang=gang))], label_keys=(), epoch=1
        )
        for gang in (one.demand.gang, sized)
    )

    assert told == plain


def test_an_empty_directive_still_says_label_keys():
    """Every member has one, and its count of entries stands there, 0 too, for `kubectl get`."""
    [spec] = directive_specs("m1", [], label_keys=("a", "b"), epoch=1)

    assert (spec.entries, spec.label_keys) == (None, ["a", "b"])
    assert msgspec.json.decode(msgspec.json.encode(spec))["size"] == 0


def test_the_mix_that_the_leader_placed_by_is_told_back():
    """The member places by the same mix: its first slice has it, and a new one is news."""
    told = [{"shape": {"requests": {"entries": [["cpu", 1000], ["pods", 1]]}}, "pods": 4}]
    state = state_of(cluster_object("m1"), cluster_object("m2"), report("m1"))
    state.settle()
    assert state.directive_changes(64) == {"m1", "m2"}
    feed(state, report("m1", generation=2, demand=told))
    state.settle()
    assert state.directive_changes(64) == {"m1"}
    assert state.directive_changes(64) == frozenset()
    [spec] = state.directive("m1")
    assert msgspec.json.decode(msgspec.json.encode(spec.demand)) == told

    many = [workload(f"w{i}", pods=4, gpus=8, on="m1", bound=0) for i in range(1500)]
    mix = decode_demand(spec.demand)
    first, *others = directive_specs("m1", many, label_keys=(), epoch=1, demand=mix)
    assert first.demand == spec.demand
    assert not any(one.demand for one in others)


def test_large_directives_are_sliced():
    """No slice is too large; one more workload changes one slice only."""
    many = [workload(f"w{i}", pods=4, gpus=8, on="m1", bound=0) for i in range(1500)]
    specs = directive_specs("m1", many, label_keys=(), epoch=1)
    more = directive_specs("m1", [*many, workload("one-more", on="m1")], label_keys=(), epoch=1)

    assert len(specs) > 1
    assert {spec.slices for spec in specs} == {len(specs)}
    sizes = [len(msgspec.json.encode(spec)) for spec in specs]
    assert max(sizes) <= SLICE_LIMIT + 1024
    assert len(specs) * SLICE_LIMIT <= 4 * sum(sizes), "no more slices than the size asks for"
    assert len(entries(specs)) == 1500
    changed = [a != b for a, b in zip(specs, more, strict=True)]
    assert sum(changed) == 1


def test_which_members_have_to_be_told():
    """A Directive is written anew when what it holds, the label keys or the epoch changed."""
    state = state_of(cluster_object("m1"), cluster_object("m2"))
    state.settle()
    assert state.directive_changes(64) == {"m1", "m2"}
    assert state.directive_changes(64) == frozenset()

    held = vcjob("held")
    feed(state, held, wire_binding(held, clusters=["m2"]))
    state.settle()
    assert state.directive_changes(64) == {"m2"}

    keyed = vcjob("keyed", task("a", 1, template=pod_template(nodeSelector={"zone": "x"})))
    feed(state, keyed, wire_binding(keyed))
    state.settle()
    assert state.directive_changes(64) == {"m1", "m2"}
    assert state.directive("m1")[0].label_keys == ["zone"]
    assert state.directive_changes(0) == {"m1", "m2"}, "the limit is part of what is told"

    state.epoch = 2
    assert state.directive_changes(0) == {"m1", "m2"}
    assert [entry.admitted for entry in entries(state.directive("m2"))] == [{"worker": 1}]
    assert state.directive("gone") == ()


def test_counted_amounts_need_no_gang():
    """`covers` is by pod set: a gang whose admitted pods are all bound is counted."""
    one = workload("a", pods=4, on="m1", admitted=2, bound=2)
    [spec] = directive_specs("m1", [one], label_keys=(), epoch=1)
    [entry] = spec.entries or ()

    assert one.decision is not None
    assert one.decision.grants[0].amounts == Amounts.of({"main": 2})
    assert entry.gang is None
