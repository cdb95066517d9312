"""Admitted workloads: what is taken back, cut, confirmed or left alone."""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.dispatch.patches import withdrawal_patch
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Backoff
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division
from tests.builders import (
    GPU,
    NOW,
    POLICY,
    backoff,
    cluster,
    decision,
    grant,
    queue,
    rule,
    snapshot,
    workload,
)
from tests.global_sched.core.admitted import BROKEN, C1, C2, PAUSED, cycle, late
from tests.worlds import after


def test_placement_timeout():
    """A minimum that was never reached in time is withdrawn, with the agent's reason."""
    plan = cycle(late(reason="rack-0 lost a node"))

    (withdrawal,) = plan.withdrawals
    assert (withdrawal.cluster, withdrawal.replicas, withdrawal.targets) == ("c1", 2, ())
    assert withdrawal.reason == "PlacementTimeout"
    assert withdrawal.message == ("c1 did not place the minimum within 120 s: rack-0 lost a node")
    assert withdrawal.decision.grants == ()
    assert withdrawal.decision.backoffs == (
        Backoff(
            cluster="c1",
            until=Instant(NOW + 60 * SECOND),
            failures=1,
            reason="rack-0 lost a node",
        ),
    )
    outcome = plan.outcomes[0]
    assert (outcome.verdict.code, outcome.verdict.reason) == ("WAIT", "PlacementTimeout")


@pytest.mark.parametrize(
    ("one", "clusters"),
    [
        pytest.param(late(ago=119), [C1], id="it still has time"),
        pytest.param(late(reached=True), [C1], id="the minimum was reached once"),
        pytest.param(late(bound=2), [C1], id="all pods are bound, whoever bound them"),
        pytest.param(
            late(),
            [cluster("c1", nodes=2, gpus=8, report_age=60)],
            id="a stale report tells nothing",
        ),
        pytest.param(
            late(ago=121),
            [cluster("c1", nodes=2, gpus=8, report_age=121, period=60)],
            id="the report is older than the decision",
        ),
    ],
)
def test_not_withdrawn(one, clusters):
    """The timeout counts while the minimum was never reached and the member is believed."""
    assert cycle(one, clusters=clusters).empty()


def test_without_a_report_nothing_is_withdrawn():
    """A member whose agent is gone keeps what it has."""
    world = snapshot([C1], running=[late()])
    silent = replace(world.clusters[0], capacity=None, capacity_problem="gone")

    assert run_cycle(replace(world, clusters=(silent,)), POLICY, NOW).empty()


def test_an_older_decision_does_not_count():
    """A minimum that was reached under an earlier decision says nothing about this one."""
    one = late()
    stale = replace(one.progress[0], minimum_reached=True, decision="earlier")

    assert len(cycle(replace(one, progress=(stale,))).withdrawals) == 1
    assert len(cycle(replace(one, progress=())).withdrawals) == 1


