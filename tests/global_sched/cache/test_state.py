"""Events in, snapshot out."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Admission
from global_sched.shared.model.usage_sums import summed
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Target
from tests.builders import decision, grant
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import (
    NOW,
    batch_job,
    binding,
    cluster_object,
    counted,
    placement,
    priority_class,
    queue,
    report,
    tenant,
    vcjob,
)

KEY = WorkloadKey("team-a/train-job")


def pending(state):
    return [w.key for bucket in state.snapshot().pending for w in bucket.workloads]


def test_a_binding_waits_for_its_template():
    """Neither uid nor version may be older than what the binding stands for."""
    job = vcjob("train", version="7")
    state = state_of(binding(job))

    def problem():
        found = workload_in(state, KEY).problem
        return None if found is None else (found.code, found.reason)

    waiting = (Code.WAIT, Reason.TEMPLATE_NOT_SEEN)
    assert problem() == waiting
    feed(state, vcjob("train", version="6"))
    assert problem() == waiting
    feed(state, vcjob("train", version="9", uid="another"))
    assert problem() == waiting
    feed(state, vcjob("train", version="8"))
    assert problem() is None


@pytest.mark.parametrize(
    "change",
    [
        pytest.param({"scheduler": "default-scheduler"}, id="another scheduler's"),
        pytest.param({"spec": {"placement": None}}, id="without a placement"),
        pytest.param({"spec": {"suspension": {"scheduling": True}}}, id="suspended"),
        pytest.param({"labels": {"resourcebinding.karmada.io/permanent-id": "x"}}, id="no policy"),
        pytest.param({"deleted": True}, id="being deleted"),
    ],
)
def test_who_is_not_scheduled(change):
    """Karmada's own conditions decide which bindings get something new."""
    job = vcjob("train")

    assert pending(state_of(job, binding(job))) == [KEY]
    assert pending(state_of(job, binding(job, **change))) == []


def test_a_frozen_binding_keeps_its_room():
    """Without its policy a binding gets nothing new, and what it has is still charged."""
    job = vcjob("train", gpus=8)
    labels = {"resourcebinding.karmada.io/permanent-id": "id-train-job"}
    state = state_of(
        cluster_object("m1"), report("m1"), job, binding(job, clusters=["m1"], labels=labels)
    )
    snapshot = state.snapshot()

    assert (snapshot.pending, snapshot.unsettled) == ((), ())
    assert [usage.amount.get("nvidia.com/gpu") for usage in snapshot.usage] == [8]


def test_order_inside_a_bucket():
    """Priority descending, then creation, then UID; one bucket per queue and tenant."""
    jobs = [
        vcjob("late", uid="1"),
        vcjob("early", uid="2"),
        vcjob("urgent", uid="3", spec={"priorityClassName": "high"}),
        vcjob("other", queue="q2"),
        vcjob("far", namespace="team-b"),
    ]
    times = {"late": 10, "early": 5, "urgent": 20, "other": 0, "far": 0}
    state = state_of(
        priority_class("high", 100),
        tenant("b", "team-b"),
        *jobs,
        *(binding(job, created=times[job["metadata"]["name"]]) for job in jobs),
    )
    found = [(b.queue, b.tenant, [w.name for w in b.workloads]) for b in state.snapshot().pending]

    assert found == [
        ("default", "b", ["far"]),
        ("default", "ns/team-a", ["urgent", "early", "late"]),
        ("q2", "ns/team-a", ["other"]),
    ]


def test_unchanged_parts_are_shared_between_snapshots():
    """One event makes one bucket anew; everything else is the same object as before."""
    jobs = [vcjob(f"j{i}", queue=f"q{i}") for i in range(3)]
    state = state_of(
        queue("q0"), cluster_object("m1"), report("m1"), *jobs, *(binding(job) for job in jobs)
    )
    first = state.snapshot()
    new = vcjob("new", queue="q1")
    feed(state, new, binding(new))
    second = state.snapshot()

    assert second.clusters is first.clusters
    assert second.queues is first.queues
    assert second.usage is first.usage
    assert [a is b for a, b in zip(first.pending, second.pending, strict=True)] == [
        True,
        False,
        True,
    ]
    assert state.snapshot().pending is second.pending


