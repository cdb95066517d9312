"""Many agents on one control plane: ten of a hundred hang, and two hundred come back at once.

Virtual time, all real programs in one process: what is measured are waits, timers and writes, not
CPU. Every member has one node of 8 GPUs.
"""

import asyncio
import tempfile
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Final

from bench.harness import Figure, at_most, percentile, shown
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.server import RequestRecord
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.federation import Federation
from global_sched.shared.clock import LoopClock
from global_sched.shared.telemetry.logs import configure
from tests.chaos.network import Network
from tests.chaos.run import Chaos
from tests.chaos.story import CONTROL_PLANE
from tests.checker import GROUP as GANG
from tests.flows.federation import gang, member
from tests.virtual_time import VirtualLoop
from tests.wire import placement

GROUP: Final = "many"
AGENTS: Final = 100
HANGING: Final = 10
BETWEEN: Final = 0.5
"""Virtual seconds between two jobs."""
HERD: Final = 200
CUT: Final = 120
"""Virtual seconds for which all of them are cut off: no report of theirs is trusted any more."""
AFTER: Final = 60


def figures() -> list[Figure]:
    """All of them."""
    configure(level="critical")
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return [*runner.run(_hanging()), *runner.run(_herd())]


@asynccontextmanager
async def _agents(names: Sequence[str]) -> AsyncIterator[Chaos]:
    """A federation whose agents have reported, and whose leader has looked at them."""
    with tempfile.TemporaryDirectory() as folder:
        federation = Federation(
            [member(name, nodes=1) for name in names],
            clock=LoopClock(),
            state=Path(folder),
            ports=None,
        )
        await federation.start()
        try:
            clock = LoopClock()
            world = Chaos(federation, clock, Network())
            await federation.ready()
            world.admin = federation.client()
            try:
                await asyncio.gather(*(world.start_agent(name) for name in names))
                await world.start_scheduler()
                yield world
            finally:
                world.network.heal()
                await world.close()
        finally:
            await federation.stop()


# --- some hang --------------------------------------------------------------------------


async def _hanging() -> list[Figure]:
    alone, violations = await _placements(0)
    beside, more = await _placements(HANGING)
    before, after = percentile(alone, 0.99), percentile(beside, 0.99)
    how = (
        f"{AGENTS} agents, of which {HANGING} get no answer to any call and see nothing of their "
        f"watches; a job for each member, {BETWEEN:g} s apart; from the submission until the pod "
        f"of one of the {len(beside)} others is bound"
    )
    return [
        shown(GROUP, "placement p99 of the others, no agent hangs", before, "s"),
        shown(GROUP, f"the same while {HANGING} hang", after, "s", how),
        at_most(GROUP, "p99 is longer by", round(100 * (after / before - 1), 3), "%", 5),
        at_most(GROUP, "violations in these runs", len(violations) + len(more), "", 0),
    ]


async def _placements(hanging: int) -> tuple[list[float], list[str]]:
    """Seconds from submission to bind of the jobs whose agents do not hang; what was wrong."""
    names = [f"m{at}" for at in range(AGENTS)]
    others = names[: AGENTS - HANGING]
    async with _agents(names) as world:
        for name in names[AGENTS - hanging :]:
            world.network.pause(name)
        await asyncio.sleep(15)
        begun = {}
        for name in sorted(names, key=lambda one: one[::-1]):  # those that hang among the others
            begun[name] = world.clock.monotonic()
            job = gang(f"for-{name}", pods=1, tier=None, seconds=9999)
            await world.submit(job, where=placement(name))
            await asyncio.sleep(BETWEEN)
        await asyncio.sleep(30)
        bound: dict[str, float] = {}
        for seen in world.history():
            if seen.plural == "pods" and seen.obj["spec"].get("nodeName"):
                assert seen.obj["metadata"]["annotations"][GANG]
                bound.setdefault(seen.server, seen.at)
        met = len({kind for kind, _ in world.network.met if kind.startswith("pause")})
        assert met == hanging, f"{met} agents hung"
        return [bound[name] - begun[name] for name in others], world.violations()


# --- all come back at once --------------------------------------------------------------


async def _herd() -> list[Figure]:
    names = [f"m{at}" for at in range(HERD)]
    async with _agents(names) as world:
        for name in names[:20]:
            await world.submit(gang(f"for-{name}", pods=1, tier=None, seconds=9999))
        await asyncio.sleep(20)
        world.network.split = {(name, CONTROL_PLANE) for name in names}
        await asyncio.sleep(CUT)
        fresh, writes = _watch(world)
        begun = world.clock.monotonic()
        world.network.heal()
        await asyncio.sleep(AFTER)
        missing = [name for name in names if name not in fresh]
        last = max(fresh.values()) - begun
        seconds = Counter(int(at - begun) for at, _ in writes)
        refused = sum(code >= 400 for _, code in writes)
        found = [*world.violations(), *world.at_the_end(), *world.denied()]
    how = f"{HERD} agents that were cut off for {CUT} s"
    busy = (
        f"{len(writes)} in {AFTER} s, {len(writes) / HERD:.1f} for each agent; refused: {refused}"
    )
    return [
        at_most(GROUP, "all reports are fresh after", last, "s", 90, how),
        at_most(GROUP, "agents without a fresh report", len(missing), "", 0),
        shown(GROUP, "writes of the agents in the busiest second", max(seconds.values()), "", busy),
        at_most(GROUP, "violations in that run", len(found), "", 0, "; ".join(found[:2])),
    ]


def _watch(world: Chaos) -> tuple[dict[str, float], list[tuple[float, int]]]:
    """When each member's report was next written, and every write of an agent with its code."""
    fresh: dict[str, float] = {}
    writes: list[tuple[float, int]] = []

    def commit(served: ResourceInfo, record: Record, removed: bool) -> None:
        if served.plural == "capacityreports" and not removed:
            cluster = record.load()["spec"]["cluster"]
            fresh.setdefault(cluster, world.clock.monotonic())

    def request(one: RequestRecord) -> None:
        if one.user.endswith(":member-agent") and one.verb not in ("get", "list", "watch"):
            writes.append((world.clock.monotonic(), one.code))

    world.federation.control.on_commit(commit)
    world.federation.control.on_request(request)
    return fresh, writes
