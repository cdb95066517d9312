"""Bad objects are set aside with a reason; the rest goes on as if they were not there."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.api.core import Node, Pod
from member_agent.cache import Kind, room_of, units_of
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import (
    AGENT,
    feed,
    hyper_node,
    member,
    node,
    owner,
    pod,
    pod_group,
    racks,
)
from tests.member_agent.scheduler.rounds import nodes_of, round_of
from tests.wire import decode

OURS = frozenset({AGENT})
ANTI = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "zone"}]}


def with_requests(**amounts):
    found = pod("bad")
    found["spec"]["containers"][0]["resources"] = {"requests": amounts}
    return found


@pytest.mark.parametrize(
    ("bad", "kind", "want_problem"),
    [
        pytest.param(
            with_requests(cpu="NaN"), Kind.POD, "'NaN' is not a quantity", id="a quantity of NaN"
        ),
        pytest.param(with_requests(cpu="-1"), Kind.POD, "'-1' is negative", id="a negative one"),
        pytest.param(
            with_requests(memory="1e200000"), Kind.POD, "out of range", id="an overflowing one"
        ),
        pytest.param(
            pod("bad", spec={"containers": []}),
            Kind.POD,
            "containers: is empty",
            id="no containers",
        ),
        pytest.param(
            pod("bad", spec={"affinity": {"podAntiAffinity": ANTI}}),
            Kind.POD,
            "only kubernetes.io/hostname is supported",
            id="an anti-affinity that is not supported",
        ),
        pytest.param(
            pod_group("bad", minimum=10**9),
            Kind.POD_GROUP,
            "spec.minMember is 1000000000: expected 0 to 1000000",
            id="an absurd minMember",
        ),
        pytest.param(
            pod_group("bad", minimum=1, tasks={"t": -1}),
            Kind.POD_GROUP,
            "spec.minTaskMember[t] is -1",
            id="a negative task minimum",
        ),
        pytest.param(
            node("bad", memory="lots"), Kind.NODE, "'lots' is not a quantity", id="a node's memory"
        ),
    ],
)
def test_bad_objects_are_set_aside(bad, kind, want_problem):
    """The problem names field and reason, and a sound pod is placed beside it."""
    cache = member(racks(1, 1), bad, pod("good"))

    [problem] = cache.problems.values()
    assert want_problem in problem
    assert cache.problem(kind, (bad["metadata"].get("namespace", ""), "bad")) == problem
    assert list(nodes_of(round_of(cache))) == ["good"]


@pytest.mark.parametrize(
    ("annotation", "want_problem"),
    [
        pytest.param("none", "is 'none', not a whole number", id="a word"),
        pytest.param("0", "is '0', not a whole number", id="zero"),
        pytest.param("9" * 99, "not a whole number", id="beyond all bounds"),
    ],
)
def test_bad_minimum_annotation(annotation, want_problem):
    """A Job whose minimum cannot be read waits; it is never taken for a Job without one."""
    job = owner("Job", "j", annotations={names.MIN_PARALLELISM: annotation}, spec={})
    cache = member(racks(1, 1), job, pod("a", owner=job), pod("good"))

    assert want_problem in cache.problem(Kind.OWNER, ("team", "Job.batch/j"))
    assert nodes_of(round_of(cache)) == {"good": "r0-0"}


@pytest.mark.parametrize(
    ("bad", "want_problem"),
    [
        pytest.param(entry("", {"main": 1}), "names no binding", id="no binding"),
        pytest.param(entry("x", {}) | {"at": "yesterday"}, "RFC 3339", id="an unreadable time"),
        pytest.param(entry("x", {}) | {"gang": {"pod_sets": 3}}, "pod_sets", id="a broken gang"),
        pytest.param(
            entry("x", {})
            | {
                "gang": {
                    "pod_sets": [
                        {
                            "name": "main",
                            "count": 1,
                            "minimum": 1,
                            "shape": {"requests": {"entries": [["cpu", -5]]}},
                        }
                    ],
                    "minimum": 1,
                }
            },
            "requests of main are not amounts",
            id="a gang with negative requests",
        ),
    ],
)
def test_bad_directive_entries(bad, want_problem):
    """An entry that cannot be read stays out; the others of its slice count."""
    cache = member(directive(bad, entry("good", {"main": 1})))

    assert list(cache.entries()) == ["good"]
    [problem] = cache.problems.values()
    assert want_problem in problem


def test_the_newest_entry_counts_while_slices_move():
    """An entry that stands in two slices for a moment is taken at its newest."""
    cache = member(
        directive(entry("b", {"main": 1}, decision="old", at=1), name="member1"),
        directive(entry("b", {"main": 2}, decision="new", at=2), name="member1-1"),
    )

    assert cache.entries()["b"].decision == "new"


def test_a_directive_for_another_cluster_is_refused():
    """A slice that names another member places nothing here."""
    cache = member(directive(entry("b", {"main": 1}), cluster="member2"))

    assert cache.entries() == {}
    assert cache.problems == {
        (Kind.DIRECTIVE, ("karmada-es-member2", "member1")): (
            "spec.cluster is 'member2', and this member is 'member1'"
        )
    }


def test_a_bad_subtree_does_not_stop_the_others():
    """HyperNodes in a cycle, with a second parent or a dangling member are left out, no others."""
    cache = member(
        racks(2, 1),
        hyper_node("a", 2, children=["b"]),
        hyper_node("b", 3, children=["a"]),
        hyper_node("second", 2, children=["r1"]),
        hyper_node("dangling", 2, children=["nobody"]),
    )

    tree = cache.tree()

    assert {"a", "b", "r1"} <= set(tree.problems)
    assert {domain.name for domain in tree.domains} >= {"r0", "spine"}
    assert tree.leaf_of["r0-0"] == "r0"


def test_a_bound_pod_that_cannot_be_read_makes_its_node_unknown():
    """What it uses is not known, so nothing is placed there until it is gone."""
    bad = with_requests(cpu="-1")
    bad["spec"]["nodeName"] = "r0-0"
    cache = member(racks(1, 1), bad, pod("good"))
    assert room_of(cache, []).leaves == ()

    cache.delete(Kind.POD, ("team", "bad"))

    assert len(room_of(cache, []).leaves) == 1
    assert cache.problems == {}


def test_a_pod_that_became_unreadable_keeps_its_use():
    """The last readable record of a bound pod still counts."""
    cache = member(racks(1, 1), pod("p", gpus=3, node="r0-0"))
    broken = pod("p", gpus=3, node="r0-0", version="2")
    broken["spec"]["containers"][0]["resources"]["requests"]["cpu"] = "x"
    feed(cache, [broken])

    assert cache.used("r0-0")["nvidia.com/gpu"] == 3


def test_use_follows_pods():
    """Use per node is exact after any sequence of events, assumed binds included."""
    cache = member(racks(1, 2), pod("a", gpus=2), pod("b", gpus=1, node="r0-0"))
    cache.assume("uid-a", "r0-0")
    assert cache.used("r0-0")["nvidia.com/gpu"] == 3

    cache.upsert_pod(decode(pod("a", gpus=2, version="2"), Pod))  # an event from before the bind
    assert cache.used("r0-0")["nvidia.com/gpu"] == 3

    cache.upsert_pod(decode(pod("a", gpus=2, node="r0-1", version="3"), Pod))
    assert cache.used("r0-0")["nvidia.com/gpu"] == 1
    assert cache.used("r0-1")["nvidia.com/gpu"] == 2

    cache.upsert_pod(decode(pod("a", node="r0-1", phase="Failed", reason="OutOfcpu"), Pod))
    cache.delete(Kind.POD, ("team", "b"))
    assert (cache.used("r0-0"), cache.used("r0-1")) == ({}, {})
    assert cache.rejections == {"uid-a": "r0-1"}


def test_a_pod_of_the_same_name_is_another_pod():
    """A pod that is deleted and made anew between two events is known by its uid."""
    cache = member(racks(1, 1), pod("a", gpus=2, node="r0-0"))
    fresh = pod("a", gpus=1)
    fresh["metadata"]["uid"] = "other"
    feed(cache, [fresh])

    assert cache.used("r0-0") == {}
    assert list(cache.pods) == ["other"]


def test_heartbeats_change_nothing():
    """A node that says the same again is no change: nothing is placed or reported by it."""
    cache = member(node("n"))
    before = cache.changes
    cache.upsert_node(decode(node("n", version="2"), Node))

    assert cache.changes == before
    assert units_of(cache, OURS) == []
