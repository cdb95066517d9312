"""A whole federation in one process: API servers, Karmada's controllers, members that run pods.

The programs (global-sched, the agents) are not part of it: they connect with the kubeconfigs
that `Federation.kubeconfigs` names, with the rights that the manifests in `deploy/` give.
"""

import asyncio
import functools
import ssl
from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from global_sched.embedded.access import DEPLOY, ensure, grant, manifests
from global_sched.embedded.apiserver.http.tls import loopback_tls
from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.credentials import Kubeconfigs, Tokens, write_kubeconfigs
from global_sched.embedded.in_process import InProcessTransport
from global_sched.embedded.karmada import Karmada, KarmadaOptions
from global_sched.embedded.members import Member, MemberOptions, NodePlan
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    MANAGED_NAMESPACE,
    SYSTEM_NAMESPACE,
    execution_namespace,
)
from global_sched.shared.api.resource import (
    CLUSTERS,
    HYPER_NODES,
    NAMESPACES,
    POD_GROUPS,
    PRIORITY_CLASSES,
    QUEUES,
)
from global_sched.shared.api.schema import crd
from global_sched.shared.clock import Clock
from global_sched.shared.kinds.crds import CRD_KINDS, WORKLOADS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import find_source, open_connection
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.transport import AiohttpTransport, Transport

Obj = dict[str, Any]
CONTROL_PLANE: Final = "control-plane"
FREE_PORTS: Final[Mapping[str, int]] = {}
Link = Callable[[str, str, Transport], Transport]
"""From client, server and transport to the transport that is used."""
_MEMBER_KINDS: Final = (
    POD_GROUPS,
    QUEUES,
    HYPER_NODES,
    *(one.resource for one in WORKLOADS),
)
_START_KINDS: Final = {
    (one.api_version, one.kind): one for one in (NAMESPACES, PRIORITY_CLASSES, HYPER_NODES, QUEUES)
}


