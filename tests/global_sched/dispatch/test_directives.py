"""Rate of Directives: at once after a pause, and seldom where a write is costly."""

import asyncio
from itertools import pairwise

import pytest

from global_sched.dispatch.directives import LONGEST, PACE, REST, DirectiveWriter
from global_sched.shared.api.federation import DirectiveEntry, DirectiveSpec
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from tests.global_sched.dispatch.test_dispatcher import UntilEnded
from tests.global_sched.shared.kube.memory_server import MemoryTransport
from tests.virtual_time import virtual_time


class Deciding:
    """A member whose Directive is another one after each look."""

    def __init__(self) -> None:
        self.epoch = 0

    def directive(self, _cluster):
        return (DirectiveSpec(cluster="m1", epoch=self.epoch, size=0),)

    def directive_changes(self, _limit, _recovery):
        self.epoch += 1
        return frozenset({"m1"})


class Growing:
    """A member whose Directive is cut in two when it is looked at again."""

    def __init__(self) -> None:
        self.slices = 0

    def directive(self, _cluster):
        parts = [["a", "b", "c", "d"]] if self.slices == 1 else [["a", "c"], ["b", "d"]]
        return tuple(
            DirectiveSpec(
                cluster="m1",
                slice=number,
                slices=len(parts),
                entries=[DirectiveEntry(binding=one) for one in part],
            )
            for number, part in enumerate(parts)
        )

    def directive_changes(self, _limit, _recovery):
        self.slices += 1
        return frozenset({"m1"})


class Shrinking:
    """A member that has two slices at the first look, and another single one at the second."""

    def __init__(self) -> None:
        self.slices = 3

    def directive(self, _cluster):
        return tuple(
            DirectiveSpec(cluster="m1", slice=number, slices=self.slices)
            for number in range(self.slices)
        )

    def directive_changes(self, _limit, _recovery):
        self.slices -= 1
        return frozenset({"m1"})


async def written(seconds, *, every, delay):
    """When each write began, while a decision is made every so many seconds."""
    clock, server = LoopClock(), MemoryTransport()
    slow = FaultPlan(Fault("*", "directives*", kind=FaultKind.DELAY, seconds=delay, times=10**6))
    began = []

    class Noting(FaultyTransport):
        async def send(self, request):
            began.append(clock.monotonic())
            return await super().send(request)

    client = Client(Noting(server, slow, clock=clock), clock=clock)
    writer = DirectiveWriter(
        client, Deciding(), clock=clock, term=UntilEnded(), metrics=Metrics(Program.GLOBAL)
    )
    running = asyncio.create_task(writer.run())
    start = clock.monotonic()
    while clock.monotonic() - start < seconds:
        writer.refresh(Policy())
        await asyncio.sleep(every)
    running.cancel()
    await asyncio.wait([running])
    return [at - start for at in began]


@pytest.mark.parametrize(
    ("delay", "between"),
    [
        pytest.param(0.001, PACE + 0.001, id="a small one is written ten times a second"),
        pytest.param(0.2, 0.2 * (1 + REST), id="one that takes long rests longer than it took"),
        pytest.param(3.0, 3.0 + LONGEST, id="but never for long"),
    ],
)
def test_a_stream_of_decisions(delay, between):
    """Writing Directives takes at most a fifth of the time; the first one never waits."""

    @virtual_time
    async def run():
        began = await written(20, every=0.01, delay=delay)
        assert began[0] == pytest.approx(0, abs=0.02)
        gaps = [later - earlier for earlier, later in pairwise(began)]
        assert gaps == pytest.approx([between] * len(gaps), abs=0.02)
        assert len(gaps) > 2

    run()


@virtual_time
async def test_entries_never_miss_while_a_directive_grows():
    """What moves to a new slice stands there before it leaves its old one."""
    clock, seen = LoopClock(), []

    class Noting(MemoryTransport):
        def _store(self, path, body, status):
            answer = super()._store(path, body, status)
            stored = self.objects.values()
            entries = [one for obj in stored for one in obj["spec"].get("entries", ())]
            seen.append("".join(sorted(one["binding"] for one in entries)))
            return answer

    writer = DirectiveWriter(
        Client(Noting(), clock=clock),
        Growing(),
        clock=clock,
        term=UntilEnded(),
        metrics=Metrics(Program.GLOBAL),
    )
    running = asyncio.create_task(writer.run())
    for _ in range(2):
        writer.refresh(Policy())
        await writer.settle()
    running.cancel()
    await asyncio.wait([running])

    assert seen == ["abcd", "abbcdd", "abcd"]


@pytest.mark.parametrize("there", [True, False], ids=["it is there", "it is gone"])
@virtual_time
async def test_a_directive_of_which_no_version_is_known_is_written_all_the_same(there):
    """What a bad answer left behind must not be sent for ever: the server refuses an empty one."""
    clock, server = LoopClock(), MemoryTransport()
    client = Client(server, clock=clock)
    source = Deciding()
    writer = DirectiveWriter(
        client, source, clock=clock, term=UntilEnded(), metrics=Metrics(Program.GLOBAL)
    )
    task = asyncio.create_task(writer.run())
    writer.refresh(Policy())
    await writer.settle()
    [path] = [one for one in server.objects if one.endswith("/directives/directive-0")]
    if not there:
        del server.objects[path]

    key = ObjectKey("karmada-es-m1", "directive-0")
    writer.malformed(Malformed(key=key, uid="", resource_version="", error="garbage"))
    source.epoch = 7
    await asyncio.sleep(1)

    assert server.objects[path]["spec"]["epoch"] == 7
    task.cancel()
    await asyncio.wait([task])


@virtual_time
async def test_no_directive_is_written_or_deleted_after_the_end_of_the_term():
    """Of two slices one is to change and the other to go: both stay until there is a term."""
    clock, server, term = LoopClock(), MemoryTransport(), UntilEnded()
    client = Client(server, clock=clock)
    writer = DirectiveWriter(
        client, Shrinking(), clock=clock, term=term, metrics=Metrics(Program.GLOBAL)
    )
    task = asyncio.create_task(writer.run())
    writer.refresh(Policy())
    await writer.settle()
    server.requests.clear()
    term.ended = True
    writer.refresh(Policy())
    await asyncio.sleep(10)
    task.cancel()
    await asyncio.wait([task])

    assert sorted(path.rpartition("/")[2] for path in server.objects) == [
        "directive-0",
        "directive-1",
    ]
    assert server.requests == []
