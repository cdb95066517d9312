"""A whole federation in one process: what its programs and people find."""

import asyncio
from pathlib import Path

import pytest
import yaml

from global_sched.embedded.federation import Federation, MemberSpec, running
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    CAPACITY_REPORTS,
    CLUSTERS,
    DIRECTIVES,
    NAMESPACES,
    NODES,
    PODS,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    SECRETS,
    WORKS,
)
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import Forbidden
from tests.global_sched.embedded.karmada.shapes import NAMESPACE, batch_job, policy
from tests.virtual_time import virtual_time

pytestmark = pytest.mark.slow


def node(name: str):
    """A Node as a kubelet registers it."""
    amounts = {"cpu": "8", "memory": "32Gi", "pods": "110"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name},
        "status": {"allocatable": amounts, "capacity": amounts},
    }


def members(*names: str):
    """Members of two nodes each, with fast pods."""
    options = MemberOptions(start_seconds=0.1, run_seconds=1.0)
    return [
        MemberSpec(
            name=name, region=name, nodes=[node(f"{name}-0"), node(f"{name}-1")], options=options
        )
        for name in names
    ]


@virtual_time
async def test_a_job_goes_through_a_whole_federation():
    """Policy, binding, decision, Work, pods on nodes, and the result back on the template."""
    clock = LoopClock()
    selectors = [{"apiVersion": "batch/v1", "kind": "Job"}]
    async with running(Federation(members("east", "west"), clock=clock)) as world:
        await world.ready()
        admin = world.client()
        await admin.create(NAMESPACES, NAMESPACE)
        await admin.create(PROPAGATION_POLICIES, policy(selectors=selectors), namespace="team-a")
        await admin.create(BATCH_JOBS, batch_job(), namespace="team-a")
        await asyncio.sleep(1)
        await world.client("global-sched").patch(
            RESOURCE_BINDINGS,
            "sweep-job",
            {"spec": {"clusters": [{"name": "west", "replicas": 3}]}},
            namespace="team-a",
        )
        await asyncio.sleep(20)

        job = await admin.get(BATCH_JOBS, "sweep", namespace="team-a")
        pods = (await world.member_client("west").list(PODS, namespace="team-a")).items
        assert [one["type"] for one in job["status"]["conditions"]] == [
            "Complete",
            "SuccessCriteriaMet",
        ]
        assert [pod["status"]["phase"] for pod in pods] == ["Succeeded"] * 3
        assert not (await world.member_client("east").list(PODS, namespace="team-a")).items
        shown = await admin.get(CLUSTERS, "west")
        assert shown["spec"]["region"] == "west"
        assert shown["status"]["nodeSummary"] == {"totalNum": 2, "readyNum": 2}


@virtual_time
async def test_everybody_may_do_what_deploy_says_and_no_more():
    """The rights come from the manifests that a real installation applies."""
    async with running(
        Federation(members("east", "west"), clock=LoopClock(), tenants=["team-a"])
    ) as world:
        agent, leader = world.client("agent/east"), world.client("global-sched")
        person = world.client("tenant/team-a")

        await agent.list(DIRECTIVES, namespace="karmada-es-east")
        await leader.list(CAPACITY_REPORTS)
        await leader.list(WORKS)
        await person.list(RESOURCE_BINDINGS, namespace="team-a")
        await world.member_client("east", agent=True).list(NODES)
        for client, resource, namespace in (
            (agent, DIRECTIVES, "karmada-es-west"),
            (agent, WORKS, "karmada-es-east"),
            (leader, SECRETS, "karmada-cluster"),
            (person, RESOURCE_BINDINGS, "default"),
            (world.member_client("east", agent=True), SECRETS, "kube-system"),
        ):
            with pytest.raises(Forbidden):
                await client.list(resource, namespace=namespace)


async def names_seen(kubeconfig: Path, resource, context: str | None = None) -> list[str]:
    """What a user with a kubeconfig lists."""
    clock = LoopClock()
    transport = await connect(kubeconfig=kubeconfig, context=context, clock=clock)
    client = Client(transport, clock=clock)
    try:
        found = await client.list(resource)
    finally:
        await client.close()
    return [obj["metadata"]["name"] for obj in found.items]


@virtual_time
async def test_kubeconfigs_are_written_for_everybody(tmp_path):
    """One per program and member; people get one file with a context per server."""
    world = Federation(members("east"), clock=LoopClock(), state=tmp_path, tenants=["team-a"])
    async with running(world):
        await world.ready()
        files = world.kubeconfigs
        assert files is not None
        assert files.admin == tmp_path / "kubeconfig"
        assert files.admin.stat().st_mode & 0o777 == 0o600
        contexts = yaml.safe_load(files.admin.read_text())["contexts"]
        assert [one["name"] for one in contexts] == ["control-plane", "east"]
        assert await names_seen(files.admin, CLUSTERS) == ["east"]
        assert await names_seen(files.admin, NODES, context="east") == ["east-0", "east-1"]
        assert await names_seen(files.members["east"], NODES) == ["east-0", "east-1"]
        assert await names_seen(files.agents["east"].member, NODES) == ["east-0", "east-1"]
        assert await names_seen(files.global_sched, CLUSTERS) == ["east"]
        with pytest.raises(Forbidden):
            await names_seen(files.agents["east"].control_plane, CLUSTERS)
        with pytest.raises(Forbidden):
            await names_seen(files.tenants["team-a"], CLUSTERS)


@virtual_time
async def test_a_persistent_federation_comes_back(tmp_path):
    """Objects, tokens and clusters are there again after a restart, from the same folder."""
    for _ in range(2):
        world = Federation(members("east"), clock=LoopClock(), state=tmp_path, persist=True)
        async with running(world):
            await world.ready()
            admin = world.client()
            if (await admin.list(PROPAGATION_POLICIES)).items:
                return
            await admin.create(NAMESPACES, NAMESPACE)
            await admin.create(PROPAGATION_POLICIES, policy(), namespace="team-a")
    pytest.fail("the policy did not survive the restart")
