"""Clusters: registration, health, what they show, taints, and leaving."""

import asyncio

import pytest

from global_sched.embedded.karmada.cluster_content import resource_summary, with_health_taints
from global_sched.shared.api.resource import (
    CLUSTERS,
    CRDS,
    DEPLOYMENTS,
    NAMESPACES,
    NODES,
    PODS,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from tests.global_sched.embedded.karmada.karmada_world import (
    KarmadaWorld,
    exists,
    karmada_world,
    recorded_clusters,
)
from tests.global_sched.embedded.karmada.shapes import NAMESPACE, deployment, policy
from tests.global_sched.embedded.karmada.test_dispatch import place
from tests.virtual_time import virtual_time

pytestmark = pytest.mark.slow


def node(name: str, *, ready: bool = True, **allocatable: str):
    """A Node with a Ready condition."""
    amounts = {"cpu": "64", "memory": "512Gi", "pods": "110"} | allocatable
    condition = {"type": "Ready", "status": "True" if ready else "False"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts, "conditions": [condition]},
    }


def pod(name: str, cpu: str, *, node_name: str = ""):
    """A Pod that asks for CPU."""
    container = {"name": "c", "image": "i", "resources": {"requests": {"cpu": cpu}}}
    spec = {"containers": [container]} | ({"nodeName": node_name} if node_name else {})
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "namespace": "default"},
        "spec": spec,
    }


def condition(cluster, kind: str):
    """A condition of a Cluster: status and reason."""
    found = next(one for one in cluster["status"]["conditions"] if one["type"] == kind)
    return found["status"], found["reason"]


@virtual_time
async def test_a_registered_cluster_shows_what_a_real_one_shows():
    """The same conditions, grades and sums as the recorded member with equal nodes."""
    real = next(one for one in recorded_clusters() if one["metadata"]["name"] == "member1")
    async with karmada_world("member1", register=False) as world:
        for index in range(8):
            await world.members["member1"].create(
                NODES, node(f"m1-{index}", **{"nvidia.com/gpu": "8"})
            )
        await world.apply(
            {
                "apiVersion": CLUSTERS.api_version,
                "kind": "Cluster",
                "metadata": {"name": "member1"},
                "spec": {"syncMode": "Push"},
            }
        )
        await world.settle(15)
        here = await world.get(CLUSTERS, "member1")

    assert here["metadata"]["finalizers"] == real["metadata"]["finalizers"]
    assert here["spec"]["resourceModels"] == real["spec"]["resourceModels"]
    for field in ("nodeSummary", "resourceSummary"):
        assert here["status"][field] == real["status"][field]
    assert [condition(here, kind) for kind in ("CompleteAPIEnablements", "Ready")] == [
        condition(real, kind) for kind in ("CompleteAPIEnablements", "Ready")
    ]
    served = {one["groupVersion"] for one in here["status"]["apiEnablements"]}
    assert {"apps/v1", "batch.volcano.sh/v1alpha1", "batch/v1", "v1"} <= served


def test_resource_summary():
    """All nodes count, ready or not; waiting and bound pods apart; ended ones not at all."""
    ended = pod("d", "8", node_name="a") | {"status": {"phase": "Succeeded"}}
    pods = [pod("b", "1500m", node_name="a"), pod("c", "1"), ended]

    found = resource_summary([node("a", ready=False), node("b")], pods, [])

    assert found == {
        "allocatable": {"cpu": "128", "memory": "1Ti", "pods": "220"},
        "allocating": {"cpu": "1", "pods": "1"},
        "allocated": {"cpu": "1500m", "pods": "1"},
    }


def test_health_taints():
    """Not ready and unreachable are NoSchedule taints; the users' own taints stay."""
    own = {"key": "mine", "effect": "NoSchedule"}
    now = "2026-01-01T00:00:00Z"
    not_ready = {
        "key": "cluster.karmada.io/not-ready",
        "effect": "NoSchedule",
        "timeAdded": now,
    }

    assert with_health_taints([own], "False", now) == [own, not_ready]
    assert with_health_taints([own, not_ready], "False", "later") == [own, not_ready]
    assert with_health_taints([own, not_ready], "True", now) == [own]


