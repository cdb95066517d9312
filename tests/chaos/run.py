"""One run of a story: a federation in virtual time without sockets, judged in every state.

At the end the network heals, everything runs again, and the federation comes to rest: every job has
ended, runs whole, or says why it waits.
"""

import asyncio
import hashlib
import random
import tempfile
import uuid
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any, Final, TypeVar
from unittest import mock

from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.federation import Federation
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import (
    CHECKPOINT_GRACE,
    ELASTIC,
    RECOVERY,
    execution_namespace,
)
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.transport import Transport
from global_sched.shared.model.instant import SECOND, Instant
from tests.chaos.network import CrashPoint, Network
from tests.chaos.story import CONTROL_PLANE, MEMBERS, PROGRAMS, SCHEDULERS, SECONDS, Act, story
from tests.checker import Term, usage_at_rest, usurped
from tests.flows.federation import TEAM, Whole, gang, member
from tests.flows.programs import SCHEDULER
from tests.virtual_time import VirtualLoop
from tests.wire import GPU, Object, queue, stripped

T = TypeVar("T")

ANNOTATIONS: Final = {"recovery": RECOVERY, "elastic": ELASTIC, "grace": CHECKPOINT_GRACE}
"""What a story may say of a job beside its fields."""
REST: Final = 600.0
"""Virtual seconds in which the healed federation has to come to rest."""
KARMADA: Final = "karmada-controller-manager"
BACK: Final = 3.0
"""Seconds after which a program that died at a crash point is back."""
QUIET: Final = 35.0
"""Seconds without a write that count as rest; no program waits longer before it tries again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What a run is made of."""

    seed: int
    acts: Sequence[Act]
    schedulers: int = 2
    seconds: float = SECONDS
    skew: Mapping[str, float] = field(default_factory=dict)
    """Seconds by which the wall clock of a program is ahead."""
    look: "Callable[[Chaos], object] | None" = None
    """What is asked of the federation at the end; `Result.seen` has the answer."""
    crash: CrashPoint | None = None
    """One death; the program starts again `BACK` seconds later."""


@dataclass(slots=True)
class Result:
    """What a run has shown."""

    seed: int
    violations: list[str] = field(default_factory=list)
    fired: Counter[str] = field(default_factory=Counter)
    """Faults that a call or a program met, by kind."""
    states: int = 0
    writes: Counter[str] = field(default_factory=Counter)
    """By program, until the federation rests: not those with which the programs end."""
    seen: object = None
    digest: str = ""
    """Of every state in order: equal runs have the same."""
    clusters: dict[str, list[str]] = field(default_factory=dict)
    """Where each job that is left is at the end."""


