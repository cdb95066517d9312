"""Resident memory of global-sched with 100,000 bindings, their templates and 100 members."""

import json
import subprocess
import sys

from bench.harness import ROOT, Figure, at_most, shown
from bench.traces import TraceMissingError, rows

GROUP = "memory"
BINDINGS = 100_000
_PATIENCE = 120


def _measured() -> dict[str, float]:
    """What `memory_process` prints, with its server beside it."""
    server = subprocess.Popen(
        [sys.executable, "-m", "bench.flow.memory_server", str(BINDINGS)],
        stdout=subprocess.PIPE, text=True, cwd=ROOT,
    )  # fmt: skip
    try:
        assert server.stdout is not None
        port = server.stdout.readline().strip()
        answer = subprocess.run(
            [sys.executable, "-m", "bench.flow.memory_process", port],
            capture_output=True, text=True, check=True, cwd=ROOT, timeout=_PATIENCE,
        )  # fmt: skip
    finally:
        server.kill()
        server.communicate()
    found: dict[str, float] = json.loads(answer.stdout)
    return found


def figures() -> list[Figure]:
    """After one cycle, and what it was before and at the most."""
    title = f"RSS after one cycle on {BINDINGS:,} bindings"
    try:
        rows("philly/philly.csv.gz")
        found = _measured()
    except TraceMissingError as error:
        return [shown(GROUP, title, None, "MB", str(error))]
    note = (
        f"watches, state, snapshot and plan of {found['workloads']:,.0f} workloads with their "
        f"templates and {found['clusters']:.0f} reports of 96 nodes; {found['admitted']:,.0f} "
        f"admitted; {found['empty']:.0f} MB before the first list; no writes"
    )
    listed = (
        f"listed and resolved in {found['list_seconds']:.1f} s from a server on the same machine"
    )
    return [
        at_most(GROUP, title, found["decided"], "MB", 500, note),
        shown(GROUP, "RSS before that cycle", found["listed"], "MB", listed),
        shown(GROUP, "most that was ever resident", found["peak"], "MB"),
    ]
