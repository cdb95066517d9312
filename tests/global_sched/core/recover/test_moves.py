"""A gang that its member cannot hold moves where it fits, within the brakes, or stays with why."""

from dataclasses import replace

import pytest

from global_sched.cache.readers.decisions import authentic
from global_sched.core import run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Leaver
from global_sched.shared.model.decision_text import parse_decision, render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Stays
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.snapshot import Running
from global_sched.shared.model.verdict import Code
from tests.builders import NOW, POLICY, backoff, cluster, queue, rule, snapshot, workload

C1, C2 = cluster("c1", nodes=4, gpus=8), cluster("c2", nodes=4, gpus=8)
FOUR = Amounts.of({"main": 4})
MOVES, RELEASES = BelowMinimum(moves=True), BelowMinimum(releases=True)


def broken(name="j", *, ago=900, asks=MOVES, on="c1", pods=4, **fields):
    """A gang of full nodes of which all but one are bound, for so many seconds."""
    one = workload(name, pods=pods, gpus=8, on=on, bound=pods - 1, below_minimum=asks, **fields)
    seen = replace(
        one.progress[0], below=Instant(NOW - ago * SECOND), reason="no node has 8 GPUs free"
    )
    return replace(one, progress=(seen,))


def world(*running, clusters=(C1, C2), **more):
    made = snapshot(clusters, running=running, **more).snapshot()
    parts = {}
    for one in running:
        for target in one.targets:
            parts.setdefault(target.cluster, []).append(one)
    return replace(
        made, running=tuple(Running(cluster=at, workloads=tuple(parts[at])) for at in sorted(parts))
    )


def cycle(*running, policy=POLICY, **more):
    return run_cycle(world(*running, **more), policy, NOW)


def verdict(plan, name="j"):
    return next(o.verdict for o in plan.outcomes if o.workload.endswith(f"/{name}"))


def test_a_move_is_one_withdrawal_with_a_claim_on_the_new_cluster():
    """Out of the old one, back-off there, room kept in the new one; the old copy is what leaves."""
    [gone] = cycle(broken(domain="rack-0")).withdrawals

    made = gone.decision
    assert parse_decision(render_decision(made)) == made
    assert authentic(made, broken().binding_id)
    assert (gone.cluster, gone.targets, gone.reason) == ("c1", (), Reason.CANNOT_BE_WHOLE)
    assert made.claim is not None
    assert [(one.cluster, one.amounts) for one in made.claim.parts] == [("c2", FOUR)]
    assert made.claim.victims == (
        Leaver(binding=broken().binding_id, amounts=FOUR, cluster=ClusterName("c1")),
    )
    assert made.claim.until == NOW + POLICY.hold_seconds * SECOND
    assert (made.grants, made.moved) == ((), NOW)
    assert [one.cluster for one in made.left] == ["c1"]
    assert [one.cluster for one in made.backoffs] == ["c1"]
    assert gone.message == (
        "below its minimum in c1 since 2026-01-31T11:45:00Z (no node has 8 GPUs free); it moves to "
        "c2 rack-0, where room is kept for it until 2026-01-31T12:05:00Z; next: c1 shows that it "
        "is gone"
    )


@pytest.mark.parametrize(
    ("hours", "before", "want"),
    [
        pytest.param(None, 0, 1, id="it never moved"),
        pytest.param(24, 1, 2, id="it moved a day ago"),
        pytest.param(25, 3, 1, id="it moved more than a day ago"),
        pytest.param(2, 99, 99, id="the count has an end"),
    ],
)
def test_attempts(hours, before, want):
    """Moves in a row, each within a day of the one before."""
    one = broken()
    when = None if hours is None else Instant(NOW - hours * 3600 * SECOND)
    decided = replace(one.decision, moved=when, moves=before)
    [gone] = cycle(replace(one, decision=decided)).withdrawals

    assert gone.decision.moves == want
    assert parse_decision(render_decision(gone.decision)) == gone.decision
    assert authentic(gone.decision, one.binding_id)


def test_room_is_kept_for_the_minimum():
    """Surplus comes in its turn, as for all: a claim for more than that turn gives never ends."""
    one = broken(minimum=2)
    one = replace(one, progress=(replace(one.progress[0], bound=Amounts.of({"main": 1})),))
    [gone] = cycle(one).withdrawals
    assert gone.decision.claim is not None
    assert gone.decision.claim.amounts == Amounts.of({"main": 2})