class FederationError(Exception):
    """A federation cannot be made; the message says what is missing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """One member: its place in the world, and what it holds from the start.

    nodes: manifests, or a plan that brings its HyperNodes; they heartbeat and run pods.
    objects: queues, PriorityClasses, namespaces, HyperNodes.
    """

    name: str
    nodes: Sequence[Obj] | NodePlan = ()
    hyper_nodes: Sequence[Obj] = ()
    labels: Mapping[str, str] = field(default_factory=dict)
    provider: str = ""
    region: str = ""
    zones: Sequence[str] = ()
    taints: Sequence[Obj] = ()
    objects: Sequence[Obj] = ()
    options: MemberOptions | None = None


class Federation:
    """One control plane and its members, running between `start` and `stop`.

    state: a folder for the kubeconfigs and tokens; with `persist` the servers' state too, so that
    everything survives a restart. Without a folder there are no kubeconfigs, only `client`.
    tls: the servers speak HTTPS, so that kubectl sends the tokens of the kubeconfigs.
    tenants: namespaces whose users get a kubeconfig with the rights of `deploy/tenants`.
    ports: by server name (`control-plane`, the members); a free one otherwise. None: the servers
        do not listen, and only this process reaches them (`transport`).
    """

    def __init__(
        self,
        members: Sequence[MemberSpec],
        *,
        clock: Clock,
        state: Path | None = None,
        persist: bool = False,
        tls: bool = False,
        tenants: Sequence[str] = (),
        karmada: KarmadaOptions | None = None,
        ports: Mapping[str, int] | None = FREE_PORTS,
    ) -> None:
        if not DEPLOY.is_dir():
            raise FederationError(
                f"{DEPLOY} is not there: an embedded federation needs the manifests of the package"
            )
        self._specs = tuple(members)
        self._clock = clock
        self._state = state
        self._tenants = tuple(tenants)
        self._options = karmada
        self._ports = ports or {}
        self._listen = ports is not None
        self._tokens = Tokens(state)
        names = [spec.name for spec in members]
        data = state / "data" if state is not None and persist else None
        self._tls = loopback_tls(state, clock.now()) if state is not None and tls else None
        self.control = ApiServer(
            name=CONTROL_PLANE,
            clock=clock,
            data_dir=data / CONTROL_PLANE if data else None,
            tokens=self._tokens.control_plane(names, self._tenants),
            tls=self._tls,
        )
        self.members = {
            name: ApiServer(
                name=name,
                clock=clock,
                data_dir=data / "members" / name if data else None,
                tokens=self._tokens.member(name),
                tls=self._tls,
            )
            for name in names
        }
        self.kubeconfigs: Kubeconfigs | None = None
        self._clients: list[Client] = []
        self._karmada: Karmada | None = None
        self._running: list[Member] = []
        self._task: asyncio.Task[None] | None = None
        self.link: Link | None = None
        """Put between its own clients and the servers, by name; for faults."""

    # --- clients ------------------------------------------------------------------------------

    def client(self, who: str = "admin") -> Client:
        """A client of the control plane: `admin`, `global-sched`, `agent/NAME`, `tenant/NAME`."""
        return self._client(self.control, who, who)

    def running_member(self, name: str) -> Member:
        """A member that runs, to lose nodes of it and to bring them back."""
        names = [spec.name for spec in self._specs]
        return self._running[names.index(name)]

    def member_client(self, name: str, *, agent: bool = False) -> Client:
        """A client of a member: its administrator's, or its agent's."""
        who = f"member-agent/{name}" if agent else f"member/{name}"
        return self._client(self.members[name], who, who)

    def _client(self, server: ApiServer, who: str, agent: str) -> Client:
        tls = None
        if self._tls is not None:
            tls = ssl.create_default_context(cadata=self._tls.authority)
        token = self._tokens.of(who)
        connection = Connection.to(server.url, clock=self._clock, token=token, tls=tls)
        transport = self._carrier(connection)
        if self.link is not None:
            transport = self.link(agent, server.name, transport)
        client = Client(transport, clock=self._clock, user_agent=agent.partition("/")[0])
        self._clients.append(client)
        return client

    async def transport(self, kubeconfig: Path) -> Transport:
        """A program's way to the server that its kubeconfig names."""
        source = find_source(
            kubeconfig=kubeconfig, context=None, in_cluster=False, clock=self._clock
        )
        return self._carrier(await open_connection(source, clock=self._clock))

    def _carrier(self, connection: Connection) -> Transport:
        if self._listen:
            return AiohttpTransport(connection)
        servers = (self.control, *self.members.values())
        return InProcessTransport(connection, {server.url: server for server in servers})

    # --- life -----------------------------------------------------------------------------------

    async def start(self) -> None:
        """Start the servers, fill them, register the members, and run all controllers."""
        await self.control.start(port=self._ports.get(CONTROL_PLANE, 0), listen=self._listen)
        for name, server in self.members.items():
            await server.start(port=self._ports.get(name, 0), listen=self._listen)
        self._install()
        self._tokens.save()
        if self._state is not None:
            self.kubeconfigs = write_kubeconfigs(
                self._state, self._tokens, self.control, self.members, self._tenants
            )
        await self._fill_control_plane()
        for spec in self._specs:
            await self._fill_member(spec)
        self._karmada = self._controllers()
        self._running = [
            Member(
                self.member_client(spec.name),
                clock=self._clock,
                nodes=spec.nodes,
                hyper_nodes=spec.hyper_nodes,
                options=spec.options,
            )
            for spec in self._specs
        ]
        self._task = asyncio.create_task(self._run(self._karmada, self._running))

    async def ready(self) -> None:
        """Until all nodes are there and every member is a Ready cluster."""
        assert self._task is not None, "start the federation first"
        waiting = asyncio.create_task(self._until_ready())
        try:
            await asyncio.wait({waiting, self._task}, return_when=asyncio.FIRST_COMPLETED)
        finally:
            waiting.cancel()
        if self._task.done():
            await self._task  # it only ends by failing, and says why

    async def _until_ready(self) -> None:
        for member in self._running:
            await member.ready.wait()
        if self._karmada is not None:
            await self._karmada.registered()

    async def stop(self) -> None:
        """Stop the controllers, then the servers."""
        if self._task is not None:
            self._task.cancel()
            # What it failed of, if it did, `ready` and `wait` have raised.
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None
        for client in self._clients:
            await client.close()
        for server in (*self.members.values(), self.control):
            await server.stop()

    async def wait(self) -> None:
        """Until a controller fails for good, which none should; for a program's main task."""
        if self._task is not None:
            await self._task

    def _controllers(self) -> Karmada:
        manager = "karmada-controller-manager"
        return Karmada(
            self._client(self.control, "karmada", manager),
            {
                name: self._client(server, f"member/{name}", manager)
                for name, server in self.members.items()
            },
            clock=self._clock,
            options=self._options,
        )

    @staticmethod
    async def _run(karmada: Karmada, members: Sequence[Member]) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(karmada.run())
            for member in members:
                group.create_task(member.run())

    # --- contents -------------------------------------------------------------------------------

    def _install(self) -> None:
        for kind, definition in _definitions():
            self.control.install_crd(definition)
            if kind.resource in _MEMBER_KINDS:
                for server in self.members.values():
                    server.install_crd(definition)

    async def _fill_control_plane(self) -> None:
        admin = self.client()
        spaces = [execution_namespace(spec.name) for spec in self._specs]
        for name in (SYSTEM_NAMESPACE, "karmada-cluster", *spaces):
            await ensure(admin, NAMESPACES, {"metadata": {"name": name}})
        for name in self._tenants:
            managed = {"name": name, "labels": {MANAGED_NAMESPACE: "true"}}
            await ensure(admin, NAMESPACES, {"metadata": managed})
        access = list(manifests(DEPLOY / "global-sched" / "rbac.yaml", {}))
        for spec in self._specs:
            path = DEPLOY / "member-agent" / "control-plane" / "access.yaml"
            access += manifests(path, {"MEMBER": spec.name})
        for name in self._tenants:
            access += manifests(DEPLOY / "tenants" / "viewer.yaml", {"NAMESPACE": name})
        await grant(admin, access)
        for spec in self._specs:
            await ensure(admin, CLUSTERS, await self._cluster(spec))
            # A server that came back may listen elsewhere.
            endpoint = {"spec": {"apiEndpoint": self.members[spec.name].url}}
            await admin.patch(CLUSTERS, spec.name, endpoint)

    async def _fill_member(self, spec: MemberSpec) -> None:
        admin = self.member_client(spec.name)
        # No Volcano runs in these members: their agents run the Jobs.
        for file in ("member.yaml", "jobs/rbac.yaml"):
            await grant(admin, manifests(DEPLOY / "member-agent" / file, {}))
        for obj in spec.objects:
            resource = _START_KINDS.get((str(obj.get("apiVersion")), str(obj.get("kind"))))
            if resource is None:
                known = ", ".join(sorted(kind for _, kind in _START_KINDS))
                raise FederationError(
                    f"member {spec.name}: a {obj.get('kind')} cannot be there from the start; "
                    f"possible: {known}"
                )
            await ensure(admin, resource, obj)

    async def _cluster(self, spec: MemberSpec) -> Obj:
        """The Cluster object that joining makes; a member's id is the uid of its kube-system."""
        system = await self.member_client(spec.name).get(NAMESPACES, "kube-system")
        wanted: Obj = {
            "id": system["metadata"]["uid"],
            "syncMode": "Push",
            "apiEndpoint": self.members[spec.name].url,
            "secretRef": {"namespace": "karmada-cluster", "name": spec.name},
        }
        optional = {
            "provider": spec.provider,
            "region": spec.region,
            "zones": list(spec.zones),
            "taints": list(spec.taints),
        }
        return {
            "apiVersion": CLUSTERS.api_version,
            "kind": CLUSTERS.kind,
            "metadata": {"name": spec.name, "labels": dict(spec.labels)},
            "spec": wanted | {key: value for key, value in optional.items() if value},
        }


@functools.cache
def _definitions() -> tuple[tuple[CrdKind, Obj], ...]:
    """Every kind with its CRD; servers copy what they are given."""
    return tuple((kind, crd(kind)) for kind in CRD_KINDS)


@asynccontextmanager
async def running(federation: Federation) -> AsyncIterator[Federation]:
    """A federation that is started, and stopped however the block ends."""
    try:
        await federation.start()
        yield federation
    finally:
        await federation.stop()
