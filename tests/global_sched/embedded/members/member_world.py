"""A running member on its own API server, and an observer."""

import asyncio
from collections.abc import AsyncIterator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.embedded.members import Member, MemberOptions, NodePlan, rack_plan
from global_sched.shared.api.resource import NAMESPACES, PODS, PRIORITY_CLASSES, Resource
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Unreachable
from global_sched.shared.kube.transport import (
    Request,
    Response,
    StreamResponse,
    Transport,
)
from tests import definitions

ROOT = Path(__file__).parents[4]
TEAM = "team-a"
PLAN = rack_plan("m1", racks=2, nodes=2)

Obj = dict[str, Any]


class Looker:
    """Reads and writes as a user does, in one namespace."""

    def __init__(self, client: Client, member: Member, server: ApiServer) -> None:
        self.client = client
        self.member = member
        self.server = server

    async def add(self, resource: Resource, obj: Obj) -> Obj:
        """Create an object in the team's namespace."""
        whole = {"apiVersion": resource.api_version, "kind": resource.kind, **obj}
        return await self.client.create(resource, whole, namespace=TEAM)

    async def get(self, resource: Resource, name: str) -> Obj:
        """An object of the team's namespace."""
        return await self.client.get(resource, name, namespace=TEAM)

    async def pods(self) -> dict[str, Obj]:
        """The team's pods by name."""
        items = (await self.client.list(PODS, namespace=TEAM)).items
        return {pod["metadata"]["name"]: pod for pod in items}

    async def phases(self) -> dict[str, str]:
        """The phases of the team's pods."""
        return {name: pod["status"]["phase"] for name, pod in (await self.pods()).items()}

    async def bind(self, pod: str, node: str) -> None:
        """Bind a pod, as a scheduler does."""
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        await self.client.post_subresource(PODS, pod, "binding", body, namespace=TEAM)


class LosingTransport:
    """Loses some requests of a client on their way: those that `loses` says yes to."""

    def __init__(self, transport: Transport, loses: Callable[[Request], bool]) -> None:
        self._transport = transport
        self._loses = loses

    async def send(self, request: Request) -> Response:
        """The answer, or Unreachable."""
        if self._loses(request):
            raise Unreachable("lost on the way", target=request.target)
        return await self._transport.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[StreamResponse]:
        """Streams are never lost."""
        return self._transport.stream(request)

    async def close(self) -> None:
        """Close what carries the rest."""
        await self._transport.close()


@asynccontextmanager
async def member(
    *,
    plan: NodePlan = PLAN,
    crds: str = "*.yaml",
    loses: Callable[[Request], bool] = lambda _: False,
    sockets: bool = False,
    **options: Any,
) -> AsyncIterator[Looker]:
    """A member with two racks of two nodes of 64 CPUs and 8 GPUs; `loses` some of its requests.

    sockets: its server listens, for programs that run as processes.
    """
    clock = LoopClock()
    server = ApiServer(clock=clock, seed=1)
    await server.start(listen=sockets)
    for crd in definitions.crds(crds):
        server.install_crd(crd)
    transport = InProcessTransport.to(server, clock=clock)
    client = Client(LosingTransport(transport, loses), clock=clock)
    await client.create(NAMESPACES, {"metadata": {"name": TEAM}})
    await client.create(PRIORITY_CLASSES, {"metadata": {"name": "train-high"}, "value": 1000})
    made = Member(client, clock=clock, nodes=plan, options=MemberOptions(**options))
    running = asyncio.create_task(made.run())
    try:
        ready = asyncio.create_task(made.ready.wait())
        await asyncio.wait((ready, running), return_when=asyncio.FIRST_COMPLETED)
        if running.done():
            ready.cancel()
            running.result()
        yield Looker(client, made, server)
    finally:
        running.cancel()
        await asyncio.gather(running, return_exceptions=True)
        await client.close()
        await server.stop()


def pod(
    name: str,
    *,
    annotations: Any = None,
    scheduler: str = "default-scheduler",
    restart: str = "Never",
    limits: Any = None,
    **spec: Any,
) -> Obj:
    """A pod manifest."""
    container = {"name": "c", "image": "registry.example/t:1"}
    if limits is not None:
        container["resources"] = {"limits": limits}
    return {
        "metadata": {"name": name, "annotations": annotations or {}},
        "spec": {
            "restartPolicy": restart,
            "schedulerName": scheduler,
            "containers": [container],
            **spec,
        },
    }


def template(*, labels: Any = None, annotations: Any = None, **spec: Any) -> Obj:
    """A pod template."""
    containers = [{"name": "c", "image": "registry.example/t:1"}]
    meta = {"labels": labels or {}, "annotations": annotations or {}}
    return {"metadata": meta, "spec": {"containers": containers, **spec}}
