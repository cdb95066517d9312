"""A whole federation in one loop: servers, Karmada, members, and both programs with deploy/'s rights.

Everything is the real thing over loopback HTTP in virtual time; a test may put faults between a
program and its servers, or kill a program where it stands.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.app import GlobalSched, assembled
from global_sched.cli.apply import apply_manifest
from global_sched.embedded.apiserver.server import RequestRecord
from global_sched.embedded.federation import Federation, MemberSpec
from global_sched.embedded.members.racks import rack_plan
from global_sched.settings import Settings
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION, execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import Transport
from member_agent.app import Agent
from member_agent.settings import Settings as AgentSettings
from tests.wire import GPU, Object, placement, pod_template, stripped, task, vcjob

TEAM = "team-a"
SCHEDULER = "global-sched"
PROGRAM_USERS = ("global-sched", "member-agent")
DEAD = Fault("*", "*", kind=FaultKind.LOST_BEFORE, times=10**9)
"""What a killed process still says: nothing."""


def member(name: str, *, racks: int = 1, nodes: int = 4, **fields: Any) -> MemberSpec:
    """A member of racks with 8 GPUs per node."""
    return MemberSpec(name=name, nodes=rack_plan(name, racks=racks, nodes=nodes), **fields)


def gang(
    name: str, *, pods: int = 4, gpus: int = 8, tier: int | None = 1, seconds: int = 600, **more: Any
) -> Object:
    """A Volcano Job of equal workers that run for so many seconds."""
    run = {"federation.global-sched.io/run-seconds": str(seconds)}
    template = pod_template(annotations=run, restartPolicy="Never")
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "8", GPU: str(gpus)}}
    return vcjob(name, task("worker", pods, template=template), tier=tier, **more)


class Whole:
    """The running federation and its programs; the clients of one who looks."""

    def __init__(self, federation: Federation, clock: LoopClock) -> None:
        self.federation = federation
        self.clock = clock
        self.admin: Client
        self.records: list[tuple[str, RequestRecord]] = []
        """Every request of the two programs, with the server's name."""
        self.writes: list[str] = []
        """Changes by anybody since the last `clear`, as `server: verb resource/subresource`."""
        self.faults: dict[str, FaultPlan] = {}
        """By program: `global-sched`, and the members' names for their agents."""
        self.scheduler: GlobalSched | None = None
        self.agents: dict[str, Agent] = {}
        self._dying: list[asyncio.Task[None]] = []
        self._running: dict[str, asyncio.Task[None]] = {}
        self._stops: dict[str, asyncio.Event] = {}
        self._starts = 0
        for server in (federation.control, *federation.members.values()):
            server.on_request(self._recorder(server.name))

    def _recorder(self, server: str) -> Callable[[RequestRecord], None]:
        def record(one: RequestRecord) -> None:
            if one.user.rpartition(":")[2] in PROGRAM_USERS:
                self.records.append((server, one))
            if one.verb not in ("get", "list", "watch") and one.code < 300:
                path = f"{one.resource}/{one.subresource}".rstrip("/")
                self.writes.append(f"{server}: {one.verb} {path}")

        return record

    # --- programs -------------------------------------------------------------------------

    def plan(self, program: str) -> FaultPlan:
        """The faults between a program and its servers."""
        return self.faults.setdefault(program, FaultPlan())

    async def _transport(self, program: str, kubeconfig: Path) -> Transport:
        inner = await connect(kubeconfig=kubeconfig, clock=self.clock)
        return FaultyTransport(inner, self.plan(program), clock=self.clock)

    def _identity(self, program: str) -> str:
        self._starts += 1
        return f"{program}-{self._starts}"

    async def start_scheduler(self, *, wait: bool = True, **settings: Any) -> None:
        """Start global-sched; with `wait` until it led one cycle."""
        stop = asyncio.Event()
        ready = asyncio.Event()
        options = Settings(identity=self._identity(SCHEDULER), **settings)
        assert self.federation.kubeconfigs is not None
        path = self.federation.kubeconfigs.global_sched

        async def run() -> None:
            transport = await self._transport(SCHEDULER, path)
            async with assembled(options, transport, clock=self.clock) as program:
                self.scheduler = program
                ready.set()
                await program.run(stop)

        self._running[SCHEDULER] = asyncio.create_task(run())
        self._stops[SCHEDULER] = stop
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
        plan = self.faults.pop(program)
        plan.clear()
        plan.add(DEAD)
        running = self._running.pop(program)
        running.cancel()
        await asyncio.wait([running])

    def kill_after(self, program: str, what: Callable[[RequestRecord], bool]) -> asyncio.Future[None]:
        """Kill a program once a server has carried out such a request, before it has the answer."""
        done: asyncio.Future[None] = asyncio.get_running_loop().create_future()

        def look(one: RequestRecord) -> None:
            if done.done() or one.user.rpartition(":")[2] not in PROGRAM_USERS or not what(one):
                return
            plan = self.faults.pop(program)
            plan.add(DEAD)
            running = self._running.pop(program)
            running.cancel()
            self._dying.append(running)
            done.set_result(None)

        for server in (self.federation.control, *self.federation.members.values()):
            server.on_request(look)
        return done

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

    # --- objects --------------------------------------------------------------------------

    async def apply(self, *objects: Object) -> None:
        """What `kubectl apply` does with them, on the control plane."""
        for obj in objects:
            await apply_manifest(self.admin, stripped(obj))

    async def submit(self, *jobs: Object, where: Object | None = None) -> None:
        """Jobs with a policy of their own each, their namespace included."""
        for job in jobs:
            name, space = job["metadata"]["name"], job["metadata"]["namespace"]
            try:
                await self.admin.create(kinds.NAMESPACES, {"metadata": {"name": space}})
            except AlreadyExists:
                pass
            kind = job["kind"]
            selector = {"apiVersion": job["apiVersion"], "kind": kind, "name": name}
            await self.apply(
                {
                    "apiVersion": "policy.karmada.io/v1alpha1",
                    "kind": "PropagationPolicy",
                    "metadata": {"name": f"{name}-{kind}".lower(), "namespace": space},
                    "spec": {
                        "schedulerName": "global-sched",
                        "resourceSelectors": [selector],
                        "placement": where or placement(),
                    },
                },
                job,
            )

    async def binding(self, name: str, namespace: str = TEAM) -> Object:
        """The binding of a Volcano Job, empty while there is none."""
        try:
            return await self.admin.get(
                kinds.RESOURCE_BINDINGS, f"{name}-job", namespace=namespace
            )
        except NotFound:
            return {}

    async def clusters(self, name: str, namespace: str = TEAM) -> list[str]:
        """Where a Volcano Job is."""
        found = await self.binding(name, namespace)
        return [one["name"] for one in found.get("spec", {}).get("clusters") or ()]

    async def decision(self, name: str, namespace: str = TEAM) -> Object:
        """The decision annotation of a Volcano Job."""
        found = await self.binding(name, namespace)
        text = (found.get("metadata", {}).get("annotations") or {}).get(DECISION)
        return json.loads(text) if text else {}

    async def pods(self, cluster: str, namespace: str = TEAM) -> list[Object]:
        """The pods of a member's namespace."""
        client = self.federation.member_client(cluster)
        found = (await client.list(kinds.PODS, namespace=namespace)).items
        await client.close()
        return found

    async def bound(self, cluster: str, name: str, namespace: str = TEAM) -> dict[str, str]:
        """Pod to node, of one Volcano Job in one member."""
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in await self.pods(cluster, namespace)
            if one["metadata"]["name"].startswith(f"{name}-") and one["spec"].get("nodeName")
        }

    async def job(self, name: str, namespace: str = TEAM) -> Object:
        """A Volcano Job's template with the status that came back."""
        return await self.admin.get(kinds.VOLCANO_JOBS, name, namespace=namespace)

    async def phase(self, name: str) -> str:
        """A Volcano Job's phase as its owner sees it."""
        found = (await self.job(name)).get("status") or {}
        return str((found.get("state") or {}).get("phase", ""))

    async def report(self, cluster: str) -> Object:
        """The spec of the first slice of a member's report."""
        found = await self.admin.get(
            kinds.CAPACITY_REPORTS, cluster, namespace=execution_namespace(cluster)
        )
        return found["spec"]

    async def entries(self, cluster: str) -> list[Object]:
        """The entries of a member's Directive."""
        listing = await self.admin.list(kinds.DIRECTIVES, namespace=execution_namespace(cluster))
        return [one for item in listing.items for one in item["spec"].get("entries") or ()]

    async def cordon(self, cluster: str, names: Iterable[str], *, on: bool = True) -> None:
        """What `kubectl cordon` does."""
        client = self.federation.member_client(cluster)
        for name in names:
            await client.patch(kinds.NODES, name, {"spec": {"unschedulable": on or None}})
        await client.close()

    async def gone(self, resource: Resource, name: str, namespace: str = TEAM) -> bool:
        """Whether the control plane has no such object."""
        try:
            await self.admin.get(resource, name, namespace=namespace)
        except NotFound:
            return True
        return False

    # --- waiting --------------------------------------------------------------------------

    async def until(self, what: Callable[[], Any], text: str, *, seconds: float = 120.0) -> None:
        """Until it holds, in virtual time; a program that ended by itself fails the test."""
        end = self.clock.monotonic() + seconds
        while True:
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

    async def until_phase(self, name: str, phase: str, *, seconds: float = 120.0) -> None:
        """Until a Volcano Job is in that phase."""

        async def there() -> bool:
            return await self.phase(name) == phase

        try:
            await self.until(there, f"{name} is {phase}", seconds=seconds)
        except AssertionError as error:
            found = await self.binding(name)
            raise AssertionError(f"{error}; its binding: {json.dumps(found, indent=1)}") from None

    def denied(self) -> list[str]:
        """What the programs asked for and may not have."""
        return sorted(
            {
                f"{server}: {one.user} {one.verb} {one.resource}/{one.subresource}"
                for server, one in self.records
                if one.code in (401, 403)
            }
        )


@asynccontextmanager
async def whole(
    tmp_path: Path, *members: MemberSpec, start: bool = True, tenants: Sequence[str] = ()
) -> AsyncIterator[Whole]:
    """A federation with its programs; at the end nothing of theirs may have been denied."""
    clock = LoopClock()
    specs = members or (member("m1"),)
    federation = Federation(specs, clock=clock, state=tmp_path, tenants=tenants)
    await federation.start()
    world = Whole(federation, clock)
    try:
        await federation.ready()
        world.admin = federation.client()
        try:
            if start:
                await world.start()
            yield world
        finally:
            await world.close()
    finally:
        await federation.stop()
    assert world.denied() == []
