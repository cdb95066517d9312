"""The tree of queues: what is wrong with it, and what each queue holds."""

import pytest

from global_sched.core.quota.tree import QueueTree
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources

CPU = "cpu"


def q(name, parent="root", **fields):
    """A queue; amounts are of cpu."""
    for field in ("capability", "deserved", "guarantee"):
        if field in fields:
            fields[field] = ((CPU, fields[field]),)
    return Queue(name=name, parent=parent, **fields)


def frozen(*queues):
    """Why, by queue that is frozen."""
    return {node.queue.name: node.frozen for node in QueueTree(queues).order if node.frozen}


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param([q("a"), q("b", "a")], {}, id="all is well"),
        pytest.param([q("root", ""), q("a")], {}, id="the root has an object"),
        pytest.param(
            [q("a", "gone"), q("b", "a"), q("c")],
            {
                "a": "spec.parent: queue gone does not exist; create it or use another",
                "b": "above it, queue a: spec.parent: queue gone does not exist; create it or use "
                "another",
            },
            id="a parent that is gone",
        ),
        pytest.param(
            [q("a", "a"), q("b")],
            {"a": "spec.parent: a -> a is a cycle; one of them needs another parent"},
            id="its own parent",
        ),
        pytest.param(
            [q("a", "b"), q("b", "c"), q("c", "a"), q("d", "b"), q("e")],
            {
                **dict.fromkeys(
                    "abc",
                    "spec.parent: a -> b -> c -> a is a cycle; one of them needs another parent",
                ),
                "d": "above it, queue b: spec.parent: a -> b -> c -> a is a cycle; one of them "
                "needs another parent",
            },
            id="a cycle, and what hangs on it",
        ),
        pytest.param(
            [q("a", capability=2), q("b", "a", guarantee=3), q("c", "a")],
            {
                "b": "spec.guarantee.resource[cpu]: 3m is more than 2m, which its parent a can "
                "keep; lower it"
            },
            id="one guarantee is more than the parent may have",
        ),
        pytest.param(
            [q("a", guarantee=3), q("b", "a", guarantee=2), q("c", "a", guarantee=2), q("d")],
            {
                "a": "the guarantees of its children add up to cpu 4m, and it can keep 3m; lower "
                "some of them",
                "b": "above it, queue a: the guarantees of its children add up to cpu 4m, and it "
                "can keep 3m; lower some of them",
                "c": "above it, queue a: the guarantees of its children add up to cpu 4m, and it "
                "can keep 3m; lower some of them",
            },
            id="guarantees are more than the parent's own",
        ),
        pytest.param(
            [q("a", problem="bad weight"), q("b", "a")],
            {"a": "bad weight", "b": "above it, queue a: bad weight"},
            id="an object that cannot be read",
        ),
    ],
)
def test_trouble(queues, want):
    """What cannot be right is frozen with everything below it, and says why; the rest goes on."""
    assert frozen(*queues) == want


def test_held_counts_in_all_above():
    """A charge is seen in the queue, in those above it and nowhere else."""
    tree = QueueTree([q("a"), q("b", "a"), q("c", "a")])

    tree.charge(tree.node("b"), "m", Resources.of({CPU: 5}), 1)
    tree.charge(tree.node("c"), "m", Resources.of({CPU: 2}), 1)
    tree.charge(tree.node("b"), "m", Resources.of({CPU: 1}), -1)

    assert {node.queue.name: node.held for node in tree.order} == {
        "root": {CPU: 6},
        "a": {CPU: 6},
        "b": {CPU: 4},
        "c": {CPU: 2},
    }