@pytest.mark.parametrize(
    ("before", "want"),
    [
        pytest.param([], (60, 1), id="the first failure"),
        pytest.param([backoff("c1", seconds=-5, failures=1)], (120, 2), id="the second: doubled"),
        pytest.param(
            [backoff("c1", seconds=-5, failures=9)], (3600, 10), id="never beyond the limit"
        ),
        pytest.param([backoff("c1", seconds=-3600, failures=9)], (60, 1), id="long ago: forgotten"),
        pytest.param([backoff("c1", seconds=-1, failures=10**9)], (3600, 10**9 + 1), id="absurd"),
    ],
)
def test_backoff_doubles(before, want):
    """Each failure of a cluster doubles its back-off, up to the limit."""
    plan = cycle(late(backoffs=before))

    found = plan.withdrawals[0].decision.backoffs[0]
    assert ((found.until - NOW) // SECOND, found.failures) == want


def test_other_backoffs_stay():
    """A failure of one cluster leaves the other clusters' back-offs as they are."""
    plan = cycle(late(backoffs=[backoff("c2", seconds=9)]))

    assert [b.cluster for b in plan.withdrawals[0].decision.backoffs] == ["c1", "c2"]


def test_withdrawn_goes_elsewhere_next():
    """A withdrawn workload keeps its place in line and avoids the cluster that failed it."""
    world = snapshot([C1, C2], running=[late()])

    later = after(world, run_cycle(world, POLICY, NOW))
    plan = run_cycle(later, POLICY, NOW)

    assert plan.admissions[0].targets[0].cluster == "c2"
    assert [b.cluster for b in plan.admissions[0].decision.backoffs] == ["c1"]
    assert run_cycle(after(later, plan), POLICY, NOW).empty()


def test_quota_of_a_withdrawn_one_is_not_free_before_its_pods_have_ended():
    """What is taken back counts against its queue until the member shows that it is gone."""
    plan = cycle(
        late(),
        queues=[queue("default", gpus=2)],
        pending=[workload("k", pods=2, gpus=1)],
    )

    (taken,) = plan.withdrawals
    assert [one.cluster for one in taken.decision.left] == ["c1"]
    assert plan.admissions == ()
    told = next(one.verdict for one in plan.outcomes if one.workload == "jobs/k")
    assert (told.code, told.reason) == (Code.WAIT, Reason.QUEUE_CAPABILITY)


@pytest.mark.parametrize(
    ("clusters", "one", "want"),
    [
        pytest.param([C2], late(reached=True), "ClusterGone", id="the cluster is gone"),
        pytest.param(
            [replace(C1, terminating=True), C2],
            late(reached=True),
            "ClusterGone",
            id="the cluster is being removed",
        ),
        pytest.param(
            [C1, C2],
            late(reached=True, placement=rule("c2"), placement_applied=False),
            "PlacementChanged",
            id="the policy changed and no longer selects it",
        ),
    ],
)
def test_has_to_leave(clusters, one, want):
    """A gang leaves a cluster that is gone or no longer selected, without a back-off."""
    world = snapshot([C1, C2], running=[one])
    members = tuple(clusters)
    world = replace(world, clusters=members, base=members, unsettled=world.workloads)

    plan = run_cycle(world, POLICY, NOW)

    assert [w.reason for w in plan.withdrawals] == [want]
    assert plan.withdrawals[0].decision.backoffs == ()
    assert plan.outcomes[0].verdict.code == Code.WAIT


@pytest.mark.parametrize(
    ("clusters", "one", "want"),
    [
        pytest.param(
            [],
            workload("d", division=Division.DUPLICATED, pods=2, on=["c1", "c2"]),
            ("ClusterGone", "c1, c2: the cluster is gone or being removed"),
            id="both clusters of a duplicated one are gone",
        ),
        pytest.param(
            [C2],
            workload("d", division=Division.COPIED, on=["c1", "c2"], placement=rule("c3")),
            (
                "ClusterGone",
                "c1: the cluster is gone or being removed; c2: the policy no longer selects it",
            ),
            id="one is gone, the other no longer selected",
        ),
    ],
)
def test_leaves_several_clusters_at_once(clusters, one, want):
    """Every cluster that is left gets its eviction task, in one write, with what is wrong there."""
    world = snapshot([C1, C2], running=[one])
    members = tuple(clusters)
    world = replace(world, clusters=members, base=members, unsettled=world.workloads)

    [found] = run_cycle(world, POLICY, NOW).withdrawals

    assert (found.reason, found.message) == want
    spec = withdrawal_patch(found, [])["spec"]
    assert spec["clusters"] is None
    assert [task["fromCluster"] for task in spec["gracefulEvictionTasks"]] == ["c1", "c2"]


def test_policy_changed_and_still_selects_it():
    """The applied placement is written again, under the same decision."""
    one = late(reached=True, placement=rule("c1"), placement_applied=False)

    plan = cycle(one)

    assert [a.decision for a in plan.admissions] == [one.decision]
    assert plan.admissions[0].targets == one.targets


@pytest.mark.parametrize(
    ("fields", "want"),
    [
        pytest.param({"generation": 2}, (2, False), id="the generation moved on"),
        pytest.param({"scheduled": False}, (1, True), id="a crash between the two writes"),
        pytest.param({"last_scheduled": None}, (1, True), id="no lastScheduledTime"),
    ],
)
def test_confirmation(fields, want):
    """Only the status is behind: one write brings it up to date."""
    plan = cycle(late(reached=True, **fields))

    assert [(c.generation, c.scheduled_now) for c in plan.confirmations] == [want]
    assert not plan.admissions


def test_forged_decision_is_written_anew():
    """A decision that was not believed is replaced by the recomputed one, with a new id."""
    one = late(reached=True, forged="its id does not match")

    plan = cycle(one)

    (admission,) = plan.admissions
    assert admission.decision.grants == one.decision.grants
    assert (admission.decision.at, admission.decision.epoch) == (NOW, 1)
    assert admission.decision.id != one.decision.id


def test_forged_decision_does_not_time_out():
    """What was just recomputed gets its time before the member is blamed."""
    assert not cycle(late(forged="no id")).withdrawals


def test_what_is_written_is_of_the_present_term():
    """Growth that is noted, a smaller grant, a withdrawal: the epoch is the leader's.

    An earlier one would be refused by the control plane, or taken for a late write.
    """
    one = late(reached=True, placement_applied=False)
    old = replace(one, decision=replace(one.decision, epoch=0))

    (admission,) = cycle(old).admissions
    (withdrawal,) = cycle(replace(late(), decision=replace(late().decision, epoch=0))).withdrawals

    assert (admission.decision.epoch, withdrawal.decision.epoch) == (1, 1)


def test_shrink():
    """Fewer pods in the template are an admission with fewer; the queue is free once they ended."""
    one = workload("j", pods=2, gpus=1, on="c1")
    gang = one.demand.gang
    sets = (replace(gang.pod_sets[0], count=1, minimum=1),)
    fewer = replace(one.demand, gang=replace(gang, pod_sets=sets, minimum=1))
    world = snapshot(
        [C1],
        [queue("default", gpus=2)],
        running=[replace(one, demand=fewer)],
        pending=[workload("k", gpus=1)],
    )

    plan = run_cycle(world, POLICY, NOW)

    found = {a.workload: a.decision.grants[0] for a in plan.admissions}
    assert found["jobs/j"].amounts == Amounts.of({"main": 1})
    assert found["jobs/j"].replicas == 1
    assert "jobs/k" not in found
    ended = run_cycle(after(world, plan), POLICY, NOW)
    assert [one.workload for one in ended.admissions] == ["jobs/k"]


def test_a_shrunk_decision_is_written_though_its_amounts_are_cut_already():
    """What the template took away is written once: same domain and time, a new id."""
    one = late(reached=True, shrunk=True)

    (admission,) = cycle(one).admissions

    assert admission.decision.grants == one.decision.grants
    assert admission.decision.at == one.decision.at
    assert not cycle(late(reached=True)).admissions


def test_problem_of_an_admitted_one():
    """A template that became unreadable changes nothing for what runs, and is named."""
    plan = cycle(late(reached=True, generation=2, problem=BROKEN))

    assert plan.empty()
    assert plan.outcomes[0].verdict.detail == "in place; not followed: replicas: -1"


def test_a_paused_one_keeps_its_cluster_and_frees_its_room():
    """Nothing is granted any more; the next in line takes the quota, and nothing is withdrawn."""
    stopped = replace(late(bound=2).demand, gang=None)
    one = late(bound=2, problem=PAUSED)
    one = replace(one, demand=stopped)
    plan = cycle(one, pending=[workload("k", gpus=4)], queues=[queue("default", gpus=4)])

    found = {a.workload: a for a in plan.admissions}
    assert not plan.withdrawals
    assert found["jobs/j"].decision.grants == (grant("c1", Amounts(), replicas=2),)
    assert found["jobs/k"].decision.grants[0].amounts == Amounts.of({"main": 1})
    said = next(o.verdict.detail for o in plan.outcomes if o.workload == "jobs/j")
    assert said == "in place; paused: replicas add up to 0"


def test_a_paused_one_that_grants_nothing_is_left_alone():
    """The second cycle does nothing; a claim or growth from before the pause is dropped once."""
    empty = decision(grant("c1", Amounts(), replicas=2), name="j")
    one = replace(late(problem=PAUSED), decision=empty)
    one = replace(one, demand=replace(one.demand, gang=None))
    waiting = replace(one, decision=replace(empty, pending=Amounts.of({"main": 2})))

    assert cycle(one).empty()
    (admission,) = cycle(waiting).admissions
    assert (admission.decision.pending, admission.decision.claim) == (Amounts(), None)


@pytest.mark.parametrize(
    ("room", "want"),
    [pytest.param(2, 2, id="there is room"), pytest.param(1, 0, id="not for its minimum")],
)
def test_one_that_goes_on_asks_for_its_pods_anew(room, want):
    """As growth: its minimum comes whole, and only where there is room and quota."""
    empty = decision(grant("c1", Amounts(), replicas=2), name="j")
    one = replace(late(), decision=empty)
    plan = cycle(one, queues=[queue("default", gpus=room)])

    given = {a.workload: a.decision.grants[0].amounts.pods() for a in plan.admissions}
    assert given.get("jobs/j", 0) == want
    assert not plan.withdrawals


def test_no_decision():
    """Without a decision there is nothing to keep up, and no outcome is made up."""
    one = replace(late(), decision=None)

    assert cycle(one).empty()


def test_in_place():
    """A workload that needs nothing ends in place."""
    one = workload("j", division=Division.DUPLICATED, gpus=1, on=["c1", "c2"])

    plan = cycle(one)

    assert plan.empty()
    assert plan.outcomes[0].verdict.detail == "in place"


def test_one_of_several_clusters_is_withdrawn():
    """A duplicate that one member could not place stays in the others."""
    one = late(on=["c1", "c2"], division=Division.DUPLICATED)
    reached = replace(one.progress[1], minimum_reached=True)
    world = snapshot([C1, C2], running=[replace(one, progress=(one.progress[0], reached))])

    plan = run_cycle(world, POLICY, NOW)

    (withdrawal,) = plan.withdrawals
    assert withdrawal.cluster == "c1"
    assert [t.cluster for t in withdrawal.targets] == ["c2"]


def test_growth_waits_behind_the_limit():
    """Growth counts against the cycle's limit like any admission."""
    world = snapshot([C1], running=[workload("j", pods=4, minimum=1, gpus=1, on="c1", admitted=2)])

    plan = run_cycle(world, Policy(admissions_per_cycle=0), NOW)

    assert plan.admissions[0].decision.id == world.workload("j").decision.id
    assert plan.outcomes[0].verdict.reason == Reason.ADMITTED


def test_usage_is_what_was_granted():
    """Shares count what is admitted, not what is asked for."""
    world = snapshot([C1], running=[workload("j", pods=4, minimum=1, gpus=1, on="c1", admitted=2)])

    assert world.usage[0].amount.get(GPU) == 2


def test_growth_waits_for_what_is_not_bound():
    """More is admitted once all that was admitted before is bound: no pod loses its room."""
    world = snapshot(
        [C1], running=[workload("j", pods=4, minimum=1, gpus=1, on="c1", admitted=2, bound=1)]
    )

    plan = run_cycle(world, POLICY, NOW)

    assert plan.admissions[0].decision.grants == world.workload("j").decision.grants
    assert plan.outcomes[0].verdict.detail == (
        "in place; 2 more pods wait: c1 has not bound all pods that were admitted before"
    )


def test_a_shrunk_decision_keeps_its_place():
    """With fewer pods the decision is a new one at the old place in the order of room."""
    one = workload("j", division=Division.DUPLICATED, pods=1, gpus=1, on="c1", admitted=2)

    (admission,) = cycle(one, clusters=[C1]).admissions

    assert (admission.decision.at, admission.decision.order) == (one.decision.at, 0)
    assert admission.decision.id != one.decision.id
