"""Stranded workloads find room, also where pods lie otherwise than the leader counted."""

import pytest

from global_sched.shared.model.instant import SECOND, Instant
from member_agent.scheduler.plan.outcome import Situation
from tests.builders import gang
from tests.builders import pod_set as model_pod_set
from tests.member_agent.directives import directive, entry, hold
from tests.member_agent.member import gang_objects, member, pod, racks
from tests.member_agent.scheduler.rounds import nodes_of, reasons_of, round_of
from tests.wire import NOW


def workers(pods, gpus=8):
    """The gang of `gang_objects`, as the leader knows it."""
    return gang(model_pod_set("worker", pods=pods, gpus=gpus, cpu=1))


def at(seconds, **fields):
    """The situation so many seconds after NOW."""
    return Situation(now=Instant(NOW + seconds * SECOND), **fields)


def busy(node, gpus=8):
    """A pod that the leader did not know of."""
    return pod(f"busy-{node}", gpus=gpus, node=node, scheduler="default-scheduler")


def test_who_was_admitted_since_comes_before_a_claim():
    """The claim's victims are gone sooner than was counted, and it may have any node."""
    claim = hold("claim", {"worker": 1}, gang=workers(1), leaving=["gone"], at=-2)
    cache = member(
        racks(2, 1),
        busy("r1-0"),
        gang_objects("g", pods=1, binding="g"),
        directive(claim, entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-1)),
    )

    round_ = round_of(cache, at(0))

    assert nodes_of(round_) == {"g-worker-0": "r0-0"}
    assert "claim" not in round_.reservations


def test_a_claim_keeps_its_room_where_another_order_helps():
    """Who was admitted goes before others who were, into what the claim leaves."""
    cache = member(
        racks(3, 1),
        busy("r2-0", gpus=4),
        gang_objects("any", pods=1, gpus=4, binding="any"),
        gang_objects("g", pods=1, binding="g"),
        directive(
            entry("any", {"worker": 1}, gang=workers(1, 4), domain="r1", at=-2),
            hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-3),
            entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-1),
        ),
    )

    round_ = round_of(cache, at(0))

    assert nodes_of(round_) == {"g-worker-0": "r1-0", "any-worker-0": "r2-0"}
    assert [slot.node for slot in round_.reservations["claim"].slots] == ["r0-0"]


def test_who_may_lie_anywhere_leaves_the_rack_to_who_needs_it():
    """Both were sent to one rack, which has less room than was counted."""
    cache = member(
        racks(2, 2),
        gang_objects("any", pods=1, binding="any"),
        gang_objects("close", pods=2, tier=1, binding="close"),
        busy("r1-1"),
        directive(
            entry("any", {"worker": 1}, gang=workers(1), domain="r0", at=-2),
            entry("close", {"worker": 2}, gang=workers(2), domain="r0", at=-1),
        ),
    )

    assert nodes_of(round_of(cache, at(0))) == {
        "any-worker-0": "r1-0",
        "close-worker-0": "r0-0",
        "close-worker-1": "r0-1",
    }


def test_who_is_stranded_by_another_order_comes_first_in_the_next():
    """The halves come first, and take the rack that alone holds the whole ones."""
    cache = member(
        racks(3, 2),
        busy("r1-0", gpus=4),
        busy("r1-1"),
        busy("r2-0", gpus=4),
        busy("r2-1", gpus=4),
        gang_objects("any", pods=1, gpus=4, binding="any"),
        gang_objects("whole", pods=2, tier=1, binding="whole"),
        gang_objects("half", pods=2, gpus=4, tier=1, binding="half"),
        directive(
            entry("any", {"worker": 1}, gang=workers(1, 4), domain="r2", at=-3),
            entry("whole", {"worker": 2}, gang=workers(2), domain="r0", at=-2),
            entry("half", {"worker": 2}, gang=workers(2, 4), domain="r0", at=-1),
        ),
    )

    assert nodes_of(round_of(cache, at(0))) == {
        "any-worker-0": "r1-0",
        "whole-worker-0": "r0-0",
        "whole-worker-1": "r0-1",
        "half-worker-0": "r2-0",
        "half-worker-1": "r2-1",
    }


