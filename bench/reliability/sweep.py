"""Many seeds and crash points in one process, with a line of JSON for each.

    python -m bench.reliability.sweep seeds|points [FROM [TO]]

`SHARD=2/3` takes the second of three parts. The lines go to build/chaos/seeds.jsonl or points.jsonl
and name the commit; what a file holds of the same commit already is not run again. The exit code is
1 where a run has shown a violation.
"""

import json
import os
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

from bench.harness import ROOT, commit
from global_sched.shared.telemetry.logs import configure
from tests.chaos.choice import ALL_SEEDS
from tests.chaos.crashes import points, survived
from tests.chaos.run import Result, run
from tests.conftest import shard

FOLDER: Final = ROOT / "build" / "chaos"
KINDS: Final = ("seeds", "points")


def runs(kind: str, start: int, end: int) -> Iterator[tuple[int, Result]]:
    """The number and the result of every run of this shard."""
    found = list(points()) if kind == "points" else []
    numbers = range(start, min(end, len(found) if found else ALL_SEEDS))
    given = os.environ.get("SHARD") or "1/1"
    done = {one["number"] for one in lines(kind) if one["commit"] == commit()}
    for number in sorted(int(one) for one in shard(given, [f"{one:06}" for one in numbers])):
        if number not in done:
            try:
                yield number, survived(found[number]) if found else run(number)
            except Exception as error:  # noqa: BLE001 - one more kind of violation
                yield number, Result(seed=number, violations=[f"the run failed: {error!r}"])


def lines(kind: str) -> list[dict[str, Any]]:
    """What the file of a kind holds; nothing where there is none."""
    path = FOLDER / f"{kind}.jsonl"
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return [json.loads(line) for line in text.splitlines()]


def main(words: list[str]) -> int:
    """Run them; the exit code."""
    kind, start, end = [*words, *("seeds", "0", str(10**6))[len(words) :]][:3]
    if kind not in KINDS:
        print(f"no such kind: {kind}; there are {', '.join(KINDS)}")
        return 2
    configure(level="critical")
    FOLDER.mkdir(parents=True, exist_ok=True)
    path, at, bad = FOLDER / f"{kind}.jsonl", commit(), 0
    begun, busy = time.perf_counter(), time.process_time()
    for number, result in runs(kind, int(start), int(end)):
        now, cpu = time.perf_counter(), time.process_time()
        _note(path, number, at, result, now - begun, cpu - busy)
        begun, busy = now, cpu
        if result.violations:
            bad += 1
            print(f"{kind} {number}: {result.violations}", flush=True)
    print(f"{bad} runs with a violation; {path.relative_to(ROOT)}")
    return 1 if bad else 0


def _note(path: Path, number: int, at: str, result: Result, wall: float, cpu: float) -> None:
    line = {
        "number": number,
        "commit": at,
        "violations": result.violations,
        "fired": dict(result.fired),
        "states": result.states,
        "seconds": round(wall, 2),
        "cpu": round(cpu, 2),
    }
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{json.dumps(line)}\n")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
