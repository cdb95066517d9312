"""In a managed namespace what should happen happens: our writes, Karmada's, a tenant's own."""

import json

import pytest

from global_sched.dispatch.patches import withdrawal_patch
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.model.decision_text import parse_decision
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Withdrawal
from tests.e2e.admission import MANAGED, guarded, policies
from tests.e2e.waiting import until
from tests.e2e.world import policy
from tests.wire import deployment, placement, stripped


@pytest.fixture
async def scheduler(federation):
    """A client with global-sched's own credential."""
    clock = SystemClock()
    transport = await connect(kubeconfig=federation.kubeconfigs.global_sched, clock=clock)
    client = Client(transport, clock=clock, user_agent="global-sched")
    yield client
    await client.close()


async def test_a_tenants_day(world, federation, kubectl, space, scheduler):
    """A tenant submits, global-sched places and takes back, Karmada carries, cleans up, deletes."""
    async with guarded(federation, kubectl, space) as managed:
        web = deployment("web", replicas=2, namespace=space)
        where = placement("east", "west", divided=True)
        for obj in (policy(web, where=where), web):
            assert "created" in managed.attempt("tenant", ("create", "-f", "-"), stripped(obj))

        async def running():
            found = await world.get(kinds.DEPLOYMENTS, "web", space)
            return found.get("status", {}).get("readyReplicas") == 2

        await world.until(running, "both pods run, and the tenant sees it")
        before = await world.clusters(space, "web", "Deployment")

        await _take_back(world, scheduler, space, before)

        async def elsewhere():
            binding = await world.binding(space, "web", "Deployment")
            tasks = binding["spec"].get("gracefulEvictionTasks")
            return not tasks and bool(binding["spec"].get("clusters"))

        await world.until(elsewhere, "Karmada has removed the task, and the work has a place")
        assert "deleted" in managed.attempt("tenant", ("delete", "deployment", "web"))

        async def gone():
            return not await world.binding(space, "web", "Deployment")

        await world.until(gone, "the binding went with its Deployment")


async def _take_back(world, scheduler, space, clusters):
    """What global-sched writes when a member cannot hold a workload, on the newest version."""
    cluster = min(clusters)

    async def written():
        binding = await world.binding(space, "web", "Deployment")
        body = withdrawal_patch(
            Withdrawal(
                workload=WorkloadKey(f"{space}/web-deployment"),
                uid=binding["metadata"]["uid"],
                resource_version=binding["metadata"]["resourceVersion"],
                cluster=ClusterName(cluster),
                replicas=clusters[cluster],
                targets=(),
                decision=parse_decision(binding["metadata"]["annotations"][DECISION]),
                reason="NotPlacedInTime",
                message="the member could not place it",
            ),
            binding["spec"].get("gracefulEvictionTasks") or [],
        )
        name = "web-deployment"
        return await scheduler.patch(kinds.RESOURCE_BINDINGS, name, body, namespace=space)

    done = await world.until(written, "the withdrawal is accepted")
    assert [one["fromCluster"] for one in done["spec"]["gracefulEvictionTasks"]] == [cluster]


async def test_what_tenants_may_set_they_may(federation, kubectl, space):
    """Annotations of federation.global-sched.io, and policies that name our scheduler."""
    async with guarded(federation, kubectl, space) as managed:
        meta = {"name": "mine", "annotations": {"federation.global-sched.io/min-parallelism": "2"}}
        config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": meta}
        named = policy(deployment("none", namespace=space))

        assert managed.passes("tenant", ("create", "-f", "-"), config)
        assert managed.passes("tenant", ("create", "-f", "-"), named)


async def test_a_managed_namespace_can_be_deleted(federation, kubectl, space):
    """Kubernetes' own controller removes the bindings in it, and Karmada its finalizers."""
    async with guarded(federation, kubectl, space):
        other = f"{space}-going"
        kubectl("create", "namespace", other)
        kubectl("label", "namespace", other, MANAGED)
        web = policy(deployment("web", namespace=other), where=placement("east"))
        kubectl("create", "-f", "-", stdin=json.dumps(web))
        kubectl("-n", other, "create", "deployment", "web", "--image=none")

        def bound():
            return kubectl("-n", other, "get", "resourcebindings", "-o", "name")

        await until(bound, "Karmada has made a binding")
        kubectl("delete", "namespace", other, "--timeout=60s")


async def test_other_namespaces_notice_nothing(federation, kubectl, space):
    """Without the label, a namespace is as Karmada left it."""
    async with guarded(federation, kubectl, space) as managed:
        kubectl("label", "namespace", space, "federation.global-sched.io/managed-")
        other = policy(deployment("none", namespace=space), scheduler="default-scheduler")

        def accepted():
            return managed.passes("tenant", ("create", "-f", "-"), other)

        await until(accepted, "the policy of another scheduler is accepted")


async def test_the_api_server_finds_no_fault_in_the_expressions(federation, kubectl, space):
    """Every policy was type checked against the kinds that are there, without a warning."""
    async with guarded(federation, kubectl, space):

        def checked():
            text = kubectl("get", "validatingadmissionpolicies", "-o", "json")
            found = {
                one["metadata"]["name"]: one["status"]["typeChecking"]
                for one in json.loads(text)["items"]
                if "typeChecking" in one.get("status", {})
            }
            return found if set(policies()) <= set(found) else {}

        found = await until(checked, "every policy is type checked")

    assert {name: found[name] for name in policies()} == {name: {} for name in policies()}
