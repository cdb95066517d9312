"""Reports: which are believed, and the room that is left of them."""

import pytest

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import NOW, binding, cluster_object, counted, report, vcjob


def capacity_of(state, name="m1"):
    return next(c for c in state.snapshot().clusters if c.name == name)


def sliced(part, of, generation=1, **more):
    body = report("m1", generation=generation, slice=part, slices=of, **more)
    body["metadata"]["name"] = f"capacity-{part}"
    return body


def test_a_cluster_without_a_report_says_so():
    """No report is a reason, not an empty capacity."""
    cluster = capacity_of(state_of(cluster_object("m1")))

    assert cluster.capacity is None
    assert cluster.capacity_problem == ""


def test_slices_count_when_all_of_one_generation_are_there():
    """An incomplete generation changes nothing; the complete one replaces all at once."""
    state = state_of(cluster_object("m1"), sliced(0, 2))
    assert capacity_of(state).capacity_problem == "1 of 2 slices of its report are there"

    feed(state, sliced(1, 2, tree=[], rows=[]))
    first = capacity_of(state).capacity
    assert first is not None
    assert first.generation == 1

    feed(state, sliced(0, 2, generation=2, nodes=5))
    assert capacity_of(state).capacity == first
    feed(state, sliced(1, 2, generation=2, tree=[], rows=[]))
    second = capacity_of(state).capacity
    assert second is not None
    assert [leaf.count for leaf in second.topology.leaves] == [5]


def mixed(*amounts, pods=1, **fields):
    """A shape of a member's mix, on the wire."""
    entries = [list(one) for one in amounts or (("cpu", 1000), ("pods", 1))]
    return {"shape": {"requests": {"entries": entries}, **fields}, "pods": pods}


def test_what_pods_ask_for_is_read():
    """The mix stands in the topology, by which nodes are chosen; a new one is news."""
    state = state_of(cluster_object("m1"), report("m1", demand=[mixed(pods=8, per_node=2)]))
    capacity = capacity_of(state).capacity
    assert capacity is not None
    (found,) = capacity.topology.demand
    assert (found.pods, found.shape.per_node, found.shape.requests.get("cpu")) == (8, 2, 1000)
    assert feed(state, report("m1", generation=2, demand=[mixed(pods=4)]))


