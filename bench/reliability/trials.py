"""Faults whose effect has a length: late writes, failover, and a restart in quiet.

Virtual time: what is measured are waits, timers and writes, not CPU. Leases have their default
times (15 s, renewed within 10 s, tried every 2 s).
"""

import json
from collections import Counter
from contextlib import nullcontext
from typing import Final

from bench.harness import Figure, at_most, percentile, shown
from global_sched.shared.telemetry.logs import configure
from tests.chaos.mutations import MUTATIONS, applied
from tests.chaos.run import Chaos, run
from tests.chaos.story import Act
from tests.chaos.witnesses import CLASSES, LATE, LATE_SECONDS
from tests.checker import DECISION, seconds_over

GROUP: Final = "faults"
LATE_TRIALS: Final = 5
KILLS: Final = 20
BETWEEN: Final = 40.0
"""Virtual seconds between two deaths of leaders."""
IDLE_SECONDS: Final = 600
QUIET: Final = ("capacityreports", "leases", "nodes/status", "clusters/status")
"""Leases, reports and heartbeats, which are always written."""
JOB: Final = {"pods": 2, "gpus": 8, "tier": None, "seconds": 5, "queue": "default"}


def figures() -> list[Figure]:
    """All of them."""
    configure(level="critical")
    return [*_late(), *_failover(), _idle()]


# --- a late write -----------------------------------------------------------------------


def _late() -> list[Figure]:
    def over(world: Chaos) -> float:
        return seconds_over(world.history(), "small", until=world.clock.monotonic())

    def trials(number: int, *, fence: bool) -> list[float]:
        found = []
        for seed in range(number):
            with nullcontext() if fence else applied(MUTATIONS[0]):
                told = (CLASSES, *LATE)
                result = run(seed, told, seconds=LATE_SECONDS, schedulers=2, look=over)
            found.append(float(str(result.seen)))
        return found

    fenced, open_ = trials(LATE_TRIALS, fence=True), trials(2, fence=False)
    how = (
        f"{LATE_TRIALS} leaders killed with a placement in the network, which arrives after the "
        "next leader has given the quota away"
    )
    without = sum(one > 0 for one in open_)
    return [
        shown(
            GROUP, "late writes that the embedded server accepted", sum(s > 0 for s in fenced), "",
            how,
        ),
        at_most(GROUP, "longest until such a decision was withdrawn", max(fenced), "s", 5),
        shown(
            GROUP, "the same without the leader's judgement of late decisions", max(open_), "s",
            f"{without} of 2 accepted, and never withdrawn: until the end of the run",
        ),
    ]  # fmt: skip


# --- failover ---------------------------------------------------------------------------


def _failover() -> list[Figure]:
    acts = []
    for kill in range(KILLS):
        at = 10 + kill * BETWEEN + 0.61 * kill % 2  # at different phases of the renewal
        acts.append(Act(at, "kill the leader"))
        acts.append(Act(at + 0.1, "submit", f"j{kill}", JOB))
        acts.append(Act(at + 30, "start all"))
    result = run(0, acts, seconds=10 + KILLS * BETWEEN, schedulers=2, look=_gaps)
    gaps = result.seen
    assert isinstance(gaps, list)
    how = f"{len(gaps)} of {KILLS} leaders killed, each with a job that comes 0.1 s later"
    return [
        shown(GROUP, "failover, median", percentile(gaps, 0.5), "s", how),
        at_most(
            GROUP, "failover, p99", percentile(gaps, 0.99), "s", 17,
            "from the death to the next leader's decision; of so few the p99 is the longest",
        ),
        at_most(GROUP, "violations in that run", len(result.violations), "", 0),
    ]  # fmt: skip


def _gaps(world: Chaos) -> list[float]:
    """For each death of a leader the seconds until the next decision of a later term."""
    first: dict[int, float] = {}
    for seen in world.history():
        if seen.plural == "resourcebindings":
            text = (seen.obj["metadata"].get("annotations") or {}).get(DECISION)
            epoch = json.loads(text)["epoch"] if text else 0
            first.setdefault(epoch, seen.at)
    starts = sorted(at for epoch, at in first.items() if epoch)
    return [
        min(at for at in starts if at > killed) - killed
        for killed in world.killed
        if any(at > killed for at in starts)
    ]


# --- quiet ------------------------------------------------------------------------------


def _idle() -> Figure:
    long = JOB | {"seconds": 9999, "gpus": 8, "pods": 1}
    acts = [Act(1 + at, "submit", f"j{at}", long) for at in range(12)]
    for program in ("global-sched", "m1", "m2"):
        acts.append(Act(60, "kill", program))
        acts.append(Act(61, "start", program))
    acts.append(Act(120, "note"))
    written = run(
        0, acts, seconds=120 + IDLE_SECONDS, schedulers=1, look=lambda world: list(world.writes)
    ).seen
    assert isinstance(written, list)
    loud = Counter(str(one) for one in written if not str(one).endswith(QUIET))
    note = (
        f"{IDLE_SECONDS} s, 7 jobs that run and 5 that wait, all programs killed and started "
        f"before; leases, reports and heartbeats ({len(written) - loud.total()}) left out"
    )
    if loud:
        note += f"; {', '.join(f'{what} ({times})' for what, times in loud.most_common(4))}"
    return at_most(GROUP, "writes in quiet", loud.total(), "", 0, note)
