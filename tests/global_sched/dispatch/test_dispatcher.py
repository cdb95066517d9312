"""The order of the writes of a plan, and what happens to what is under way."""

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

from global_sched.dispatch.binding_writer import StatusUpdate, Written
from global_sched.dispatch.dispatcher import Dispatcher
from global_sched.dispatch.results import WriteResult
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.errors import RequestTarget, Unreachable
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Admission, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Target as Place
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from tests.builders import decision, workload
from tests.virtual_time import virtual_time

ON_M1 = Place(cluster=ClusterName("m1"))


class Writer:
    """Takes a second for every write; some fail."""

    def __init__(self, *, status_error=None):
        self.done = []
        self.status_error = status_error

    async def write(self, work):
        await asyncio.sleep(1)
        if isinstance(work, StatusUpdate):
            if self.status_error is not None:
                raise self.status_error
            self.done.append(f"status {work.workload}")
            return Written(WriteResult.OK)
        self.done.append(f"placement {work.workload}")
        saying = StatusUpdate(
            workload=work.workload, binding=ResourceBinding(), decision=work.decision.id,
            affinity=None,
        )  # fmt: skip
        return Written(WriteResult.OK, saying)

    async def read(self, key):
        del key
        return ResourceBinding()


class Source:
    """Every workload at its version 1; what is assumed."""

    def __init__(self):
        self.assumed = set()

    def workload(self, key):
        return workload(key.partition("/")[2], resource_version="1")

    def assume(self, action, now):
        del now
        self.assumed.add(action.workload)

    def forget(self, key):
        self.assumed.discard(key)

    def refresh(self, wire):
        del wire


class UntilEnded:
    """A term that lasts until a test ends it."""

    ended = False

    def valid(self):
        return not self.ended


def admissions(*names):
    made = []
    for name in names:
        one = workload(name, resource_version="1")
        made.append(
            Admission(
                workload=WorkloadKey(f"ns/{name}"),
                uid=one.uid,
                resource_version="1",
                targets=(),
                decision=decision(name=name),
            )
        )
    return Plan(admissions=tuple(made))


@asynccontextmanager
async def dispatching(
    writer, *, concurrency=2, written=lambda *_: None, metrics=None, term=None, source=None
):
    rung = []
    dispatcher = Dispatcher(
        writer,
        source or Source(),
        clock=LoopClock(),
        term=term or UntilEnded(),
        metrics=metrics or Metrics(Program.GLOBAL),
        wake=lambda: rung.append(asyncio.get_running_loop().time()),
        written=written,
        concurrency=concurrency,
    )
    task = asyncio.create_task(dispatcher.run())
    try:
        yield dispatcher, rung
    finally:
        task.cancel()
        await asyncio.wait([task])


@virtual_time
async def test_placements_go_before_all_statuses():
    """A burst's statuses wait until its placements are written, those of a later plan included."""
    writer = Writer()
    async with dispatching(writer) as (dispatcher, rung):
        dispatcher.submit(admissions("a", "b", "c"), Policy())
        await asyncio.sleep(0.5)
        dispatcher.submit(admissions("d"), Policy())
        await dispatcher.placed()
        placed = asyncio.get_running_loop().time()
        await dispatcher.settle()

    assert [one.split()[0] for one in writer.done] == ["placement"] * 4 + ["status"] * 4
    assert placed == 2.0
    assert rung == []


@virtual_time
async def test_statuses_wait_for_a_long_cycle():
    """While a cycle decides, only placements are written."""
    writer = Writer()
    async with dispatching(writer) as (dispatcher, _):
        with dispatcher.deciding():
            dispatcher.submit(admissions("a"), Policy())
            await asyncio.sleep(5)
            meanwhile = list(writer.done)
        await dispatcher.settle()

    assert meanwhile == ["placement ns/a"]
    assert writer.done == ["placement ns/a", "status ns/a"]


@virtual_time
async def test_what_was_dropped_for_a_write_under_way_is_decided_again():
    """A cycle that wants to write a busy binding rings once more when that is done."""
    writer = Writer()
    async with dispatching(writer) as (dispatcher, rung):
        dispatcher.submit(admissions("a"), Policy())
        await asyncio.sleep(0.5)
        dispatcher.submit(admissions("a"), Policy())
        await dispatcher.settle()

    assert writer.done == ["placement ns/a", "status ns/a"]
    assert rung == [2.0]


@virtual_time
async def test_a_status_that_fails_is_left_to_the_next_cycle():
    """It is looked up, and the bell rings, so that the next cycle confirms it."""
    gone = Unreachable("cut", target=RequestTarget(verb="patch", resource="x"))
    writer = Writer(status_error=gone)
    async with dispatching(writer) as (dispatcher, rung):
        dispatcher.submit(admissions("a"), Policy())
        await dispatcher.settle()
        await asyncio.sleep(1)

    assert writer.done == ["placement ns/a"]
    assert len(rung) == 1


@virtual_time
async def test_a_wait_is_counted_once_it_is_over():
    """A first placement that meets another writer ends no wait; the one that stands does."""
    results = [WriteResult.CONFLICT, WriteResult.OK]

    class Contended(Writer):
        async def write(self, work):
            written = await super().write(work)
            if isinstance(work, StatusUpdate):
                return written
            result = results.pop(0)
            return Written(result, written.then if result is WriteResult.OK else None)

    metrics = Metrics(Program.GLOBAL)
    [admission] = admissions("a").admissions
    plan = Plan(admissions=(replace(admission, targets=(ON_M1,)),))
    counts = []
    async with dispatching(Contended(), metrics=metrics) as (dispatcher, _):
        for _ in range(2):
            dispatcher.submit(plan, Policy())
            await dispatcher.placed()
            await asyncio.sleep(5)
            counts.append(metrics.render().count(b"gsched_admission_wait_seconds_count{"))

    assert results == []
    assert counts == [0, 1]


@virtual_time
async def test_the_end_says_what_was_written():
    """Draining drops placements that are not begun, and still says the statuses of the others."""
    writer = Writer()
    async with dispatching(writer, concurrency=1) as (dispatcher, _):
        dispatcher.submit(admissions("a", "b"), Policy())
        await asyncio.sleep(0.5)
        await dispatcher.drain()

    assert writer.done == ["placement ns/a", "status ns/a"]


@virtual_time
async def test_what_is_queued_when_the_term_ends_is_not_written():
    """Only what is on its way arrives; the room that was assumed for the others is free again."""
    writer, source, term, metrics = Writer(), Source(), UntilEnded(), Metrics(Program.GLOBAL)
    running = dispatching(writer, concurrency=1, metrics=metrics, term=term, source=source)
    async with running as (dispatcher, _):
        dispatcher.submit(admissions("a", "b", "c"), Policy())
        assert source.assumed == {"ns/a", "ns/b", "ns/c"}
        await asyncio.sleep(0.5)
        term.ended = True
        await dispatcher.settle()

    assert writer.done == ["placement ns/a"]
    assert source.assumed == set()
    fenced = 'gsched_decisions_total{kind="admit",outcome="fenced"} 2.0'
    assert fenced in metrics.render().decode()
