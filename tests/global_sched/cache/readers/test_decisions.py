"""Decision annotations: which are believed."""

from dataclasses import replace

import pytest

from global_sched.cache.readers.decisions import distrust, recomputed, within_template
from global_sched.shared.model.decision import Backoff, Decision, Grant, decision_id
from global_sched.shared.model.decision_text import DecisionError, parse_decision, render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.workload import Division, Target
from tests.builders import gang, pod_set
from tests.global_sched.cache.worlds import state_of, workload_in
from tests.wire import (
    NOW,
    batch_job,
    binding,
    cluster_object,
    deployment,
    leader_worker_set,
    pytorch_job,
    report,
    vcjob,
)

GANG = gang(pod_set("worker", pods=4, gpus=1))
DECISION_KEY = "decision.global-sched.io/decision"


def made(*grants, binding_id="id-train-job", **fields):
    """A decision with the id that its content has."""
    content = {"at": NOW, "order": 3, "grants": grants, "epoch": 7} | fields
    made_id = decision_id(binding_id, grants, content["at"], content["order"])
    return Decision(id=made_id, **content)


def grant(cluster="m1", pods=4, replicas=None, **fields):
    return Grant(cluster=cluster, amounts=Amounts.of({"worker": pods}), replicas=replicas, **fields)


def prioritised(priority):
    """A decision as it is written now, for the whole job."""
    whole = grant()
    made_id = decision_id("id-train-job", (whole,), NOW, 3, None, priority)
    return Decision(id=made_id, epoch=7, at=NOW, order=3, grants=(whole,), priority=priority)


def test_round_trip():
    """The annotation holds the whole decision."""
    decision = made(
        grant(domain="rack-0", tier=1, tier_name="rack"),
        pending=Amounts.of({"worker": 2}),
        backoffs=(Backoff(cluster="m2", until=NOW + 5, failures=2, reason="full"),),
    )

    assert parse_decision(render_decision(decision)) == decision


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("{}", id="without an id"),
        pytest.param("[1]", id="no object"),
        pytest.param('{"id":"x","at":"yesterday"}', id="no time"),
        pytest.param(
            '{"id":"x","at":"2026-01-01T00:00:00Z","grants":[{"amounts":{"a":-1}}]}',
            id="negative pods",
        ),
        pytest.param('{"id":"x","grants":' + "[" * 5000 + "]" * 5000 + "}", id="5,000 deep"),
        pytest.param('{"id":"' + "x" * 300_000 + '"}', id="300,000 characters"),
        pytest.param('{"id":"\ud800"}', id="a lone surrogate"),
    ],
)
def test_unreadable(text):
    """What is no decision of ours is reported as such, never raised past the reader."""
    with pytest.raises(DecisionError):
        parse_decision(text)


@pytest.mark.parametrize(
    ("decision", "targets", "want"),
    [
        pytest.param(made(grant()), [("m1", None)], "", id="it matches"),
        pytest.param(made(grant()), [("m2", None)], "spec.clusters names m2", id="another cluster"),
        pytest.param(made(grant()), [], "spec.clusters names", id="no clusters any more"),
        pytest.param(
            made(grant(pods=2, replicas=2)),
            [("m1", 1)],
            "it gives m1 2 replicas, spec.clusters says 1",
            id="somebody else took replicas away",
        ),
        pytest.param(
            made(grant(pods=2, replicas=2)),
            [("m1", None)],
            "it gives m1 2 replicas, spec.clusters says 0",
            id="somebody else took all of them: Karmada leaves a zero out",
        ),
    ],
)
def test_distrust(decision, targets, want):
    """Clusters and replicas must agree."""
    there = tuple(Target(cluster=c, replicas=r) for c, r in targets)

    found = distrust(decision, there)

    assert (want in found) if want else found == ""


@pytest.mark.parametrize(
    ("granted", "want"),
    [
        pytest.param({"worker": 4}, {"worker": 4}, id="as many as the template"),
        pytest.param({"worker": 3}, {"worker": 3}, id="fewer: the rest is growth"),
        pytest.param({"worker": 400}, {"worker": 4}, id="more than the template"),
        pytest.param({"worker": 4, "ghost": 1}, {"worker": 4}, id="a pod set that is gone"),
    ],
)
def test_the_smaller_of_decision_and_template_counts_as_admitted(granted, want):
    """A template below its decision shrank: amounts are cut, and nothing else changes."""
    decision = made(
        Grant(cluster="m1", amounts=Amounts.of(granted), domain="rack-0", tier=1, tier_name="rack"),
        pending=Amounts.of({"worker": 1}),
    )

    found = within_template(decision, Division.WHOLE, GANG)

    [cut] = found.grants
    assert cut.amounts == Amounts.of(want)
    assert replace(found, grants=decision.grants) == decision
    assert replace(cut, amounts=decision.grants[0].amounts) == decision.grants[0]


