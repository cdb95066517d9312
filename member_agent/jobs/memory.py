"""The memory of a Job's controller between two steps, as one value.

Nothing here is needed to be right after a restart: what an agent has not seen happen, it treats
as unknown, and an unknown loss leads to a new pod, never to a policy's action.
"""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from global_sched.shared.api.core import Pod
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery_spec import Scope
from member_agent.jobs.record import JobRecord
from member_agent.jobs.spec import Action, PolicyEvent


@dataclass(frozen=True, slots=True, kw_only=True)
class Occurrence:
    """Something that a policy may wait for. `index` is -1 when it is about no single pod."""

    event: PolicyEvent
    at: Instant
    about: str
    """In words, for the status and the event: `pod train-worker-0 failed with exit code 3`."""
    task: str = ""
    index: int = -1
    uid: str = ""
    exit_codes: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Delay:
    """An action that is due later, unless the pod runs again by then."""

    action: Action
    due: Instant
    occurrence: Occurrence


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """One Job's memory.

    `settled` are pods whose end needs no further thought: we deleted them, or a policy has
    answered. `lost` are pods that went without our doing and have not been thought about.
    """

    started: bool = False
    generation: int = 0
    hosts: str = ""
    """Which content of the host lists was written last."""
    settled: frozenset[str] = frozenset()
    lost: tuple[Pod, ...] = ()
    delays: tuple[Delay, ...] = ()
    failed_at: tuple[tuple[str, Instant], ...] = ()
    """When pods were first seen to have failed, where they do not say."""
    refused_recovery: str = ""
    """Why the Job's rules of recovery are refused, as it was last said."""
    recovery_waits: str = ""
    """Why its ladder waits, as it was last said."""
    waits_at: Scope | None = None
    """The step of the leader to which its ladder has come."""
    record: JobRecord | None = None
    """What the status says, or will say as soon as its counts are written; None: not read yet."""

    def settle(self, uids: Iterable[str]) -> "Memory":
        """Remember pods whose end is dealt with."""
        return replace(self, settled=self.settled | frozenset(uids))

    def lose(self, pod: Pod) -> "Memory":
        """Remember a pod that is gone; one that is settled is forgotten instead."""
        if pod.metadata.uid in self.settled:
            return replace(self, settled=self.settled - {pod.metadata.uid})
        return replace(self, lost=(*self.lost, pod))
