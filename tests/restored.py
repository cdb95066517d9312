"""A backup of a running API server, and the server put back to it: what restoring an etcd does.

As after `etcdutl snapshot restore --bump-revision --mark-compacted`, versions go on above all that
were ever given, and a watch from before ends with 410: its version is forgotten.
"""

import asyncio
from dataclasses import dataclass
from typing import Final

from global_sched.embedded.apiserver.server import ApiServer
from global_sched.embedded.apiserver.storage.store import DELETED, MODIFIED, Event, Record
from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.errors import WentBack
from tests.flows.federation import Whole, gang
from tests.wire import GPU, queue

BUMP: Final = 10**9
OLD: Final = 45
"""Seconds from the backup to the restore: reports of then are not believed any more."""
LATE: Final = 12
"""Seconds after which the last agent is there again."""
REPORTS: Final = 25
"""Seconds in which every agent reports twice."""


@dataclass(frozen=True, slots=True)
class Backup:
    """Every object of a server at one moment."""

    version: int
    records: dict[str, dict[str, Record]]


def backup(server: ApiServer) -> Backup:
    """What is stored now."""
    store = server.backend.store
    return Backup(store.version, {name: dict(c.records) for name, c in store.collections.items()})


async def restore(server: ApiServer, found: Backup) -> None:
    """The server answers again, and everything since the backup has never been."""
    await server.close()
    store = server.backend.store
    store.version = store.start = found.version + BUMP
    for name, collection in store.collections.items():
        before, records = collection.records, found.records.get(name, {})
        collection.events, collection.offset, collection.bytes = [], 0, 0
        collection.visible, collection.floor = 0, store.start
        collection.records, collection.keys = dict(records), sorted(records)
        served = server.backend.registry.of_collection(name)
        for key in before.keys() | records.keys():
            was, now = before.get(key), records.get(key)
            record = now or was
            if was is now or record is None:
                continue
            event = Event(MODIFIED if now else DELETED, record, was, record.version)
            for listener in store.listeners:
                listener(collection, event)
            for callback in server.backend.on_commit if served else ():
                callback(served, record, now is None)
    await server.open()


@dataclass(slots=True)
class Restored:
    """What a restore did to gangs that were placed before the backup and after it."""

    ran: dict[str, str]
    """The node of each pod by its uid, before the restore."""
    run: dict[str, str]
    """The same two reports after the usage is exact again."""
    placed: dict[str, list[str]]
    """The clusters of each gang of after the backup, before the restore."""
    found: dict[str, list[str]]
    """The same after it."""
    ended: set[str]
    """Programs that ended, as they must, and were started again."""
    exact: float
    """Seconds from the restore until the queue's usage is what all gangs hold."""


async def play(world: Whole, *, before: int, after: int) -> Restored:
    """Gangs of 32 GPUs run when a backup is made, others are placed after it; then it is restored.

    The places of the others are closed for what is new, so that a scheduler that knows nothing of
    them would choose another cluster; and the agent of one of those is the last to report.
    """
    await world.apply(queue("capped", capability={GPU: "999"}))
    for at in range(before):
        await world.submit(gang(f"before{at}", queue="capped", seconds=9999))
        await world.until_phase(f"before{at}", "Running")
    await world.kill("global-sched")
    names = [f"after{at}" for at in range(after)]
    for name in names:
        await world.submit(gang(name, queue="capped", seconds=9999))
        await world.until(lambda name=name: world.binding(name), "its binding")
    old = backup(world.federation.control)
    await world.start_scheduler()
    for name in names:
        await world.until_phase(name, "Running")
    ran, placed = await _pods(world), {name: await world.clusters(name) for name in names}
    for cluster in {one for clusters in placed.values() for one in clusters}:
        nodes = await world.member_list(cluster, kinds.NODES)
        await world.cordon(cluster, [one["metadata"]["name"] for one in nodes])
    await asyncio.sleep(OLD)

    # Until they are found, which the checker cannot know.
    world.allowed = tuple(
        f"{name} has 4 live pods in {one[0]}, and 0" for name, one in placed.items()
    )
    [last] = placed[names[0]]
    await world.kill(last)
    await restore(world.federation.control, old)
    at, ended, exact = world.clock.monotonic(), set[str](), float("inf")
    while world.clock.monotonic() < at + 60:
        await asyncio.sleep(1)
        ended.update(await _started_again(world))
        if last not in world._running and world.clock.monotonic() > at + LATE:
            await world.start_agent(last, wait=False)
        if await _allocated(world, "capped") == 32 * (before + after):
            exact = world.clock.monotonic() - at
            break
    await asyncio.sleep(REPORTS)
    found = {name: await world.clusters(name) for name in names}
    return Restored(ran, await _pods(world), placed, found, ended, exact)


async def _pods(world: Whole) -> dict[str, str]:
    found = {}
    for name in world.federation.members:
        for one in await world.pods(name):
            found[one["metadata"]["uid"]] = one["spec"].get("nodeName", "")
    return found


async def _allocated(world: Whole, name: str) -> int:
    """The GPUs that a queue's status names."""
    found = await world.admin.get(kinds.QUEUES, name)
    return int(((found.get("status") or {}).get("allocated") or {}).get(GPU, 0))


async def _started_again(world: Whole) -> set[str]:
    """Every program that ended starts again, as `app.run` or a kubelet does; which those were."""
    ended = {name: task for name, task in world._running.items() if task.done()}
    for program, task in ended.items():
        if not isinstance(task.exception(), WentBack):
            task.result()
        del world._running[program]
        if program in world.federation.members:
            await world.start_agent(program, wait=False)
        else:
            await world.start_scheduler(program, wait=False, restored=True)
    return set(ended)
