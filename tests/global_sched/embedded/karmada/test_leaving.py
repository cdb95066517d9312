"""Leaving a cluster: directly, gracefully, by taint; and being placed again on demand."""

from typing import Any

import pytest

from global_sched.embedded.karmada import KarmadaOptions
from global_sched.shared.api.propagation import WORKLOAD_REBALANCERS
from global_sched.shared.api.resource import CLUSTERS, DEPLOYMENTS, RESOURCE_BINDINGS, WORKS
from tests.global_sched.embedded.karmada.karmada_world import KarmadaWorld, exists, karmada_world
from tests.global_sched.embedded.karmada.shapes import NAMESPACE, deployment, policy
from tests.global_sched.embedded.karmada.test_dispatch import WEB_WORK, place
from tests.virtual_time import virtual_time

pytestmark = pytest.mark.slow


def task(cluster: str, mode: str, **more: Any):
    """An eviction task."""
    return {
        "fromCluster": cluster,
        "purgeMode": mode,
        "reason": "PlacementTimeout",
        "producer": "global-sched",
    } | more


async def spec(world: KarmadaWorld):
    """The spec of web's binding."""
    return (await world.get(RESOURCE_BINDINGS, "web-deployment", "team-a"))["spec"]


async def healthy(world: KarmadaWorld, cluster: str):
    """The member's controllers have rolled the copy out."""
    member = world.members[cluster]
    copy = await member.get(DEPLOYMENTS, "web", namespace="team-a")
    number = copy["spec"]["replicas"]
    status = {
        "observedGeneration": copy["metadata"]["generation"],
        "replicas": number,
        "updatedReplicas": number,
        "availableReplicas": number,
    }
    await member.patch(
        DEPLOYMENTS, "web", {"status": status}, namespace="team-a", subresource="status"
    )
    await world.settle()


async def observed(world: KarmadaWorld):
    """The scheduler has seen the newest spec, dated tasks included."""
    binding = await world.get(RESOURCE_BINDINGS, "web-deployment", "team-a")
    status = {"schedulerObservedGeneration": binding["metadata"]["generation"]}
    await world.control.patch(
        RESOURCE_BINDINGS,
        "web-deployment",
        {"status": status},
        namespace="team-a",
        subresource="status",
    )
    await world.settle()


async def started(world: KarmadaWorld):
    """The Deployment runs in m1."""
    await world.apply(NAMESPACE, policy(), deployment())
    await world.settle()
    await place(world, ("m1", 4))
    await healthy(world, "m1")


@virtual_time
async def test_directly_takes_the_old_copy_first():
    """While the old Work is there no new one is made; the task ends as a graceful one does."""
    async with karmada_world("m1", "m2") as world:
        await started(world)
        hold = {"metadata": {"finalizers": ["karmada.io/execution-controller", "test/hold"]}}
        await world.control.patch(WORKS, WEB_WORK, hold, namespace="karmada-es-m1")
        await place(world, ("m2", 4), gracefulEvictionTasks=[task("m1", "Directly")])
        await world.settle(30)
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        assert not await exists(world.members["m2"], DEPLOYMENTS, "web", "team-a")
        assert "creationTimestamp" in (await spec(world))["gracefulEvictionTasks"][0]

        release = {"metadata": {"finalizers": []}}
        await world.control.patch(WORKS, WEB_WORK, release, namespace="karmada-es-m1")
        await world.settle()
        assert await exists(world.members["m2"], DEPLOYMENTS, "web", "team-a")
        assert "gracefulEvictionTasks" in await spec(world)
        await healthy(world, "m2")
        await observed(world)
        assert "gracefulEvictionTasks" not in await spec(world)


@virtual_time
async def test_a_withdrawal_without_a_new_home_keeps_its_task():
    """The copy goes at once; Karmada ends the task after its time only, as the real one does."""
    async with karmada_world("m1", "m2") as world:
        await started(world)
        await place(world, gracefulEvictionTasks=[task("m1", "Directly")])
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        await world.settle(590)
        (only,) = (await spec(world))["gracefulEvictionTasks"]
        assert only["fromCluster"] == "m1"
        await world.settle(20)
        assert "gracefulEvictionTasks" not in await spec(world)


@virtual_time
async def test_gracefully_waits_for_the_new_copy():
    """The old copy stays until all of spec.clusters is healthy and the scheduler is up to date."""
    async with karmada_world("m1", "m2") as world:
        await started(world)
        await place(world, ("m2", 4), gracefulEvictionTasks=[task("m1", "Gracefully")])
        await world.settle(60)
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        await healthy(world, "m2")
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        await observed(world)

        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        assert "gracefulEvictionTasks" not in await spec(world)


