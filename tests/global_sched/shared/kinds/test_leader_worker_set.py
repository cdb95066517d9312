"""Demand of a LeaderWorkerSet: groups of a leader and its workers, each in one domain."""

import pytest

from global_sched.shared.api.names import (
    LWS_EXCLUSIVE,
    LWS_SUBGROUP_EXCLUSIVE,
    MIN_GROUPS,
    PARTITIONS_TOGETHER,
)
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.gang import Mode, Partition, TopologyConstraint
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import (
    binding,
    cluster_object,
    decode,
    leader_worker_set,
    override_policy,
    plaintext,
    pod_template,
    task,
    vcjob,
)

HARD_1 = {
    "volcano.sh/network-topology-mode": "hard",
    "volcano.sh/network-topology-highest-tier": "1",
}
SOFT = {"volcano.sh/network-topology-mode": "soft"}
RULE = TopologyConstraint(mode=Mode.HARD, highest_tier=1)
BOUND = pod_template(annotations=HARD_1)


def read(obj):
    reader = KINDS[(obj["apiVersion"], obj["kind"])]
    return reader.reading(decode(obj, reader.wire))


def sets(reading):
    return [(p.name, p.count, p.minimum) for p in reading.pod_sets]


@pytest.mark.parametrize(
    ("app", "want", "want_minimum"),
    [
        pytest.param(
            leader_worker_set("a", groups=2, size=4),
            [("leader", 2, 2), ("worker", 6, 6)],
            8,
            id="all groups are the minimum",
        ),
        pytest.param(
            leader_worker_set("a", groups=3, size=4, annotations={MIN_GROUPS: "1"}),
            [("leader", 3, 1), ("worker", 9, 3)],
            4,
            id="fewer where the annotation says so",
        ),
        pytest.param(
            leader_worker_set("a", groups=None, size=None),
            [("leader", 1, 1)],
            1,
            id="one group of a leader alone when nothing is said",
        ),
    ],
)
def test_groups(app, want, want_minimum):
    """`replicas` groups of one leader and `size` - 1 workers."""
    reading = read(app)

    assert reading.problem is None
    assert (sets(reading), reading.minimum) == (want, want_minimum)
    assert not reading.carries_replicas


def test_each_group_in_one_domain():
    """The templates' constraint bounds each group; leaders and workers share their groups."""
    reading = read(leader_worker_set("a", groups=2, size=4, worker=BOUND))

    assert reading.constraint is None
    assert [p.partition for p in reading.pod_sets] == [
        Partition(size=size, total=2, minimum=2, constraint=RULE, together="leader+worker")
        for size in (1, 3)
    ]


def test_a_leader_of_its_own_shape():
    """The leader's template counts for leaders, the workers' for workers."""
    leader = pod_template(cpu="8")
    reading = read(leader_worker_set("a", leader=leader, worker=pod_template(gpus=8)))

    by_name = {p.name: dict(p.shape.requests) for p in reading.pod_sets}
    assert by_name["leader"]["cpu"] == 8000
    assert "nvidia.com/gpu" not in by_name["leader"]
    assert by_name["worker"]["nvidia.com/gpu"] == 8


@pytest.mark.parametrize(
    ("app", "want"),
    [
        pytest.param(
            leader_worker_set("a", annotations={LWS_EXCLUSIVE: "cloud/pool"}),
            "domains are not given to one group alone",
            id="exclusive topology",
        ),
        pytest.param(
            leader_worker_set("a", annotations={LWS_SUBGROUP_EXCLUSIVE: "cloud/pool"}),
            "domains are not given to one group alone",
            id="exclusive topology of subgroups",
        ),
        pytest.param(
            leader_worker_set("a", worker=BOUND, leader=pod_template(annotations=SOFT)),
            "the pod templates carry different topology constraints",
            id="two constraints",
        ),
        pytest.param(
            leader_worker_set("a", annotations={MIN_GROUPS: "3"}),
            "use a whole number from 1 to 2",
            id="more groups than there are",
        ),
        pytest.param(
            leader_worker_set("a", size=0), "spec.leaderWorkerTemplate.size: is 0", id="no leader"
        ),
        pytest.param(
            leader_worker_set("a", groups=2_000, size=2_000),
            "add up to 4000000 pods",
            id="absurdly many pods",
        ),
    ],
)
def test_what_is_refused(app, want):
    """The refusal names the field and says what would help."""
    problem = read(app).problem

    assert problem is not None
    assert (problem.code, problem.reason) == (Code.NEVER, Reason.INVALID_SPEC)
    assert want in problem.detail


def test_no_groups_wait():
    """Scaled to 0 it waits without penalty."""
    problem = read(leader_worker_set("a", groups=0)).problem

    assert problem is not None
    assert (problem.code, problem.reason) == (Code.WAIT, Reason.SUSPENDED)


def test_it_is_a_gang():
    """It goes whole to one cluster, whatever the policy divides."""
    app = leader_worker_set("llm")
    one = workload_in(state_of(app, binding(app)), "team-a/llm-leaderworkerset")

    assert one.demand.division == Division.WHOLE
    assert one.demand.gang is not None
    assert one.demand.gang.pods() == 6


@pytest.mark.parametrize(
    ("path", "value", "want"),
    [
        pytest.param("workerTemplate/spec/schedulerName", "volcano", "volcano", id="its own"),
        pytest.param("leaderTemplate", {}, None, id="a leader's template that is added"),
    ],
)
def test_scheduler_after_overrides(path, value, want):
    """The schedulerName of its templates counts after overrides."""
    app = leader_worker_set("llm", worker=pod_template(schedulerName="member-agent"))
    change = plaintext(f"/spec/leaderWorkerTemplate/{path}", value)
    state = state_of(cluster_object("m1"), app, override_policy("p", change))
    feed(state, binding(app))

    demand = workload_in(state, "team-a/llm-leaderworkerset").demand
    assert dict(demand.scheduler_overrides) == {"m1": want}


def test_templates_that_differ_in_an_annotation_alone():
    """What a reader looks at tells templates apart, annotations included."""
    apart = vcjob("a", parts("prefill", 1), parts("decode", 3))
    apart["metadata"]["annotations"] = {"team": "serving"}
    tied = vcjob("b", parts("prefill", 1), parts("decode", 3))
    tied["metadata"]["annotations"] = {PARTITIONS_TOGETHER: "prefill,decode"}
    state = state_of(apart, tied, binding(apart), binding(tied))

    found = {}
    for name in ("a", "b"):
        gang = workload_in(state, f"team-a/{name}-job").demand.gang
        found[name] = {p.partition.together for p in gang.pod_sets}
    assert found == {"a": {""}, "b": {"decode+prefill"}}


def parts(name, size):
    """A task of two partitions."""
    policy = {"partitionSize": size, "totalPartitions": 2}
    return task(name, size * 2, partitionPolicy=policy)