@virtual_time
async def test_a_member_that_is_away_is_tainted_after_a_while_and_recovers_after_a_while():
    """Both changes count after they have lasted for the threshold."""
    async with karmada_world("m1") as world:
        server = world.servers["m1"]
        await server.stop()
        await world.settle(20)
        assert condition(await world.get(CLUSTERS, "m1"), "Ready")[0] == "True"
        await world.settle(40)
        away = await world.get(CLUSTERS, "m1")
        assert condition(away, "Ready") == ("False", "ClusterNotReachable")
        assert [one["key"] for one in away["spec"]["taints"]] == ["cluster.karmada.io/not-ready"]

        await server.start(listen=False)
        await world.settle(20)
        assert condition(await world.get(CLUSTERS, "m1"), "Ready")[0] == "False"
        await world.settle(40)
        back = await world.get(CLUSTERS, "m1")
        assert condition(back, "Ready") == ("True", "ClusterReady")
        assert "taints" not in back["spec"]


@virtual_time
async def test_pods_move_the_sums():
    """A pod that waits is allocating, one with a node is allocated."""
    async with karmada_world("m1") as world:
        member = world.members["m1"]
        await member.create(NODES, node("a"))
        await member.create(PODS, pod("waits", "2"), namespace="default")
        await member.create(PODS, pod("runs", "3", node_name="a"), namespace="default")
        await world.settle(12)

        summary = (await world.get(CLUSTERS, "m1"))["status"]["resourceSummary"]
        assert summary["allocating"] == {"cpu": "2", "pods": "1"}
        assert summary["allocated"] == {"cpu": "3", "pods": "1"}


@virtual_time
async def test_kinds_that_a_member_learns_are_noticed():
    """A definition that arrives is in apiEnablements soon, one that leaves is gone."""
    async with karmada_world("m1") as world:
        member = world.members["m1"]
        await member.delete(CRDS, "pytorchjobs.kubeflow.org")
        await world.settle(2)
        enabled = (await world.get(CLUSTERS, "m1"))["status"]["apiEnablements"]

        assert "kubeflow.org/v1" not in {one["groupVersion"] for one in enabled}


@virtual_time
async def test_a_cluster_that_leaves_takes_its_works_along():
    """Copies, Works and the execution namespace go before the Cluster object."""
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, policy(), deployment())
        await world.settle()
        await place(world, "m1", "m2")
        await place(world, "m2")
        await world.control.delete(CLUSTERS, "m1")
        await world.settle(10)

        assert not await world.exists(CLUSTERS, "m1")
        assert not await world.exists(NAMESPACES, "karmada-es-m1")
        works = (await world.control.list(WORKS)).items
        assert {work["metadata"]["namespace"] for work in works} == {"karmada-es-m2"}
        assert await exists(world.members["m2"], DEPLOYMENTS, "web", "team-a")


@virtual_time
async def test_a_settled_federation_writes_nothing():
    """After everything is in place, an hour passes without a single write."""
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, policy(), deployment())
        await world.settle()
        await place(world, "m1", "m2")
        await world.settle(15)
        writes = world.writes()
        await asyncio.sleep(3600)

        assert writes == []


@virtual_time
async def test_a_restart_changes_nothing():
    """Controllers that start on a finished world find everything as it should be."""
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, policy(propagateDeps=True), deployment())
        await world.settle()
        await place(world, "m1", "m2")
        await world.settle(15)
        before = await versions(world)
        await world.stop()
        world.start()
        await world.settle(30)

        assert await versions(world) == before


async def versions(world: KarmadaWorld):
    """The versions of everything that the controllers write."""
    kinds = (WORKS, RESOURCE_BINDINGS, CLUSTERS, DEPLOYMENTS, PROPAGATION_POLICIES)
    objects = [obj for kind in kinds for obj in (await world.control.list(kind)).items]
    for member in world.members.values():
        objects += (await member.list(DEPLOYMENTS)).items
    return [(obj["metadata"]["name"], obj["metadata"]["resourceVersion"]) for obj in objects]