@virtual_time
async def test_gracefully_gives_up_after_its_time():
    """A new copy that never gets healthy does not keep the old one for ever."""
    async with karmada_world("m1", "m2") as world:
        await started(world)
        tasks = [task("m1", "Gracefully", gracePeriodSeconds=60)]
        await place(world, ("m2", 4), gracefulEvictionTasks=tasks)
        await world.settle(50)
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        await world.settle(15)

        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")


@virtual_time
async def test_suppressed_deletion_keeps_the_copy_until_it_is_released():
    """Only `suppressDeletion` counts for such a task, whatever the mode says."""
    async with karmada_world("m1", "m2") as world:
        await started(world)
        kept = [task("m1", "Never", suppressDeletion=True)]
        await place(world, ("m2", 4), gracefulEvictionTasks=kept)
        await world.settle(1000)
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")

        released = [task("m1", "Never", suppressDeletion=False)]
        patch = {"spec": {"gracefulEvictionTasks": released}}
        await world.control.patch(RESOURCE_BINDINGS, "web-deployment", patch, namespace="team-a")
        await world.settle()
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")


PLACEMENT = "policy.karmada.io/applied-placement"


@virtual_time
async def test_a_no_execute_taint_does_nothing_by_default():
    """Eviction by taint has to be enabled."""
    async with karmada_world("m1") as world:
        await started(world)
        await tainted(world, "m1", '{"clusterTolerations":[]}')

        assert (await spec(world))["clusters"] == [{"name": "m1", "replicas": 4}]


async def tainted(world: KarmadaWorld, name: str, placement: str):
    """A NoExecute taint on a cluster, and the placement that the scheduler has applied."""
    notes = {"metadata": {"annotations": {PLACEMENT: placement}}}
    await world.control.patch(RESOURCE_BINDINGS, "web-deployment", notes, namespace="team-a")
    added = "2026-01-01T00:00:00Z"
    taint = {"key": "broken", "effect": "NoExecute", "timeAdded": added}
    await world.control.patch(CLUSTERS, name, {"spec": {"taints": [taint]}})
    await world.settle()


@virtual_time
async def test_a_no_execute_taint_evicts_when_enabled():
    """Out of spec.clusters, with a task that says by whom and why."""
    async with karmada_world("m1", options=KarmadaOptions(no_execute_eviction=True)) as world:
        await started(world)
        await tainted(world, "m1", '{"clusterTolerations":[{"key":"other","operator":"Exists"}]}')

        found = await spec(world)
        assert "clusters" not in found
        (only,) = found["gracefulEvictionTasks"]
        assert only | {"creationTimestamp": ""} == {
            "fromCluster": "m1",
            "purgeMode": "Gracefully",
            "reason": "TaintUntolerated",
            "producer": "TaintManager",
            "replicas": 4,
            "creationTimestamp": "",
        }


@virtual_time
async def test_a_toleration_for_a_time_evicts_after_it():
    """`tolerationSeconds` count from when the taint was added."""
    placement = (
        '{"clusterTolerations":[{"key":"broken","operator":"Exists","tolerationSeconds":120}]}'
    )
    async with karmada_world("m1", options=KarmadaOptions(no_execute_eviction=True)) as world:
        await started(world)
        await tainted(world, "m1", placement)
        assert "clusters" in await spec(world)
        await world.settle(120)

        assert "clusters" not in await spec(world)


@virtual_time
async def test_a_rebalancer_tells_the_binding():
    """It gets the time at which the rebalancer was made; a template without binding is reported."""
    web = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "namespace": "team-a",
        "name": "web",
    }
    missing = web | {"name": "none"}
    async with karmada_world("m1") as world:
        await started(world)
        await world.apply(
            {
                "apiVersion": WORKLOAD_REBALANCERS.api_version,
                "kind": "WorkloadRebalancer",
                "metadata": {"name": "again"},
                "spec": {"workloads": [web, missing], "ttlSecondsAfterFinished": 30},
            }
        )
        await world.settle()
        made = await world.get(WORKLOAD_REBALANCERS, "again")
        assert (await spec(world))["rescheduleTriggeredAt"] == (
            made["metadata"]["creationTimestamp"]
        )
        assert made["status"]["observedWorkloads"] == [
            {"workload": web, "result": "Successful"},
            {"workload": missing, "result": "Failed", "reason": "ReferencedBindingNotFound"},
        ]
        await world.settle(40)
        assert not await world.exists(WORKLOAD_REBALANCERS, "again")