def test_what_waits_does_not_take_the_room_of_a_move():
    """Neither in the same cycle nor while the old copy is there; then the gang gets it."""
    rival = workload("rival", pods=4, gpus=8, priority=9, clusters=["c2"])
    plan = cycle(broken(), pending=[rival])
    assert (plan.admissions, verdict(plan, "rival").code) == ((), Code.NO_FIT)

    [gone] = plan.withdrawals
    waits = replace(
        broken(),
        targets=(),
        progress=(),
        decision=gone.decision,
        leaving=(ClusterName("c1"),),
        left=gone.decision.left,
    )
    later = Instant(NOW + 20 * SECOND)
    plan = run_cycle(world(pending=[rival, waits]), POLICY, later)
    assert (plan.admissions, plan.claims) == ((), ())
    assert verdict(plan).reason == Reason.BEING_EVICTED
    assert verdict(plan).detail.startswith("it was withdrawn from c1 since 2026-01-31T12:00:00Z")

    gone_there = replace(waits, left=(), leaving=(), decision=replace(waits.decision, left=()))
    [admission] = run_cycle(world(pending=[rival, gone_there]), POLICY, later).admissions
    assert admission.workload.endswith("/j")
    assert [(one.cluster, one.amounts) for one in admission.decision.grants] == [("c2", FOUR)]
    assert admission.decision.moved == NOW


def test_a_queue_that_is_full_of_it_lets_it_move():
    """Its own amounts are free for it, and for nothing else until the old copy is gone."""
    full = queue("default", gpus=32)
    rival = workload("rival", pods=1, gpus=8)
    plan = cycle(broken(), pending=[rival], clusters=(C1, C2, cluster("c3", gpus=8)), queues=[full])

    assert [one.workload for one in plan.withdrawals] == ["jobs/j"]
    assert plan.admissions == ()
    assert verdict(plan, "rival").reason == Reason.QUEUE_CAPABILITY


KEPT = "it keeps its place until 2026-01-31T12:0"
THEN_MOVES = ", and moves then where another cluster has room"
STAYS = [
    (
        broken(ago=899),
        {},
        Stays.HOLD,
        f"{KEPT}0:01Z{THEN_MOVES}",
    ),
    (
        broken(ago=899, asks=RELEASES),
        {},
        Stays.HOLD,
        f"{KEPT}0:01Z, and gives it back then",
    ),
    (
        broken(asks=BelowMinimum(hold=3600, moves=True)),
        {"policy": replace(POLICY, recovery_hold_limit_seconds=1000)},
        Stays.HOLD,
        f"{KEPT}1:40Z{THEN_MOVES}",
    ),
    (
        broken(),
        {"clusters": (cluster("c1", nodes=4, gpus=8, report_age=31), C2)},
        Stays.NO_REPORT,
        "c1 does not report, and keeps its work; it may move when c1 reports",
    ),
    (
        broken(),
        {"clusters": (C1,)},
        Stays.NO_ROOM,
        "there is no other cluster; it moves when there is one with room",
    ),
    (
        broken(clusters=["c1"]),
        {},
        Stays.NO_ROOM,
        "no other cluster takes it now: c2: ",
    ),
    (
        broken(),
        {"policy": replace(POLICY, moves_per_cycle=0)},
        Stays.MOVES_PER_CYCLE,
        "the cycle has moved 0 gangs, as many as it may; it may move in a later cycle",
    ),
]


@pytest.mark.parametrize(
    ("one", "more", "brake", "why"), STAYS, ids=[f"{s[2]}-{at}" for at, s in enumerate(STAYS)]
)
def test_it_stays_and_says_why(one, more, brake, why):
    """Nothing is written; the text ends with what would let it move."""
    plan = cycle(one, **more)

    assert plan.empty()
    assert plan.stays == (("jobs/j", brake),)
    found = verdict(plan)
    assert (found.code, found.reason) == (Code.FIT, Reason.CANNOT_BE_WHOLE)
    assert found.detail.startswith("in place; below its minimum in c1 since ")
    assert f"(no node has 8 GPUs free); {why}" in found.detail


@pytest.mark.parametrize(
    "one",
    [
        pytest.param(broken(asks=None), id="it did not ask for it"),
        pytest.param(workload("j", pods=4, gpus=8, on="c1", below_minimum=MOVES), id="it is whole"),
        pytest.param(broken(group="two", group_size=2), id="it is of a group"),
    ],
)
def test_what_is_not_looked_at(one):
    """It does not move, and no reason is given."""
    plan = cycle(one)
    assert (plan.empty(), plan.stays) == (True, ())


def test_the_longest_below_its_minimum_moves_first_and_few_in_a_cycle():
    """Here one per cycle; there is room for both."""
    two = [broken("later", ago=950), broken("sooner", ago=1000)]
    wide = (cluster("c1", nodes=8, gpus=8), cluster("c2", nodes=8, gpus=8))
    plan = cycle(*two, clusters=wide, policy=replace(POLICY, moves_per_cycle=1))

    assert [one.workload for one in plan.withdrawals] == ["jobs/sooner"]
    assert plan.stays == (("jobs/later", Stays.MOVES_PER_CYCLE),)


