"""Losses of workloads within a day, as the report tells them. Pure."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from global_sched.shared.api.federation import ReportLoss, ReportWorkload
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import (
    SECOND,
    Instant,
    InstantError,
    format_instant,
    parse_instant,
)
from global_sched.shared.model.recovery import Cause

KEPT: Final = 86_400 * SECOND
PER_WORKLOAD: Final = 10
WORKLOADS: Final = 2000

EXPLAINED: Final = frozenset(
    {Cause.NODE_TAINTED, Cause.NODE_GONE, Cause.EVICTED, Cause.UNKNOWN, Cause.NODE_NOT_READY}
)
"""Causes that a node's own trouble explains better."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLost:
    """A pod that ran and was lost; `uid` makes it count once."""

    uid: str
    pod: str
    node: str
    cause: Cause
    detail: str
    at: Instant


Book = Mapping[BindingId, tuple[PodLost, ...]]
"""By binding the last losses, the latest one last."""


def explained(cause: Cause, node: str, troubled: Mapping[str, Cause]) -> Cause:
    """The cause of a loss on a node that may be in trouble."""
    return troubled[node] if node in troubled and cause in EXPLAINED else cause


def with_losses(book: Book, new: Iterable[tuple[BindingId, PodLost]], now: Instant) -> Book:
    """The book with further losses, and without those of more than a day ago."""
    found = {binding: list(lost) for binding, lost in book.items()}
    for binding, one in new:
        own = found.setdefault(binding, [])
        if all(known.uid != one.uid for known in own):
            own.append(one)
    fresh = {
        binding: tuple([one for one in own if now - one.at < KEPT][-PER_WORKLOAD:])
        for binding, own in found.items()
    }
    kept = {binding: own for binding, own in fresh.items() if own}
    latest = sorted(kept, key=lambda binding: (-kept[binding][-1].at, binding))[:WORKLOADS]
    return {binding: kept[binding] for binding in sorted(latest)}


def to_wire(losses: Iterable[PodLost]) -> list[ReportLoss] | None:
    """As a report has them."""
    return [
        ReportLoss(
            uid=one.uid,
            pod=one.pod,
            node=one.node,
            cause=one.cause.value,
            detail=one.detail,
            at=format_instant(one.at),
        )
        for one in losses
    ] or None


def from_reports(reported: Iterable[ReportWorkload], now: Instant) -> Book:
    """The losses that the last agent reported; what cannot be read is left out."""
    new: list[tuple[BindingId, PodLost]] = []
    for workload in reported:
        for one in workload.losses or ():
            try:
                at, cause = min(parse_instant(one.at), now), Cause(one.cause)
            except (InstantError, ValueError):
                continue
            lost = PodLost(
                uid=one.uid, pod=one.pod, node=one.node, cause=cause, detail=one.detail, at=at
            )
            new.append((BindingId(workload.binding), lost))
    return with_losses({}, new, now)
