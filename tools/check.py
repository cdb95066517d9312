"""`make check`: everything that must hold, side by side, with the seconds that each part took.

Types need one processor for a while and so do the tests, so both run at once, and what is quick
comes before the types. All parts run to their end: one call shows everything that is wrong.
"""

import os
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter

ROOT = Path(__file__).parents[1]
BIN = Path(sys.executable).parent
CACHE = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "global-sched" / "mypy"
"""Kept between checkouts: a second check of types takes a few seconds."""


@dataclass(frozen=True, slots=True)
class Part:
    """A command of the check."""

    name: str
    command: Sequence[str | Path]


@dataclass(frozen=True, slots=True)
class Result:
    """How a part ended: 0 where all is well, what it printed, and its seconds."""

    name: str
    status: int
    printed: str
    seconds: float


STATIC = (
    Part("format", (BIN / "ruff", "format", "--check", ".")),
    Part("lint", (BIN / "ruff", "check", ".")),
    Part("imports", (BIN / "lint-imports",)),
    Part("types", (BIN / "mypy", "--cache-dir", CACHE)),
)
TESTS = Part("tests", (os.environ.get("MAKE", "make"), "test", "ARGS=--durations=10"))


def run(part: Part, *, shown: bool = False) -> Result:
    """Run a part to its end. What is `shown` goes to our own output as it comes."""
    start = perf_counter()
    done = subprocess.run(
        part.command,
        cwd=ROOT,
        stdout=None if shown else subprocess.PIPE,
        stderr=None if shown else subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Result(part.name, done.returncode, done.stdout or "", perf_counter() - start)


def check(beside: Sequence[Part], tests: Part) -> list[Result]:
    """The parts one after the other beside the tests; a part that fails says so at once."""
    found: list[Result] = []

    def others() -> None:
        for part in beside:
            result = run(part)
            found.append(result)
            if result.status:
                print(f"\n{part.name} FAILED\n{result.printed}", flush=True)

    thread = threading.Thread(target=others)
    thread.start()
    tested = run(tests, shown=True)
    thread.join()
    return [*found, tested]


def summary(results: Sequence[Result], seconds: float) -> str:
    """A line per part, and what failed once more at the end, where it is looked for."""
    lines = ["", "seconds  part"]
    lines += [f"{one.seconds:7.1f}  {one.name}{'  FAILED' * bool(one.status)}" for one in results]
    lines.append(f"{seconds:7.1f}  in all, the tests beside the rest")
    lines += [one.printed for one in results if one.status and one.printed]
    return "\n".join(lines)


def main() -> int:
    """Run the check; 1 where any part failed."""
    start = perf_counter()
    results = check(STATIC, TESTS)
    print(summary(results, perf_counter() - start), flush=True)
    return int(any(one.status for one in results))


if __name__ == "__main__":
    sys.exit(main())
