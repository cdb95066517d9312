"""An elastic gang gets what as many jobs of one pod would get: the line orders pods, not gangs."""

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.model.queue import Queue
from tests.builders import (
    NOW,
    POLICY,
    cluster,
    gang,
    pod,
    pod_set,
    queue,
    snapshot,
    tenant,
    workload,
)
from tests.properties.test_reclaim import COMMON, LEAVES, trees

TENANTS = ("t1", "t2", "t3")
ONE = pod(cpu=1)


@st.composite
def whole_trees(draw):
    """Trees where queues deserve whole CPUs and together what theirs do; none goes first."""
    deserved = {name: draw(st.integers(1, 3)) for name in LEAVES}
    deserved["p"], deserved["q"] = deserved["p-x"] + deserved["p-y"], deserved["q-z"]
    return [
        Queue(
            name=one.name,
            parent=one.parent,
            deserved=(("cpu", deserved[one.name] * 1000), ("pods", deserved[one.name])),
            capability=one.capability,
        )
        for one in draw(trees())
    ]


def wishes(homes, priorities=(0,)):
    """How many pods are wanted in a queue by a tenant, with a priority."""
    who = st.tuples(st.sampled_from(homes), st.sampled_from(priorities))
    return st.dictionaries(who, st.integers(1, 12), min_size=1, max_size=6)


def counted(wanted, queues, tenants, cpus, *, each):
    """The pods that run, by who wanted them: as one elastic gang, or as a job for `each`."""
    pool = cluster("c", nodes=1, cpu=cpus, gpus=0, flat=True, pods=100)
    pending = [
        workload(
            f"{number}.{at}",
            needs=gang(pod_set(pods=1 if each else pods, minimum=1, shape=ONE), minimum=1),
            queue=queue,
            tenant=of,
            priority=priority,
            created=number + 100 * bool(at),  # surplus is behind all minimums
        )
        for number, (((queue, of), priority), pods) in enumerate(wanted.items())
        for at in range(pods if each else 1)
    ]
    shared = {one.demand: one.demand for one in pending}  # as the cache does
    pending = [replace(one, demand=shared[one.demand]) for one in pending]
    plan = run_cycle(snapshot([pool], queues, tenants, pending=pending), POLICY, NOW)
    found = Counter()
    for one in plan.admissions:
        number = one.workload.split("/")[1].split(".")[0]
        found[number] += sum(grant.amounts.pods() for grant in one.decision.grants)
    return found


@COMMON
@given(whole_trees(), wishes([(name, f"of-{name}") for name in LEAVES]), st.integers(1, 15))
def test_queues_have_as_many_pods_as_jobs_of_one(queues, wanted, cpus):
    """In trees of queues, by queue: the same number of pods."""
    tenants = [tenant(f"of-{name}") for name in LEAVES]

    elastic = counted(wanted, queues, tenants, cpus, each=False)

    assert elastic == counted(wanted, queues, tenants, cpus, each=True)


@COMMON
@given(
    wishes([("q", name) for name in TENANTS], (0, 10)),
    st.integers(1, 15),
    st.lists(st.integers(1, 3), min_size=3, max_size=3),
)
def test_tenants_have_as_many_pods_as_jobs_of_one(wanted, cpus, weights):
    """In one queue, by tenant and priority: the same number of pods."""
    tenants = [tenant(name, weight=one) for name, one in zip(TENANTS, weights, strict=True)]

    elastic = counted(wanted, [queue("q")], tenants, cpus, each=False)

    assert elastic == counted(wanted, [queue("q")], tenants, cpus, each=True)
