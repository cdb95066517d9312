"""Lengths of random runs: a short time in the gate, a long one in `make test-deep`."""

import os

DEEP = os.environ.get("HYPOTHESIS_PROFILE") == "deep"

SETTLED_SECONDS = 3600 if DEEP else 600
"""Virtual seconds in which a settled world must write nothing. Ten minutes hold every period of the
programs several times; the hour is for what grows slowly."""


def examples(gate: int, *, deep: int = 10_000) -> int:
    """How many examples a property draws: `gate` of them, the same ones each time, in the gate."""
    return deep if DEEP else gate