def test_of_two_that_come_first_the_one_that_is_stranded_again_goes_before():
    """Both lack a rack; the one that could be elsewhere was admitted earlier."""
    cache = member(
        racks(4, 2),
        [busy("r1-1"), busy("r2-0", gpus=3), busy("r2-1", gpus=3)],
        [busy("r3-0", gpus=3), busy("r3-1")],
        gang_objects("small", pods=2, gpus=5, binding="small"),
        gang_objects("any", pods=1, gpus=5, binding="any"),
        gang_objects("one", pods=1, binding="one"),
        gang_objects("pair", pods=2, tier=1, binding="pair"),
        directive(
            entry("small", {"worker": 2}, gang=workers(2, 5), domain="r0", at=-4),
            entry("any", {"worker": 1}, gang=workers(1, 5), domain="r1", at=-3),
            entry("one", {"worker": 1}, gang=workers(1), domain="r0", at=-2),
            entry("pair", {"worker": 2}, gang=workers(2), domain="r0", at=-1),
        ),
    )

    assert nodes_of(round_of(cache, at(0))) == {
        "pair-worker-0": "r0-0",
        "pair-worker-1": "r0-1",
        "one-worker-0": "r1-0",
        "small-worker-0": "r3-0",
        "small-worker-1": "r2-0",
        "any-worker-0": "r2-1",
    }


def test_where_no_order_helps_the_first_counts():
    """One of three has the only node; the others get the amounts that they lack."""
    gangs = ("a", "b", "c")
    cache = member(
        racks(1, 1),
        *[gang_objects(name, pods=1, binding=name) for name in gangs],
        directive(
            *[
                entry(name, {"worker": 1}, gang=workers(1), domain="r0", at=turn - 3)
                for turn, name in enumerate(gangs)
            ]
        ),
    )

    round_ = round_of(cache, at(0))

    assert nodes_of(round_) == {"a-worker-0": "r0-0"}
    assert set(reasons_of(round_)) == {"b-worker-0", "c-worker-0"}


def test_who_was_admitted_beside_a_reservation_comes_before_it():
    """A pod that the leader did not know of leaves room for one of the two only."""
    reserved = hold("large", {"worker": 1}, gang=workers(1), domain="r0", at=-2)
    admitted = entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-1)
    cache = member(
        racks(1, 2),
        busy("r0-0", gpus=4),
        gang_objects("g", pods=1, binding="g"),
        directive(reserved, admitted),
    )

    round_ = round_of(cache, at(0))

    assert nodes_of(round_) == {"g-worker-0": "r0-1"}
    assert "large" not in round_.reservations


@pytest.mark.parametrize(
    ("since", "want"),
    [
        pytest.param(-1, {"g-worker-0": "r0-0"}, id="that drains since the same cycle"),
        pytest.param(-2, {}, id="that drained before"),
    ],
)
def test_who_was_sent_elsewhere_goes_into_a_domain(since, want):
    """A pod that the leader did not know of has its node there."""
    cache = member(
        racks(2, 1),
        busy("r1-0"),
        gang_objects("g", pods=1, binding="g"),
        directive(
            hold("large", {"worker": 1}, gang=workers(1), domain="r0", at=since),
            entry("g", {"worker": 1}, gang=workers(1), domain="r1", at=-1, order=1),
        ),
    )

    assert nodes_of(round_of(cache, at(0))) == want
    assert nodes_of(round_of(cache, at(0, reached={"g": "decision-g"}))) == {}


def test_who_has_started_does_not_come_before_a_reservation():
    """The room that its pods left when they ended is kept for the reservation."""
    reserved = hold("large", {"worker": 1}, gang=workers(1), domain="r0", at=-2)
    admitted = entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-1)
    cache = member(
        racks(1, 2),
        busy("r0-0", gpus=4),
        gang_objects("g", pods=1, binding="g"),
        directive(reserved, admitted),
    )

    round_ = round_of(cache, at(0, reached={"g": "decision-g"}))

    assert nodes_of(round_) == {}
    assert [slot.node for slot in round_.reservations["large"].slots] == ["r0-1"]
