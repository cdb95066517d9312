"""Our writes suffice for components that evict: tolerations, tasks, the generation we have seen."""

import json

from global_sched.shared.api.names import APPLIED_PLACEMENT
from tests.e2e.faults import Write, settled
from tests.e2e.test_faults_members import EVICTED, ORDERED, moving
from tests.e2e.world import gang, policy
from tests.wire import deployment, placement, stripped
from tools.local_karmada.karmada import USER

DIVIDED = {
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    }
}


async def test_the_taint_manager_reads_our_applied_placement(faults):
    """It holds the tolerations of the policy that was applied: who tolerates the taint stays."""
    space = faults.space
    tolerant = ORDERED | {"clusterTolerations": [{"key": "test", "operator": "Exists"}]}
    stays, goes = gang("stays", space), gang("goes", space)
    await faults.apply(policy(stays, where=tolerant), stays, moving(goes, ORDERED), goes)
    before = await faults.until_running("east", "stays", 2)
    await faults.until_running("east", "goes", 2)
    binding = await faults.binding(space, "stays")
    applied = json.loads(binding["metadata"]["annotations"][APPLIED_PLACEMENT])
    assert applied == binding["spec"]["placement"]

    async with faults.tainted("east"):
        await faults.until_running("west", "goes", 2)

        async def told():
            return await faults.evicted("goes") == [EVICTED]

        await faults.until(told, "Karmada's Event of the eviction")  # it follows behind
        assert await faults.evicted("stays") == []
        assert await faults.running("east", "stays") == before


async def test_an_evicted_cluster_is_not_chosen_while_it_is_being_left(faults):
    """The taint goes at once, and the old copy is still there: the new home is another one."""
    space = faults.space
    web = deployment("web", replicas=2, namespace=space)
    claim = policy(web, where=placement("east", "west", divided=True))
    await faults.apply(claim, stripped(web))
    home = await faults.until_placed_whole("web", 2)
    other = {"east": "west", "west": "east"}[home]

    async with faults.tainted(home):

        async def leaving():
            tasks = await faults.tasks("web", "Deployment")
            return [(one["fromCluster"], one["producer"]) for one in tasks]

        assert await faults.until(leaving, "Karmada evicts") == [(home, "TaintManager")]

    async def left():
        return not await faults.tasks("web", "Deployment")

    await faults.until(left, "the new copy is healthy, and the task is over")
    await faults.until_placed("web", other, kind="Deployment")
    assert await faults.clusters(space, "web", "Deployment") == {other: 2}

    async def gone():
        return not await faults.running(home, "web")

    await faults.until(gone, "the old copy is gone")


async def test_the_old_copy_stays_until_the_new_one_is_healthy(faults):
    """A graceful eviction has no gap: as many as wanted run at every look."""
    space = faults.space
    web = deployment("web", replicas=2, namespace=space)
    await faults.apply(policy(web, where=ORDERED | DIVIDED), stripped(web))
    await faults.until_running("east", "web", 2)
    least = []

    async def moved():
        east, west = [await faults.running(name, "web") for name in ("east", "west")]
        least.append(len(east) + len(west))
        return len(west) == 2 and not east

    async with faults.tainted("east"):
        await faults.until(moved, "both run in west, none in east")
    assert min(least) >= 2
    assert await faults.tasks("web", "Deployment") == []


async def test_without_a_new_home_the_old_copy_is_not_taken_at_once(faults):
    """Nothing is in spec.clusters, which is vacuously healthy: we must not call that seen."""
    space = faults.space
    train = gang("train", space)
    await faults.submit(train, where=placement("east"))
    before = await faults.until_running("east", "train", 2)
    async with faults.tainted("east"):
        await faults.until_waits("train", "test=gone")
        binding = await faults.binding(space, "train")
        assert not binding["spec"].get("clusters")
        assert not settled(binding)
        assert [one["fromCluster"] for one in await faults.tasks("train")] == ["east"]
        assert await faults.running("east", "train") == before

        async def over():
            return not await faults.tasks("train")

        await faults.until(over, "Karmada's time for it is over")
    await faults.until_running("east", "train", 2)


async def test_the_descheduler_takes_replicas_that_cannot_start(faults):
    """It lowers our `spec.clusters`; what it took is placed elsewhere, and never there again."""
    space = faults.space
    nodes = {
        name: faults.kubectl("get", "nodes", "-o", "name", kubeconfig=path).split()[0]
        for name, path in faults.federation.kubeconfigs.members.items()
    }
    web = deployment("web", replicas=2, namespace=space)
    web["spec"]["template"]["spec"]["nodeSelector"] = {"test": "web"}
    for name, node in nodes.items():
        _on(faults, name, "label", "--overwrite", node, "test=web")
    try:
        claim = policy(web, where=placement("east", "west", divided=True))
        await faults.apply(claim, stripped(web))
        home = await faults.until_placed_whole("web", 2)
        other = {"east": "west", "west": "east"}[home]
        _on(faults, home, "cordon", nodes[home])
        _on(faults, home, "delete", "pods", "-n", space, "--all", "--wait=false")

        await faults.until_running(other, "web", 2)
        await faults.until_placed("web", other, kind="Deployment")
        descheduler = Write(user=f"{USER}karmada-descheduler", sub="")
        assert descheduler in faults.writes("web", "Deployment")
        assert await faults.clusters(space, "web", "Deployment") == {other: 2}
    finally:
        for name, node in nodes.items():
            _on(faults, name, "uncordon", node)
            _on(faults, name, "label", node, "test-")


def _on(faults, member, *command):
    path = faults.federation.kubeconfigs.members[member]
    if command[0] == "label":
        command = ("label", "nodes", *command[1:])
        command = tuple(one.removeprefix("node/") for one in command)
    return faults.kubectl(*command, kubeconfig=path)
