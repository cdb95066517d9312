"""The line keeps only the first of every tenant in order: what it gives is right all the same."""

import os
from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.core.order import Line
from global_sched.core.plugins import WORKLOAD_ORDER
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import ClusterName
from tests.builders import NOW, POLICY, cluster, queue, resources, snapshot, tenant, workload

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"
TENANTS = {"t1": 1, "t2": 2, "t3": 1}
QUEUES = ("a", "b")
C = ClusterName("c")


@st.composite
def lines(draw):
    """Workloads of three tenants in two queues, and what happens after each turn."""
    waiting = [
        workload(
            f"w{at}",
            cpu=1,
            queue=draw(st.sampled_from(QUEUES)),
            tenant=draw(st.sampled_from(tuple(TENANTS))),
            priority=draw(st.sampled_from((0, 0, 10))),
            created=draw(st.integers(0, 3)),
        )
        for at in range(draw(st.integers(2, 12)))
    ]
    change = st.tuples(st.sampled_from(waiting), st.integers(-2, 3))
    return waiting, draw(st.lists(st.lists(change, max_size=2), max_size=12))


@settings(deadline=None, max_examples=10_000 if DEEP else 200)
@given(lines())
def test_the_first_of_a_queue(world):
    """Of all that wait in a queue the one with the least key as of now has its turn.

    Between the turns shares grow (admissions) and fall (evictions), of any tenant in any queue.
    """
    waiting, changes = world
    statement = Statement(
        snapshot(
            [cluster("c", racks=1, nodes=4, cpu=16, memory=64)],
            [queue(name) for name in QUEUES],
            [tenant(name, weight=weight) for name, weight in TENANTS.items()],
            pending=waiting,
        ),
        POLICY,
        NOW,
    )
    left, held = list(waiting), Counter()
    happens = iter(changes)

    for _, taken in Line(waiting, statement):
        rest = [one for one in left if one.queue == taken.queue]
        assert taken == min(rest, key=lambda one: _key(one, statement))
        left.remove(taken)
        for one, cpus in next(happens, ()):
            who = (one.queue, one.tenant)
            cpus = max(cpus, -held[who])
            if cpus > 0:
                statement.charge(one, C, resources(cpu=cpus))
            elif cpus < 0:
                statement.release(one, C, resources(cpu=-cpus))
            held[who] += cpus

    assert not left


def _key(one, view):
    return tuple(rule(one, view) for rule in WORKLOAD_ORDER.values())
