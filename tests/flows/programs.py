"""Both programs of a federation in one loop: started, killed, cut off, and watched.

Each speaks through two layers of faults: what a test plans for it, and its death.
"""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from math import inf
from pathlib import Path
from typing import Any, Final

from global_sched.app import GlobalSched, assembled
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.server import RequestRecord
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.federation import Federation
from global_sched.settings import Settings
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.lease import Term
from global_sched.shared.kube.transport import Transport
from member_agent.app import Agent
from member_agent.settings import Settings as AgentSettings
from tests.checker import PLURALS, Seen, violations

SCHEDULER: Final = "global-sched"
USERS: Final = ("global-sched", "member-agent")
MOST_WRITES: Final = 5
"""To one part of one object in a second, whatever fails."""
LOOK_SECONDS: Final = 1.0
"""So often tests look for what no write tells of."""
DEAD: Final = Fault("*", "*", kind=FaultKind.LOST_BEFORE, times=10**9)
"""What a killed process still says: nothing."""


class _Late(LoopClock):
    """Past every deadline."""

    def monotonic(self) -> float:
        return inf


class Programs:
    """The programs of a running federation; `global-sched`, and the members' names for agents."""

    def __init__(self, federation: Federation, clock: LoopClock) -> None:
        self.federation = federation
        self.clock = clock
        self.records: list[tuple[str, RequestRecord]] = []
        """Every request of the two programs, with the server's name."""
        self.writes: list[str] = []
        """Changes by any client since the last `clear`, as `server: verb resource/subresource`."""
        self.hot: Counter[tuple[str, int]] = Counter()
        """Writes of the two programs, refused ones included, by object and second."""
        self.faults: dict[str, FaultPlan] = {}
        """By program: `global-sched`, and the members' names for their agents."""
        self.clocks: dict[str, LoopClock] = {}
        """By program, where its wall clock is another one."""
        self.link: Callable[[str, Path, Transport], Transport] | None = None
        """Put between a program and the server of a kubeconfig."""
        self.scheduler: GlobalSched | None = None
        self.agents: dict[str, Agent] = {}
        self.lease_seconds = 15.0
        self.period = 10
        self._deaths: dict[str, FaultPlan] = {}
        self._dying: list[asyncio.Task[None]] = []
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._starts = 0
        self._states: list[tuple[float, str, str, Record, bool]] = []
        self._nodes: set[tuple[str, str]] = set()
        self._changes = 0
        """All writes but those of Leases."""
        for server in (federation.control, *federation.members.values()):
            server.on_request(self._recorder(server.name))
            server.on_commit(self._keeper(server.name))

    def _keeper(self, server: str) -> Callable[[ResourceInfo, Record, bool], None]:
        """Keeps every state that the checker looks at; of a node only the first one."""

        def keep(served: ResourceInfo, record: Record, removed: bool) -> None:
            if served.plural not in PLURALS or served.group == "batch":
                return
            if served.plural == "nodes":
                if (server, record.key) in self._nodes:
                    return
                self._nodes.add((server, record.key))
            at = self.clock.monotonic()
            self._states.append((at, server, served.plural, record, removed))

        return keep

    def violations(self) -> list[str]:
        """What was wrong in any state until now (tests/checker.py)."""
        return violations(self.history(), until=self.clock.monotonic())

    def history(self) -> Iterator[Seen]:
        """Every state until now."""
        for at, server, plural, record, removed in self._states:
            yield Seen(at, server, plural, record.load(), removed)

    def _recorder(self, server: str) -> Callable[[RequestRecord], None]:
        def record(one: RequestRecord) -> None:
            if one.user.rpartition(":")[2] in USERS:
                self.records.append((server, one))
                if one.verb in ("update", "patch"):
                    path = f"{one.resource}/{one.namespace}/{one.name}/{one.subresource}"
                    self.hot[f"{server}: {path}", int(self.clock.monotonic())] += 1
            if one.verb not in ("get", "list", "watch") and one.code < 300:
                self._changes += one.resource != "leases"
                path = f"{one.resource}/{one.subresource}".rstrip("/")
                self.writes.append(f"{server}: {one.verb} {path}")

        return record

    def plan(self, program: str) -> FaultPlan:
        """The faults between a program and its servers."""
        return self.faults.setdefault(program, FaultPlan())

    async def _transport(self, program: str, kubeconfig: Path) -> Transport:
        inner = await self.federation.transport(kubeconfig)
        if self.link is not None:
            inner = self.link(program, kubeconfig, inner)
        faulty = FaultyTransport(inner, self.plan(program), clock=self.clock)
        return FaultyTransport(faulty, self._deaths[program], clock=self.clock)

    def _identity(self, program: str) -> str:
        self._starts += 1
        self._deaths[program] = FaultPlan()
        return f"{program}-{self._starts}"

    async def start_scheduler(
        self,
        program: str = SCHEDULER,
        *,
        wait: bool = True,
        restored: bool = False,
        **settings: Any,
    ) -> None:
        """Start global-sched, or another replica of it; with `wait` until it led one cycle.

        restored: as it starts by itself after the control plane went back to an older state.
        """
        stop = asyncio.Event()
        ready = asyncio.Event()
        lease = {
            "lease_seconds": self.lease_seconds,
            "renew_seconds": self.lease_seconds * 2 / 3,
            "retry_seconds": self.lease_seconds * 2 / 15,
        }
        options = Settings(identity=self._identity(program), **(lease | settings))
        assert self.federation.kubeconfigs is not None
        path = self.federation.kubeconfigs.global_sched

        async def run() -> None:
            transport = await self._transport(program, path)
            clock = self.clocks.get(program, self.clock)
            async with assembled(options, transport, clock=clock, restored=restored) as replica:
                self.scheduler = replica
                ready.set()
                await replica.run(stop)

        self._running[program] = asyncio.create_task(run())
        self._stops[program] = stop
        if wait:
            await self.until(
                lambda: bool(
                    ready.is_set()
                    and self.scheduler is not None
                    and self.scheduler.loop is not None
                    and self.scheduler.loop.cycles
                ),
                "global-sched leads",
            )

    async def start_agent(self, name: str, *, wait: bool = True, **settings: Any) -> None:
        """Start a member's agent, which runs Volcano Jobs; with `wait` until it has reported."""
        assert self.federation.kubeconfigs is not None
        files = self.federation.kubeconfigs.agents[name]
        given: dict[str, Any] = {
            "cluster": name,
            "identity": self._identity(name),
            "namespace": "global-sched",
            "scheduler_names": ("member-agent", "volcano"),
            "run_volcano_jobs": True,
            "lease_seconds": self.lease_seconds,
            "report_period_seconds": self.period,
        }
        options = AgentSettings(**(given | settings))
        started = asyncio.Event()

        async def run() -> None:
            async with AsyncExitStack() as stack:
                clients = []
                for path in (files.member, files.control_plane):
                    transport = await self._transport(name, path)
                    client = Client(transport, clock=self.clock, user_agent="member-agent")
                    stack.push_async_callback(client.close)
                    clients.append(client)
                agent = self.agents[name] = Agent(clients[0], clients[1], options, self.clock)
                started.set()
                await agent.run()

        self._running[name] = asyncio.create_task(run())
        if wait:
            await self.until(
                lambda: started.is_set() and self.agents[name].ready.is_set(), f"{name} reports"
            )

    async def start(self) -> None:
        """All agents, then global-sched."""
        for name in self.federation.members:
            await self.start_agent(name)
        await self.start_scheduler()

    async def kill(self, program: str) -> None:
        """End a program as SIGKILL would: nothing that it still wants to say gets out."""
        await asyncio.wait([self._end(program)])

    def _end(self, program: str) -> asyncio.Task[None]:
        self.faults.pop(program)
        self._deaths[program].add(DEAD)
        running = self._running.pop(program)
        running.cancel()
        self._dying.append(running)
        return running

    def kill_after(
        self, program: str, what: Callable[[RequestRecord], bool]
    ) -> asyncio.Future[None]:
        """Kill a program once a server has carried out such a request, before it has the answer."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def look(one: RequestRecord) -> None:
            if done.done() or one.user.rpartition(":")[2] not in USERS or not what(one):
                return
            self._end(program)
            done.set_result(None)

        for server in (self.federation.control, *self.federation.members.values()):
            server.on_request(look)
        return done

    def hold(self, program: str, verb: str, resource: str, **more: Any) -> None:
        """Calls of a program wait on their way until its plan is cleared."""
        self.plan(program).add(Fault(verb, resource, kind=FaultKind.HOLD, times=10**9, **more))

    def lose_answers(self, program: str, verb: str, resource: str, *, times: int) -> None:
        """The next calls are carried out, and their answers never arrive."""
        self.plan(program).add(Fault(verb, resource, kind=FaultKind.LOST_AFTER, times=times))

    async def stop(self, program: str) -> None:
        """End a program as SIGTERM would."""
        running = self._running.pop(program)
        if program in self._stops:
            self._stops.pop(program).set()
        else:
            running.cancel()
        await asyncio.wait([running])
        if not running.cancelled():
            running.result()

    async def close(self) -> None:
        """Stop what still runs; a program that failed raises."""
        for name in list(self._running):
            self.plan(name).clear()
            await self.stop(name)
        if self._dying:
            await asyncio.wait(self._dying)

    def end_term(self, program: str) -> Term:
        """The term of a program is over from now on, though its loops go on."""
        if program == SCHEDULER:
            assert self.scheduler is not None
            term = self.scheduler.term.current
        else:
            term = self.agents[program]._term
        assert term is not None
        term.clock = _Late()
        return term

    def written(self, account: str, server: str) -> set[str]:
        """The changes that an account has asked a server for, as `verb resource/subresource`."""
        return {
            f"{one.verb} {one.resource}/{one.subresource}".rstrip("/")
            for at, one in self.records
            if (at, one.user.rpartition(":")[2]) == (server, account)
            and one.verb not in ("get", "list", "watch")
        }

    async def until(self, what: Callable[[], Any], text: str, *, seconds: float = 120.0) -> None:
        """Until it holds, in virtual time; a program that ended by itself fails the test.

        It is asked after every write, and once in `LOOK_SECONDS`.
        """
        end = self.clock.monotonic() + seconds
        looked, seen = -inf, -1
        while True:
            now = self.clock.monotonic()
            if self._changes != seen or now >= min(looked + LOOK_SECONDS, end):
                looked, seen = now, self._changes
                found = what()
                if asyncio.iscoroutine(found):
                    found = await found
                if found:
                    return
            for running in self._running.values():
                if running.done():
                    running.result()
            if self.clock.monotonic() > end:
                raise AssertionError(f"not so within {seconds:g} s: {text}")
            await asyncio.sleep(0.1)

    def hot_objects(self) -> dict[str, int]:
        """Objects that a program has written more often in a second than it ever should."""
        return {
            f"{one} in second {second}": count
            for (one, second), count in self.hot.items()
            if count > MOST_WRITES
        }

    def denied(self) -> list[str]:
        """What the programs asked for and may not have."""
        return sorted(
            {
                f"{server}: {one.user} {one.verb} {one.resource}/{one.subresource}"
                for server, one in self.records
                if one.code in (401, 403)
            }
        )
