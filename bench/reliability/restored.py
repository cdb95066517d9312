"""A control plane restored to an older state, in virtual time (`tests/restored.py`)."""

import asyncio
import tempfile
from pathlib import Path
from typing import Final

from bench.harness import Figure, at_most
from global_sched.shared.telemetry.logs import configure
from tests.flows.federation import member, whole
from tests.restored import OLD, Restored, play
from tests.virtual_time import VirtualLoop

GROUP: Final = "restored"
BEFORE: Final = 3
AFTER: Final = 4
LIST: Final = 12
"""Seconds that a program may wait between two lists."""
LEASE: Final = 15
REPORT: Final = 10


def figures() -> list[Figure]:
    """All of them."""
    configure(level="critical")
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        seen = runner.run(_played())
    moved = [name for name in seen.placed if seen.placed[name] != seen.found[name]]
    how = (
        f"a backup {OLD} s old, versions bumped; {BEFORE} gangs of 4 pods ran then, {AFTER} were "
        "placed after it, in clusters that take nothing new now"
    )
    ended = len(seen.ran.keys() - seen.run.keys())
    programs = ", ".join(sorted(seen.ended))
    started = (
        f"from the restore: a list ({LIST} s at most), the Lease ({LEASE} s), two reports of "
        f"{REPORT} s; started anew: {programs}, and one agent that was down meanwhile"
    )
    return [
        at_most(GROUP, "pods ended by a restore", ended, "", 0, how),
        at_most(GROUP, "pods begun by it", len(seen.run.keys() - seen.ran.keys()), "", 0),
        at_most(GROUP, "gangs that it took from their place", len(moved), "", 0),
        at_most(
            GROUP, "usage is exact again after", seen.exact, "s", LIST + LEASE + 2 * REPORT, started
        ),
    ]  # fmt: skip


async def _played() -> Restored:
    members = [member(name, racks=4) for name in ("m1", "m2", "m3")]
    with tempfile.TemporaryDirectory() as folder:
        async with whole(Path(folder), *members) as world:
            return await play(world, before=BEFORE, after=AFTER)
