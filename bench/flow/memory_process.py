"""Resident memory of global-sched, in a process of its own: its modules, watches and state.

`python -m bench.flow.memory_process PORT` lists the world, decides once, and prints what it found
and its resident memory at each step as one line of JSON.
"""

import asyncio
import contextlib
import gc
import json
import sys
import time
from dataclasses import replace
from pathlib import Path

from bench.harness import rss_mb
from global_sched import app
from global_sched.cache import State
from global_sched.controllers.scheduling_timer import Wake
from global_sched.controllers.watching import Watches
from global_sched.core import run_cycle
from global_sched.dispatch import DirectiveWriter
from global_sched.settings import Settings
from global_sched.shared.api import resource as kinds
from global_sched.shared.clock import SystemClock
from global_sched.shared.kinds import KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.transport import AiohttpTransport
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program


class _Term:
    """Nothing is written here."""

    def valid(self) -> bool:
        """Never."""
        return False


def _peak_mb() -> float:
    """The most that was ever resident."""
    for line in Path("/proc/self/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return rss_mb()


async def measure(port: int) -> dict[str, float]:
    """List, decide, look."""
    clock = SystemClock()
    settings = Settings()
    client = Client(
        AiohttpTransport(Connection.to(f"http://127.0.0.1:{port}", clock=clock)), clock=clock
    )
    state = State(frozenset(settings.scheduler_names))
    directives = DirectiveWriter(
        client, state, clock=clock, term=_Term(), metrics=Metrics(Program.GLOBAL)
    )
    served = {reader.resource for reader in KINDS.values()}
    watches = Watches(
        client, state, clock=clock, wake=Wake(clock), directives=directives,
        served=frozenset(served | {kinds.OVERRIDE_POLICIES, kinds.CLUSTER_OVERRIDE_POLICIES}),
    )  # fmt: skip
    found = {"empty": rss_mb()}
    start = time.perf_counter()
    tasks = [asyncio.create_task(informer.run()) for informer in watches.all()]
    await watches.synced()
    snapshot = state.snapshot()
    found["list_seconds"] = time.perf_counter() - start
    gc.collect()
    gc.freeze()
    found["listed"] = rss_mb()
    # The reports are as old as the server; on a slow machine they would be refused as stale.
    policy = replace(settings.policy, report_trust_seconds=3600)
    plan = run_cycle(snapshot, policy, clock.now())
    found["decided"], found["peak"] = rss_mb(), _peak_mb()
    found["workloads"] = len(state.workloads())
    found["clusters"] = sum(one.capacity is not None for one in snapshot.clusters)
    found["outcomes"], found["admitted"] = len(plan.outcomes), len(plan.admissions)
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    with contextlib.suppress(asyncio.CancelledError):
        await client.close()
    return found


if __name__ == "__main__":
    assert app.COMPONENT, "all of the program is loaded"
    print(json.dumps(asyncio.run(measure(int(sys.argv[1])))))
