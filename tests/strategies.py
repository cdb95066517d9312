"""Random worlds for properties, drawn through the builders."""

from dataclasses import replace

from hypothesis import strategies as st

from global_sched.shared.model.cluster import Cluster, Readiness
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.placement_rule import (
    ClusterField,
    PlacementRule,
    Preference,
    SpreadRule,
)
from global_sched.shared.model.workload import Division, Workload
from tests.builders import NOW, cluster, queue, snapshot, tenant, workload
from tests.worlds import World, world_of

CLUSTERS = ("c1", "c2", "c3")
QUEUES = ("q1", "q2", "q3")
TENANTS = ("t1", "t2", "t3")


@st.composite
def clusters(draw, name):
    """A member of one to three racks of small nodes, now and then in some trouble."""
    racks = draw(st.integers(1, 3))
    return cluster(
        name,
        racks=racks,
        nodes=draw(st.lists(st.integers(1, 3), min_size=racks, max_size=racks)),
        gpus=draw(st.sampled_from((1, 2, 4))),
        cpu=8,
        memory=32,
        pods=draw(st.sampled_from((3, 110))),
        flat=draw(st.sampled_from((False, False, False, True))),
        region=draw(st.sampled_from(("r1", "r2"))),
        report_age=draw(st.sampled_from((1, 1, 1, 1, 1, 100))),
        readiness=draw(st.sampled_from((Readiness.READY,) * 7 + (Readiness.UNKNOWN,))),
    )


@st.composite
def queues(draw, name):
    """A queue, often with a limit on GPUs."""
    return queue(
        name,
        priority=draw(st.sampled_from((0, 0, 5))),
        weight=draw(st.integers(1, 3)),
        gpus=draw(st.sampled_from((None, None, 0, 3, 6))),
        is_open=draw(st.sampled_from((True,) * 6 + (False,))),
    )


def _rules():
    return st.builds(
        PlacementRule,
        preference=st.sampled_from(Preference),
        spread=st.sampled_from(
            (
                (),
                (),
                (),
                (SpreadRule(by=ClusterField.CLUSTER, minimum=1, maximum=2),),
                (SpreadRule(by=ClusterField.CLUSTER, minimum=2),),
                (SpreadRule(by=ClusterField.REGION, minimum=1, maximum=1),),
            )
        ),
    )


@st.composite
def workloads(draw, name):
    """A workload of any division; its amounts are of the order of what the clusters have."""
    division = draw(st.sampled_from((Division.WHOLE,) * 4 + tuple(Division)))
    pods = draw(st.integers(0 if draw(st.booleans()) else 1, 5))
    minimum = None if division != Division.WHOLE else draw(st.integers(0, pods))
    if division == Division.DIVIDED:
        minimum = min(1, pods)
    return workload(
        name,
        pods=pods,
        minimum=minimum,
        gpus=draw(st.integers(0, 2)),
        cpu=draw(st.sampled_from((0, 1, 4))),
        tier=draw(st.sampled_from((None, None, 1, 2))),
        division=division,
        placement=draw(_rules()) if division != Division.WHOLE else None,
        queue=draw(st.sampled_from((*QUEUES, "missing") if draw(st.booleans()) else QUEUES)),
        tenant=draw(st.sampled_from(TENANTS)),
        priority=draw(st.sampled_from((0, 0, 10))),
        created=draw(st.integers(0, 3)),
    )


@st.composite
def worlds(draw, most=8):
    """A world in which nothing runs yet."""
    count = draw(st.integers(1, 3))
    jobs = draw(st.integers(0, most))
    pending = [draw(workloads(f"w{i}")) for i in range(jobs)]
    size = draw(st.integers(0, 3))
    grouped = [replace(one, group="g", group_size=size) for one in pending[:size]]
    grouped = [one for one in grouped if one.demand.division != Division.COPIED]
    names = {one.name for one in grouped}
    return snapshot(
        clusters=[draw(clusters(name)) for name in CLUSTERS[:count]],
        queues=[draw(queues(name)) for name in QUEUES],
        tenants=[
            tenant(
                name,
                weight=draw(st.integers(1, 3)),
                queues=draw(st.sampled_from(((), (), ("q1",)))),
            )
            for name in TENANTS
        ],
        pending=grouped + [one for one in pending if one.name not in names],
    )


def changed(world: World, workload_changes: dict, cluster_changes: dict) -> World:
    """The world with other workloads and clusters under the same names."""
    return world_of(
        clusters=tuple(cluster_changes.get(one.name, one) for one in world.base),
        queues=world.queues,
        tenants=world.tenants,
        workloads=tuple(workload_changes.get(one.key, one) for one in world.workloads),
        epoch=world.epoch,
        given=world.given,
    )


@st.composite
def disturbances(draw, world: World):
    """What happens between two cycles: jobs change size or end, members come and go."""
    workload_changes = {one.key: draw(_happens(one)) for one in world.workloads}
    cluster_changes = {one.name: draw(_befalls(one)) for one in world.base}
    return changed(world, workload_changes, cluster_changes)


@st.composite
def _happens(draw, one: Workload):
    """One workload's fate."""
    gang = one.demand.gang
    match draw(st.integers(0, 9)):
        case 0 if one.targets:
            return replace(one, finished=True)
        case 1 if gang is not None:
            pods = draw(st.integers(1, 6))
            only = replace(gang.pod_sets[0], count=pods, minimum=min(pods, gang.minimum))
            sized = replace(gang, pod_sets=(only,), minimum=only.minimum)
            return replace(one, demand=replace(one.demand, gang=sized), generation=2)
        case 2 if one.targets:
            return replace(one, reschedule_at=Instant(NOW + SECOND))
        case 3 if one.targets:
            return replace(one, placement_applied=False)
        case 4 if one.targets:
            return replace(one, generation=one.generation + 1)
        case 5:
            return replace(one, leaving=())
        case _:
            return one


@st.composite
def _befalls(draw, one: Cluster):
    """One member's fate."""
    match draw(st.integers(0, 9)):
        case 0:
            return replace(one, terminating=True)
        case 1:
            return replace(one, readiness=Readiness.NOT_READY)
        case _:
            return one
