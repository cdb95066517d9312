"""Writes that fail are tried again ever more seldom, and never on a version that was refused."""

import asyncio
from collections import Counter

import pytest

from global_sched.dispatch.binding_writer import Written
from global_sched.dispatch.dispatcher import Dispatcher
from global_sched.dispatch.results import WriteResult
from global_sched.dispatch.write_backoff import FIRST_PAUSE, LONGEST_PAUSE, WriteBackoff
from global_sched.shared.api.base import Meta
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.errors import (
    Conflict,
    Forbidden,
    NotFound,
    RequestTarget,
    ServerError,
)
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.plan import Admission, Confirmation, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from tests.builders import decision, workload
from tests.global_sched.dispatch.test_dispatcher import UntilEnded
from tests.virtual_time import virtual_time

KEY = WorkloadKey("ns/a")
TARGET = RequestTarget(verb="patch", resource="resourcebindings")
WRITES_PER_SECOND = 5
"""Of one part of one binding: what every test of faults holds against."""


class Server:
    """A binding that others write to; the watch shows nothing unless it is made to."""

    def __init__(self, error, *, version="7"):
        self.error = error
        self.version = version
        self.seen = "1"
        self.patches = []
        self.reads = 0

    # the writer
    async def write(self, work):
        self.patches.append((asyncio.get_running_loop().time(), work.resource_version))
        if self.error is not Conflict or work.resource_version != self.version:
            raise self.error("no", target=TARGET)
        self.version = str(int(self.version) + 1)
        self.seen = self.version
        return Written(WriteResult.OK)

    async def read(self, key):
        del key
        self.reads += 1
        if self.error is NotFound:
            raise NotFound("gone", target=TARGET)
        return ResourceBinding(metadata=Meta(resource_version=self.version))

    # the source
    def workload(self, key):
        return workload(key.partition("/")[2], resource_version=self.seen)

    def refresh(self, wire):
        self.seen = wire.metadata.resource_version

    def assume(self, action, now):
        pass

    def forget(self, key):
        pass


def plan_of(kind, version):
    one = workload("a", resource_version=version)
    if kind == "placement":
        admission = Admission(
            workload=KEY, uid=one.uid, resource_version=version, targets=(), decision=decision()
        )
        return Plan(admissions=(admission,))
    confirmation = Confirmation(
        workload=KEY, uid=one.uid, resource_version=version, generation=1, scheduled_now=False
    )
    return Plan(confirmations=(confirmation,))


async def cycles(server, kind, seconds):
    """Cycles that want the same write each time, as often as the dispatcher rings for one."""
    rung = asyncio.Event()
    dispatcher = Dispatcher(
        server,
        server,
        clock=LoopClock(),
        term=UntilEnded(),
        metrics=Metrics(Program.GLOBAL),
        wake=rung.set,
        written=lambda *_: None,
        concurrency=2,
    )
    task = asyncio.create_task(dispatcher.run())
    end = asyncio.get_running_loop().time() + seconds
    while asyncio.get_running_loop().time() < end and not (server.error is None and server.patches):
        dispatcher.submit(plan_of(kind, server.seen), Policy())
        rung.clear()
        try:
            async with asyncio.timeout(1):
                await rung.wait()
        except TimeoutError:
            continue
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize("kind", ["placement", "status"])
@pytest.mark.parametrize(
    ("error", "most"),
    [
        pytest.param(ServerError, 12, id="500"),
        pytest.param(NotFound, 12, id="404, and the watch is behind"),
        pytest.param(Forbidden, 3, id="403"),
    ],
)
def test_the_same_failure_again_and_again_is_no_hot_loop(kind, error, most):
    """A minute of failures is a dozen writes, and five in a second at most."""

    @virtual_time
    async def run():
        server = Server(error)
        await cycles(server, kind, 60)
        counts = Counter(int(when) for when, _ in server.patches)
        assert 2 <= len(server.patches) <= most
        assert max(counts.values()) <= WRITES_PER_SECOND

    run()


@virtual_time
@pytest.mark.parametrize("kind", ["placement", "status"])
async def test_a_conflict_is_followed_by_a_newer_version(kind):
    """While the watch is behind, the binding is read once, and no version is sent twice."""
    server = Server(Conflict)
    await cycles(server, kind, 1)

    assert [version for _, version in server.patches][:2] == ["1", "7"]
    assert server.reads == 1


@virtual_time
async def test_a_conflict_without_a_newer_version_stops_nothing_for_good():
    """A server that answers 409 to a current version is asked again, ever more seldom."""
    server = Refusing()
    await cycles(server, "placement", 60)

    assert 2 <= len(server.patches) <= 12
    assert max(Counter(int(when) for when, _ in server.patches).values()) <= WRITES_PER_SECOND


class Refusing(Server):
    """It answers 409 whatever the version is."""

    def __init__(self):
        super().__init__(Conflict, version="1")

    async def write(self, work):
        self.patches.append((asyncio.get_running_loop().time(), work.resource_version))
        raise Conflict("no", target=TARGET)


def test_pauses_double_and_end():
    """Each failure in a row doubles the pause, a success ends it, and so does quiet."""
    penalties, now, pauses = WriteBackoff(), 0.0, []
    for _ in range(12):
        pauses.append(penalties.pause(KEY, "binding", now))
        now += pauses[-1]
    assert pauses[:4] == [FIRST_PAUSE, 2 * FIRST_PAUSE, 4 * FIRST_PAUSE, 8 * FIRST_PAUSE]
    assert pauses[-1] == LONGEST_PAUSE
    assert penalties.pause(KEY, "binding_status", now) == FIRST_PAUSE

    penalties.clear(KEY, "binding")
    assert penalties.pause(KEY, "binding", now) == FIRST_PAUSE
    assert penalties.pause(KEY, "binding", now + 2 * LONGEST_PAUSE) == FIRST_PAUSE
