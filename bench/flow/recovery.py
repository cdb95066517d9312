"""Recovery on an embedded federation in virtual time: from a fault to the gang whole again.

Real servers, programs and controllers over HTTP, with the times of Kubernetes' own controllers.
Thirty faults of six classes hit thirty of forty gangs; the same faults are played once more on
jobs whose policies restart the whole job. Virtual time has no cost of computing: what is measured
are waits, timers and writes, not CPU. Containers take 20 s to start and 10 s to stop.
"""

import asyncio
import json
import statistics
import sys
from collections.abc import Mapping
from contextlib import AsyncExitStack
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.flow.detection import detection_figures
from bench.harness import Figure, at_most, shown
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import JOB_NAME, OUT_OF_SERVICE, RECOVERY
from global_sched.shared.kube.client import Client
from global_sched.shared.telemetry.logs import configure
from tests.flows.federation import TEAM, Whole, gang, member, whole
from tests.virtual_time import VirtualLoop

GROUP: Final = "recovery"
PODS: Final = 8
POLL: Final = 0.5
LONGEST: Final = 400.0
"""Seconds after which a gang counts as not whole again."""
KUBERNETES: Final = 40.0 + 300.0
"""Seconds from the last heartbeat of a node to the eviction of its pods, by old defaults."""
LADDER: Final = {"scopes": ["pod", "job"], "budget": {"losses": 5, "window": "24h"}}
WHOLE_JOB: Final = {
    "policies": [
        {"event": "PodFailed", "action": "RestartJob"},
        {"event": "PodEvicted", "action": "RestartJob"},
    ]
}
TIMES: Final = MemberOptions(start_seconds=20.0, stop_seconds=10.0)
"""Containers take 20 s to start and 10 s to stop; nodes have the times of Kubernetes 1.35."""
CLASSES: Final = ("exit 1", "out of memory", "evicted", "machine off", "Node deleted", "lease")
NODE_FAULTS: Final = CLASSES[3:]
_OFF: Final = {"key": OUT_OF_SERVICE, "effect": "NoExecute"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Size:
    """How large the world is."""

    members: int = 3
    racks: int = 14
    gangs: int = 40
    faults: int = 30


@dataclass(slots=True, kw_only=True)
class Trial:
    """One fault, and the seconds after it at which the next things were seen; -1 for never."""

    kind: str
    cluster: str
    job: str
    pod: str
    node: str
    before: Mapping[str, str]
    start: float = 0.0
    detected: float = -1.0
    """The loss is known: the node is in trouble, or the pod has failed or is asked to go."""
    freed: float = -1.0
    """The lost pod's object is gone."""
    bound: float = -1.0
    """Every pod of the gang has a node again."""
    whole: float = -1.0
    disturbed: int = 0
    """Pods beside the lost one that were made anew."""


async def play(folder: Path, size: Size, *, ladder: bool) -> list[Trial]:
    """Play all faults at once, each on a gang of its own."""
    members = [
        member(f"m{at}", racks=size.racks, nodes=PODS + 2, options=TIMES)
        for at in range(size.members)
    ]
    async with AsyncExitStack() as stack:
        world = await stack.enter_async_context(whole(folder, *members, start=False))
        for at in range(size.members):
            await world.start_agent(f"m{at}", fencing="lease")
        await world.start_scheduler()
        jobs = []
        for at in range(size.gangs):
            more = {} if ladder else {"spec": WHOLE_JOB}
            job = gang(f"g{at:02}", pods=PODS, tier=1, seconds=360_000, **more)
            if ladder:
                job["metadata"].setdefault("annotations", {})[RECOVERY] = json.dumps(LADDER)
            jobs.append(job)
        await world.submit(*jobs)
        clients = {f"m{at}": world.federation.member_client(f"m{at}") for at in range(size.members)}
        for _ in range(240):
            pods = await _pods(clients)
            if sum(_is_whole(own) for own in pods.values()) == size.gangs:
                break
            await asyncio.sleep(1)
        else:
            raise RuntimeError("the gangs did not all start within 240 s")
        trials = [
            _trial(CLASSES[at % len(CLASSES)], *key, pods[key])
            for at, key in enumerate(sorted(pods)[: size.faults])
        ]
        for trial in trials:
            await _strike(world, clients[trial.cluster], trial)
        await _follow(world, clients, trials)
        return trials


def _trial(kind: str, cluster: str, job: str, pods: Mapping[str, Any]) -> Trial:
    name = sorted(pods)[PODS // 2]
    return Trial(
        kind=kind,
        cluster=cluster,
        job=job,
        pod=name,
        node=pods[name]["spec"]["nodeName"],
        before={pod: obj["metadata"]["uid"] for pod, obj in pods.items()},
    )


async def _pods(clients: Mapping[str, Client]) -> dict[tuple[str, str], dict[str, Any]]:
    """By cluster and job, the pods by name."""
    found: dict[tuple[str, str], dict[str, Any]] = {}
    for cluster, client in clients.items():
        for pod in (await client.list(kinds.PODS, namespace=TEAM)).items:
            job = pod["metadata"]["labels"].get(JOB_NAME, "")
            found.setdefault((cluster, job), {})[pod["metadata"]["name"]] = pod
    return found


def _is_whole(pods: Mapping[str, Any]) -> bool:
    return len(pods) == PODS and all(
        "deletionTimestamp" not in pod["metadata"]
        and any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions") or ()
        )
        for pod in pods.values()
    )


async def _strike(world: Whole, client: Client, trial: Trial) -> None:
    machine = world.federation.running_member(trial.cluster)
    trial.start = asyncio.get_running_loop().time()
    match trial.kind:
        case "exit 1":
            await machine.crash_pod(TEAM, trial.pod, 1)
        case "out of memory":
            await machine.crash_pod(TEAM, trial.pod, 137, reason="OOMKilled")
        case "evicted":
            await client.delete(kinds.PODS, trial.pod, namespace=TEAM)
        case _:
            await machine.silence_node(trial.node)
            if trial.kind == "Node deleted":
                await client.delete(kinds.NODES, trial.node)


async def _follow(world: Whole, clients: Mapping[str, Client], trials: list[Trial]) -> None:
    """Look twice a second until every gang is whole again, or it lasts too long."""
    loop = asyncio.get_running_loop()
    end = loop.time() + LONGEST
    while loop.time() < end and any(one.whole < 0 for one in trials):
        pods = await _pods(clients)
        for trial in trials:
            if trial.whole < 0:
                await _look(world, clients, trial, pods.get((trial.cluster, trial.job), {}))
        await asyncio.sleep(POLL)


async def _look(
    world: Whole, clients: Mapping[str, Client], trial: Trial, pods: Mapping[str, Any]
) -> None:
    since = asyncio.get_running_loop().time() - trial.start
    same = pods.get(trial.pod)
    replaced = same is None or same["metadata"]["uid"] != trial.before[trial.pod]
    if trial.detected < 0:
        known = trial.node in world.agents[trial.cluster].health().closed
        gone = trial.kind == "Node deleted" and replaced
        lost = trial.kind not in NODE_FAULTS
        if known or gone or lost:
            trial.detected = since
            if trial.kind == "machine off":
                taint = {"spec": {"taints": [_OFF]}}
                await clients[trial.cluster].patch(kinds.NODES, trial.node, taint)
    if trial.freed < 0 and replaced:
        trial.freed = since
        trial.detected = since if trial.detected < 0 else trial.detected
    if trial.freed < 0:
        return
    nodes = [pod["spec"].get("nodeName") for pod in pods.values()]
    if trial.bound < 0 and len(nodes) == PODS and all(nodes):
        trial.bound = since
    if _is_whole(pods) and replaced:
        trial.whole = since
        trial.bound = since if trial.bound < 0 else trial.bound
        trial.disturbed = sum(
            name != trial.pod and (name not in pods or pods[name]["metadata"]["uid"] != uid)
            for name, uid in trial.before.items()
        )


# --- figures ----------------------------------------------------------------------------------


def played(size: Size, *, ladder: bool) -> list[Trial]:
    """One run in a loop of its own."""
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(play(Path(folder), size, ladder=ladder))


def volcano(trial: Trial) -> float:
    """Seconds of Volcano's defaults, modelled: eviction by Kubernetes, then the whole job anew."""
    after = trial.whole - trial.freed
    return KUBERNETES + after if trial.kind in NODE_FAULTS else trial.whole


def figures(size: Size | None = None) -> list[Figure]:
    """Equal detection first; then all of it, by class, and the split."""
    configure(level="error", stream=sys.stderr)
    size = size or Size()
    ours, other = played(size, ladder=True), played(size, ladder=False)
    never = [one for one in (*ours, *other) if one.whole < 0]
    whole_ours = [one for one in ours if one.whole >= 0]
    whole_other = [one for one in other if one.whole >= 0]
    if not whole_ours or not whole_other:
        raise RuntimeError("no gang was whole again")
    ours_after = statistics.median(one.whole - one.freed for one in whole_ours)
    other_after = statistics.median(one.whole - one.freed for one in whole_other)
    total = statistics.median(one.whole for one in whole_ours)
    default = statistics.median(volcano(one) for one in whole_other)
    nodes = [one for one in whole_ours if one.kind in NODE_FAULTS]
    node_default = [volcano(one) for one in whole_other if one.kind in NODE_FAULTS]
    found = [
        at_most(
            GROUP, "equal detection: median from the freed name to whole, of whole-job restart",
            ours_after / other_after, "×", 0.5, f"{ours_after:.1f} s and {other_after:.1f} s",
        ),
        at_most(
            GROUP, "all faults: median, of Volcano's defaults modelled", total / default, "×", 0.3,
            f"{total:.1f} s and {default:.1f} s",
        ),
        at_most(
            GROUP, "lost machines alone: median, of Volcano's defaults modelled",
            statistics.median(one.whole for one in nodes) / statistics.median(node_default), "×",
            0.3,
        ),
        at_most(
            GROUP, "pods disturbed beside the lost one, most per fault",
            max(one.disturbed for one in whole_ours), "pods", 2,
            f"whole-job restart: {max(one.disturbed for one in whole_other)}",
        ),
        at_most(GROUP, "gangs not whole again, both runs", len(never), "gangs", 0),
    ]  # fmt: skip
    found += detection_figures()
    for kind in CLASSES:
        own = [one for one in whole_ours if one.kind == kind]
        if own:
            found += _split(kind, own)
    return found


def _split(kind: str, trials: list[Trial]) -> list[Figure]:
    """The medians of one class: detect, free, place, start."""
    median = statistics.median
    parts = (
        ("detect", median(one.detected for one in trials)),
        ("free", median(one.freed - one.detected for one in trials)),
        ("place", median(one.bound - one.freed for one in trials)),
        ("start", median(one.whole - one.bound for one in trials)),
    )
    note = ", ".join(f"{name} {value:.1f} s" for name, value in parts)
    return [shown(GROUP, f"{kind}: median", median(one.whole for one in trials), "s", note)]


if __name__ == "__main__":
    small = Size(members=1, racks=7, gangs=6, faults=6)
    for figure in figures(small if "--small" in sys.argv else None):
        print(figure.figure, figure.value, figure.unit, figure.target, figure.met, figure.note)