def test_occupied_absorbs_what_is_guaranteed():
    """A queue occupies its guarantee, or what it holds where that is more; a parent the sum."""
    tree = QueueTree([q("a", guarantee=5), q("b", "a", guarantee=3), q("c", "a"), q("d")])
    steps = [("b", 2, 5), ("c", 1, 5), ("c", 2, 6), ("b", 4, 9), ("d", 1, 10), ("c", -3, 7)]

    found = []
    for name, more, _ in steps:
        tree.charge(tree.node(name), "m", Resources.of({CPU: abs(more)}), 1 if more > 0 else -1)
        found.append((name, more, tree.root.inner[CPU]))

    assert found == steps


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param([q("a", guarantee=5)], 5, id="all is well"),
        pytest.param([q("a", guarantee=5, capability=3, problem="no")], 0, id="a frozen one"),
        pytest.param([q("o", problem="no"), q("a", "o", guarantee=5)], 0, id="below a frozen one"),
        pytest.param([q("a", guarantee=9), q("b", guarantee=2)], 2, id="more than there is"),
        pytest.param([q("o"), q("a", "o", guarantee=9)], 0, id="more than there is, further down"),
        pytest.param([q("a", guarantee=5), q("b", guarantee=5)], 10, id="only together more"),
    ],
)
def test_what_is_kept_free(queues, want):
    """Nothing is kept for a frozen queue, nor what all clusters together do not have: 8 here."""
    tree = QueueTree(queues, {CPU: 8})

    assert tree.root.inner.get(CPU, 0) == want
    assert [node.queue.name for node in tree.order if node.notice] == [
        one.queue.name for one in tree.order if dict(one.queue.guarantee).get(CPU, 0) > 8
    ]


def test_an_amount_that_nobody_has_is_told():
    """It freezes nothing: the queue is admitted from, and others use what is there."""
    tree = QueueTree([q("a", guarantee=9000)], {CPU: 8000})

    node = tree.node("a")

    assert (node.frozen, node.kept) == ("", {})
    assert node.notice == (
        "spec.guarantee.resource[cpu]: 9 is more than 8, which all clusters have together; "
        "nothing is kept free for it; lower it"
    )


@pytest.mark.parametrize(
    ("queues", "want"),
    [
        pytest.param([q("a")], None, id="nothing said: all that there is"),
        pytest.param([q("a", deserved=1)], {CPU}, id="its own words"),
        pytest.param([q("o", deserved=1), q("a", "o")], {CPU}, id="those of the nearest above"),
        pytest.param(
            [Queue(name="a", deserved=((CPU, 1),), guarantee=(("gpu", 1),))],
            {CPU, "gpu"},
            id="and what it is guaranteed",
        ),
        pytest.param(
            [q("o", deserved=1), Queue(name="a", parent="o", guarantee=(("gpu", 1),))],
            {CPU, "gpu"},
            id="under words of one above",
        ),
        pytest.param(
            [Queue(name="a", deserved=((CPU, 1),), guarantee=(("gpu", 0),))],
            {CPU},
            id="a guarantee of nothing names nothing",
        ),
    ],
)
def test_which_resources_it_is_entitled_to(queues, want):
    """What its deserved names, or that of the nearest queue above, and what is guaranteed."""
    assert QueueTree(queues).node("a").named == want


def test_a_thousand_levels():
    """Depth is no trouble: no recursion, and a charge is one sum per level."""
    depth = 1000
    queues = [q("q0000"), *(q(f"q{i:04d}", f"q{i - 1:04d}") for i in range(1, depth))]
    tree = QueueTree(queues)
    tree.charge(tree.node("q0999"), "m", Resources.of({CPU: 1}), 1)

    assert not any(node.frozen for node in tree.order)
    assert (tree.node("q0999").depth, len(tree.node("q0999").path)) == (depth, depth + 1)
    assert tree.node("q0000").held == {CPU: 1}


def test_a_queue_without_an_object_stands_alone():
    """What runs in a deleted queue counts in the root, and the queue is frozen."""
    tree = QueueTree([q("a")])

    tree.charge(tree.node("gone"), "m", Resources.of({CPU: 1}), 1)

    assert tree.root.held == {CPU: 1}
    assert tree.node("gone").frozen == "it does not exist"
