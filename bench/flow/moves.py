"""Moves between clusters on an embedded federation in virtual time, and the brakes in a storm.

Twenty gangs lose a node for good, and their member has no other place for them: from the fault to
the gang whole in another member, and the writes of one move. Then a hundred gangs of one cluster,
of which a part loses its nodes at once: what moves, and what each brake stops.
"""

import asyncio
import json
import statistics
import sys
from collections import Counter
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.harness import Figure, at_most, shown
from global_sched.core import run_cycle
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION, JOB_NAME, OUT_OF_SERVICE, RECOVERY
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import BelowMinimum
from global_sched.shared.model.snapshot import Running
from global_sched.shared.model.workload import Workload
from global_sched.shared.telemetry.logs import configure
from tests.builders import NOW, POLICY, cluster, snapshot, workload
from tests.flows.federation import Whole, gang, member, whole
from tests.virtual_time import VirtualLoop

GROUP: Final = "moves"
PODS: Final = 2
HOLD: Final = 120
RULES: Final = {"scopes": ["pod", "cluster"], "hold": f"{HOLD}s"}
TIMES: Final = MemberOptions(start_seconds=20.0, stop_seconds=10.0)
LONGEST: Final = 600
_OFF: Final = {"key": OUT_OF_SERVICE, "effect": "NoExecute"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the world is: gangs fill a rack of two nodes each."""

    members: int = 3
    gangs: int = 72
    racks: int = 32
    lost: int = 20


@dataclass(slots=True, kw_only=True)
class Move:
    """The seconds at which one gang's move came to its points; -1 for never."""

    fault: float
    below: float = -1.0
    """Its member reports that it is below its minimum."""
    left: float = -1.0
    """It was withdrawn."""
    ended: float = -1.0
    """None of its pods is in its old member any more."""
    gone: float = -1.0
    """Its old member has shown that nothing is left."""
    placed: float = -1.0
    """It is admitted in another member."""
    whole: float = -1.0
    """All of its pods are Ready there."""


async def play(folder: Path, size: Size) -> tuple[list[Move], int]:
    """All faults at once; the moves, and the writes of the leader to the gangs' bindings."""
    members = [
        member(f"m{at}", racks=size.racks, nodes=PODS, options=TIMES) for at in range(size.members)
    ]
    async with whole(folder, *members) as world:
        names = [f"m{at}" for at in range(size.members)]
        for at in range(size.gangs):
            job = gang(f"g{at:02}", pods=PODS, seconds=360_000)
            job["metadata"].setdefault("annotations", {})[RECOVERY] = json.dumps(RULES)
            await world.submit(job, where=_first(names[at % size.members], names))
        for _ in range(LONGEST):
            pods = [pod for name in names for pod in await world.pods(name)]
            if len(pods) == size.gangs * PODS and all(map(_is_ready, pods)):
                break
            await asyncio.sleep(1)
        else:
            raise RuntimeError("the gangs did not all start")
        fault = world.clock.monotonic()
        since = len(world.records)
        homes = await _strike(world, names, size)
        moves = {job: Move(fault=fault) for job in homes}
        for _ in range(LONGEST):
            await asyncio.sleep(1)
            await _look(world, names, homes, moves)
            if all(one.whole >= 0 for one in moves.values()):
                break
        bindings = {f"{job}-job" for job in homes}
        writes = sum(
            one.verb == "patch" and one.resource == "resourcebindings" and one.name in bindings
            for server, one in world.records[since:]
            if server == "control-plane" and one.user.endswith(":global-sched")
        )
        _read(world, moves)
        return list(moves.values()), writes


def _first(home: str, names: list[str]) -> dict[str, Any]:
    """A placement in this member, else in any other: so that each has as many gangs."""
    return {
        "clusterAffinities": [
            {"affinityName": "home", "clusterNames": [home]},
            {"affinityName": "rest", "clusterNames": [one for one in names if one != home]},
        ]
    }


def _is_ready(pod: dict[str, Any]) -> bool:
    return "deletionTimestamp" not in pod["metadata"] and any(
        one["type"] == "Ready" and one["status"] == "True"
        for one in pod["status"].get("conditions") or ()
    )


async def _strike(world: Whole, names: list[str], size: Size) -> dict[str, str]:
    """One machine each of so many gangs, evenly from all members; where each gang was."""
    homes: dict[str, str] = {}
    for number, name in enumerate(names):
        share = size.lost // size.members + (number < size.lost % size.members)
        client = world.federation.member_client(name)
        pods = {pod["metadata"]["labels"][JOB_NAME]: pod for pod in await world.pods(name)}
        for job in sorted(pods)[:share]:
            node = pods[job]["spec"]["nodeName"]
            await world.federation.running_member(name).silence_node(node)
            await client.delete(kinds.NODES, node)
            homes[job] = name
        await client.close()
    return homes


async def _look(
    world: Whole, names: list[str], homes: dict[str, str], moves: dict[str, Move]
) -> None:
    """Whole elsewhere, or below its minimum, as the reports and pods say now."""
    now = world.clock.monotonic()
    ready: Counter[tuple[str, str]] = Counter()
    there: Counter[tuple[str, str]] = Counter()
    for name in names:
        for pod in await world.pods(name):
            key = (pod["metadata"]["labels"][JOB_NAME], name)
            ready[key] += _is_ready(pod)
            there[key] += 1
    below = {
        one["binding"]
        for name in names
        for one in (await world.report(name))["workloads"]
        if one.get("belowSince")
    }
    for job, move in moves.items():
        if move.below < 0 and below:
            meta = (await world.binding(job))["metadata"]
            if meta["labels"]["resourcebinding.karmada.io/permanent-id"] in below:
                move.below = now
        if move.ended < 0 and not there[job, homes[job]]:
            move.ended = now
        elsewhere = any(ready[job, name] == PODS for name in names if name != homes[job])
        if move.whole < 0 and elsewhere:
            move.whole = now


def _read(world: Whole, moves: dict[str, Move]) -> None:
    """The points that stand in decisions, from every state of the bindings."""
    for seen in world.history():
        if seen.plural != "resourcebindings":
            continue
        at, obj = seen.at, seen.obj
        move = moves.get(obj["spec"]["resource"]["name"])
        text = (obj["metadata"].get("annotations") or {}).get(DECISION)
        if move is None or not text or at < move.fault:
            continue
        grants = json.loads(text).get("grants") or ()
        leaves = any(one.get("left") for one in grants)
        if move.left < 0 and leaves:
            move.left = at
        if move.left >= 0 and move.gone < 0 and not leaves:
            move.gone = at
        if move.gone >= 0 and move.placed < 0 and obj["spec"].get("clusters"):
            move.placed = at


# --- the brakes -------------------------------------------------------------------------------


def storm(lost: int, of: int = 100) -> tuple[int, Counter[str]]:
    """So many of a cluster's gangs lose a node at once: those that move, and what stops the rest.

    Cycles until one moves nothing.
    """
    home, other = cluster("home", nodes=of, gpus=8), cluster("other", nodes=of, gpus=8)
    gangs = [_gang(f"g{at:03}", lost=at < lost) for at in range(of)]
    moved = 0
    while True:
        world = snapshot((home, other), running=gangs).snapshot()
        parts = tuple(
            Running(
                cluster=one.name,
                workloads=tuple(w for w in gangs if w.targets[0].cluster == one.name),
            )
            for one in (home, other)
        )
        plan = run_cycle(replace(world, running=parts), POLICY, NOW)
        if not plan.withdrawals:
            return moved, Counter(str(brake) for _, brake in plan.stays)
        there = {one.workload: one.decision.moved for one in plan.withdrawals}
        gangs = [
            _arrived(one, there[one.key]) if there.get(one.key) is not None else one
            for one in gangs
        ]
        moved += len(there)


def _gang(name: str, *, lost: bool) -> Workload:
    one = workload(name, gpus=8, on="home", bound=int(not lost), below_minimum=BelowMinimum())
    one = replace(one, below_minimum=BelowMinimum(moves=True))
    below = Instant(NOW - 900 * SECOND) if lost else None
    return replace(one, progress=(replace(one.progress[0], below=below),))


def _arrived(one: Workload, moved: Instant | None) -> Workload:
    there = workload(one.name, gpus=8, on="other", below_minimum=one.below_minimum)
    assert there.decision is not None
    return replace(there, decision=replace(there.decision, moved=moved))


# --- figures ----------------------------------------------------------------------------------


def figures(size: Size | None = None) -> list[Figure]:
    """The time of a move with its split, its writes, and the storm."""
    configure(level="error", stream=sys.stderr)
    size = size or Size()
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        moves, writes = runner.run(play(Path(folder), size))
    done = [one for one in moves if one.whole >= 0]
    if not done:
        raise RuntimeError("no gang moved")
    median = statistics.median
    parts = (
        ("notice", median(one.below - one.fault for one in done)),
        ("hold", float(HOLD)),
        ("decide", max(0.0, median(one.left - one.below - HOLD for one in done))),
        ("leave", median(one.ended - one.left for one in done)),
        ("gone", median(one.gone - one.ended for one in done)),
        ("place", median(one.placed - one.gone for one in done)),
        ("start", median(one.whole - one.placed for one in done)),
    )
    note = ", ".join(f"{name} {value:.1f} s" for name, value in parts)
    after = median(one.whole - one.below - HOLD for one in done)
    found = [
        shown(GROUP, f"{len(done)} moves: median from below the minimum and the hold to whole",
              after, "s", note),
        shown(GROUP, "the slowest of them", max(one.whole - one.below - HOLD for one in done), "s"),
        at_most(GROUP, "gangs that did not move", len(moves) - len(done), "gangs", 0),
        shown(GROUP, "writes to the binding per move", writes / len(done), "writes"),
    ]  # fmt: skip
    for lost in (25, 35):
        moved, stopped = storm(lost)
        why = ", ".join(f"{brake} {number}" for brake, number in sorted(stopped.items()))
        found.append(
            shown(
                GROUP, f"{lost} of 100 gangs of a cluster lost at once: moved", moved, "gangs", why
            )
        )
    return found


if __name__ == "__main__":
    small = Size(members=2, gangs=16, racks=12, lost=4)
    for figure in figures(small if "--small" in sys.argv else None):
        print(figure.figure, figure.value, figure.unit, figure.target, figure.met, figure.note)
