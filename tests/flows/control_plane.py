"""A control plane with global-sched on it, both in one loop: HTTP between them, virtual time."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.app import GlobalSched, assembled
from global_sched.embedded.apiserver import ApiServer, RequestRecord
from global_sched.embedded.in_process import InProcessTransport
from global_sched.settings import Settings
from global_sched.shared.api import resource as kinds
from global_sched.shared.api import yaml_text
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client, PatchKind
from global_sched.shared.kube.connect import find_source, open_connection
from global_sched.shared.kube.errors import AlreadyExists
from global_sched.shared.kube.faults import FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import Transport
from tests.wire import Object, cluster_object, queue, report, stripped

CRDS = [
    yaml_text.read(path.read_text())
    for path in sorted((Path(__file__).parents[2] / "crds").glob("*.yaml"))
]
_RESOURCES = {
    (one.api_version, one.kind): one for one in vars(kinds).values() if isinstance(one, Resource)
}


class ControlPlane:
    """An embedded API server with all CRDs, and a client of it."""

    def __init__(self, server: ApiServer, client: Client, clock: LoopClock) -> None:
        self.server = server
        self.client = client
        self.clock = clock
        self.writes: Counter[str] = Counter()
        """Requests that changed something, by `verb resource/subresource` and user agent free."""
        server.on_request(self._count)

    def _count(self, record: RequestRecord) -> None:
        if record.verb not in ("get", "list", "watch") and record.code < 300:
            sub = f"/{record.subresource}" if record.subresource else ""
            self.writes[f"{record.verb} {record.resource}{sub}"] += 1

    async def add(self, obj: Object) -> Object:
        """Create an object as Karmada would have it there, status included; the stored one."""
        resource = _RESOURCES[(obj["apiVersion"], obj["kind"])]
        body = stripped(obj)
        namespace = body["metadata"].get("namespace")
        if namespace:
            await self.namespace(namespace)
        stored = await self.client.create(resource, body, namespace=namespace)
        if obj.get("status"):
            stored = await self.client.patch(
                resource,
                body["metadata"]["name"],
                {"status": obj["status"]},
                namespace=namespace,
                subresource="status",
            )
        return stored

    async def namespace(self, name: str) -> None:
        """Create a namespace unless it exists."""
        try:
            await self.client.create(
                kinds.NAMESPACES,
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": name}},
            )
        except AlreadyExists:
            return

    async def member(self, name: str, **of_report: Any) -> None:
        """A ready cluster with a fresh report, its agent's namespace included."""
        await self.add(cluster_object(name))
        await self.add(report(name, at=self.clock.now(), **of_report))

    async def report(self, name: str, **of_report: Any) -> None:
        """The agent's next report."""
        namespace = execution_namespace(name)
        body = report(name, at=self.clock.now(), **of_report)
        await self.client.patch(
            kinds.CAPACITY_REPORTS, "capacity", {"spec": body["spec"]}, namespace=namespace
        )

    async def binding(self, name: str, namespace: str = "team-a") -> Object:
        """A binding as it stands."""
        return await self.client.get(kinds.RESOURCE_BINDINGS, name, namespace=namespace)

    async def until(
        self, what: Callable[[Object], bool], name: str, namespace: str = "team-a"
    ) -> Object:
        """The binding as soon as it is as wanted; fails after 60 virtual seconds."""
        for _ in range(1200):
            found = await self.binding(name, namespace)
            if what(found):
                return found
            await asyncio.sleep(0.05)
        raise AssertionError(f"{namespace}/{name} is still {found}")


@asynccontextmanager
async def control_plane(tmp_path: Path) -> AsyncIterator[ControlPlane]:
    """A server with the CRDs and the queue of the tests."""
    clock = LoopClock()
    server = ApiServer(name="control", clock=clock, seed=1)
    await server.start(listen=False)
    try:
        for crd in CRDS:
            server.install_crd(crd)
        client = Client(await transport_to(server, tmp_path, clock), clock=clock)
        try:
            plane = ControlPlane(server, client, clock)
            await plane.add(queue("default"))
            yield plane
        finally:
            await client.close()
    finally:
        await server.stop()


async def transport_to(server: ApiServer, tmp_path: Path, clock: LoopClock) -> Transport:
    """A transport as every program opens it."""
    kubeconfig = tmp_path / "kubeconfig"
    server.write_kubeconfig(kubeconfig)
    source = find_source(kubeconfig=kubeconfig, context=None, in_cluster=False, clock=clock)
    connection = await open_connection(source, clock=clock)
    return InProcessTransport(connection, {server.url: server})


@asynccontextmanager
async def scheduling(
    plane: ControlPlane, tmp_path: Path, *, faults: FaultPlan | None = None, **settings: Any
) -> AsyncIterator[GlobalSched]:
    """global-sched, leading; `faults` hit its requests; it is stopped as by SIGTERM."""
    stop = asyncio.Event()
    transport = await transport_to(plane.server, tmp_path, plane.clock)
    if faults is not None:
        transport = FaultyTransport(transport, faults, clock=plane.clock)
    options = Settings(identity="test", **settings)
    async with assembled(options, transport, clock=plane.clock) as program:
        running = asyncio.ensure_future(program.run(stop))
        try:
            while program.loop is None or program.loop.cycles == 0:
                if running.done():
                    running.result()
                await asyncio.sleep(0.05)
            yield program
        finally:
            stop.set()
            await running


__all__ = ["ControlPlane", "PatchKind", "control_plane", "scheduling", "transport_to"]