def test_entries_with_replicas_are_what_the_member_is_sent():
    """What `spec.clusters` itself says is running; the next cycle divides it anew."""
    decision = made(grant(pods=5, replicas=5))

    assert within_template(decision, Division.DIVIDED, GANG) == decision


@pytest.mark.parametrize(
    ("replicas", "division", "want"),
    [
        pytest.param(None, Division.WHOLE, 4, id="without replicas: the whole gang"),
        pytest.param(2, Division.DIVIDED, 2, id="with replicas: so many"),
        pytest.param(10**9, Division.DIVIDED, 10**6, id="absurd replicas are bounded"),
    ],
)
def test_recomputed(replicas, division, want):
    """`spec.clusters` is the truth when the annotation is not."""
    decision = recomputed(
        binding="b",
        targets=(Target(cluster="m1", replicas=replicas),),
        gang=GANG,
        division=division,
        at=NOW,
    )

    assert decision.grants[0].amounts.pods() == want
    assert decision.grants[0].domain is None


def test_an_entry_of_a_divided_workload_without_replicas_holds_nothing():
    """Karmada leaves a zero out: such a cluster gives its room back."""
    decision = recomputed(
        binding="b",
        targets=(Target(cluster="m1", replicas=3), Target(cluster="m2", replicas=None)),
        gang=GANG,
        division=Division.DIVIDED,
        at=NOW,
    )

    assert [(one.cluster, one.replicas) for one in decision.grants] == [("m1", 3)]


@pytest.mark.parametrize(
    ("annotation", "want_forged"),
    [
        pytest.param(None, "there are clusters, but no decision", id="none"),
        pytest.param("{broken", "not believed: it cannot be read", id="unreadable"),
        pytest.param(
            render_decision(made(grant(), binding_id="other")), "does not match", id="copied"
        ),
        pytest.param(render_decision(made(grant(domain="rack-0"))), "", id="true"),
        pytest.param(render_decision(made(grant(), priority=9)), "", id="the priority as of old"),
        pytest.param(render_decision(prioritised(9)), "", id="the priority is a part of it"),
        pytest.param(
            render_decision(replace(prioritised(9), priority=10)), "does not match", id="raised"
        ),
        pytest.param(
            render_decision(replace(prioritised(9), priority=None)), "does not match", id="dropped"
        ),
    ],
)
def test_forgeries_are_recomputed_flagged_and_charged(annotation, want_forged):
    """A forged annotation frees nothing and hides nothing: the room is taken all the same."""
    job = vcjob("train", replicas=4, gpus=8)
    one = binding(
        job, clusters=["m1"], annotations=None if annotation is None else {DECISION_KEY: annotation}
    )
    state = state_of(cluster_object("m1"), report("m1", nodes=4), job, one)
    snapshot = state.snapshot()
    workload = workload_in(state, "team-a/train-job")

    assert (want_forged in workload.forged) if want_forged else workload.forged == ""
    assert workload.decision is not None
    assert workload.decision.grants[0].amounts == Amounts.of({"worker": 4})
    [usage] = snapshot.usage
    assert usage.amount.get("nvidia.com/gpu") == 32
    [cluster] = snapshot.clusters
    assert cluster.capacity is not None
    assert [leaf.free[1] for leaf in cluster.capacity.topology.leaves] == [0]
    told = {notice.topic for notice in state.notices.take()}
    assert told == ({"DecisionNotBelieved"} if want_forged else set())


def test_an_eviction_from_outside_is_no_forgery():
    """The taint manager takes clusters away; the decision's back-offs stay, nothing is flagged."""
    job = vcjob("train", replicas=4)
    backoffs = (Backoff(cluster="m2", until=NOW, failures=1),)
    text = render_decision(made(grant(), backoffs=backoffs))
    state = state_of(job, binding(job, annotations={DECISION_KEY: text}))
    workload = workload_in(state, "team-a/train-job")

    assert workload.forged == ""
    assert workload.decision is not None
    assert (workload.decision.grants, workload.decision.backoffs) == ((), backoffs)


