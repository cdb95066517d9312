"""Refusals of a gang: code, reason, numbers, sentence."""

import pytest

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.pods import Effect, Operator, Requirement, Taint
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.placement import Space
from tests.global_sched.shared.placement.worlds import (
    SOFT,
    domain,
    free,
    gang,
    hard,
    leaf,
    parts,
    pod_set,
    racks,
    topology,
    tree,
    workers,
)


def refusal(world, wanted, **more):
    return Space(world).place(wanted, **more).verdict


@pytest.mark.parametrize(
    ("constraint", "want"),
    [
        pytest.param(
            hard(1),
            "the largest HyperNode of tier 1 has room for 3 of 6 pods (b)",
            id="hard: the nearest domain",
        ),
        pytest.param(
            hard(2),
            "the largest HyperNode of tier 2 has room for 5 of 6 pods (spine)",
            id="hard, a wider domain",
        ),
        pytest.param(SOFT, "the cluster has room for 5 of 6 pods", id="soft: the cluster"),
        pytest.param(None, "the cluster has room for 5 of 6 pods", id="no constraint: the cluster"),
    ],
)
def test_no_room_now(constraint, want):
    """NO_FIT names how many of the minimum fit, and where."""
    verdict = refusal(racks(a=[1, 1], b=[1, 2]), workers(6, constraint=constraint))

    holds = int(want.split(" room for ")[1].split()[0])
    topological = constraint is not None and constraint.mode == "hard"
    kind = want.split("largest ")[1].split(" has")[0] if topological else ""
    assert verdict == Verdict(
        code=Code.NO_FIT,
        reason=Reason.TOPOLOGY_DOES_NOT_FIT if topological else Reason.CAPACITY_DOES_NOT_FIT,
        detail=want,
        missing=6 - holds,
        holds=holds,
        wants=6,
        nearest=want.split("(")[1].rstrip(")") if topological else None,
        asks=f"a {kind or 'cluster'} with room for 6 pods",
        within=kind,
    )


@pytest.mark.parametrize(
    ("domains", "constraint", "want"),
    [
        pytest.param(
            [domain("s", 2, tier_name="spine"), domain("r", 1, "s")],
            hard(),
            "the hard topology constraint names no tier; its tiers are 1, 2 (spine)",
            id="no tier at all",
        ),
        pytest.param(
            [domain("s", 2, tier_name="spine"), domain("r", 1, "s")],
            hard(0),
            "the cluster has no tier 0 or below; its tiers are 1, 2 (spine)",
            id="a tier below all",
        ),
        pytest.param(
            [domain("s", 2, tier_name="spine")],
            hard(name="rack"),
            "the cluster has no tier name 'rack'; its tiers are 2 (spine)",
            id="a tier name that does not exist",
        ),
        pytest.param(
            [],
            hard(1),
            "the cluster has no tier 1; it has no HyperNodes",
            id="no tree",
        ),
    ],
)
def test_unknown_tier_is_never_no_constraint(domains, constraint, want):
    """A hard constraint that a cluster cannot read is a refusal that names what exists."""
    world = topology(domains, [leaf(None, free(4), node="n")])

    verdict = refusal(world, workers(1, constraint=constraint))

    assert (verdict.code, verdict.reason, verdict.detail) == (Code.NEVER, Reason.TIER_UNKNOWN, want)


def test_unknown_tier_of_a_partition():
    """The same holds for a partition's own constraint."""
    wanted = workers(2, partition=parts(1, 2, constraint=hard(name="pod")))

    verdict = refusal(racks(a=[4]), wanted)

    assert verdict.detail == (
        "partitions of worker: the cluster has no tier name 'pod'; its tiers are 1, 2"
    )