class Chaos(Whole):
    """A federation with two schedulers, to which a story happens."""

    def __init__(self, federation: Federation, clock: LoopClock, network: Network) -> None:
        super().__init__(federation, clock)
        self.network = network
        self.fired: Counter[str] = Counter()
        self.link = self._through_network
        self.programs: tuple[str, ...] = PROGRAMS
        self._back: set[asyncio.Task[None]] = set()
        network.on_death = self._dies
        network.on_refusal = self._refused
        self.leases: list[Term] = []
        self.killed: list[float] = []
        """When a leader was killed."""
        federation.control.on_commit(self._keep_leases(federation.control.name))
        for server in federation.members.values():
            server.on_commit(self._keep_leases(server.name))

    def _through_network(self, program: str, kubeconfig: Path, inner: Transport) -> Transport:
        files = self.federation.kubeconfigs
        assert files is not None
        own = program in files.agents and kubeconfig == files.agents[program].member
        return self.network.wrap(program, program if own else CONTROL_PLANE, inner)

    def _keep_leases(self, server: str) -> Callable[[ResourceInfo, Record, bool], None]:
        def keep(served: ResourceInfo, record: Record, removed: bool) -> None:
            if served.plural == "leases":
                found = record.load()
                spec = {} if removed else found.get("spec") or {}
                name = f"{server}/{found['metadata']['namespace']}/{found['metadata']['name']}"
                self.leases.append(Term(self.clock.monotonic(), name, spec))

        return keep

    def _refused(self, program: str, path: str) -> None:
        self.hot[f"{program}: {path}", int(self.clock.monotonic())] += 1

    def _dies(self, program: str) -> None:
        self.fired["crash"] += 1
        self._end(program)

        async def back() -> None:
            await asyncio.sleep(BACK)
            await self.launch(program)

        task = asyncio.create_task(back())
        self._back.add(task)
        task.add_done_callback(self._back.discard)

    async def launch(self, program: str) -> None:
        """Start a program that does not run."""
        if program in self._running:
            return
        if program in SCHEDULERS:
            await self.start_scheduler(program, wait=False)
        else:
            await self.start_agent(program, wait=False)

    async def act(self, act: Act) -> None:
        """Let it happen; an act upon something that is gone is none."""
        with suppress(NotFound):
            await self._act(act)

    async def _act(self, act: Act) -> None:
        more = act.more
        match act.word:
            case "submit":
                notes = {key: more[key] for key in ANNOTATIONS if key in more}
                fields = {key: more[key] for key in more if key != "where" and key not in notes}
                job = gang(act.of, **fields)
                named = {ANNOTATIONS[key]: text for key, text in notes.items()}
                job["metadata"].setdefault("annotations", {}).update(named)
                await self.submit(job, where=more.get("where"))
            case "apply":
                await self.apply(*more["objects"])
                for obj in more["objects"]:
                    if obj["kind"] == "PriorityClass":
                        await self._in_members(obj)
            case "delete":
                await self.admin.delete(kinds.VOLCANO_JOBS, act.of, namespace=TEAM)
            case "kill" if act.of in self._running:
                self.fired["kill"] += 1
                self._count(act.of)
                await self.kill(act.of)
            case "kill the leader":
                lease = await self.admin.get(kinds.LEASES, SCHEDULER, namespace="karmada-system")
                leader = str(lease["spec"]["holderIdentity"]).rpartition("-")[0]
                self.killed.append(self.clock.monotonic())
                await self.kill(leader)
            case "start all":
                for program in self.programs:
                    await self.launch(program)
            case "note":
                self.writes.clear()
            case "start":
                await self.launch(act.of)
            case "pause":
                self.network.pause(act.of)
            case "resume":
                self.network.resume(act.of)
            case "split":
                self.network.cut(act.of, more["server"])
            case "join":
                self.network.split.discard((act.of, more["server"]))
            case "hold":
                self.network.hold(act.of, more["path"])
            case "release":
                self.network.release(act.of, more["path"])
            case "refuse":
                self.network.refused[act.of, more["path"]] += more["times"]
            case "calls" if act.of in self._running:
                self.plan(act.of).add(*more["faults"])
            case _:
                await self._edit(act)

    async def _in_members(self, obj: Object) -> None:
        for name in MEMBERS:
            client = self.federation.member_client(name)
            await client.create(kinds.PRIORITY_CLASSES, stripped(obj))
            await client.close()

    async def _edit(self, act: Act) -> None:
        """What a third party does."""
        number = act.more.get("number", 0)
        match act.word:
            case "cordon" | "uncordon":
                nodes = await self.member_list(act.of, kinds.NODES)
                name = nodes[number % len(nodes)]["metadata"]["name"]
                await self.cordon(act.of, [name], on=act.word == "cordon")
            case "end a pod":
                pods = await self.pods(act.of)
                if pods:
                    await self.delete_pod(act.of, pods[number % len(pods)]["metadata"]["name"])
            case "capability":
                limit = {"spec": {"capability": {GPU: str(8 + 8 * (number % 4))}}}
                await self.admin.patch(kinds.QUEUES, "small", limit)
            case "term":
                lease = {"spec": {"leaseTransitions": act.more["term"]}}
                await self.admin.patch(kinds.LEASES, SCHEDULER, lease, namespace="karmada-system")
            case "delete the report":
                await self._delete(kinds.CAPACITY_REPORTS, act.of)
            case "delete the Directive":
                await self._delete(kinds.DIRECTIVES, act.of)

    async def _delete(self, resource: kinds.Resource, cluster: str) -> None:
        await self.admin.delete(resource, cluster, namespace=execution_namespace(cluster))

    def _count(self, program: str) -> None:
        """Note the planned faults that a program has met so far."""
        plan = self.faults.get(program)
        if plan is not None:
            self.fired.update(f"call: {fault.kind}" for fault, _ in plan.fired)
            plan.fired.clear()

    async def heal(self) -> None:
        """The end of all faults; every program runs."""
        for program in self.programs:
            self._count(program)
            if program in self.faults:
                self.faults[program].clear()
        self.network.heal()
        await self.network.carried_out()
        self.fired.update(kind for kind, _ in self.network.met)
        for program in self.programs:
            await self.launch(program)

    async def rest(self) -> list[str]:
        """Until nothing is written any more; what is not at rest then."""
        end = self.clock.monotonic() + REST
        last, since = -1, self.clock.monotonic()
        while self.clock.monotonic() < end:
            await asyncio.sleep(1)
            if len(self._states) != last:
                last, since = len(self._states), self.clock.monotonic()
            elif self.clock.monotonic() - since >= QUIET:
                return await self._unfinished()
        return [f"at the end: no rest within {REST:g} s", *await self._unfinished()]

    async def _unfinished(self) -> list[str]:
        """Jobs that have neither ended nor run, where nothing says why."""
        found = []
        for job in (await self.admin.list(kinds.VOLCANO_JOBS)).items:
            name = job["metadata"]["name"]
            state = (job.get("status") or {}).get("state") or {}
            if state.get("phase") in ("Completed", "Failed", "Aborted", "Terminated", "Running"):
                continue
            binding = await self.binding(name)
            scheduled = [
                one
                for one in (binding.get("status") or {}).get("conditions") or ()
                if one["type"] == "Scheduled"
            ]
            if not any(one["status"] == "False" and one.get("message") for one in scheduled):
                found.append(f"at the end: {name} is {state.get('phase')}, and nothing says why")
        return found

    def at_the_end(self) -> list[str]:
        """Queues that do not say what they hold, and objects that were written too often."""
        often = (f"{one} was written {times} times" for one, times in self.hot_objects().items())
        return [*usage_at_rest(self.history()), *usurped(self.leases), *often]

    def digest(self) -> str:
        """Of every state that the checker looks at, in order."""
        seen = hashlib.sha256()
        for at, server, plural, record, gone in self._states:
            seen.update(f"{at:.6f} {server} {plural} {record.key} {record.version} {gone}".encode())
        return seen.hexdigest()


