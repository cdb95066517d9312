"""The plan of a cycle: writes to make, and one outcome for every workload considered."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.decision import Decision
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.verdict import ClusterVerdict, Verdict
from global_sched.shared.model.workload import Target


class Stays(StrEnum):
    """Why a gang stays below its minimum although it asked for something else."""

    HOLD = "Hold"
    """Not for so long yet as it asked for."""
    NO_REPORT = "NoReport"
    """Its member does not report, and keeps its work."""
    CLUSTER_AT_FAULT = "ClusterAtFault"
    """Too many gangs of its cluster are below their minimum at once."""
    MOVED_LATELY = "MovedLately"
    """It moved within the last hour."""
    MOVES_PER_CYCLE = "MovesPerCycle"
    MOVES_PER_HOUR = "MovesPerHour"
    NO_ROOM = "NoRoom"
    """No other cluster takes it now."""
    CHECKPOINT = "Checkpoint"
    """It is called for a checkpoint, and leaves then."""
    NOT_ASKED = "NotAsked"
    """It asked for no move."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Admission:
    """Put a workload into clusters (or change what it has there): one conditional PATCH."""

    workload: WorkloadKey
    uid: str
    resource_version: str
    decision: Decision
    targets: tuple[Target, ...]
    affinity: str = ""
    """The name of the affinity group that was used."""
    makes_room_for: WorkloadKey | None = None
    """It gives up surplus for this claim, and is written once the claim is."""
    disbelieved: str = ""
    """Why the decision that it replaces was not believed."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Withdrawal:
    """Take a workload back from a cluster: out of `spec.clusters`, a Directly eviction task."""

    workload: WorkloadKey
    uid: str
    resource_version: str
    cluster: ClusterName
    replicas: int | None
    targets: tuple[Target, ...]
    """What stays in `spec.clusters`."""
    decision: Decision
    reason: str
    """CamelCase, at most 32 characters."""
    message: str
    makes_room_for: WorkloadKey | None = None
    """It leaves for this claim, and is written once the claim is."""
    others: tuple[Target, ...] = ()
    """Further clusters that it leaves with the same write."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Claiming:
    """Write on a workload that waits what room is kept for it, or that none is any more.

    One conditional PATCH of the decision annotation; `spec` stays as it is.
    """

    workload: WorkloadKey
    uid: str
    resource_version: str
    decision: Decision


@dataclass(frozen=True, slots=True, kw_only=True)
class Confirmation:
    """Only the status is behind: the observed generation, or the Scheduled condition."""

    workload: WorkloadKey
    uid: str
    resource_version: str
    generation: int
    scheduled_now: bool
    """Whether lastScheduledTime and the condition are written too (a crash between two writes)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Outcome:
    """How a workload left the cycle. `position` counts from 1 in its queue's order."""

    workload: WorkloadKey
    queue: QueueName
    tenant: TenantName
    verdict: Verdict
    nearest: ClusterName | None = None
    clusters: tuple[ClusterVerdict, ...] = ()
    position: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """The committed statement. Outcomes are in the order in which workloads were considered."""

    admissions: tuple[Admission, ...] = ()
    withdrawals: tuple[Withdrawal, ...] = ()
    confirmations: tuple[Confirmation, ...] = ()
    claims: tuple[Claiming, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    unproven: tuple[WorkloadKey, ...] = ()
    """Workloads whose answer the search limit ended before it was certain: admitted, perhaps not
    in the closest place, or waiting though a place may exist. Ascending."""
    stays: tuple[tuple[WorkloadKey, Stays], ...] = ()
    """Gangs that stay below their minimum, of those that asked for something else."""

    def empty(self) -> bool:
        """Whether nothing has to be written but reasons."""
        return not (self.admissions or self.withdrawals or self.confirmations or self.claims)
