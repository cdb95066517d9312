"""The line keeps only the first of every tenant in order: what it gives is right all the same."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.core.order.keys import QUEUE_ORDER, WORKLOAD_ORDER, Sibling
from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import ClusterName, QueueName
from tests.builders import NOW, POLICY, cluster, queue, snapshot, tenant, workload
from tests.deep import examples

TENANTS = {"t1": 1, "t2": 2, "t3": 1}
LEAVES = ("a", "b", "z")
QUEUES = (
    queue("p", weight=2),
    replace(queue("a"), parent=QueueName("p"), deserved=(("cpu", 6000),)),
    replace(queue("b"), parent=QueueName("p")),
    queue("z"),
)
"""Two below p, one of which says what it deserves, and one beside it."""
C = ClusterName("c")


@st.composite
def lines(draw):
    """Workloads of three tenants in three queues, and what happens after each turn."""
    waiting = [
        workload(
            f"w{at}",
            **draw(st.sampled_from(({"cpu": 1}, {"memory": 1}, {"cpu": 1, "memory": 1}))),
            queue=draw(st.sampled_from(LEAVES)),
            tenant=draw(st.sampled_from(tuple(TENANTS))),
            priority=draw(st.sampled_from((0, 0, 10))),
            created=draw(st.integers(0, 3)),
        )
        for at in range(draw(st.integers(2, 12)))
    ]
    change = st.tuples(st.sampled_from(waiting), st.integers(-2, 3))
    return waiting, draw(st.lists(st.lists(change, max_size=2), max_size=12))


@settings(deadline=None, max_examples=examples(80))
@given(lines())
def test_the_first_of_the_first(world):
    """Down the tree the queue that is first as of now, and in it the workload with the least key.

    Between the turns shares grow (admissions) and fall (evictions), of any tenant in any queue.
    """
    waiting, changes = world
    statement = Statement(
        snapshot(
            [cluster("c", racks=1, nodes=4, cpu=16, memory=64)],
            QUEUES,
            [tenant(name, weight=weight) for name, weight in TENANTS.items()],
            pending=waiting,
        ),
        POLICY,
        NOW,
    )
    left, held = list(waiting), Counter()
    happens = iter(changes)

    for _, taken in QueueOrder(waiting, statement):
        assert taken == _first("root", left, statement)[0]
        left.remove(taken)
        for one, more in next(happens, ()):
            who = (one.queue, one.tenant)
            asked = one.demand.gang.pod_sets[0].shape.requests
            more = max(more, -held[who, asked])
            if more > 0:
                statement.charge(one, C, asked.times(more))
            elif more < 0:
                statement.release(one, C, asked.times(-more))
            held[who, asked] += more

    assert not left


def _first(name, left, view):
    """The first workload below a queue, and what it asks for: None where that is had already."""
    own = [one for one in left if one.queue == name]
    if own:
        one = min(own, key=lambda one: tuple(rule(one, view) for rule in WORKLOAD_ORDER.values()))
        return one, tuple(sorted(one.demand.gang.pod_sets[0].shape.requests.names()))
    found = []
    for below in QUEUES:
        if (below.parent or "root") != name:
            continue
        first = _first(below.name, left, view)
        if first is not None:
            saturated, share = view.queue_standing(below.name, first[1])
            place = Sibling(below, saturated, share)
            key = tuple(rule(place) for rule in QUEUE_ORDER.values())
            found.append((key, first[0], None if saturated else first[1]))
    return min(found)[1:] if found else None