class _Loop(VirtualLoop):
    """Without threads: when one is done is no part of a seed."""

    def run_in_executor(  # type: ignore[override]
        self, _executor: Executor | None, func: Callable[..., T], *args: Any
    ) -> asyncio.Future[T]:
        done: asyncio.Future[T] = self.create_future()
        try:
            done.set_result(func(*args))
        except Exception as error:  # noqa: BLE001 - the caller gets it, as from a thread
            done.set_exception(error)
        return done


@contextmanager
def drawn_from(seed: int) -> Iterator[None]:
    """Jitter and identities come from the seed, in the order in which they are asked for."""
    numbers = count()

    class Seeded(random.Random):
        def __init__(self, given: Any = None) -> None:
            super().__init__(f"{seed} {next(numbers)}" if given is None else given)

    ids = random.Random(f"ids {seed}")

    def new_id() -> uuid.UUID:
        return uuid.UUID(int=ids.getrandbits(128), version=4)

    with (
        mock.patch("random.Random", Seeded),
        mock.patch("random.SystemRandom", Seeded),
        mock.patch("uuid.uuid4", new=new_id),
    ):
        yield


def run(seed: int, acts: Sequence[Act] | None = None, **fields: Any) -> Result:
    """The run of a seed's story, or of other acts under the same seed (`Plan` has the fields)."""
    plan = Plan(seed=seed, acts=story(seed) if acts is None else acts, **fields)
    with (
        drawn_from(seed),
        tempfile.TemporaryDirectory() as folder,
        asyncio.Runner(loop_factory=_Loop) as runner,
    ):
        return runner.run(_run(plan, Path(folder)))


async def _run(plan: Plan, folder: Path) -> Result:
    clock = LoopClock()
    network = Network()
    federation = Federation(
        (member("m1", racks=2, nodes=2), member("m2", nodes=3)),
        clock=clock,
        state=folder,
        ports=None,
    )
    federation.link = lambda client, server, inner: (
        network.wrap("karmada", server, inner) if client == KARMADA else inner
    )
    await federation.start()
    try:
        world = Chaos(federation, clock, network)
        await federation.ready()
        world.admin = federation.client()
        await world.apply(
            queue("small", capability={GPU: "16"}, deserved={GPU: "8"}),
            queue("urgent", priority=10, deserved={GPU: "16"}),
        )
        try:
            return await _told(world, plan)
        finally:
            await world.close()
    finally:
        await federation.stop()


async def _told(world: Chaos, plan: Plan) -> Result:
    world.programs = (*MEMBERS, *SCHEDULERS[: plan.schedulers])
    for program, seconds in plan.skew.items():
        world.clocks[program] = LoopClock(Instant(world.clock.now() + round(seconds * SECOND)))
    for program in world.programs:
        await world.launch(program)
    start = world.clock.monotonic()
    world.network.crash = plan.crash
    for act in plan.acts:
        await asyncio.sleep(max(0.0, start + act.at - world.clock.monotonic()))
        await world.act(act)
    await asyncio.sleep(max(0.0, start + plan.seconds - world.clock.monotonic()))
    await world.heal()
    unfinished = await world.rest()
    left = (await world.admin.list(kinds.VOLCANO_JOBS)).items
    return Result(
        seed=plan.seed,
        writes=Counter(world.network.writes),
        violations=[*world.violations(), *world.at_the_end(), *unfinished, *world.denied()],
        fired=world.fired,
        states=len(world._states),
        seen=None if plan.look is None else plan.look(world),
        digest=world.digest(),
        clusters={
            name: await world.clusters(name) for name in (one["metadata"]["name"] for one in left)
        },
    )