def test_equal_demands_are_one_object():
    """10,000 equal jobs have one Demand."""
    jobs = [vcjob(f"j{i}", replicas=4, gpus=8) for i in range(3)]
    state = state_of(*jobs, *(binding(job, where=placement("m1")) for job in jobs))
    [bucket] = state.snapshot().pending

    assert len({id(w.demand) for w in bucket.workloads}) == 1
    for job in jobs:
        name = job["metadata"]["name"]
        state.delete_binding("team-a", f"{name}-job", f"uid-{name}-job")
    assert len(state.builder.demands) == 0
    assert state.snapshot().pending == ()


def test_priorities():
    """The named class, else the global default; one that is missing makes the job wait."""
    named = vcjob("named", spec={"priorityClassName": "high"})
    plain = vcjob("plain")
    state = state_of(named, plain, binding(named), binding(plain))
    problem = workload_in(state, "team-a/named-job").problem
    assert problem is not None
    assert (problem.code, problem.reason) == (Code.WAIT, Reason.PRIORITY_CLASS_MISSING)

    feed(state, priority_class("high", 100), priority_class("base", 5, default=True))
    assert workload_in(state, "team-a/named-job").priority == 100
    assert workload_in(state, "team-a/plain-job").priority == 5
    assert workload_in(state, "team-a/plain-job").priority_class == "base"

    state.delete_priority("high")
    problem = workload_in(state, "team-a/named-job").problem
    assert problem is not None
    assert problem.detail.startswith("PriorityClass high does not exist")


def test_a_namespace_in_two_tenants_belongs_to_the_older():
    """The older Tenant has it; when that goes, the younger one does; else it is its own."""
    job = vcjob("train")
    state = state_of(
        job,
        binding(job),
        tenant("young", "team-a", "team-b", created=50),
        tenant("old", "team-a", created=10),
    )
    assert workload_in(state, KEY).tenant == "old"
    assert state.tenants.settled["young"].lost == (("team-a", "old"),)
    assert [t.name for t in state.snapshot().tenants] == ["old", "young"]

    state.delete_tenant("old")
    assert workload_in(state, KEY).tenant == "young"
    state.delete_tenant("young")
    assert workload_in(state, KEY).tenant == "ns/team-a"
    assert [(t.name, t.weight) for t in state.snapshot().tenants] == [("ns/team-a", 1)]


def test_names_that_collide_are_told():
    """A batch Job and a Volcano Job of one name take turns in one binding."""
    job = vcjob("train")
    state = state_of(batch_job("train"), job, binding(job))
    state.settle()
    [notice] = state.notices.take()

    assert notice.topic == "NameCollision"
    assert "share the binding name train-job" in notice.text
    state.settle()
    assert state.notices.take() == ()


def test_assume_and_forget():
    """An assumed admission holds room and leaves the queue until the watch says otherwise."""
    job = vcjob("train", gpus=8)
    state = state_of(cluster_object("m1"), report("m1"), job, binding(job))
    workload = workload_in(state, KEY)
    assert workload.demand.gang is not None
    made = decision(grant("m1", workload.demand.gang.all_amounts(), domain="rack-0"), ago=0)
    action = Admission(
        workload=KEY,
        uid=workload.uid,
        resource_version=workload.resource_version,
        decision=made,
        targets=(Target(cluster="m1"),),
    )

    state.assume(action, NOW)
    assumed = state.snapshot()
    assert assumed.pending == ()
    assert assumed.usage_sums.queues
    assert assumed.usage_sums == summed(assumed.usage)
    assert assumed.clusters[0].capacity.topology.leaves[0].free[1] == 0
    assert [w.key for w in assumed.unsettled] == [KEY], "its minimum is not reached yet"

    state.forget(KEY)
    assert pending(state) == [KEY]
    assert state.snapshot().usage == ()
    assert state.snapshot().usage_sums == summed(())