@pytest.mark.parametrize(
    ("more", "want_code", "want_detail"),
    [
        pytest.param(
            {"selector": (("kind", "z"),)},
            Code.NEVER,
            "no node of this cluster can take the pod: no label kind=z; did you mean kind=a?",
            id="no node has the label",
        ),
        pytest.param(
            {"selector": (("zone", "1"),)},
            Code.WAIT,
            "the report of this cluster does not hold node label zone yet",
            id="a label that is not reported is unknown",
        ),
        pytest.param(
            {"selector": (("kimd", "a"),)},
            Code.WAIT,
            "the report of this cluster does not hold node label kimd yet; did you mean kind?",
            id="a misspelt label key",
        ),
        pytest.param(
            {"affinity": ((Requirement("kind", Operator.IN, ("b",)),),)},
            Code.NEVER,
            "no node of this cluster can take the pod: node affinity does not match; did you mean "
            "kind=a?",
            id="a label of the node affinity",
        ),
        pytest.param(
            {"affinity": ((Requirement("kind", Operator.NOT_IN, ("a",)),),)},
            Code.NEVER,
            "no node of this cluster can take the pod: node affinity does not match",
            id="node affinity that names no other label",
        ),
    ],
)
def test_labels(more, want_code, want_detail):
    """What is not reported is neither present nor absent."""
    kind = NodeClass(labels=(("kind", "a"),))
    world = topology([], [leaf(None, free(4), kind=kind)], label_keys=("kind",))

    verdict = refusal(world, gang(pod_set("w", 1, cpu=1, **more)))

    assert (verdict.code, verdict.detail) == (want_code, want_detail)


def test_a_resource_that_no_node_has():
    """A resource beyond the axis is on no node of the cluster."""
    world = topology([], [leaf(None, (4, 100))], axis=("cpu", "pods"))

    verdict = refusal(world, workers(1, cpu=1, gpu=1))

    assert (verdict.code, verdict.reason, verdict.detail) == (
        Code.NEVER,
        Reason.NO_NODE_MATCHES,
        "no node of this cluster has gpu",
    )


@pytest.mark.parametrize(
    ("kind", "want_code"),
    [
        pytest.param(NodeClass(schedulable=False), Code.NO_FIT, id="a cordon passes"),
        pytest.param(
            NodeClass(taints=(Taint("node.kubernetes.io/disk-pressure", "", Effect.NO_SCHEDULE),)),
            Code.NO_FIT,
            id="a taint of Kubernetes' own passes",
        ),
        pytest.param(
            NodeClass(taints=(Taint("team", "x", Effect.NO_EXECUTE),)),
            Code.NEVER,
            id="a taint that someone set stays",
        ),
        pytest.param(
            NodeClass(taints=(Taint("team", "x", Effect.PREFER_NO_SCHEDULE),)),
            None,
            id="a mere preference is none",
        ),
    ],
)
def test_never_only_for_what_lasts(kind, want_code):
    """NEVER needs certainty; what may pass is NO_FIT."""
    answer = Space(topology([], [leaf(None, free(4), kind=kind)])).place(workers(1))

    assert getattr(getattr(answer, "verdict", None), "code", None) == want_code


def test_no_nodes_at_all():
    """An empty cluster has no room; nodes may come."""
    verdict = refusal(topology([], []), workers(1))

    assert (verdict.code, verdict.detail) == (Code.NO_FIT, "the cluster has no room for the pod")


def test_as_many_as_fit_of_nothing():
    """With nothing required and nothing placed the answer is a refusal, not an empty placement."""
    verdict = refusal(racks(a=[0]), workers(3), minimum=Amounts())

    assert (verdict.code, verdict.holds) == (Code.NO_FIT, 0)


def test_explain_of_nodes_that_take_no_more_pods():
    """Pods are no amount that runs out: the node's limit of them is what it is."""
    world = topology(tree(a=(1, None)), [leaf("a", free(9, pods=0)), leaf("a", free(9, pods=1))])

    (found,) = Space(world).explain(workers(3, constraint=hard(1), cpu=1))

    assert found.detail == (
        "1 node: no more pods allowed on it; 1 node: room for 1 pod; "
        "2 more pods of worker need 2 pods freed on 2 nodes"
    )


def test_explain_lists_domains_nearest_first():
    """Every domain of the allowed tiers says what it holds, and what keeps it from more."""
    world = topology(
        tree(s=(2, None), a=(1, "s"), b=(1, "s"), c=(1, "s")),
        [
            leaf("a", free(1, 2), count=1),
            leaf("a", free(8, 0), count=2),
            leaf("b", free(8, 3), count=1),
            leaf("c", free(8, 8), count=1, kind=NodeClass(schedulable=False)),
        ],
        label_keys=(),
    )

    verdicts = Space(world).explain(workers(4, constraint=hard(1), cpu=1, gpu=1))

    assert [(v.domain, v.holds, v.wants, v.detail) for v in verdicts] == [
        ("b", 3, 4, "1 node: gpu for 3 pods; 1 more pod of worker needs 1 gpu freed on 1 node"),
        (
            "a",
            1,
            4,
            (
                "2 nodes: too little gpu (at most 0 of 1 free); 1 node: cpu for 1 pod; "
                "3 more pods of worker need 1m cpu and 2 gpu freed on 3 nodes"
            ),
        ),
        ("c", 0, 4, "1 node: cordoned"),
    ]


