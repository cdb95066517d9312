"""DRF's promises to tenants, on random amounts: exact, up to tasks that cannot be cut.

Ghodsi et al., NSDI 2011, section 4. Their tasks are divisible; here one task of each tenant is what
an answer may be off by.
"""

from collections import Counter
from fractions import Fraction

from hypothesis import given, note
from hypothesis import strategies as st

from global_sched.core import run_cycle
from tests.builders import NOW, POLICY, cluster, gang, pod, pod_set, snapshot, workload
from tests.properties.test_reclaim import COMMON

NAMES = ("cpu", "memory")

tasks = st.tuples(st.integers(1, 6), st.integers(1, 6))
nodes = st.tuples(st.integers(6, 40), st.integers(6, 40))
tenants = st.lists(tasks, min_size=2, max_size=4)


def ran(node, requests):
    """How many tasks of each tenant run on one node, when each has more of them than it holds."""
    waiting = [
        workload(
            f"{at}-{n}",
            needs=gang(pod_set(shape=pod(cpu=cpu, memory=memory))),
            tenant=f"t{at}",
            created=n,
        )
        for at, (cpu, memory) in enumerate(requests)
        for n in range(min(node[0] // cpu, node[1] // memory) + 1)
    ]
    pool = cluster("c", cpu=node[0], memory=node[1], pods=10_000, flat=True)
    world = snapshot(clusters=[pool], pending=waiting)
    plan = run_cycle(world, POLICY, NOW)
    found = Counter(one.workload.split("/")[1].split("-")[0] for one in plan.admissions)
    return [found[str(at)] for at in range(len(requests))]


def share(node, request):
    """The dominant share of one task."""
    return max(Fraction(asked, has) for asked, has in zip(request, node, strict=True))


def held(count, request):
    return [count * asked for asked in request]


def fit(amounts, request):
    """How many whole tasks these amounts are."""
    return min(has // asked for has, asked in zip(amounts, request, strict=True))


@COMMON
@given(nodes, tenants)
def test_nothing_is_left_that_anybody_could_use(node, requests):
    """Pareto efficiency: no further task of any tenant fits."""
    counts = ran(node, requests)

    used = [sum(held(c, r)[at] for c, r in zip(counts, requests, strict=True)) for at in (0, 1)]
    left = [has - one for has, one in zip(node, used, strict=True)]
    assert min(left) >= 0
    assert all(fit(left, one) == 0 for one in requests)


@COMMON
@given(nodes, tenants)
def test_nobody_has_less_than_in_an_equal_part_of_its_own(node, requests):
    """Sharing incentive: a dominant share of 1/n at least, less one task of each tenant."""
    counts = ran(node, requests)
    note(str(counts))

    rest = 1 - sum(share(node, one) for one in requests)
    for count, request in zip(counts, requests, strict=True):
        assert len(requests) * count * share(node, request) >= rest


@COMMON
@given(nodes, tenants)
def test_nobody_would_rather_have_what_another_one_has(node, requests):
    """Envy-freeness: without one task of it, another one's part holds one more of its own at most.

    One more, since those go on filling up for whom there is still room.
    """
    counts = ran(node, requests)
    note(str(counts))

    for mine, request in zip(counts, requests, strict=True):
        for other, shape in zip(counts, requests, strict=True):
            if other:
                assert fit(held(other - 1, shape), request) <= mine + 1


@COMMON
@given(nodes, tenants, st.integers(0, 3), st.integers(0, 3))
def test_nobody_gains_by_asking_for_more_than_it_needs(node, requests, more_cpu, more_memory):
    """Strategy-proofness: who lies about a task gets no more than the tasks that are cut off."""
    honest = ran(node, requests)
    cpu, memory = requests[0]
    lied = ran(node, [(cpu + more_cpu, memory + more_memory), *requests[1:]])
    note(f"{honest} {lied}")

    gained = (lied[0] - honest[0]) * share(node, requests[0])
    assert gained <= sum(share(node, one) for one in requests)