def moved(name, minutes, **fields):
    """A gang that moved so long ago."""
    one = broken(name, **fields)
    when = Instant(NOW - minutes * 60 * SECOND)
    return replace(one, decision=replace(one.decision, moved=when))


@pytest.mark.parametrize(
    ("minutes", "brake"),
    [pytest.param(59, Stays.MOVES_PER_HOUR, id="59"), pytest.param(60, None, id="60")],
)
def test_few_move_within_an_hour(minutes, brake):
    """Any of them counts, wherever it is now."""
    wide = (cluster("c1", nodes=8, gpus=8), cluster("c2", nodes=8, gpus=8))
    other = moved("other", minutes, asks=None, on="c2")
    plan = cycle(broken(), other, clusters=wide, policy=replace(POLICY, moves_per_hour=1))
    told = verdict(plan).detail.endswith(
        "; 1 gang moved within an hour, as many as may; it may move when the first of them is older"
    )
    assert told is (brake is not None)

    assert plan.stays == (() if brake is None else (("jobs/j", brake),))
    assert len(plan.withdrawals) == (brake is None)


def test_a_gang_moves_once_within_an_hour():
    """Else two members that cannot hold it would hand it to each other."""
    plan = cycle(moved("j", 59))
    assert plan.stays == (("jobs/j", Stays.MOVED_LATELY),)
    assert verdict(plan).detail.endswith(
        "; it moved at 2026-01-31T11:01:00Z, and may once an hour: again at 2026-01-31T12:01:00Z"
    )
    assert len(cycle(moved("j", 60)).withdrawals) == 1


@pytest.mark.parametrize(
    ("lost", "of", "moves"),
    [
        pytest.param(1, 3, 1, id="1 of 3 is a gang's own trouble"),
        pytest.param(3, 4, 3, id="so are 3 of 4"),
        pytest.param(4, 14, 4, id="and 4 of 14"),
        pytest.param(4, 13, 0, id="4 of 13 are a fault of the cluster"),
    ],
)
def test_a_cluster_at_fault_is_not_emptied(lost, of, moves):
    """More than 30 % of its gangs, and at least four."""
    gangs = [broken(f"b{at}", pods=1) for at in range(lost)]
    gangs += [workload(f"w{at}", pods=1, gpus=8, on="c1") for at in range(of - lost)]
    wide = (cluster("c1", nodes=of, gpus=8), cluster("c2", nodes=of, gpus=8))
    plan = cycle(*gangs, clusters=wide)

    assert len(plan.withdrawals) == moves
    if not moves:
        assert {brake for _, brake in plan.stays} == {Stays.CLUSTER_AT_FAULT}
        assert verdict(plan, "b0").detail.endswith(
            "; 4 of 13 gangs in c1 are below their minimum: the cluster is at fault, and no gang "
            "leaves it for that; it may move when no more than 3 are"
        )


@pytest.mark.parametrize(
    ("asks", "clusters", "want"),
    [
        pytest.param(RELEASES, (C1, C2), None, id="it asked for no move"),
        pytest.param(replace(RELEASES, moves=True), (C1,), None, id="no other cluster takes it"),
        pytest.param(replace(RELEASES, moves=True), (C1, C2), "c2", id="moving comes first"),
    ],
)
def test_what_gives_its_place_back(asks, clusters, want):
    """It waits in its queue, without a claim, and keeps its creation time."""
    [gone] = cycle(broken(asks=asks), clusters=clusters).withdrawals

    claim = gone.decision.claim
    assert (None if claim is None else claim.first.cluster) == want
    assert gone.decision.moved == (None if want is None else NOW)
    assert [(one.cluster, one.failures) for one in gone.decision.backoffs] == [("c1", 1)]
    assert gone.message.endswith("; it gives its place back, as it asked") is (want is None)


def test_a_brake_does_not_make_it_give_its_place_back():
    """It would have moved: it waits for that."""
    asks = replace(RELEASES, moves=True)
    plan = cycle(broken(asks=asks), policy=replace(POLICY, moves_per_cycle=0))
    assert plan.stays == (("jobs/j", Stays.MOVES_PER_CYCLE),)


def test_a_cluster_that_failed_it_before_is_left_out():
    """Its back-off counts for a move as for a waiting gang."""
    one = broken()
    decided = replace(one.decision, backoffs=(backoff("c2"),))
    plan = cycle(replace(one, decision=decided))
    assert plan.stays == (("jobs/j", Stays.NO_ROOM),)


def test_the_policy_of_the_job_says_where_it_may_go():
    """The other cluster has room, and its placement does not name it."""
    plan = cycle(broken(placement=rule("c1", "c3")))
    assert plan.stays == (("jobs/j", Stays.NO_ROOM),)
