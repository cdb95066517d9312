"""The record in a Job's status beyond the pods that stand there: ends, evictions, the ladder.

A pod object may go at any time (its node is removed, or Kubernetes collects ended pods); that its
program ended stays true. Volcano's status has no field for it, so that it stands in
`controlledResources`, the only map of free words that Volcano's schema keeps, beside the plugins
that Volcano notes there: `succeeded-worker: "0-3,7"`, `failed-worker: "5"`,
`evictions: "2 2026-01-31T12:00:00Z"`, and `recovery` for the state of the ladder. One PATCH writes
it together with phase and version, so that a restart forgets the ends of the attempt before it in
the same instant. Only the controller writes a Job's status, and Karmada carries none into a member.
"""

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from global_sched.shared.api.volcano import VolcanoJobStatus
from global_sched.shared.model.instant import (
    SECOND,
    Instant,
    InstantError,
    format_instant,
    parse_instant,
)
from member_agent.jobs.ladder import LadderState, Place, parse_ladder, render_ladder
from member_agent.jobs.spec import PODS_LIMIT, JobSpec

FIRST_HOLD: Final = 10
"""Seconds until pods are made again after the second eviction in a row; the first costs nothing."""
LONGEST_HOLD: Final = 300
CALM: Final = 600
"""Seconds without an eviction after which the next one counts as the first."""
_KEYS: Final = {"succeeded-": "Succeeded", "failed-": "Failed"}
_EVICTIONS: Final = "evictions"
_LADDER: Final = "recovery"
_CARRIED: Final = "carried-"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobRecord:
    """Ends by place (`Succeeded` or `Failed`), evictions in a row, and the ladder of recovery."""

    ends: Mapping[Place, str] = field(default_factory=dict)
    evictions: int = 0
    evicted_at: Instant = Instant(0)
    ladder: LadderState = LadderState()
    carried: Mapping[str, str] = field(default_factory=dict)
    """Labels that travelled with the Job from another member, for its pods."""

    def with_ends(self, pods: Iterable[tuple[Place, str]]) -> "JobRecord":
        """With these ends, too."""
        return replace(self, ends=dict(self.ends) | dict(pods))

    def without(self, places: Collection[Place]) -> "JobRecord":
        """A new attempt at these places: their ends are forgotten."""
        return replace(self, ends={at: end for at, end in self.ends.items() if at not in places})

    def ends_of(self, spec: JobSpec) -> dict[Place, str]:
        """The ends at places that the spec still has."""
        replicas = {task.name: task.replicas for task in spec.tasks}
        return {at: end for at, end in self.ends.items() if 0 <= at[1] < replicas.get(at[0], 0)}

    def hold_until(self) -> Instant:
        """No pod is made before: restarts after evictions back off, though they burn no retry."""
        if self.evictions < 2:
            return self.evicted_at
        hold = min(FIRST_HOLD * 2 ** min(self.evictions - 2, 16), LONGEST_HOLD)
        return Instant(self.evicted_at + hold * SECOND)

    def evicted(self, now: Instant) -> "JobRecord":
        """One more eviction; what is lost while pods are held back anyway counts no further."""
        until = self.hold_until()
        if self.evictions and now < until:
            return self
        calm = now - until > CALM * SECOND
        return replace(self, evictions=1 if calm else self.evictions + 1, evicted_at=now)


def read_record(status: VolcanoJobStatus) -> JobRecord:
    """What a status says; what cannot be read says nothing."""
    ends: dict[Place, str] = {}
    evictions, at, ladder = 0, Instant(0), LadderState()
    carried: dict[str, str] = {}
    for key, text in (status.controlled_resources or {}).items():
        for prefix, end in _KEYS.items():
            if key.startswith(prefix):
                task = key.removeprefix(prefix)
                ends.update({(task, index): end for index in _indices(text)})
        if key.startswith(_CARRIED):
            carried[key.removeprefix(_CARRIED)] = text
        if key == _LADDER:
            ladder = parse_ladder(text)
        if key == _EVICTIONS:
            number, _, time = text.partition(" ")
            try:
                evictions, at = int(number), parse_instant(time)
            except (ValueError, InstantError):
                evictions, at = 0, Instant(0)
    return JobRecord(
        ends=ends,
        evictions=max(0, evictions),
        evicted_at=at,
        ladder=ladder,
        carried=carried,
    )


def write_record(record: JobRecord) -> dict[str, str]:
    """The entries that say it."""
    prefixes = {end: prefix for prefix, end in _KEYS.items()}
    found: dict[str, list[int]] = {}
    for (task, index), end in record.ends.items():
        found.setdefault(f"{prefixes[end]}{task}", []).append(index)
    entries = {key: _ranges(sorted(indices)) for key, indices in sorted(found.items())}
    if record.evictions:
        entries[_EVICTIONS] = f"{record.evictions} {format_instant(record.evicted_at)}"
    if ladder := render_ladder(record.ladder):
        entries[_LADDER] = ladder
    entries |= {f"{_CARRIED}{label}": value for label, value in sorted(record.carried.items())}
    return entries


def _ranges(indices: list[int]) -> str:
    """`0-3,7` for sorted indices."""
    runs: list[tuple[int, int]] = []
    for index in indices:
        if runs and runs[-1][1] == index - 1:
            runs[-1] = runs[-1][0], index
        else:
            runs.append((index, index))
    return ",".join(str(low) if low == high else f"{low}-{high}" for low, high in runs)


def _indices(text: str) -> Iterable[int]:
    for run in text.split(","):
        low, _, high = run.partition("-")
        if not (low.isdecimal() and (high or low).isdecimal()) or len(run) > 16:
            continue
        yield from range(int(low), min(int(high or low) + 1, PODS_LIMIT))
