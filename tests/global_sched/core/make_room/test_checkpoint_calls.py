"""A gang that asks for it is called for a checkpoint before it has to leave, and waited for."""

from dataclasses import replace

import pytest

from global_sched.cache.readers.decisions import authentic
from global_sched.core import explain_workload, run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision_text import parse_decision, render_decision
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.plan import Stays
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.snapshot import Running
from tests.builders import NOW, cluster, ids, snapshot, workload
from tests.global_sched.core.claiming import POLICY, cycle, job, town_of, verdict_of
from tests.towns import Town

C1, C2 = cluster("c1", nodes=4, gpus=8), cluster("c2", nodes=4, gpus=8)
GRACE = 90


class Answering(Town):
    """A town in which the programs that are called answer, or not."""

    answers = None

    def _progress(self, one):
        found = super()._progress(one)
        told = (replace(seen, answered=self.answers) for seen in found.progress)
        return replace(found, progress=tuple(told))


def town_with(asks=GRACE, **fields):
    """One gang of all nodes, which asks to be waited for, and another one that needs them."""
    town = town_of(job("low", 4, checkpoint_grace=asks, **fields))
    town.__class__ = Answering
    town.add(job("high", 2, priority=10))
    return town


def called(town=None):
    """A town after the cycle that makes the claim and the call."""
    town = town or town_with()
    town.execute(cycle(town))
    return town


def after(town, seconds, policy=POLICY):
    """The plan of a cycle so many seconds later; the town stays as it is."""
    later = town.copy()
    later.__class__, later.answers = Answering, town.answers
    later.now = Instant(town.now + seconds * SECOND)
    return cycle(later, policy)


def low_of(town):
    return next(one for one in town.workloads.values() if one.name == "low")


def written(plan, name):
    """The decision that a plan writes alone, of the workload of that name."""
    return next(one.decision for one in plan.claims if one.workload.endswith(f"/{name}"))


def test_the_first_cycle_calls_and_takes_nothing():
    """The claim is made, and longer by the grace; the victim keeps place, id and grant."""
    town = town_with()
    before = low_of(town)
    plan = cycle(town)

    assert (plan.withdrawals, plan.admissions) == ((), ())
    made = written(plan, "low")
    assert replace(made, called=None) == replace(before.decision, epoch=made.epoch)
    assert made.called == town.now
    assert parse_decision(render_decision(made)) == made
    assert authentic(made, before.binding_id)
    claim = written(plan, "high").claim
    assert claim.until == town.now + (POLICY.hold_seconds + GRACE) * SECOND
    assert [one.binding for one in claim.victims] == [before.binding_id]
    assert verdict_of(plan, "high").reason == Reason.ROOM_BEING_MADE
    found = verdict_of(plan, "low")
    assert found.reason == Reason.CHECKPOINT_CALLED
    until = format_instant(Instant(town.now + GRACE * SECOND))
    assert found.detail == (
        f"in place; it is called for a checkpoint, and waited for until {until}; then it leaves m: "
        "preempted by a workload of priority 10 in queue a; this one has priority 0"
    )


@pytest.mark.parametrize(
    ("seconds", "answers", "leaves"),
    [
        pytest.param(1, False, False, id="it is waited for"),
        pytest.param(89, False, False, id="to the end of its grace"),
        pytest.param(90, False, True, id="and no longer, without an answer"),
        pytest.param(1, True, True, id="the answer ends it"),
    ],
)
def test_the_wait(seconds, answers, leaves):
    """While it lasts nothing is written; then the victim leaves for the claim."""
    town = called()
    town.answers = town.now if answers else Instant(town.now - SECOND)
    plan = after(town, seconds)

    assert ids(plan.withdrawals) == (["low"] if leaves else [])
    assert plan.empty() is not leaves
    for gone in plan.withdrawals:
        assert gone.makes_room_for.endswith("/high")
        assert gone.decision.called is None


def test_a_called_gang_makes_room_for_one_claim_only():
    """Another claimant does not count on its room, and it is charged as before."""
    town = called()
    town.add(job("other", 4, priority=20))
    plan = after(town, 10)

    assert plan.empty()
    assert verdict_of(plan, "other").reason == Reason.CAPACITY_DOES_NOT_FIT
    held = explain_workload(town.snapshot(), POLICY, town.now, low_of(town).key).queue.held
    assert held.get("cpu") == 4000 + 2000, "what it holds, and the claim beside it"


def test_a_call_that_nothing_wants_any_more_is_taken_back():
    """The claimant is gone: the gang stays, and its pods are asked for nothing."""
    town = called()
    [high] = [one.key for one in town.workloads.values() if one.name == "high"]
    del town.workloads[high]
    plan = after(town, 10)

    assert written(plan, "low").called is None
    assert (verdict_of(plan, "low").detail, plan.withdrawals) == ("in place", ())
    town.execute(plan)
    assert after(town, 11).empty()


