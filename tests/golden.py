"""Objects as one version of the programs leaves them, and what another one does that finds them.

    PYTHONPATH=TREE python tests/golden.py write FILE
    PYTHONPATH=TREE python tests/golden.py read FILE

A federation in virtual time with the programs of TREE: `write` lets jobs run, wait and end, and
keeps every object of all servers; `read` starts servers with these objects and programs, and prints
as JSON what they write and which pods end. It uses only what the trees of all releases have.
`tests/data/golden/0.1.0.json` was made so, in the tree of the first release (commit c82940b).
"""

import asyncio
import json
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from global_sched.embedded.federation import Federation
from global_sched.shared.clock import LoopClock
from global_sched.shared.model.instant import Instant
from global_sched.shared.telemetry.logs import configure
from tests.flows.federation import TEAM, Whole, gang, member
from tests.virtual_time import VirtualLoop
from tests.wire import GPU, queue

MEMBERS = ("m1", "m2")
LEFT_OUT = ("rbac.authorization.k8s.io", "apiextensions.k8s.io", "serviceaccounts", "events")
"""Parts of the names of collections that every start fills by itself, or that say nothing."""
ALWAYS = ("capacityreports", "leases")
"""What programs write whether or not anything has changed."""
SETTLED = 60
"""Virtual seconds in which whatever one version has begun comes to rest."""


async def written() -> str:
    """Jobs of all states, and every object once the federation is at rest, as text.

    Everything is started once more on what is kept, because Karmada touches bindings at its start.
    """
    with tempfile.TemporaryDirectory() as folder:
        async with _federation(Path(folder), LoopClock()) as world:
            await world.apply(queue("small", capability={GPU: "16"}))
            await world.start()
            await world.submit(
                gang("whole", seconds=9999),
                gang("partly", seconds=9999, spec={"minAvailable": 2}, gpus=4),
                gang("fills", pods=2, tier=None, seconds=9999, queue="small"),
                gang("ended", pods=1, tier=None, seconds=5),
            )
            for name in ("whole", "partly", "fills"):
                await world.until_phase(name, "Running")
            await world.submit(
                gang("behind", pods=1, tier=None, seconds=9999, queue="small"),
                gang("never", pods=99, seconds=9999),
            )
            await world.until_phase("ended", "Completed")
            await asyncio.sleep(SETTLED)
            kept = _kept(world)
    async with _found(kept) as world:
        await world.start()
        await asyncio.sleep(SETTLED)
        return _text(_kept(world))


async def read(text: str, *, seconds: float = SETTLED) -> dict[str, Any]:
    """What the programs do with these objects: their writes, pods that end or begin."""
    async with _found(json.loads(text)) as world:
        before = await _pods(world)
        await world.start()
        await asyncio.sleep(seconds)
        after = await _pods(world)
        written = Counter(
            f"{server}: {one.verb} {one.resource}/{one.subresource} {one.namespace}/{one.name}"
            for server, one in world.records
            if one.verb not in ("get", "list", "watch")
            and one.code < 300
            and one.resource not in ALWAYS
        )
        return {
            "pods": len(before),
            "ended": sorted(before[one] for one in before.keys() - after.keys()),
            "begun": sorted(after[one] for one in after.keys() - before.keys()),
            "written": dict(sorted(written.items())),
            "refused": world.denied(),
        }


@asynccontextmanager
async def _found(kept: dict[str, Any]) -> AsyncIterator[Whole]:
    """Servers that hold what was kept, at the time at which that was."""
    with tempfile.TemporaryDirectory() as folder:
        for name, found in kept["servers"].items():
            data = Path(folder) / "data" / ("" if name == "control-plane" else "members")
            _fill(data / name, found)
        async with _federation(Path(folder), LoopClock(Instant(kept["now"]))) as world:
            yield world


@asynccontextmanager
async def _federation(folder: Path, clock: LoopClock) -> AsyncIterator[Whole]:
    """The servers, started from what lies in the folder; the programs are ended with them."""
    specs = (member("m1", racks=2), member("m2"))
    federation = Federation(specs, clock=clock, state=folder, persist=True, ports=None)
    await federation.start()
    try:
        world = Whole(federation, clock)
        await federation.ready()
        world.admin = federation.client()
        try:
            yield world
        finally:
            await world.close()
    finally:
        await federation.stop()


def _kept(world: Whole) -> dict[str, Any]:
    servers = (world.federation.control, *world.federation.members.values())
    return {
        "now": int(world.clock.now()),
        "servers": {one.name: _objects(one) for one in servers},
    }


def _text(kept: dict[str, Any]) -> str:
    """JSON with an object on each line."""
    servers = []
    for name, found in sorted(kept["servers"].items()):
        lines = ",\n".join(json.dumps(one, sort_keys=True) for one in found["objects"])
        servers.append(f'"{name}": {{"version": {found["version"]}, "objects": [\n{lines}]}}')
    return f'{{"now": {kept["now"]}, "servers": {{\n{",".join(servers)}}}}}\n'


def _objects(server: Any) -> dict[str, Any]:
    store = server.backend.store
    objects = [
        {"collection": name, "key": key, "version": record.version, "object": record.load()}
        for name, collection in sorted(store.collections.items())
        if not any(part in name for part in LEFT_OUT)
        for key, record in sorted(collection.records.items())
    ]
    return {"version": store.version, "objects": objects}


def _fill(folder: Path, found: dict[str, Any]) -> None:
    """The file from which a server goes on."""
    folder.mkdir(parents=True)
    with sqlite3.connect(folder / "state.db") as db:
        db.execute(
            "create table objects (collection text not null, key text not null, "
            "version integer not null, raw blob not null, primary key (collection, key)) "
            "without rowid"
        )
        db.execute("create table counter (one integer primary key, version integer)")
        db.execute("insert into counter values (1, ?)", (found["version"],))
        db.executemany(
            "insert into objects values (?, ?, ?, ?)",
            [
                (one["collection"], one["key"], one["version"], json.dumps(one["object"]).encode())
                for one in found["objects"]
            ],
        )


async def _pods(world: Whole) -> dict[str, str]:
    """Every pod of the team by its uid."""
    found = {}
    for name in MEMBERS:
        for one in await world.pods(name, TEAM):
            found[one["metadata"]["uid"]] = f"{name}/{one['metadata']['name']}"
    return found


def main(words: list[str]) -> None:
    """`write FILE` or `read FILE`."""
    configure(level="critical")
    file = Path(words[1])
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        if words[0] == "write":
            file.write_text(runner.run(written()), encoding="utf-8")
        else:
            found = runner.run(read(file.read_text(encoding="utf-8")))
            sys.stdout.write(f"{json.dumps(found)}\n")


if __name__ == "__main__":
    main(sys.argv[1:])
