"""Worlds that differ in one thing, and what is looked up for them."""

from global_sched.core.explain.worlds import leaves_of
from global_sched.core.quota.tree import QueueTree
from global_sched.shared.model.queue import Queue


def test_the_leaves_of_a_deep_tree():
    """A thousand levels are walked without recursion."""
    queues = [Queue(name="q0"), *(Queue(name=f"q{i}", parent=f"q{i - 1}") for i in range(1, 1000))]
    tree = QueueTree([*queues, Queue(name="beside", parent="q500")])

    assert leaves_of(tree.node("q0")) == ["beside", "q999"]
    assert leaves_of(tree.node("q999")) == ["q999"]
    assert leaves_of(QueueTree([]).root) == []
