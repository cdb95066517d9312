"""An elastic gang gets what as many jobs of one pod would get: the line orders pods, not gangs."""

from collections import Counter
from dataclasses import replace

from hypothesis import given, note
from hypothesis import strategies as st

from global_sched.core import run_cycle
from tests.builders import NOW, POLICY, cluster, gang, pod, pod_set, snapshot, tenant, workload
from tests.properties.test_reclaim import COMMON, LEAVES, trees

TENANTS = ("t1", "t2", "t3")
ONE = pod(cpu=1)


@st.composite
def whole_trees(draw):
    """Trees where everybody deserves whole CPUs, no queue goes first and none keeps what it has."""
    return [
        replace(
            one,
            cluster_capability=(),
            guarantee=(),
            priority=0,
            weight=1,
            reclaimable=True,
            deserved=one.deserved or (("cpu", 1000), ("pods", 1)),
        )
        for one in draw(trees())
    ]


wishes = st.dictionaries(
    st.tuples(st.sampled_from(LEAVES), st.sampled_from(TENANTS), st.sampled_from((0, 10))),
    st.integers(1, 12),
    min_size=1,
    max_size=6,
)
"""How many pods a tenant wants in a queue, with a priority."""


def counted(plan):
    """Pods by what the names begin with."""
    found = Counter()
    for one in plan.admissions:
        name = one.workload.split("/")[1].split(".")[0]
        found[name] += sum(grant.amounts.pods() for grant in one.decision.grants)
    return found


@COMMON
@given(whole_trees(), wishes, st.integers(1, 15), st.lists(st.integers(1, 3), min_size=3))
def test_as_jobs_of_one_pod(queues, wanted, cpus, weights):
    """By queue, tenant and priority, in trees of queues: the same number of pods."""
    pool = cluster("c", nodes=1, cpu=cpus, gpus=0, flat=True, pods=100)
    tenants = [tenant(name, weight=weights[at]) for at, name in enumerate(TENANTS)]

    def run(each):
        pending = [
            workload(
                f"{number}.{at}",
                needs=gang(pod_set(pods=1 if each else pods, minimum=1, shape=ONE), minimum=1),
                queue=queue,
                tenant=of,
                priority=priority,
                created=number,
            )
            for number, ((queue, of, priority), pods) in enumerate(wanted.items())
            for at in range(pods if each else 1)
        ]
        return run_cycle(snapshot([pool], queues, tenants, pending=pending), POLICY, NOW)

    elastic, single = counted(run(each=False)), counted(run(each=True))

    note(f"{elastic} {single}")
    assert elastic == single