@pytest.mark.parametrize(
    ("bad", "want"),
    [
        pytest.param(report("m1", namespace="karmada-es-m2"), "does not report in", id="namespace"),
        pytest.param(report("m1", slice=3, slices=2), "spec.slice: 3 of 2", id="slice beyond all"),
        pytest.param(report("m1", axis=["cpu", "cpu", "pods"]), "spec.axis", id="axis twice"),
        pytest.param(report("m1", free=[[1, 2]]), "spec.free", id="vector of another length"),
        pytest.param(report("m1", free=[[2**61, 1, 1]]), "out of range", id="absurd amount"),
        pytest.param(
            report("m1", rows=[{"domain": "rack-0", "nodeClass": 7, "free": 0, "count": 1}]),
            "names a class or vector",
            id="a class that is not there",
        ),
        pytest.param(
            report("m1", rows=[{"domain": "ghost", "nodeClass": 0, "free": 0, "count": 1}]),
            "'ghost' is not in the tree",
            id="a domain that is not there",
        ),
        pytest.param(
            report("m1", rows=[{"domain": "rack-0", "nodeClass": 0, "free": 0, "count": 10**9}]),
            "counts 1000000000 nodes",
            id="a billion nodes",
        ),
        pytest.param(
            report(
                "m1",
                rows=[],
                tree=[
                    {"name": "a", "tier": 1, "parent": "b"},
                    {"name": "b", "tier": 1, "parent": "a"},
                ],
            ),
            "not in the tree or not of a higher tier",
            id="a cycle",
        ),
        pytest.param(
            report("m1", rows=[], tree=[{"name": "a", "tier": 1, "parent": "gone"}]),
            "not in the tree",
            id="a parent that is not there",
        ),
        pytest.param(
            report("m1", rows=[], tree=[{"name": "a", "tier": 1}, {"name": "a", "tier": 2}]),
            "lists a domain twice",
            id="a domain twice",
        ),
        pytest.param(
            report("m1", classes=[{"taints": [{"key": "a", "effect": "Explode"}]}]),
            "'Explode' is no effect",
            id="an unknown taint effect",
        ),
        pytest.param(report("m1", observedAt="soon"), "spec.observedAt", id="no time"),
        pytest.param(
            report("m1", demand=[mixed(pods=0)]), "demand[0].pods: 0", id="a shape of no pods"
        ),
        pytest.param(
            report("m1", demand=[mixed(), mixed(pods=2**40)]),
            "demand[1].pods",
            id="a shape of a trillion pods",
        ),
        pytest.param(
            report("m1", demand=[mixed(("pods", 1), ("cpu", 1))]),
            "requests are not amounts",
            id="a shape whose requests are in no order",
        ),
        pytest.param(
            report("m1", demand=[mixed(("cpu", 0), ("pods", 1))]),
            "requests are not amounts",
            id="a shape that asks for nothing of a kind",
        ),
        pytest.param(
            report("m1", demand=[mixed(("cpu", "much"))]), "demand[0].shape", id="no amount at all"
        ),
        pytest.param(report("m1", demand=[mixed()] * 129), "more than 128", id="too many shapes"),
    ],
)
def test_refused_reports_leave_the_last_good_one(bad, want):
    """A report that is not believed is named on the object; the room of before stays, and ages."""
    state = state_of(cluster_object("m1"), report("m1"))
    good = capacity_of(state).capacity
    feed(state, bad)

    problems = [one.problem for one in state.reports.acceptances.values() if one.problem]
    assert len(problems) == 1
    assert want in problems[0]
    assert capacity_of(state).capacity == good

    alone = state_of(cluster_object("m1"), bad)
    assert capacity_of(alone).capacity is None


def test_a_report_of_the_future_is_taken_as_its_arrival():
    """An agent whose clock is ahead must not look fresh for ever."""
    state = state_of(cluster_object("m1"))
    feed(state, report("m1", at=NOW + 3600 * SECOND), now=NOW)
    capacity = capacity_of(state).capacity

    assert capacity is not None
    assert capacity.observed == NOW


def test_an_agent_whose_clock_is_behind_is_not_stale():
    """From the second report on the clock's offset is known; one that was held up still ages."""
    state = state_of(cluster_object("m1"))
    behind = 600 * SECOND
    for step in range(3):
        now = NOW + step * 10 * SECOND
        feed(state, report("m1", at=now - behind, generation=step), now=now)
    capacity = capacity_of(state).capacity
    assert capacity is not None
    assert capacity.observed == NOW + 20 * SECOND

    late = NOW + 60 * SECOND
    feed(state, report("m1", at=late - behind - 25 * SECOND, generation=9), now=late)
    capacity = capacity_of(state).capacity
    assert capacity is not None
    assert capacity.observed == late - 25 * SECOND


def test_repeated_reports_are_no_news():
    """Only time and generation differ: nothing to decide, and the topology is the same object."""
    state = state_of(cluster_object("m1"), report("m1"))
    state.take_dirty()
    before = capacity_of(state).capacity

    assert not feed(state, report("m1", at=NOW + SECOND, generation=2), now=NOW + SECOND)
    after = capacity_of(state).capacity
    assert before is not None
    assert after is not None
    assert after.observed == NOW + SECOND
    assert after.topology is before.topology
    assert feed(state, report("m1", generation=3, nodes=2))


