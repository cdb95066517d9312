"""The federation of the benchmark, and the systems that are started on it one at a time."""

import asyncio
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any, Final

from bench.peers.processes import Reading, readings
from bench.peers.waiting import until
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import AlreadyExists
from global_sched.shared.model.instant import format_instant, parse_instant
from tools.local_karmada import karmada, volcano
from tools.local_karmada.federation import Federation
from tools.local_karmada.health import until_healthy
from tools.local_karmada.options import Options
from tools.local_karmada.programs import SCHEDULER, Programs
from tools.local_karmada.servers import CONTROL_PLANE

MEMBERS: Final = Path(__file__).parent / "members.yaml"
USER: Final = "peers-bench"
"""Whom the bare loops write as: an administrator by a rule, so that the audit log has them."""
OURS_USER: Final = "system:serviceaccount:karmada-system:global-sched"
KARMADA_USER: Final = "system:karmada:karmada-scheduler"
KARMADA: Final = "karmada-scheduler"
MANAGER: Final = "karmada-controller-manager"
_LIFTED: Final = ("--kube-api-qps=2000", "--kube-api-burst=4000")
_REST: Final = 2.0
_BINDINGS: Final = Resource(
    "rbac.authorization.k8s.io",
    "v1",
    "clusterrolebindings",
    "ClusterRoleBinding",
    namespaced=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class System:
    """One contestant, at its defaults or with its limits lifted.

    program: whose CPU is counted. user: who commits. peers: programs that run beside it.
    """

    name: str
    scheduler: str
    program: str
    user: str
    flags: tuple[str, ...] = ()
    peers: tuple[str, ...] = ()
    suspended: bool = False


OURS: Final = System(
    name="global-sched", scheduler="global-sched", program=SCHEDULER, user=OURS_USER
)
OURS_LIFTED: Final = System(
    name="global-sched, 256 writes in flight",
    scheduler="global-sched",
    program=SCHEDULER,
    user=OURS_USER,
    flags=("--set", "writes_at_once=256"),
)
PEER: Final = System(
    name="karmada-scheduler, defaults",
    scheduler="default-scheduler",
    program=KARMADA,
    user=KARMADA_USER,
)
PEER_LIFTED: Final = System(
    name="karmada-scheduler, limits lifted",
    scheduler="default-scheduler",
    program=KARMADA,
    user=KARMADA_USER,
    flags=_LIFTED,
)


def with_volcano_global() -> list[System]:
    """volcano-global releasing to karmada-scheduler, at both settings; none where it is not."""
    if volcano.GLOBAL not in volcano.find().programs:
        return []
    return [
        System(
            name=f"volcano-global + {one.name}",
            scheduler=one.scheduler,
            program=one.program,
            user=one.user,
            flags=one.flags,
            peers=(volcano.GLOBAL,),
            suspended=True,
        )
        for one in (PEER, PEER_LIFTED)
    ]


class Site:
    """The running federation with clients of its servers."""

    def __init__(self, federation: Federation) -> None:
        self.federation = federation
        self.programs = Programs(federation)
        self.admin: Client
        self.bare: Client
        self.members: dict[str, Client] = {}
        self.bare_member: Client
        self.peaks: dict[str, Reading] = {}

    async def up(self, karmada_version: str) -> None:
        """Start it, then end what would write beside those that are measured."""
        options = Options(
            members=3,
            karmada=karmada_version,
            scenario=str(MEMBERS),
            karmada_scheduler=False,
            controller_flags=("--cluster-status-update-frequency=2s",),
        )
        await self.federation.down()
        await self.federation.up(options)
        if volcano.GLOBAL in self.federation.programs:
            await self.federation.stop(volcano.GLOBAL)
        self.admin = await self.federation.client()
        for name in self.federation.members:
            self.members[name] = await self.federation.client(name)
        self.bare = await self._bare(CONTROL_PLANE, self.admin)
        self.bare_member = await self._bare("tiers", self.members["tiers"])

    async def _bare(self, server: str, admin: Client) -> Client:
        rule = {
            "metadata": {"name": USER},
            "roleRef": {
                "apiGroup": "rbac.authorization.k8s.io",
                "kind": "ClusterRole",
                "name": "cluster-admin",
            },
            "subjects": [
                {"kind": "User", "apiGroup": "rbac.authorization.k8s.io", "name": USER},
            ],
        }
        with suppress(AlreadyExists):
            await admin.create(_BINDINGS, rule)
        kubeconfig = self.federation.user(USER, server=server)
        clock = SystemClock()
        return Client(await connect(kubeconfig=kubeconfig, clock=clock), clock=clock)

    async def close(self) -> None:
        """Close every client and end the federation."""
        try:
            for name in ("admin", "bare", "bare_member"):
                client = getattr(self, name, None)
                if client is not None:
                    await client.close()
            for client in self.members.values():
                await client.close()
        finally:
            await self.federation.down()

    # --- systems --------------------------------------------------------------------------------

    async def start(self, system: System) -> None:
        """Start a contestant and what it needs."""
        for name in system.peers:
            await self.federation.start(name)
        if system.program == SCHEDULER:
            await self.agents()
            await self.programs.start_scheduler(SCHEDULER, *system.flags)
            return
        site = self.federation.site
        site.ledger.start(karmada.scheduler(site, *system.flags))
        await until_healthy(self.federation.ledger, KARMADA, clock=self.federation.clock)

    async def stop(self, system: System) -> None:
        """End it, its agents too, after a last look at what it used."""
        self.look()
        if system.program == SCHEDULER:
            await self.programs.stop_all()
        else:
            await self.federation.stop(KARMADA)
        for name in system.peers:
            await self.federation.stop(name)

    async def agents(self) -> None:
        """An agent per member, each of which has reported and come to rest."""
        await self.agent(*self.federation.members)

    async def agent(self, *members: str, flags: tuple[str, ...] = ()) -> None:
        """The agents of some members, which have reported and come to rest."""
        began = format_instant(SystemClock().now())
        for name in members:
            await self.programs.start_agent(name, *flags)
        for name in members:
            await until(partial(self._reported, name, began), f"a report of {name}")
        await asyncio.sleep(_REST)

    async def _reported(self, member: str, since: str) -> bool:
        report = await self.report(member)
        observed = str((report.get("spec") or {}).get("observedAt") or "")
        return bool(observed) and parse_instant(observed) >= parse_instant(since)

    async def report(self, member: str) -> dict[str, Any]:
        """A member's capacity report (these are small: one slice), empty while there is none."""
        space = execution_namespace(member)
        listed = await self.admin.list(kinds.CAPACITY_REPORTS, namespace=space)
        return next(iter(listed.items), {})

    # --- processes ------------------------------------------------------------------------------

    def look(self) -> dict[str, Reading]:
        """What every process has used so far; the last look at each is kept."""
        found = readings(self.federation.programs)
        self.peaks |= found
        return found
