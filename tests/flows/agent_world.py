"""A member and a control plane over HTTP with a real agent between them, in one loop."""

import asyncio
from collections.abc import AsyncIterator, Iterable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.shared.api.federation import CapacityReport
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    CAPACITY_REPORTS,
    DEPLOYMENTS,
    DIRECTIVES,
    HYPER_NODES,
    NAMESPACES,
    NODES,
    POD_GROUPS,
    PODS,
    REPLICA_SETS,
    VOLCANO_JOBS,
    Resource,
)
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client, PatchKind
from global_sched.shared.kube.faults import FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import Transport
from member_agent.app import Agent
from member_agent.settings import Settings
from tests.definitions import crds
from tests.member_agent.member import CLUSTER
from tests.wire import Object, stripped

CRDS = Path(__file__).parents[2] / "crds"
RESOURCES: dict[str, Resource] = {
    "v1/Node": NODES,
    "v1/Pod": PODS,
    "apps/v1/Deployment": DEPLOYMENTS,
    "apps/v1/ReplicaSet": REPLICA_SETS,
    "batch/v1/Job": BATCH_JOBS,
    "batch.volcano.sh/v1alpha1/Job": VOLCANO_JOBS,
    "scheduling.volcano.sh/v1beta1/PodGroup": POD_GROUPS,
    "topology.volcano.sh/v1alpha1/HyperNode": HYPER_NODES,
    "federation.global-sched.io/v1alpha1/Directive": DIRECTIVES,
}


class World:
    """Two servers, the clients of the one who looks, and agents that can be started and killed."""

    def __init__(self, member: ApiServer, control: ApiServer, clock: LoopClock) -> None:
        self.clock = clock
        self.servers = {"member": member, "control": control}
        self.member = self.client("member")
        self.control = self.client("control")
        self.faults = FaultPlan()
        self._uids: dict[str, str] = {}
        self._clients = [self.member, self.control]

    def client(self, server: str, faults: FaultPlan | None = None) -> Client:
        """A client; with faults between it and the server when a plan is given."""
        transport: Transport = InProcessTransport.to(self.servers[server], clock=self.clock)
        if faults is not None:
            transport = FaultyTransport(transport, faults, clock=self.clock)
        return Client(transport, clock=self.clock)

    def install(self, server: str) -> None:
        """The kinds that a server has."""
        words = ("volcano", "kubeflow") if server == "member" else ("global-sched",)
        for word in words:
            for crd in crds(f"*{word}*.yaml"):
                self.servers[server].install_crd(crd)

    async def apply(self, objects: Iterable[Object]) -> None:
        """Create objects with their status; owners before what they own, so that uids are known."""
        for obj in objects:
            await self._apply(obj)

    async def _apply(self, obj: Object) -> None:
        resource = RESOURCES[f"{obj['apiVersion']}/{obj['kind']}"]
        client = self.control if resource == DIRECTIVES else self.member
        namespace = obj["metadata"].get("namespace")
        body = stripped(obj)
        for owner in body["metadata"].get("ownerReferences", ()):
            owner["uid"] = self._uids.get(owner["uid"], owner["uid"])
        stored = await client.create(resource, body, namespace=namespace)
        self._uids[obj["metadata"]["uid"]] = stored["metadata"]["uid"]
        if obj.get("status"):
            await client.patch(
                resource,
                obj["metadata"]["name"],
                {"status": obj["status"]},
                namespace=namespace,
                subresource="status",
            )

    async def direct(self, directive: Object) -> None:
        """Write the Directive, whatever was there."""
        name, namespace = directive["metadata"]["name"], directive["metadata"]["namespace"]
        patch = [{"op": "add", "path": "/spec", "value": directive["spec"]}]
        await self.control.patch(DIRECTIVES, name, patch, namespace=namespace, kind=PatchKind.JSON)

    async def nodes_of_pods(self, namespace: str = "team") -> dict[str, str]:
        """Pod name to node, for pods that have one."""
        pods = (await self.member.list(PODS, namespace=namespace)).items
        return {
            pod["metadata"]["name"]: pod["spec"]["nodeName"]
            for pod in pods
            if pod["spec"].get("nodeName")
        }

    async def end_deleted_pods(self, namespace: str = "team") -> None:
        """Play the kubelet: pods that are being deleted are gone."""
        for pod in (await self.member.list(PODS, namespace=namespace)).items:
            if pod["metadata"].get("deletionTimestamp"):
                name = pod["metadata"]["name"]
                await self.member.delete(PODS, name, namespace=namespace, grace_seconds=0)

    async def report(self) -> CapacityReport:
        """The first slice of the member's report."""
        return await self.control.get(
            CAPACITY_REPORTS,
            CLUSTER,
            namespace=execution_namespace(CLUSTER),
            type=CapacityReport,
        )

    async def reported(self, binding: str) -> Any:
        """What the report says of one binding."""
        report = await self.report()
        return next(w for w in report.spec.workloads or () if w.binding == binding)

    @asynccontextmanager
    async def agent(self, **settings: Any) -> AsyncIterator[Agent]:
        """A running agent that has published its first report."""
        member = self.client("member", self.faults)
        control = self.client("control", self.faults)
        given = {"cluster": CLUSTER, "identity": "a", "lease_seconds": 5.0} | settings
        agent = Agent(member, control, Settings(**given), self.clock)
        task = asyncio.create_task(agent.run())
        try:
            waiter = asyncio.create_task(agent.ready.wait())
            await asyncio.wait((task, waiter), return_when=asyncio.FIRST_COMPLETED)
            waiter.cancel()
            if task.done():
                return
            yield agent
        finally:
            task.cancel()
            await asyncio.wait([task])
            await member.close()
            await control.close()
            if not task.cancelled():
                task.result()

    async def close(self) -> None:
        """Close the lookers' clients."""
        for client in self._clients:
            await client.close()


@asynccontextmanager
async def agent_world(
    objects: Iterable[Object] = (), directive: Object | None = None, *, sockets: bool = False
) -> AsyncIterator[World]:
    """A member with these objects, and a control plane with its execution namespace.

    sockets: both servers listen, for programs that run as processes.
    """
    clock = LoopClock()
    member, control = ApiServer(clock=clock, seed=1), ApiServer(clock=clock, seed=2)
    await member.start(listen=sockets)
    await control.start(listen=sockets)
    world = World(member, control, clock)
    try:
        world.install("member")
        world.install("control")
        await world.member.create(NAMESPACES, {"metadata": {"name": "team"}})
        await world.control.create(NAMESPACES, {"metadata": {"name": execution_namespace(CLUSTER)}})
        await world.apply(objects)
        if directive is not None:
            await world.apply([directive])
        yield world
    finally:
        await world.close()
        await member.stop()
        await control.stop()


def annotation(obj: Mapping[str, Any], name: str) -> str:
    """An annotation's value, empty when absent."""
    return str((obj["metadata"].get("annotations") or {}).get(name, ""))