def test_assumed_until_counted():
    """What a report counts is not deducted again; the rest of the admitted pods is."""
    job = vcjob("train", replicas=4, gpus=8)
    state = state_of(
        cluster_object("m1"), report("m1", nodes=4), job, binding(job, clusters=["m1"])
    )

    def free(**more):
        feed(state, report("m1", nodes=4, **more))
        capacity = capacity_of(state).capacity
        assert capacity is not None
        leaves = capacity.topology.leaves
        return sum(leaf.free[1] * leaf.count for leaf in leaves)

    assert free() == 0
    assert free(workloads=[counted("id-train-job", worker=1)], generation=2) == 8
    assert workload_in(state, "team-a/train-job").progress[0].bound == Amounts.of({"worker": 1})
    assert free(workloads=[counted("id-train-job", worker=4)], generation=3) == 32


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", None, id="its minimum has nodes"),
        pytest.param("1970-01-01T00:00:07Z", Instant(7 * SECOND), id="since then"),
        pytest.param("9999-01-01T00:00:00Z", "observed", id="never later than the report"),
        pytest.param("yesterday", None, id="what is no time says nothing"),
    ],
)
@pytest.mark.parametrize(("key", "name"), [("belowSince", "below"), ("shortSince", "short")])
def test_since_when_a_gang_is_not_whole(text, want, key, name):
    """As the report says it, which is followed when it alone changes."""
    job = vcjob("train", replicas=4, gpus=8)
    state = state_of(
        cluster_object("m1"), report("m1", nodes=4), job, binding(job, clusters=["m1"])
    )
    one = counted("id-train-job", worker=1)
    feed(state, report("m1", nodes=4, workloads=[one], generation=2))
    assert getattr(workload_in(state, "team-a/train-job").progress[0], name) is None

    feed(state, report("m1", nodes=4, workloads=[one | {key: text}], generation=3))

    capacity = capacity_of(state).capacity
    assert capacity is not None
    found = getattr(workload_in(state, "team-a/train-job").progress[0], name)
    assert found == (capacity.observed if want == "observed" else want)


def test_a_report_that_goes_takes_the_capacity_along():
    """Without any report object the cluster has no report."""
    state = state_of(cluster_object("m1"), report("m1"))
    state.delete_report("karmada-es-m1", "capacity")

    assert capacity_of(state).capacity is None


@pytest.mark.parametrize(
    ("told", "want"),
    [
        pytest.param("", "", id="none"),
        pytest.param("cluster", "cluster", id="a step of the leader"),
        pytest.param("job", "", id="a step of the member says nothing to us"),
        pytest.param("\x1b[2J", "", id="no such step"),
    ],
)
def test_the_step_of_the_leader_at_which_a_ladder_waits(told, want):
    """It is news when it changes, and only the leader's own steps count."""
    job = vcjob("train", replicas=4, gpus=8)
    plain = counted("id-train-job", worker=1)
    state = state_of(cluster_object("m1"), job, binding(job, clusters=["m1"]))
    feed(state, report("m1", workloads=[plain]))

    news = feed(state, report("m1", generation=2, workloads=[plain | {"waitsAt": told}]))

    assert workload_in(state, "team-a/train-job").progress[0].waits_at == want
    assert bool(news) is bool(want)


@pytest.mark.parametrize(
    ("told", "want"),
    [
        pytest.param("2026-01-31T12:00:00.000001Z", NOW + 1, id="a call"),
        pytest.param("soon", None, id="what cannot be read"),
        pytest.param("", None, id="none"),
    ],
)
def test_the_call_for_a_checkpoint_that_is_answered(told, want):
    """It is news when it changes: the leader waits for it."""
    job = vcjob("train", replicas=4, gpus=8)
    plain = counted("id-train-job", worker=1)
    state = state_of(cluster_object("m1"), job, binding(job, clusters=["m1"]))
    feed(state, report("m1", workloads=[plain]))

    again = report("m1", generation=2, workloads=[plain | {"checkpointAnswered": told}])
    assert bool(feed(state, again)) is (want is not None)
    assert workload_in(state, "team-a/train-job").progress[0].answered == want
