"""One local federation: everything that is known of it, and what can be done with it."""

import os
import shutil
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from global_sched.embedded.credentials import Kubeconfigs
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.client import Client
from tools.local_karmada import access, identities, processes
from tools.local_karmada.bring_up import bring_up
from tools.local_karmada.build import programs as built
from tools.local_karmada.certs import Authority
from tools.local_karmada.errors import LocalError
from tools.local_karmada.health import healthy, until_healthy
from tools.local_karmada.ledger import Ledger, Program
from tools.local_karmada.nodes import plans
from tools.local_karmada.options import Options
from tools.local_karmada.servers import CONTROL_PLANE, Site
from tools.local_karmada.tools import upstreams

Say = Callable[[str], None]
OURS: Final = (
    "federation.json",
    "federation.json.new",
    "lock",
    "kubeconfig",
    "kubeconfig.new",
    "kwok.yaml",
    "pki",
    "logs",
    "audit",
    "etcd",
    "kubeconfigs",
)
"""All that a state folder can hold; nothing else in it is ever deleted."""


def _quiet(_: str) -> None:
    """Say nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """One process as `status` shows it."""

    name: str
    state: str
    pid: int
    log: str


class Federation:
    """A control plane and its members below one state folder.

    A folder is enough to speak of a federation that another process has started.
    """

    def __init__(self, state: Path, *, clock: Clock | None = None, say: Say = _quiet) -> None:
        self.state = state.resolve()
        self.clock = clock or SystemClock()
        self._say = say
        self._tools: Mapping[str, Path] | None = None

    # --- what is there --------------------------------------------------------------------------

    @property
    def ledger(self) -> Ledger:
        """What the folder knows now."""
        return Ledger(self.state)

    @property
    def options(self) -> Options:
        """What was asked for.

        Raises:  LocalError when nothing was started here.
        """
        options = self.ledger.options
        if options is None:
            raise LocalError(f"no federation in {self.state}: run `make karmada-up` first")
        return options

    @property
    def members(self) -> tuple[str, ...]:
        """The names of the members."""
        return tuple(one.name for one in plans(self.options))

    @property
    def site(self) -> Site:
        """Where everything is."""
        return Site(
            ledger=self.ledger, authority=Authority(self.state / "pki"), programs=self.tools
        )

    @property
    def tools(self) -> Mapping[str, Path]:
        """The programs by name; built when they are not there yet."""
        if self._tools is None:
            self._tools = built(upstreams(self.options.karmada), say=self._say)
        return self._tools

    @property
    def kubeconfigs(self) -> Kubeconfigs:
        """Where every kubeconfig is."""
        return access.expected(self.site, self.members)

    @property
    def programs(self) -> dict[str, Program]:
        """Every program that was started, by name."""
        return self.ledger.programs

    def tool(self, name: str) -> Path:
        """A built program: `kubectl`, `karmadactl`, `helm`."""
        return self.tools[name]

    def audit(self, server: str) -> Path:
        """The requests of a server: `control-plane` or a member; one JSON object a line."""
        return self.site.audit(server)

    async def client(self, server: str = CONTROL_PLANE) -> Client:
        """A client of a server as its administrator."""
        return await identities.client(self.site, server, self.clock)

    def user(self, name: str, groups: Sequence[str] = (), *, server: str = CONTROL_PLANE) -> Path:
        """The kubeconfig of a person with a certificate: any name, any groups, no rights yet."""
        return identities.write_user(self.site, server, name, groups)

    async def status(self) -> list[Row]:
        """Every process and whether it works."""
        rows = []
        for one in self.programs.values():
            state = "works" if await healthy(one) else "unhealthy" if one.alive else "ended"
            rows.append(Row(name=one.name, state=state, pid=one.pid, log=one.log))
        return rows

    # --- what can be done -----------------------------------------------------------------------

    async def up(self, options: Options) -> None:
        """Start it, or what of it has ended; returns when every member is Ready.

        Raises:  LocalError; what was started so far stays, for a look at its logs, and goes with
                 `down`.
        """
        ledger = Ledger(self.state)
        with ledger.changing():
            ledger.read()
            known = ledger.options
            if known is not None and known != options:
                if any(one.alive for one in ledger.programs.values()):
                    differs = _differences(known, options)
                    raise LocalError(
                        f"{self.state} has a federation with other options ({differs}): run "
                        "`make karmada-down` first"
                    )
                await self._down(ledger)
                self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
            plans(options)  # a scenario that cannot be read is said before an hour of building
            ledger.options = options
            ledger.save()
            self._tools = built(upstreams(options.karmada), say=self._say)
            authority = Authority(self.state / "pki")
            site = Site(ledger=ledger, authority=authority, programs=self._tools)
            try:
                await bring_up(site, options, clock=self.clock, say=self._say)
            except ExceptionGroup as group:
                raise _first(group) from group

    async def down(self) -> None:
        """End every process of this folder and delete what it holds; fine when there is none."""
        if not self.state.is_dir():
            return
        try:
            ledger = Ledger(self.state)
        except LocalError:
            # Damaged: what runs is found by its environment.
            (self.state / "federation.json").unlink(missing_ok=True)
            ledger = Ledger(self.state)
        with ledger.changing():
            await self._down(ledger)
        with suppress(OSError):
            self.state.rmdir()

    async def _down(self, ledger: Ledger) -> None:
        running = {one.pid: one.since for one in reversed(ledger.programs.values()) if one.alive}
        servers = {
            one.pid: one.since
            for one in ledger.programs.values()
            if one.alive and (one.name == "etcd" or one.name.endswith("kube-apiserver"))
        }
        clients = {pid: since for pid, since in running.items() if pid not in servers}
        await processes.end(clients, clock=self.clock)
        await processes.end(servers, clock=self.clock, patience=3)
        left = {
            pid: processes.started(pid) or ""
            for pid in processes.marked(self.state)
            if pid != os.getpid()
        }
        await processes.end(left, clock=self.clock)
        for name in OURS:
            path = self.state / name
            if path.is_dir():
                shutil.rmtree(path, ignore_errors=True)
            else:
                path.unlink(missing_ok=True)
        ledger.read()

    async def stop(self, name: str, *, kill: bool = False) -> None:
        """End one process, which stays known; `kill` gives it no time to say goodbye.

        Raises:  LocalError when there is none of that name.
        """
        program = self._program(name)
        if program.alive:
            await processes.end({program.pid: program.since}, clock=self.clock, kill=kill)

    async def start(self, name: str) -> None:
        """Start one process again as it was, and wait until it works."""
        ledger = self.ledger
        self._program(name)
        ledger.start(ledger.programs[name])
        await until_healthy(ledger, name, clock=self.clock)

    def _program(self, name: str) -> Program:
        found = self.programs.get(name)
        if found is None:
            known = ", ".join(sorted(self.programs)) or "none"
            raise LocalError(f"{name} is no program of {self.state}; there are {known}")
        return found


def _differences(known: Options, asked: Options) -> str:
    before, now = known.plain(), asked.plain()
    return ", ".join(f"{key} {before[key]} → {now[key]}" for key in now if before[key] != now[key])


def _first(group: ExceptionGroup[Exception]) -> Exception:
    """The first reason of a group, a LocalError if there is one."""
    flat = [_first(one) if isinstance(one, ExceptionGroup) else one for one in group.exceptions]
    return next((one for one in flat if isinstance(one, LocalError)), flat[0])
