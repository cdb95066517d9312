"""From the POST of a binding to its clusters: an embedded API server and `global-sched run`.

Three processes: `python -m global_sched.embedded serve`, `python -m global_sched run` with a
kubeconfig, and this one, which is the user and the members' agents.
"""

import asyncio
import os
import sys
import tempfile
import time
from asyncio.subprocess import DEVNULL, PIPE, Process
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from bench.harness import Figure, at_least, at_most, percentile, quiet_collector, shown
from bench.traces import TraceMissingError
from bench.wires import Jobs, Obj, cluster_object, clusters, queue_objects, report_objects
from bench.worlds import Size
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.api.schema import crd
from global_sched.shared.clock import SystemClock
from global_sched.shared.kinds.crds import CRD_KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.objects import Malformed, ObjectKey

GROUP = "flow"
BURST = 1_000
LONE = 200
QUIET = 0.2
"""Seconds after which what a binding has set off has ended."""
AT_ONCE = 64
PATIENCE = 30.0
SIZE = Size(clusters=20, nodes=300, queues=20, tenants=20)
_CRDS = Resource(
    "apiextensions.k8s.io", "v1", "customresourcedefinitions", "CustomResourceDefinition"
)


class FlowError(Exception):
    """The flow could not be measured; one line."""


class _Placed:
    """Notes when each binding was first seen with clusters."""

    def __init__(self) -> None:
        self.at: dict[str, float] = {}
        self.wanted: set[str] = set()
        self.done = asyncio.Event()

    def expect(self, names: set[str]) -> None:
        """`done` is set when all of these have clusters."""
        self.wanted = names - self.at.keys()
        self.done.clear()

    def upsert(self, obj: ResourceBinding) -> None:
        """A version of a binding."""
        name = obj.metadata.name
        if obj.spec.clusters and name not in self.at:
            self.at[name] = time.perf_counter()
            self.wanted.discard(name)
            if not self.wanted:
                self.done.set()

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Nothing is deleted here."""

    def malformed(self, bad: Malformed) -> None:
        """Known by the waiting: it never gets clusters."""

    def synced(self) -> None:
        """Nothing to do."""


class _User:
    """Writes what users, Karmada and the agents write."""

    def __init__(self, client: Client, clock: SystemClock) -> None:
        self.client = client
        self.clock = clock
        self.placed = _Placed()

    async def prepare(self) -> None:
        """CRDs, namespaces, queues, clusters with reports."""
        for kind in CRD_KINDS:
            await self.client.create(_CRDS, crd(kind))
        members = clusters(SIZE)
        spaces = [Jobs(SIZE, self.clock.now()).namespace(i) for i in range(SIZE.tenants)]
        spaces += [execution_namespace(one.name) for one in members]
        for name in spaces:
            await self.client.create(kinds.NAMESPACES, {"metadata": {"name": name}})
        for queue in queue_objects(SIZE):
            await self._stored(kinds.QUEUES, queue)
        for member in members:
            await self._stored(kinds.CLUSTERS, cluster_object(member))
            for report in report_objects(member, self.clock.now()):
                await self._stored(kinds.CAPACITY_REPORTS, report)

    async def _stored(self, resource: Resource, obj: Obj) -> Obj:
        meta = {k: v for k, v in obj["metadata"].items() if k not in ("uid", "resourceVersion")}
        namespace, status = meta.get("namespace"), obj.get("status")
        body = {**obj, "metadata": meta}
        body.pop("status", None)
        found = await self.client.create(resource, body, namespace=namespace)
        if status:
            await self.client.patch(
                resource, meta["name"], {"status": status}, namespace=namespace,
                subresource="status",
            )  # fmt: skip
        return found

    async def bindings(self, jobs: Jobs, count: int) -> list[Obj]:
        """Bindings whose templates are stored, ready to be sent."""
        found = []
        for index in range(count):
            template = await self._stored(kinds.VOLCANO_JOBS, jobs.template(index))
            body = jobs.binding(index)
            for name in ("uid", "resourceVersion"):
                del body["metadata"][name]
                body["spec"]["resource"][name] = template["metadata"][name]
            del body["status"]
            found.append(body)
        return found

    async def submit(self, bodies: list[Obj]) -> dict[str, tuple[float, float]]:
        """Send all, and wait until all have clusters: when each was sent and placed."""
        names = {body["metadata"]["name"] for body in bodies}
        self.placed.expect(names)
        sent: dict[str, float] = {}
        waiting = iter(bodies)

        async def sender() -> None:
            for body in waiting:
                sent[body["metadata"]["name"]] = time.perf_counter()
                space = body["metadata"]["namespace"]
                await self.client.create(kinds.RESOURCE_BINDINGS, body, namespace=space)

        try:
            async with asyncio.timeout(PATIENCE), asyncio.TaskGroup() as group:
                for _ in range(min(AT_ONCE, len(bodies))):
                    group.create_task(sender())
                group.create_task(self.placed.done.wait())
        except TimeoutError:
            left = len(self.placed.wanted)
            raise FlowError(
                f"{left} of {len(bodies)} bindings got no clusters in {PATIENCE:g} s"
            ) from None
        return {name: (sent[name], self.placed.at[name]) for name in names}


@asynccontextmanager
async def _process(*arguments: str, log: Path) -> AsyncIterator[Process]:
    """A program of ours, ended with the block."""
    with log.open("wb") as file:
        process = await asyncio.create_subprocess_exec(
            sys.executable, "-m", *arguments, stdin=DEVNULL, stdout=PIPE, stderr=file
        )
    try:
        yield process
    finally:
        if process.returncode is None:
            process.terminate()
        await process.communicate()


def _cpu(process: Process) -> float:
    """CPU seconds of a process so far."""
    fields = Path(f"/proc/{process.pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


async def _measure(folder: Path) -> list[Figure]:
    clock = SystemClock()
    async with _process("global_sched.embedded", "serve", log=folder / "server.log") as server:
        assert server.stdout is not None
        kubeconfig = Path((await server.stdout.readline()).decode().strip())
        client = Client(await connect(kubeconfig=kubeconfig, clock=clock), clock=clock)
        try:
            user = _User(client, clock)
            await user.prepare()
            flags: tuple[str, ...] = (
                "run",
                "--kubeconfig",
                str(kubeconfig),
                "--log-level",
                "warning",
            )
            # There is one report per member, written before the clock starts.
            flags += ("--set", "policy.report_trust_seconds=3600")
            log = folder / "global-sched.log"
            async with _process("global_sched", *flags, log=log) as program:
                return await _watched(user, server, program)
        finally:
            await client.close()


async def _watched(user: _User, server: Process, program: Process) -> list[Figure]:
    informer = Informer(
        user.client, kinds.RESOURCE_BINDINGS, ResourceBinding, handler=user.placed,
        clock=user.clock,
    )  # fmt: skip
    watching = asyncio.create_task(informer.run())
    try:
        now = user.clock.now()
        # The first one waits until global-sched leads.
        await user.submit(await user.bindings(Jobs(SIZE, now, prefix="first"), 20))
        lone = await user.bindings(Jobs(SIZE, now, prefix="lone"), LONE)
        calm = await user.bindings(Jobs(SIZE, now, prefix="calm"), LONE)
        many = await user.bindings(Jobs(SIZE, now, prefix="many"), BURST)
        with quiet_collector():
            figures = [await _alone(user, lone), await _after_quiet(user, calm)]
            return [*figures, *await _burst(user, many, server, program)]
    finally:
        watching.cancel()
        await asyncio.gather(watching, return_exceptions=True)


async def _alone(user: _User, bodies: list[Obj]) -> Figure:
    times = await _latencies(user, bodies, pause=0)
    note = (
        f"{len(times)} one after the other, seen by a watch; median {percentile(times, 0.5):.1f} ms"
    )
    return at_most(GROUP, "lone binding: p99", percentile(times, 0.99), "ms", 50, note)


async def _after_quiet(user: _User, bodies: list[Obj]) -> Figure:
    """The same where the one before has left nothing to do; it has no target of its own."""
    times = await _latencies(user, bodies, pause=QUIET)
    note = f"each after {QUIET} s of quiet; median {percentile(times, 0.5):.1f} ms"
    return shown(GROUP, "lone binding after quiet: p99", percentile(times, 0.99), "ms", note)


async def _latencies(user: _User, bodies: list[Obj], *, pause: float) -> list[float]:
    """Milliseconds from sending each binding until a watch shows its clusters."""
    times = []
    for body in bodies:
        await asyncio.sleep(pause)
        [(sent, placed)] = (await user.submit([body])).values()
        times.append((placed - sent) * 1000)
    return times


async def _burst(user: _User, bodies: list[Obj], server: Process, program: Process) -> list[Figure]:
    before = _cpu(server), _cpu(program), time.process_time()
    times = (await user.submit(bodies)).values()
    after = _cpu(server), _cpu(program), time.process_time()
    used = [end - start for start, end in zip(before, after, strict=True)]
    first, last = min(sent for sent, _ in times), max(placed for _, placed in times)
    posted = max(sent for sent, _ in times) - first
    note = (
        f"{SIZE.clusters} clusters of {SIZE.nodes} nodes; all sent in {posted:.2f} s, placed in "
        f"{last - first:.2f} s; CPU seconds: server {used[0]:.2f}, global-sched {used[1]:.2f}, "
        f"this client {used[2]:.2f}, on {os.cpu_count()} cores that all three share; "
        "every admission is two PATCHes: placements first, statuses behind all of them"
    )
    rate = len(bodies) / (last - first)
    waits = [(placed - sent) * 1000 for sent, placed in times]
    return [
        at_least(GROUP, f"{len(bodies):,} bindings at once", rate, "bindings/s", 500, note),
        shown(GROUP, "of those, from POST to clusters: p99", percentile(waits, 0.99), "ms"),
    ]


def figures() -> list[Figure]:
    """Bindings per second of a burst, and the latency of a lone one."""
    with tempfile.TemporaryDirectory(prefix="bench-flow-") as folder:
        try:
            return asyncio.run(_measure(Path(folder)))
        except (TraceMissingError, FlowError) as error:
            log = Path(folder) / "global-sched.log"
            tail = log.read_text().strip().splitlines()[-1:] if log.exists() else []
            note = " ".join([str(error), *tail])
            return [shown(GROUP, f"{BURST:,} bindings at once", None, "bindings/s", note)]
