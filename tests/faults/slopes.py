"""Growth: of what programs take while jobs come and go, for each further job."""

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

FILE: Final = Path(__file__).parents[2] / "build" / "faults" / "churn.json"
NAMES: Final = {
    "memory": "process_resident_memory_bytes",
    "files": "process_open_fds",
    "tasks": "_event_loop_tasks",
}
"""What is looked at, and how the metric's name ends."""
WARM: Final = 1 / 3
"""This part of the time is left out: caches fill, and modules are loaded."""


def slope(points: Sequence[tuple[float, float]]) -> float:
    """By least squares; 0 where all lie above one place."""
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return sum((x - middle) * y for x, y in points) / spread if spread else 0.0


@dataclass(slots=True)
class Growth:
    """Samples of one run, by program and what is looked at."""

    samples: dict[tuple[str, str], list[tuple[int, float]]] = field(default_factory=dict)

    def note(self, program: str, jobs: int, metrics: dict[str, float]) -> None:
        """What a program says after so many jobs."""
        for what, ending in NAMES.items():
            [value] = [value for name, value in metrics.items() if name.endswith(ending)]
            self.samples.setdefault((program, what), []).append((jobs, value))

    def per_job(self) -> dict[str, dict[str, float]]:
        """The slopes once the programs are warm: bytes, files and tasks for one job."""
        found: dict[str, dict[str, float]] = {}
        for (program, what), points in self.samples.items():
            warm = points[int(len(points) * WARM) :]
            found.setdefault(program, {})[what] = slope(warm)
        return found

    def write(self, *, seconds: float, jobs: int, commit: str) -> None:
        """To build/faults/churn.json, for the page of figures."""
        last = {f"{name} {what}": at[-1][1] for (name, what), at in self.samples.items()}
        text = json.dumps(
            {
                "commit": commit,
                "seconds": round(seconds),
                "jobs": jobs,
                "per job": self.per_job(),
                "last": last,
            },
            indent=1,
        )
        FILE.parent.mkdir(parents=True, exist_ok=True)
        FILE.write_text(f"{text}\n", encoding="utf-8")
