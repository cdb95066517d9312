"""Members that are cordoned, tainted, out of reach or unjoined: nothing is lost or runs twice."""

import asyncio

from global_sched.shared.api import resource as kinds
from tests.e2e.conftest import FAULTS
from tests.e2e.world import gang, policy
from tests.wire import placement

EAST, WEST = placement("east"), placement("west")
ORDERED = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["east"]},
        {"affinityName": "second", "clusterNames": ["west"]},
    ]
}
"""East, and west when it cannot be east."""
EVICTED = "Evict from cluster east succeed."
"""What Karmada's taint manager says."""


def moving(job, where):
    """A policy under which an evicted copy goes before the new one comes."""
    found = policy(job, where=where)
    found["spec"]["failover"] = {"cluster": {"purgeMode": "Directly"}}
    return found


async def test_a_cordoned_member_gets_nothing_new(faults):
    """What runs there stays, what may go elsewhere does, what may not waits and says why."""
    space = faults.space
    await faults.submit(gang("old", space), where=EAST)
    before = await faults.until_running("east", "old", 2)
    faults.karmadactl("cordon", "east")
    try:
        taints = (await faults.cluster("east"))["spec"]["taints"]
        assert [one["key"] for one in taints] == ["cluster.karmada.io/unschedulable"]

        await faults.submit(gang("free", space), where=placement("east", "west"))
        await faults.submit(gang("bound", space), where=EAST)
        await faults.until_running("west", "free", 2)
        said = await faults.until_waits("bound", "ClusterTaint", "unschedulable", "east")
        assert "NotReady" not in said
        assert await faults.clusters(space, "bound") == {}
    finally:
        faults.karmadactl("uncordon", "east")
    await faults.until_running("east", "bound", 2)
    assert await faults.running("east", "old") == before
    assert [faults.placements(name) for name in ("old", "free", "bound")] == [1, 1, 1]


async def test_a_no_execute_taint_moves_what_does_not_tolerate_it(faults):
    """Karmada evicts, we place again: never in both members; who has no other home waits."""
    space = faults.space
    moves, stuck = gang("moves", space), gang("stuck", space)
    await faults.apply(moving(moves, ORDERED), moves, moving(stuck, EAST), stuck)
    await faults.until_running("east", "moves", 2)
    await faults.until_running("east", "stuck", 2)
    async with faults.never_twice("moves"), faults.tainted("east"):
        for name in ("moves", "stuck"):

            async def evicted(name=name):
                return await faults.evicted(name)

            assert await faults.until(evicted, f"{name} is evicted") == [EVICTED]
        await faults.until_running("west", "moves", 2)
        await faults.until_waits("stuck", "east", "test=gone")
        assert await faults.running("east", "moves") == {}
    await faults.until_running("east", "stuck", 2)
    # The other one is where it is: a taint that goes is no reason to move back.
    assert await faults.clusters(space, "moves") == {"west": 0}
    assert await faults.tasks("moves") == []


async def test_a_member_that_is_out_of_reach_keeps_its_work(faults):
    """Its API server is killed: its pods run on, new work waits with that reason, then runs."""
    space = faults.space
    await faults.submit(gang("old", space), where=placement("east", "west"))
    await faults.until_phase(space, "old", "Running")
    (home,) = await faults.clusters(space, "old")
    before = await faults.until_running(home, "old", 2)
    await faults.federation.stop(f"{home}/kube-apiserver", kill=True)
    try:

        async def lost():
            return await faults.ready(home) == "False"

        await faults.until(lost, f"Karmada finds {home} not Ready")
        await faults.submit(gang("new", space), where=placement(home))
        await faults.until_waits("new", "ClusterNotReady", home)
        assert await faults.clusters(space, "old") == {home: 0}
    finally:
        await faults.federation.start(f"{home}/kube-apiserver")
    await faults.until_running(home, "new", 2)
    assert await faults.running(home, "old") == before
    assert faults.placements("old") == 1


async def test_a_member_that_is_unjoined_loses_its_work_to_another(faults):
    """The binding lets go of it, so Karmada can remove it; the work starts again elsewhere."""
    space = faults.space
    await faults.submit(gang("moves", space), where=ORDERED)
    await faults.submit(gang("stuck", space), where=EAST)
    await faults.until_running("east", "moves", 2)
    await faults.until_running("east", "stuck", 2)
    # Its rights on the control plane end with the member.
    await faults.programs.stop("member-agent-east")
    try:
        async with faults.never_twice("moves"):
            unjoin = asyncio.to_thread(faults.karmadactl, "unjoin", "east", "--wait", "60s")
            left = asyncio.create_task(unjoin)
            await faults.until_running("west", "moves", 2)
            await left
        assert await faults.cluster("east") == {}
        await faults.until_waits("stuck")
        assert await faults.clusters(space, "stuck") == {}

        async def nothing_left():
            return await faults.running("east", "moves") == {}

        await faults.until(nothing_left, "the unjoined member runs nothing of it")
    finally:
        await faults.federation.up(FAULTS)
        await faults.programs.start_agent("east", "--lease-seconds", "4")
    await faults.until_running("east", "stuck", 2)
    assert await faults.clusters(space, "moves") == {"west": 0}
    works = await faults.admin.list(kinds.WORKS, namespace="karmada-es-east")
    assert all(not one["metadata"]["name"].startswith("moves") for one in works.items)


async def test_what_a_member_out_of_reach_has_to_give_up_runs_nowhere_else(faults):
    """Its Work is being deleted, which ends no pod: it goes elsewhere once the member says so.

    The last one: the member's garbage collector ends no pod for a minute after its API server was
    away.
    """
    space, job = faults.space, gang("moves", faults.space)
    await faults.submit(job, where=EAST)
    await faults.until_running("east", "moves", 2)
    async with faults.never_twice("moves"):
        await faults.federation.stop("east/kube-apiserver", kill=True)
        try:
            await faults.apply(policy(job, where=WEST))

            async def deleted():
                works = await faults.works("east")
                mine = [one for one in works if one["metadata"]["name"].startswith("moves-")]
                return [one for one in mine if one["metadata"].get("deletionTimestamp")]

            assert len(await faults.until(deleted, "the Work is being deleted")) == 1
            await asyncio.sleep(20)
            assert len(await deleted()) == 1
            assert [one["fromCluster"] for one in await faults.tasks("moves")] == ["east"]
            await faults.until_waits("moves", "it was withdrawn from east since")
            assert await faults.clusters(space, "moves") == {}
            assert await faults.running("west", "moves") == {}
        finally:
            await faults.federation.start("east/kube-apiserver")
        # Karmada tries its deletion again with a back-off that doubles.
        await faults.until_running("west", "moves", 2, seconds=180)
    assert await faults.tasks("moves") == []
    assert await faults.running("east", "moves") == {}