@pytest.mark.parametrize(
    ("asks", "policy"),
    [
        pytest.param(0, POLICY, id="it does not ask"),
        pytest.param(GRACE, replace(POLICY, checkpoint_grace_limit_seconds=0), id="the Policy"),
    ],
)
def test_what_leaves_at_once(asks, policy):
    """In the first cycle, as every victim does."""
    assert ids(cycle(town_with(asks), policy).withdrawals) == ["low"]


def test_the_policy_bounds_the_wait():
    """More than its limit counts as that."""
    policy = replace(POLICY, checkpoint_grace_limit_seconds=60)
    town = town_with()
    town.execute(cycle(town, policy))
    assert after(town, 59, policy).empty()
    assert ids(after(town, 60, policy).withdrawals) == ["low"]


def test_a_call_that_another_writer_renews_ends_with_the_claim():
    """What is left of the claim's time by then is its hold."""
    town = called()
    low = low_of(town)
    renewed = replace(low.decision, called=Instant(town.now + 80 * SECOND))
    town.workloads[low.key] = replace(low, decision=renewed)
    assert after(town, 89).withdrawals == ()
    assert ids(after(town, 90).withdrawals) == ["low"]


def test_a_new_leader_goes_on_with_the_claim_whose_call_was_not_written():
    """It calls then, and the wait ends with the claim's."""
    town = town_with()
    plan = cycle(town)
    kept = [one for one in plan.claims if one.workload.endswith("/high")]
    town.execute(replace(plan, claims=tuple(kept)))
    town.now = Instant(town.now + 30 * SECOND)

    again = cycle(town)
    assert (ids(again.claims), again.withdrawals) == (["low"], ())
    town.execute(again)
    assert after(town, 59).empty()
    assert ids(after(town, 60).withdrawals) == ["low"]


# --- moves --------------------------------------------------------------------------------


def later(seconds):
    return Instant(NOW + seconds * SECOND)


def world(*running, clusters=(C1,), now=NOW):
    """The plan of a cycle with these, at that time."""
    seen = tuple(replace(one, capacity=replace(one.capacity, observed=now)) for one in clusters)
    made = snapshot(seen, running=running).snapshot()
    parts = {}
    for one in running:
        parts.setdefault(one.targets[0].cluster, []).append(one)
    parts = tuple(Running(cluster=at, workloads=tuple(parts[at])) for at in sorted(parts))
    return run_cycle(replace(made, running=parts), POLICY, now)


def broken(ago=900, bound=3, **fields):
    """A gang that its member cannot hold, and that may move."""
    fields = {"below_minimum": BelowMinimum(moves=True), "checkpoint_grace": GRACE} | fields
    one = workload("low", gpus=8, on="c1", pods=4, bound=bound, **fields)
    if bound == 4:
        return one
    return replace(one, progress=(replace(one.progress[0], below=later(-ago)),))


def test_a_move_comes_after_the_call():
    """Room is looked for before it is called, and again when the wait is over."""
    plan = world(broken(), clusters=(C1, C2))
    assert (plan.withdrawals, plan.stays) == ((), (("jobs/low", Stays.CHECKPOINT),))
    assert verdict_of(plan, "low").reason == Reason.CHECKPOINT_CALLED
    assert verdict_of(plan, "low").detail.endswith("until 2026-01-31T12:01:30Z; then it moves")

    one = replace(broken(), decision=written(plan, "low"))
    assert world(one, clusters=(C1, C2), now=later(89)).empty()
    [gone] = world(one, clusters=(C1, C2), now=later(90)).withdrawals
    assert (gone.decision.claim.first.cluster, gone.decision.called) == ("c2", None)


def test_a_move_that_is_not_possible_any_more_takes_the_call_back():
    """Others have filled the destination while it was waited for."""
    one = replace(broken(), decision=replace(broken().decision, called=NOW))
    full = workload("full", pods=4, gpus=8, on="c2")
    plan = world(one, full, clusters=(C1, C2), now=later(30))

    assert plan.withdrawals == ()
    assert written(plan, "low").called is None
    assert plan.stays == (("jobs/low", Stays.NO_ROOM),)


def test_giving_its_place_back_comes_after_the_call():
    """As a move does."""
    asks = BelowMinimum(releases=True)
    one = replace(broken(), below_minimum=asks)
    plan = world(one)
    assert (plan.withdrawals, plan.stays) == ((), (("jobs/low", Stays.CHECKPOINT),))
    one = replace(one, decision=written(plan, "low"))
    [gone] = world(one, now=later(90)).withdrawals
    assert gone.message.endswith("; it gives its place back, as it asked")


def test_a_gang_that_heals_while_it_is_waited_for_stays():
    """It is whole again: nothing leaves, and the call ends."""
    one = broken(bound=4)
    plan = world(replace(one, decision=replace(one.decision, called=NOW)), now=later(30))
    assert (written(plan, "low").called, plan.withdrawals) == (None, ())


def test_a_gang_of_which_nothing_runs_moves_at_once():
    """There is nothing to save."""
    plan = world(broken(bound=0), clusters=(C1, C2))
    assert (ids(plan.withdrawals), plan.claims) == (["low"], ())