def test_usage_is_summed_up_as_it_changes():
    """By queue and tenant; the same object while nothing changed."""
    one, two = vcjob("one", gpus=8), vcjob("two", gpus=4)
    state = state_of(
        cluster_object("m1"),
        report("m1"),
        one,
        two,
        binding(one, clusters=["m1"]),
        binding(two, clusters=["m1"]),
    )
    first = state.snapshot()
    assert state.snapshot().usage_sums is first.usage_sums

    finished = {"clusterName": "m1", "status": {"state": {"phase": "Failed"}}}
    status = {"aggregatedStatus": [finished]}
    feed(state, binding(two, clusters=["m1"], status=status, version="9"))
    second = state.snapshot()

    assert first.usage_sums == summed(first.usage)
    assert second.usage_sums == summed(second.usage)
    assert second.usage_sums != first.usage_sums


def test_the_echo_of_our_own_write_is_no_news():
    """A second cycle has nothing new to look at when the watch repeats what was assumed."""
    job = vcjob("train")
    state = state_of(job, binding(job))
    state.snapshot()
    state.take_dirty()

    status = {"conditions": [{"type": "Scheduled", "status": "False", "message": "NO_FIT x: y"}]}
    assert not feed(state, binding(job, version="2", status=status))
    assert workload_in(state, KEY).resource_version == "2"
    assert not feed(state, binding(job, version="1", generation=5)), "older than what is known"
    assert feed(state, binding(job, version="3", generation=2))


def test_finished_frees_everything():
    """A finished job is in no bucket, in no usage and in no room."""
    job = vcjob("train", gpus=8)
    status = {"aggregatedStatus": [{"clusterName": "m1", "status": {"state": {"phase": "Failed"}}}]}
    state = state_of(
        cluster_object("m1"), report("m1"), job, binding(job, clusters=["m1"], status=status)
    )
    snapshot = state.snapshot()

    assert workload_in(state, KEY).finished
    assert (snapshot.pending, snapshot.unsettled, snapshot.usage) == ((), (), ())
    assert snapshot.clusters[0].capacity.topology.leaves[0].free[1] == 8


def test_progress_settles_a_workload():
    """Once a report counts the minimum under the decision, no cycle has to look."""
    job = vcjob("train", gpus=8)
    state = state_of(cluster_object("m1"), report("m1"), job, binding(job))
    workload = workload_in(state, KEY)
    assert workload.demand.gang is not None
    made = decision(grant("m1", workload.demand.gang.all_amounts()), ago=0)
    state.assume(
        Admission(
            workload=KEY,
            uid=workload.uid,
            resource_version="1",
            decision=made,
            targets=(Target(cluster="m1"),),
        ),
        NOW,
    )
    assert [w.key for w in state.snapshot().unsettled] == [KEY]

    assert feed(
        state,
        report("m1", generation=2, workloads=[counted("id-train-job", decision=made.id, worker=1)]),
    )
    assert state.snapshot().unsettled == ()


def test_a_lost_cluster_wakes_what_was_there():
    """A target that is gone or going is something to look at."""
    job = vcjob("train")
    done = {
        "conditions": [{"type": "Scheduled", "status": "True"}],
        "schedulerObservedGeneration": 1,
        "lastScheduledTime": "2026-01-31T12:00:00Z",
    }
    state = state_of(cluster_object("m1"), job, binding(job, clusters=["m1"], status=done))
    state.take_dirty()

    assert feed(state, cluster_object("m1", deleted=True))
    assert [w.key for w in state.snapshot().unsettled] == [KEY]


def test_uid_reuse():
    """A binding of the same name with another uid is another binding."""
    job = vcjob("train")
    state = state_of(job, binding(job, version="90"))
    state.snapshot()
    feed(state, binding(job, uid="second", version="5"))
    assert workload_in(state, KEY).uid == "second"

    state.delete_binding("team-a", "train-job", "uid-train-job")
    assert pending(state) == [KEY]
    state.delete_binding("team-a", "train-job", "second")
    assert pending(state) == []
