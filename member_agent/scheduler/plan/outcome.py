"""The outcome of a round: values between `plan` (pure) and `write`."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import NamedTuple

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DecisionId, DomainId, PodSetName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.pods import PodShape
from member_agent.cache import ManagedWorkload, PodRecord, PodUnit
from member_agent.scheduler.gang.bind_plan import BindPlan


class PlaceSource(StrEnum):
    """How a unit's place came about."""

    DIRECTED = "directed"
    """In the domain that the Directive names."""
    ELSEWHERE = "elsewhere"
    """Under the same constraint, since the named domain no longer holds it."""
    FREE = "free"
    """It did not come through Karmada."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placement:
    """Pods of a unit to bind now, lower index first, each with its node.

    `plan` is what must stand on the holder before the first of them is bound: these pods and
    those of the unit that are bound already.
    """

    unit: PodUnit
    nodes: tuple[tuple[PodRecord, str], ...]
    plan: BindPlan
    where: PlaceSource
    domain: DomainId | None = None
    tier: int | None = None
    starts: bool = False
    """Whether the minimum is bound by this: all of `nodes` that belong to it, or none."""
    note: str = ""
    """Why it lies elsewhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wait:
    """Pods of a unit that get no node now, and why, in words for their owner."""

    unit: PodUnit
    pods: tuple[PodRecord, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Rollback:
    """A unit whose bind stopped midway and cannot be completed: its bound pods are deleted."""

    unit: PodUnit
    pods: tuple[PodRecord, ...]
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class SurplusEviction:
    """Bound pods of a unit that leave for good: the Directive admits fewer."""

    unit: PodUnit
    pods: tuple[PodRecord, ...]
    reason: str


class Slot(NamedTuple):
    """A place for one pod of a part."""

    part: PodSetName
    position: int
    """Groups of a partition are positions in a row; pods take theirs by index."""
    node: str
    shape: PodShape
    pod: str = ""
    """The uid of the pod that it is for: one that belongs beside others of its subgroup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Reservation:
    """Places that are kept for a directed workload until its pods are bound."""

    decision: DecisionId
    slots: tuple[Slot, ...]
    where: PlaceSource
    domain: DomainId | None = None
    tier: int | None = None
    note: str = ""
    """Why it lies elsewhere."""
    hold: ManagedWorkload | None = None
    """What it was kept for, of a workload that was not admitted yet."""

    def amounts(self) -> Amounts:
        """Places by part."""
        counts: dict[PodSetName, int] = {}
        for slot in self.slots:
            counts[slot.part] = counts.get(slot.part, 0) + 1
        return Amounts.of(counts)


Reservations = Mapping[BindingId, Reservation]


@dataclass(frozen=True, slots=True, kw_only=True)
class Situation:
    """What the scheduler remembers between rounds; all of it can be found again after a restart."""

    reservations: Reservations = field(default_factory=dict)
    reached: Mapping[BindingId, DecisionId] = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    """Nodes that refused a pod a moment ago, or are in trouble."""
    blamed: frozenset[tuple[str, str]] = frozenset()
    """Owner uid of pods and a node that one of its pods blamed by an exit code: it is avoided."""
    last_resort: frozenset[str] = frozenset()
    """Nodes that a gang uses only where nothing else holds it: they are on probation."""
    paused: frozenset[str] = frozenset()
    """Keys of units that are left alone for now."""
    refused: Mapping[str, str] = field(default_factory=dict)
    """By unit key: what the API server said when it refused the unit's plan or binds for good."""
    being_bound: Mapping[str, tuple[tuple[PodRecord, str], ...]] = field(default_factory=dict)
    """By unit key: pods that are being bound."""
    overdue: frozenset[str] = frozenset()
    """Keys of units whose bind stopped midway too long ago."""
    now: Instant = Instant(0)
    label_keys: frozenset[str] = frozenset()
    """Node label keys of the report: ties between nodes go by these first, as the leader sees."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Round:
    """One round over the whole cache."""

    placements: tuple[Placement, ...] = ()
    waits: tuple[Wait, ...] = ()
    rollbacks: tuple[Rollback, ...] = ()
    given: tuple[SurplusEviction, ...] = ()
    reservations: Reservations = field(default_factory=dict)
    reached: Mapping[BindingId, DecisionId] = field(default_factory=dict)
    """Managed units whose minimum is bound under their present decision."""
    notes: tuple[tuple[PodUnit, DecisionId], ...] = ()
    """Units on whose holder it is still to be noted that their minimum was bound."""
    partially_bound: tuple[str, ...] = ()
    """Keys of units whose bind stopped midway and is not completed yet."""
    reasons: Mapping[BindingId, str] = field(default_factory=dict)
    """Why pods of managed units wait, for the report."""
    histories: tuple[tuple[PodUnit, str], ...] = ()
    """Units whose root owner is to remember this from now on."""
    held_until: tuple[Instant, ...] = ()
    """When holds end that this round honoured."""
    unproven: int = 0
    """Placements and refusals that the search limit ended before they were certain."""
