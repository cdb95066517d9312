"""Health of a program: its own health page, asked until it says so."""

import asyncio
import http.client
import ssl
from pathlib import Path
from typing import Final
from urllib.parse import urlsplit

from global_sched.shared.clock import Clock
from tools.local_karmada.errors import LocalError
from tools.local_karmada.ledger import Ledger, Program
from tools.local_karmada.processes import last_lines

CEILING: Final = 60.0
"""Seconds in which a program has to work; a busy machine takes its time."""
_PAUSE: Final = 0.1


def _ask(url: str) -> int:
    parts = urlsplit(url)
    port = parts.port or 80
    connection: http.client.HTTPConnection
    if parts.scheme == "https":
        # The page holds no secret, and some programs sign their own certificate.
        context = ssl._create_unverified_context()  # noqa: S323, SLF001
        connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=5, context=context)
    else:
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
    try:
        connection.request("GET", parts.path)
        return connection.getresponse().status
    finally:
        connection.close()


async def healthy(program: Program) -> bool:
    """Whether a program runs and, if it has a health page, that says 200."""
    if not program.alive:
        return False
    if not program.health:
        return True
    try:
        return await asyncio.to_thread(_ask, program.health) == 200
    except (OSError, http.client.HTTPException):
        return False


async def until_healthy(ledger: Ledger, *names: str, clock: Clock) -> None:
    """Until these programs work.

    Raises:  LocalError with the last line of its log when one ends or takes too long.
    """
    await asyncio.gather(*(_one(ledger, name, clock) for name in names))


def _way_out(last: str) -> str:
    """What helps against a limit of the machine, whose message names another one."""
    if "too many open files" not in last:
        return ""
    return (
        ": the machine's limit of file watches is used up, end another federation or raise "
        "fs.inotify.max_user_instances (128 do for about four)"
    )


async def _one(ledger: Ledger, name: str, clock: Clock) -> None:
    end = clock.monotonic() + CEILING
    while True:
        program = ledger.programs[name]
        if await healthy(program):
            return
        log = Path(program.log)
        if not program.alive:
            last = last_lines(log)
            raise LocalError(f"{name} ended: {last} (its log: {log}){_way_out(last)}")
        if clock.monotonic() > end:
            last = last_lines(log)
            raise LocalError(f"{name} does not work after {CEILING:.0f} s: {last} (log: {log})")
        await clock.sleep(_PAUSE)
