"""`make e2e`: the suite on a real Karmada, in shards side by side.

Three of them have a federation and a state folder each, and mostly wait for it, so that all
together take little longer than one: `suite`, `jobs`, and `faults`, whose tests break theirs. The
shard `package` installs the wheel and needs no Karmada. All federations stay up until their audit
logs have been looked at. With arguments (`make e2e ARGS="tests/e2e/test_examples.py -k alike"`),
one process runs what they name.
"""

import asyncio
import os
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter
from typing import IO

from tools.local_karmada.federation import Federation
from tools.local_karmada.options import default_state

ROOT = Path(__file__).parents[1]
PYTEST = (
    sys.executable,
    "-m",
    "pytest",
    "-m",
    "e2e",
    "-p",
    "no:randomly",
    "-p",
    "no:cacheprovider",
)
SUITE = ("tests/e2e", "--durations=15")


def states() -> tuple[Path, ...]:
    """The folders of the federations, as tests/e2e/conftest.py has them."""
    given = os.environ.get("E2E_STATE")
    first = Path(given) if given else default_state().parent / "e2e"
    return tuple(first.with_name(f"{first.name}{part}") for part in ("", "-jobs", "-failover"))


@contextmanager
def kept_up() -> Iterator[None]:
    """Nothing of an earlier run is there at first, and nothing is left at the end."""
    asyncio.run(_down())
    try:
        yield
    finally:
        if not os.environ.get("E2E_KEEP"):
            asyncio.run(_down())


async def _down() -> None:
    for state in states():
        await Federation(state).down()


@dataclass(frozen=True, slots=True)
class Ended:
    """How a shard ended: 0 where all is well, and the lines that say what failed."""

    status: int
    failures: Sequence[str] = ()


def shards(names: Sequence[str], command: Sequence[str] = (*PYTEST, *SUITE)) -> dict[str, Ended]:
    """Run shards side by side; what each one prints comes line by line with its name before it."""
    running = {name: _started(name, command) for name in names}
    failures: dict[str, list[str]] = {name: [] for name in names}
    threads = [
        threading.Thread(target=_shown, args=(name, process.stdout, failures[name]))
        for name, process in running.items()
    ]
    for thread in threads:
        thread.start()
    try:
        statuses = {name: process.wait() for name, process in running.items()}
    finally:
        for process in running.values():
            process.terminate()
    for thread in threads:
        thread.join()
    return {name: Ended(statuses[name], failures[name]) for name in names}


def _started(name: str, command: Sequence[str]) -> "subprocess.Popen[str]":
    return subprocess.Popen(
        command,
        cwd=ROOT,
        env=os.environ | {"E2E_SHARD": name, "E2E_KEEP": "1", "PYTHONUNBUFFERED": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
    )


def _shown(name: str, lines: IO[str], failures: list[str]) -> None:
    with lines:
        for line in lines:
            print(f"{name:7} | {line}", end="", flush=True)
            if line.startswith(("E  ", "FAILED ", "ERROR ")):
                failures.append(line.rstrip())


def main(arguments: Sequence[str]) -> int:
    """0 where all is well."""
    if arguments:
        given = [one for one in arguments if not one.startswith("-") and "tests/e2e" in one]
        command = [*PYTEST, *(arguments if given else ("tests/e2e", *arguments))]
        return subprocess.run(command, cwd=ROOT, check=False).returncode
    start = perf_counter()
    with kept_up():
        ended = shards(("suite", "jobs", "faults", "package"))
        between = perf_counter()
        ended |= shards(("rights",))
    seconds = f"{between - start:.0f} s all shards, {perf_counter() - between:.0f} s rights"
    print(summary(ended, seconds), flush=True)
    return int(any(one.status for one in ended.values()))


def summary(ended: Mapping[str, Ended], seconds: str) -> str:
    """What failed once more, where it is looked for, and in the last line how each shard ended."""
    lines = [
        f"{name:7} | {line}" for name, one in ended.items() if one.status for line in one.failures
    ]
    words = [f"{name} {'FAILED' if one.status else 'ended well'}" for name, one in ended.items()]
    return "\n".join([*lines, f"{seconds}; {', '.join(words)}"])


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
