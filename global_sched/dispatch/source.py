"""The state as the dispatcher reads it: an interface."""

from typing import Protocol

from global_sched.shared.api.base import Condition
from global_sched.shared.api.federation import DirectiveSpec
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Admission, Claiming, Withdrawal
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from global_sched.shared.model.workload import Workload


class Source(Protocol):
    """The newest that the watch and our own writes have shown."""

    def workload(self, key: WorkloadKey) -> Workload | None:
        """One workload at its newest version, None when it is gone or not ours."""
        ...

    def conditions(self, key: WorkloadKey) -> tuple[Condition, ...]:
        """All conditions of a binding, other writers' included."""
        ...

    def agent_binds(self, cluster: ClusterName, scheduler: str) -> bool | None:
        """Whether the member's agent binds pods of that schedulerName; None: unknown."""
        ...

    def assume(self, action: Admission | Withdrawal | Claiming, now: Instant) -> None:
        """Count a write as done before it is sent."""
        ...

    def forget(self, key: WorkloadKey) -> None:
        """The write failed or was answered: what the watch says counts again."""
        ...

    def refresh(self, wire: ResourceBinding) -> None:
        """Take in what a write of ours returned, unless the binding is gone by now."""
        ...

    def directive_changes(
        self, label_keys_limit: int, recovery: RecoveryPolicy
    ) -> frozenset[ClusterName]:
        """Members whose Directive may differ from what it was at the last call."""
        ...

    def directive(self, cluster: ClusterName) -> tuple[DirectiveSpec, ...]:
        """The Directive of one member as it should be."""
        ...


class LeaderTerm(Protocol):
    """The leader's term."""

    def valid(self) -> bool:
        """Whether we may write."""
        ...