@pytest.mark.parametrize(
    ("bound", "want_gpus"),
    [
        pytest.param(4, 32, id="all four run still"),
        pytest.param(3, 24, id="one of the two has ended"),
        pytest.param(2, 16, id="both have ended"),
        pytest.param(0, 16, id="nothing runs yet: what is admitted"),
    ],
)
def test_a_running_gang_that_shrinks_keeps_its_decision_and_is_charged_for_what_runs(
    bound, want_gpus
):
    """A template below its decision is no forgery: domain, tier, time and id stay."""
    decision = made(grant(domain="rack-0", tier=1, tier_name="rack"))
    job = vcjob("train", replicas=2, gpus=8)
    one = binding(job, clusters=["m1"], annotations={DECISION_KEY: render_decision(decision)})
    progress = {"binding": "id-train-job", "bound": {"worker": bound}, "decision": decision.id}
    state = state_of(cluster_object("m1"), report("m1", nodes=4, workloads=[progress]), job, one)
    snapshot = state.snapshot()
    workload = workload_in(state, "team-a/train-job")

    assert workload.forged == ""
    assert not state.notices.take()
    assert workload.decision is not None
    assert workload.decision == replace(
        decision, grants=(grant(pods=2, domain="rack-0", tier=1, tier_name="rack"),)
    )
    [usage] = snapshot.usage
    assert usage.amount.get("nvidia.com/gpu") == want_gpus
    assert workload.shrunk
    assert workload in snapshot.unsettled


def test_amounts_above_any_template_are_never_counted():
    """The id is a plain checksum: a decision for 400 pods of a job of four charges four."""
    job = vcjob("train", replicas=4, gpus=8)
    text = render_decision(made(grant(pods=400)))
    state = state_of(
        cluster_object("m1"),
        report("m1", nodes=4),
        job,
        binding(job, clusters=["m1"], annotations={DECISION_KEY: text}),
    )

    [usage] = state.snapshot().usage
    assert usage.amount.get("nvidia.com/gpu") == 32


@pytest.mark.parametrize(
    ("large", "small", "want"),
    [
        pytest.param(
            vcjob("j", replicas=4), vcjob("j", replicas=2), {"worker": 2}, id="a Volcano Job"
        ),
        pytest.param(
            batch_job("j", spec={"parallelism": 4, "completions": 8}),
            batch_job("j", spec={"parallelism": 2, "completions": 8}),
            {"main": 2},
            id="a Job",
        ),
        pytest.param(
            pytorch_job("j", {"Master": 1, "Worker": 4}),
            pytorch_job("j", {"Master": 1, "Worker": 2}),
            {"master": 1, "worker": 2},
            id="a PyTorchJob",
        ),
        pytest.param(
            pytorch_job("j", {"Master": 1, "Worker": 4}),
            pytorch_job("j", {"Worker": 4}),
            {"worker": 4},
            id="a PyTorchJob without its master",
        ),
        pytest.param(
            leader_worker_set("j", groups=4, size=2),
            leader_worker_set("j", groups=2, size=2),
            None,
            id="a LeaderWorkerSet",
        ),
        pytest.param(
            deployment("j", replicas=4), deployment("j", replicas=2), None, id="a Deployment"
        ),
    ],
)
@pytest.mark.parametrize("clusters", [["m1"], ["m1", "m2"]])
def test_every_kind_may_shrink(large, small, want, clusters):
    """In one cluster and in two, what is admitted is what the smaller template asks for."""
    placed = state_of(large, binding(large, clusters=clusters))
    before = workload_in(placed, f"team-a/j-{large['kind'].lower()}")
    grants = tuple(replace(one, domain="rack-0", tier=1) for one in before.decision.grants)
    decision = made(*grants, binding_id=before.binding_id)
    text = {DECISION_KEY: render_decision(decision)}

    after = workload_in(
        state_of(small, binding(small, clusters=clusters, annotations=text)), before.key
    )

    assert (after.forged, after.shrunk) == ("", True)
    whole = after.demand.gang.all_amounts()
    assert whole.pods() < before.demand.gang.all_amounts().pods()
    assert want is None or whole == Amounts.of(want)
    assert after.decision == replace(
        decision, grants=tuple(replace(one, amounts=whole) for one in grants)
    )
