"""The values around one step of a Job: what goes in, what comes out."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from global_sched.shared.api.core import Pod
from global_sched.shared.api.volcano import PodGroup, VolcanoJobStatus
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from member_agent.jobs.memory import Memory
from member_agent.jobs.wire import RunJob

Json = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class JobView:
    """A Job and what belongs to it, at one moment."""

    job: RunJob
    pods: tuple[Pod, ...] = ()
    group: PodGroup | None = None
    memory: Memory = Memory()
    recovery: RecoveryPolicy = RecoveryPolicy()
    troubled: Mapping[str, Cause] = field(default_factory=dict)
    """Nodes in trouble now, with the cause."""
    admitted: Amounts | None = None
    """Its admitted pods; None where nothing says how many: all are to be there."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Note:
    """An event to record about the Job."""

    reason: str
    message: str
    warning: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Healed:
    """A fault that is over: the widest scope that it took, its cause and its time in µs."""

    scope: str
    cause: Cause
    took: int


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOutcome:
    """What to do, in this order: status, deletes, companions, group, creates.

    `status` None: it stands already. `companions` True: the plugins' objects should be there,
    False: they should be gone, None: nothing to do. `delete_job` removes the Job itself.
    """

    memory: Memory
    status: VolcanoJobStatus | None = None
    deletes: tuple[Pod, ...] = ()
    companions: bool | None = None
    create_group: Json | None = None
    group_spec: Json | None = None
    """A merge patch of the PodGroup's spec."""
    group_status: Json | None = None
    """A merge patch of the PodGroup's status."""
    delete_group: bool = False
    creates: tuple[Json, ...] = ()
    delete_job: bool = False
    wake: Instant | None = None
    notes: tuple[Note, ...] = ()
    healed: tuple[Healed, ...] = ()
    disturbed: int = 0
    """Pods that ran and are restarted for others by a step of the ladder."""
