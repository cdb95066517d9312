"""A control plane with Karmada's controllers and bare members, for tests in virtual time."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.embedded.karmada import Karmada, KarmadaOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api import yaml_text
from global_sched.shared.api.resource import CLUSTERS, NAMESPACES, Resource
from global_sched.shared.api.schema import crd
from global_sched.shared.clock import LoopClock
from global_sched.shared.kinds.crds import CRD_KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound

Obj = dict[str, Any]
DATA = Path(__file__).parents[3] / "data" / "karmada-1.18.2"
RESOURCES = {
    (one.api_version, one.kind): one
    for one in (
        *(value for value in vars(kinds).values() if isinstance(value, Resource)),
        *(kind.resource for kind in CRD_KINDS),
    )
}
WRITES = ("create", "update", "patch", "delete", "deletecollection")


def recorded(step: str, what: str) -> list[Obj]:
    """The objects of one file of the recording."""
    text = (DATA / step / f"{what}.yaml").read_text(encoding="utf-8")
    return yaml_text.read(text)["items"] or []


def recorded_clusters() -> list[Obj]:
    """The Cluster objects of the recording."""
    return yaml_text.read((DATA / "0-clusters.yaml").read_text(encoding="utf-8"))["items"]


def applied() -> list[Obj]:
    """What the user of the recording applied, in order."""
    text = (DATA / "0-applied.yaml").read_text(encoding="utf-8")
    return [obj for obj in yaml_text.read_all(text) if obj]


async def exists(client: Client, resource: Resource, name: str, namespace: str | None = None):
    """Whether an object is there."""
    try:
        await client.get(resource, name, namespace=namespace)
    except NotFound:
        return False
    return True


class KarmadaWorld:
    """Servers, clients and controllers of one test."""

    def __init__(self, names: tuple[str, ...], options: KarmadaOptions | None) -> None:
        self.clock = LoopClock()
        self.server = ApiServer(name="control-plane", clock=self.clock)
        self.servers = {name: ApiServer(name=name, clock=self.clock) for name in names}
        self.members: dict[str, Client] = {}
        self.control: Client
        self.karmada: Karmada
        self._options = options
        self._clients: list[Client] = []
        self._task: asyncio.Task[None] | None = None

    async def open(self) -> None:
        """Start the servers, with all kinds."""
        for server in (self.server, *self.servers.values()):
            await server.start(listen=False)
            for kind in CRD_KINDS:
                server.install_crd(crd(kind))
        self.control = self._client(self.server)
        self.members = {name: self._client(server) for name, server in self.servers.items()}
        await self.control.create(NAMESPACES, {"metadata": {"name": "karmada-cluster"}})

    def _client(self, server: ApiServer) -> Client:
        client = Client(InProcessTransport.to(server, clock=self.clock), clock=self.clock)
        self._clients.append(client)
        return client

    async def register(self) -> None:
        """Make every member a Ready cluster."""
        for name in self.members:
            cluster = {
                "apiVersion": CLUSTERS.api_version,
                "kind": CLUSTERS.kind,
                "metadata": {"name": name},
                "spec": {"syncMode": "Push"},
            }
            await self.control.create(CLUSTERS, cluster)
        await self.karmada.registered()

    def start(self) -> None:
        """Start the controllers, new ones that know nothing."""
        self.karmada = Karmada(self.control, self.members, clock=self.clock, options=self._options)
        self._task = asyncio.create_task(self.karmada.run())

    async def stop(self) -> None:
        """End the controllers."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    async def close(self) -> None:
        """End everything."""
        await self.stop()
        for client in self._clients:
            await client.close()
        for server in (*self.servers.values(), self.server):
            await server.stop()

    async def apply(self, *objects: Obj, client: Client | None = None) -> None:
        """Create objects, in order."""
        for obj in objects:
            resource = RESOURCES[(obj["apiVersion"], obj["kind"])]
            body = {key: value for key, value in obj.items() if key != "status"}
            namespace = obj["metadata"].get("namespace")
            await (client or self.control).create(resource, body, namespace=namespace)

    async def settle(self, seconds: float = 5.0) -> None:
        """Let that much virtual time pass."""
        await asyncio.sleep(seconds)

    async def get(self, resource: Resource, name: str, namespace: str | None = None) -> Obj:
        """An object of the control plane."""
        return await self.control.get(resource, name, namespace=namespace)

    async def exists(self, resource: Resource, name: str, namespace: str | None = None) -> bool:
        """Whether an object of the control plane is there."""
        return await exists(self.control, resource, name, namespace)

    def writes(self) -> list[str]:
        """A list that grows by every write to any server from now on."""
        found: list[str] = []

        def note(record: Any) -> None:
            if record.verb in WRITES:
                found.append(f"{record.verb} {record.resource}")

        for server in (self.server, *self.servers.values()):
            server.on_request(note)
        return found


@asynccontextmanager
async def karmada_world(
    *names: str, register: bool = True, options: KarmadaOptions | None = None
) -> AsyncIterator[KarmadaWorld]:
    """A world with these members (member1 and member2 by default), registered and Ready."""
    world = KarmadaWorld(names or ("member1", "member2"), options)
    try:
        await world.open()
        world.start()
        if register:
            await world.register()
        yield world
    finally:
        await world.close()
