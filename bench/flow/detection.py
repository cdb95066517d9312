"""Detection of losses on an embedded member in virtual time: a hundred pods, a hundred nodes.

All pods of twenty gangs end at one moment; then a hundred idle nodes report a defect, and a hundred
others fall silent. Measured is when the agent acts on each: a new pod, a node that takes no pods.
"""

import asyncio
import json
import statistics
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from bench.harness import Figure, at_most, shown
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import RECOVERY
from global_sched.shared.kube.client import Client
from tests.flows.federation import TEAM, Whole, gang, member, whole
from tests.virtual_time import VirtualLoop

GROUP: Final = "recovery"
GANGS: Final = 20
PODS: Final = 5
NODES: Final = 100
RACKS, PER_RACK = 30, 10
POLL: Final = 0.1
LONGEST: Final = 200.0
DEFECT: Final = {"type": "GpuHealthy", "status": "False", "reason": "XidError"}


async def play(folder: Path) -> dict[str, list[float]]:
    """Seconds until each was known, by what happened."""
    options = MemberOptions(start_seconds=5.0, stop_seconds=1.0)
    one = member("m1", racks=RACKS, nodes=PER_RACK, options=options)
    async with whole(folder, one) as world:
        client = world.federation.member_client("m1")
        try:
            return {
                "pods that end": await _pods(world, client),
                "nodes with a defect": await _nodes(world, client, _defect),
                "silent nodes": await _nodes(world, client, _silence),
            }
        finally:
            await client.close()


async def _pods(world: Whole, client: Client) -> list[float]:
    for at in range(GANGS):
        job = gang(f"g{at:02}", pods=PODS, tier=1, seconds=360_000)
        job["metadata"].setdefault("annotations", {})[RECOVERY] = json.dumps({"scopes": ["pod"]})
        await world.submit(job)

    async def uids() -> dict[str, str]:
        items = (await client.list(kinds.PODS, namespace=TEAM)).items
        return {
            pod["metadata"]["name"]: pod["metadata"]["uid"]
            for pod in items
            if pod["status"].get("phase") in ("Pending", "Running")
        }

    async def running() -> bool:
        items = (await client.list(kinds.PODS, namespace=TEAM)).items
        return sum(pod["status"].get("phase") == "Running" for pod in items) == GANGS * PODS

    await world.until(running, "all gangs run", seconds=120)
    before = await uids()
    machine = world.federation.running_member("m1")
    start = asyncio.get_running_loop().time()
    await asyncio.gather(*(machine.crash_pod(TEAM, name, 1) for name in before))

    async def known() -> set[str]:
        now = await uids()
        return {name for name, uid in before.items() if now.get(name, uid) != uid}

    return await _times(known, len(before), start)


async def _nodes(
    world: Whole, client: Client, strike: Callable[[Whole, Client, str], Awaitable[None]]
) -> list[float]:
    """A hundred nodes that no pod is on and that are not struck yet."""
    used = {pod["spec"].get("nodeName") for pod in await world.pods("m1")}
    closed = world.agents["m1"].health().closed
    names = sorted(one["metadata"]["name"] for one in (await client.list(kinds.NODES)).items)
    struck = [name for name in names if name not in used | closed][:NODES]
    start = asyncio.get_running_loop().time()
    await asyncio.gather(*(strike(world, client, name) for name in struck))

    async def known() -> set[str]:
        return set(struck) & world.agents["m1"].health().closed

    return await _times(known, len(struck), start)


async def _defect(_world: Whole, client: Client, name: str) -> None:
    node: dict[str, Any] = await client.get(kinds.NODES, name)
    conditions = [*node["status"]["conditions"], DEFECT]
    body = {"status": {"conditions": conditions}}
    await client.patch(kinds.NODES, name, body, subresource="status")


async def _silence(world: Whole, _client: Client, name: str) -> None:
    await world.federation.running_member("m1").silence_node(name)


async def _times(
    known: Callable[[], Awaitable[set[str]]], wanted: int, start: float
) -> list[float]:
    """When each was known first. Raises RuntimeError when one is not in time."""
    loop = asyncio.get_running_loop()
    seen: dict[str, float] = {}
    while len(seen) < wanted:
        since = loop.time() - start
        if since > LONGEST:
            raise RuntimeError(
                f"{wanted - len(seen)} of {wanted} are not known after {since:.0f} s"
            )
        for name in await known():
            seen.setdefault(name, since)
        await asyncio.sleep(POLL)
    return sorted(seen.values())


def detection_figures() -> list[Figure]:
    """The median of each, with the first and the last."""
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        found = runner.run(play(Path(folder)))
    figures = [
        shown(
            GROUP,
            f"detection, {len(times)} {what} at once: median",
            statistics.median(times),
            "s",
            f"first {times[0]:.1f} s, last {times[-1]:.1f} s",
        )
        for what, times in found.items()
    ]
    last = found["pods that end"][-1]
    return [*figures, at_most(GROUP, "detection, last of the pods that end", last, "s", 5)]
