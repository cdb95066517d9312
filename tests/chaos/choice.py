"""The seeds and crash points that the gate looks at: another choice for every commit."""

import os
import random
import subprocess
from pathlib import Path
from typing import Final

from tests.deep import DEEP

ROOT: Final = Path(__file__).parents[2]
REPLAY: Final = os.environ.get("REPLAY")
"""A seed, to run that one alone."""
ALL_SEEDS: Final = 2000
GATE: Final = 10
"""So many of each in the gate."""


def _commit() -> str:
    """The commit of the checkout; a checkout without one has a fixed choice."""
    found = subprocess.run(
        ("git", "rev-parse", "HEAD"), cwd=ROOT, capture_output=True, text=True, check=False
    )
    return found.stdout.strip() or "none"


def some(everything: int, few: int = GATE) -> list[int]:
    """Numbers from 0: all of them in `make test-deep`, a `few` in the gate."""
    if DEEP or everything <= few:
        return list(range(everything))
    return sorted(random.Random(_commit()).sample(range(everything), few))


def seeds() -> list[int]:
    """The seeds of this run."""
    return [int(REPLAY)] if REPLAY else some(ALL_SEEDS)
