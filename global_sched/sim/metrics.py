"""Figures of one run, exact: integrals over the moments and spans, never samples.

T is the time from the first submission to the last. Utilisation is the integral of bound GPUs over
T divided by that of capacity; goodput leaves out the work that evictions undid. A wait is the first
start less the submission. Times are seconds.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from global_sched.shared.model.instant import SECOND
from global_sched.sim.engine import History, Stage
from global_sched.sim.jobs import BIG

HUGE: Final = 64
"""Gangs of so many GPUs are shown by themselves."""
FEW: Final = 30
"""A tenant with fewer jobs is in no fairness index."""
_WARM_UP: Final = 0.1
_BOUNDED: Final = 10 * SECOND


@dataclass(frozen=True, slots=True, kw_only=True)
class TenantFigures:
    """What one tenant got. `served` is received ÷ min(demand, entitled), at most 1."""

    tenant: str
    jobs: int
    wait: float
    demand_gpu_hours: float
    entitled_gpu_hours: float
    received_gpu_hours: float
    served: float


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """All figures of one run; None where there is nothing to take a mean of."""

    jobs: int
    unfinished: int
    utilisation: float
    utilisation_warm: float
    """Without the first tenth of T."""
    goodput: float
    offered: float
    """GPU time that is asked for within T ÷ capacity: no scheduler can use more."""
    wait: float
    wait_p50: float
    wait_p90: float
    wait_p99: float
    big_jobs: int
    wait_big: float | None
    """Of gangs of more than 8 GPUs."""
    wait_huge: float | None
    """Of gangs of 64 GPUs and more."""
    jct: float
    makespan: float
    slowdown: float
    """Mean of max(1, JCT ÷ max(duration, 10 s))."""
    jain: float | None
    """Over tenants' `served`: what is above an entitlement harms no tenant and counts as 1."""
    jain_slowdown: float | None
    fragmentation: float
    """Free GPUs that pods of this trace cannot use ÷ free GPUs, over T (FGD's F)."""
    evictions: int
    lost_gpu_hours: float
    misplaced: int
    events: int
    cycles: int
    tenants: tuple[TenantFigures, ...]


def figures(stage: Stage, weights: Mapping[str, int], cycles: int = 0) -> Figures:
    """The figures of a run that has ended; `weights` are the tenants' shares of the whole."""
    runs = [stage.history[number] for number in sorted(stage.history)]
    started = [one for one in runs if one.started is not None]
    ended = [one for one in runs if one.ended is not None]
    begin, end = runs[0].job.submit, max(one.job.submit for one in runs)
    capacity = sum(member.gpus for member in stage.members)
    waits = sorted(_wait(one) for one in started)
    warm = begin + round((end - begin) * _WARM_UP)
    room = max(1, capacity * (end - begin))
    tenants = _tenants(runs, weights, begin, end, capacity)
    lost = sum(one.lost for one in runs)
    used = _received(runs, begin, end)
    return Figures(
        jobs=len(runs),
        unfinished=len(runs) - len(ended),
        utilisation=used / room,
        utilisation_warm=_received(runs, warm, end) / max(1, capacity * (end - warm)),
        goodput=max(0, used - lost) / room,
        offered=sum(_demand(one, end) for one in runs) / room,
        wait=_mean(waits) or 0.0,
        wait_p50=_percentile(waits, 0.5),
        wait_p90=_percentile(waits, 0.9),
        wait_p99=_percentile(waits, 0.99),
        big_jobs=sum(one.job.width > BIG for one in runs),
        wait_big=_mean(_wait(one) for one in started if one.job.width > BIG),
        wait_huge=_mean(_wait(one) for one in started if one.job.width >= HUGE),
        jct=_mean((one.ended or 0) / SECOND - one.job.submit / SECOND for one in ended) or 0.0,
        makespan=(max((one.ended or 0 for one in ended), default=begin) - begin) / SECOND,
        slowdown=_mean(_slowdown(one) for one in ended) or 0.0,
        jain=_jain([one.served for one in tenants if one.jobs >= FEW]),
        jain_slowdown=_jain(_speeds(ended)),
        fragmentation=_fragmentation(stage, begin, end, capacity),
        evictions=sum(one.evictions for one in runs),
        lost_gpu_hours=lost / SECOND / 3600,
        misplaced=stage.misplaced,
        events=stage.events,
        cycles=cycles,
        tenants=tenants,
    )


def _wait(one: History) -> float:
    return ((one.started or 0) - one.job.submit) / SECOND


def _slowdown(one: History) -> float:
    return max(1.0, ((one.ended or 0) - one.job.submit) / max(one.job.duration, _BOUNDED))


def _received(runs: Iterable[History], begin: int, end: int) -> int:
    """GPU microseconds that the jobs held in [begin, end]."""
    return sum(
        max(0, min(until, end) - max(since, begin)) * pods * one.job.gpus
        for one in runs
        for since, until, pods, _ in one.spans
    )


def _demand(one: History, end: int) -> int:
    """GPU microseconds that a job would use until `end` if it never waited."""
    return min(one.job.duration, max(0, end - one.job.submit)) * one.job.width


def _tenants(
    runs: Sequence[History], weights: Mapping[str, int], begin: int, end: int, capacity: int
) -> tuple[TenantFigures, ...]:
    by_tenant: dict[str, list[History]] = {}
    for one in runs:
        by_tenant.setdefault(one.job.tenant, []).append(one)
    whole = sum(weights.get(name, 1) for name in by_tenant)
    hour = 3600 * SECOND
    found = []
    for name, those in sorted(by_tenant.items()):
        demand = sum(_demand(one, end) for one in those)
        entitled = capacity * (end - begin) * weights.get(name, 1) / whole
        received = _received(those, begin, end)
        due = min(demand, entitled)
        found.append(
            TenantFigures(
                tenant=name,
                jobs=len(those),
                wait=_mean(_wait(one) for one in those if one.started is not None) or 0.0,
                demand_gpu_hours=demand / hour,
                entitled_gpu_hours=entitled / hour,
                received_gpu_hours=received / hour,
                served=min(1.0, received / due) if due else 1.0,
            )
        )
    return tuple(found)


def _speeds(ended: Sequence[History]) -> list[float]:
    """By tenant: 1 ÷ its mean slowdown."""
    slow: dict[str, list[float]] = {}
    for one in ended:
        slow.setdefault(one.job.tenant, []).append(_slowdown(one))
    return [len(those) / sum(those) for _, those in sorted(slow.items()) if len(those) >= FEW]


def _fragmentation(stage: Stage, begin: int, end: int, capacity: int) -> float:
    area, moments = 0.0, stage.moments
    for at, moment in enumerate(moments):
        until = min(end, moments[at + 1].at if at + 1 < len(moments) else end)
        since = max(begin, moment.at)
        free = capacity - moment.bound
        if until > since and free:
            area += (until - since) * moment.useless / free
    return area / max(1, end - begin)


def _mean(values: Iterable[float]) -> float | None:
    found = list(values)
    return sum(found) / len(found) if found else None


def _percentile(ordered: Sequence[float], share: float) -> float:
    return ordered[min(len(ordered) - 1, int(len(ordered) * share))] if ordered else 0.0


def _jain(values: Sequence[float]) -> float | None:
    """(Σx)² ÷ (n Σx²): 1 when all are equal, 1/n when one has everything (Jain 1984)."""
    squares = sum(one * one for one in values)
    return sum(values) ** 2 / (len(values) * squares) if squares else None