def test_explain_of_a_cluster_without_a_tree():
    """The cluster itself is named, with the most that any node has free, never the sum."""
    world = topology([], [leaf(None, free(3), node="a"), leaf(None, free(2), node="b")])

    (found,) = Space(world).explain(workers(2, cpu=4))

    assert (found.domain, found.holds, found.wants) == ("", 0, 2)
    assert found.detail.startswith(
        "2 nodes: too little cpu (at most 3m of 4m free); 2 more pods of worker need"
    )
    assert Space(world).explain(workers(2, cpu=4, constraint=hard(1))) == ()


FOUR_RACKS = topology(
    tree(s=(2, None), a=(1, "s"), b=(1, "s")),
    [
        *(leaf("a", free(64, 8), node=f"a{at}") for at in range(3)),
        *(leaf("b", free(64, 8), node=f"b{at}") for at in range(3)),
        leaf("b", free(64, 5), node="b3"),
    ],
)


@pytest.mark.parametrize(
    ("wanted", "want"),
    [
        pytest.param(
            gang(
                pod_set("w", 8, cpu=1, gpu=8, partition=parts(4, 2, 2, hard(1))), constraint=hard(2)
            ),
            {
                "a": "room for 0 of 2 groups of 4 w; one more needs 8 gpu freed on 1 node",
                "b": "room for 0 of 2 groups of 4 w; one more needs 3 gpu freed on 1 node",
                "s": "room for 0 of 2 groups of 4 w; one more needs 3 gpu freed on 1 node in b",
            },
            id="groups: where one more lacks least",
        ),
        pytest.param(
            gang(
                pod_set("p", 2, cpu=1, gpu=6, partition=parts(1, 2, 2, hard(1), "x")),
                pod_set("d", 6, cpu=1, gpu=8, partition=parts(3, 2, 2, hard(1), "x")),
                constraint=hard(2),
            ),
            {
                "a": "room for 0 of 2 groups of 1 p and 3 d; one more needs 6 gpu freed on 1 node",
                "s": (
                    "room for 0 of 2 groups of 1 p and 3 d; one more needs 3 gpu freed on 1 node "
                    "in b"
                ),
            },
            id="groups of two roles: both are put first",
        ),
        pytest.param(
            gang(pod_set("x", 2, cpu=40, gpu=8), pod_set("y", 3, cpu=40), constraint=hard(1)),
            {
                "b": "fits alone, not all together; 1 more pod of y needs 16m cpu freed on 1 node",
                "a": "fits alone, not all together; 2 more pods of x need 32m cpu freed on 2 nodes",
            },
            id="two shapes that fit alone",
        ),
        pytest.param(
            gang(pod_set("x", 4, cpu=1, gpu=8), pod_set("y", 5, cpu=60), constraint=hard(1)),
            {
                "b": (
                    "1 more pod of x needs 3 gpu freed on 1 node; "
                    "1 more pod of y needs 57m cpu freed on 1 node"
                ),
            },
            id="two shapes that lack both",
        ),
    ],
)
def test_explain_says_what_groups_and_shapes_lack(wanted, want):
    """For every domain: whole groups of how many, and what would have to free for one more."""
    verdicts = Space(FOUR_RACKS).explain(wanted)

    found = {v.domain: v.detail for v in verdicts}
    assert {name: found[name][-len(text) :] for name, text in want.items()} == want
    assert [-v.holds for v in verdicts] == sorted(-v.holds for v in verdicts)


def test_a_bound_in_a_gap_between_two_tiers_is_the_lower_one():
    """Tiers may have gaps: a hard bound of 2 over tiers 1 and 3 allows tier 1 only."""
    domains = [domain("core", 3), domain("r1", 1, "core"), domain("r2", 1, "core")]
    world = topology(domains, [leaf("r1", free(4), node="a"), leaf("r2", free(4), node="b")])

    placed = Space(world).place(workers(4, constraint=hard(2)))
    refused = refusal(world, workers(5, constraint=hard(2)))

    assert (placed.domain, placed.tier) == ("r1", 1)
    assert (refused.code, refused.reason) == (Code.NO_FIT, Reason.TOPOLOGY_DOES_NOT_FIT)
