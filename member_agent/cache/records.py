"""Records of single objects: frozen, reduced to what placing and reporting read."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import NamedTuple, NewType

from global_sched.shared.api.volcano import NetworkTopology, SubGroupPolicy
from global_sched.shared.kinds import GroupsRecord, TaskRecord
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, DecisionId, DomainId, PodSetName
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.recovery import Cause

Key = tuple[str, str]
"""Namespace (empty for cluster-scoped kinds) and name."""

PodUid = NewType("PodUid", str)

REJECTIONS = (
    "NodeAffinity",
    "NodeName",
    "NodePorts",
    "NodeShutdown",
    "Terminated",
    "UnexpectedAdmissionError",
)
"""Reasons with which a kubelet refuses a pod that was bound to it, besides `OutOf…`."""


class OwnerRef(NamedTuple):
    """The controlling owner of an object, by uid; kind and name are for look-ups and messages."""

    uid: str
    api_version: str
    kind: str
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class PodRecord:
    """One pod."""

    uid: PodUid
    namespace: str
    name: str
    resource_version: str
    created: Instant
    scheduler: str
    node: str
    """The node it is bound to, empty while it waits."""
    phase: str
    phase_reason: str
    deleting: bool
    gated: bool
    shape: PodShape
    wants: PodShape | None
    """What pods like it ask for, bound or not, as the demand profile counts it; None: it never
    asks."""
    pod_set: PodSetName
    index: int
    """Its place in its pod set; lower ones start first."""
    priority: int
    group: str
    """The name of its PodGroup, empty for none."""
    owner: OwnerRef | None
    binding: BindingId | None
    """The permanent id on the pod itself: a bare pod that came through Karmada."""
    preemptable: bool
    """False when its owner forbids that it makes room for others."""
    annotations: tuple[tuple[str, str], ...]
    """The topology annotations."""
    labels: tuple[tuple[str, str], ...]
    """All labels while it waits or belongs to a group (subgroups go by them), else none."""
    refused: str
    """Why it may not be bound here, whatever room there is; empty when it may."""
    pending_message: str
    """The message of its condition PodScheduled=False, empty without one."""
    ended_at: Instant = Instant(0)
    """When the last container of a pod that failed ended, as its kubelet says; 0 otherwise."""
    cause: Cause | None = None
    """Why the pod is lost, as far as it says so itself; None for one that is not."""
    detail: str = ""
    """More of the cause: an exit code, or what ended it."""
    ready: bool = False
    """Whether its condition Ready is True."""
    exit_codes: tuple[int, ...] = ()
    """Of a pod that failed the exit codes of its containers that are not 0, ascending."""
    tolerates_loss: bool = False
    """Whether it stays on a node that is unreachable for ever."""
    call: str = ""
    """The call for a checkpoint that stands on it."""
    answered: str = ""
    """The call that its program says to have answered."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name

    @property
    def ended(self) -> bool:
        """Whether it holds nothing any more."""
        return self.phase in ("Succeeded", "Failed")

    @property
    def rejected(self) -> bool:
        """Whether its node refused it: a bind that failed."""
        return self.phase == "Failed" and (
            self.phase_reason.startswith("OutOf") or self.phase_reason in REJECTIONS
        )

    def annotation(self, name: str) -> str:
        """A topology annotation's value, empty when absent."""
        return next((value for key, value in self.annotations if key == name), "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Notes:
    """The annotations that the agent writes on a PodGroup or root owner."""

    plan: str = ""
    reached: DecisionId = DecisionId("")
    memory: str = ""
    parsed: dict[str, object] = field(default_factory=dict, init=False, compare=False, repr=False)
    """What was read of these texts: every round asks for it, several times."""


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupRecord:
    """One PodGroup."""

    uid: str
    namespace: str
    name: str
    resource_version: str
    created: Instant
    deleting: bool
    owner: OwnerRef | None
    binding: BindingId | None
    min_member: int
    min_task_member: Amounts
    topology: NetworkTopology | None
    subgroups: tuple[SubGroupPolicy, ...]
    notes: Notes
    together: str = ""
    """Tasks whose partitions lie together, as the annotation says."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class OwnerRecord:
    """One object that controls pods, directly or through others."""

    uid: str
    api_version: str
    kind: str
    namespace: str
    name: str
    resource_version: str
    deleting: bool
    owner: OwnerRef | None
    binding: BindingId | None
    minimum: Amounts | None
    """What its own fields say must run together; None where it has no such fields."""
    tasks: tuple[TaskRecord, ...]
    notes: Notes
    groups: GroupsRecord | None = None
    """The groups of a LeaderWorkerSet."""
    below: bool = False
    """Whether minimum and tasks stand in the object that it makes."""
    recovery: str = ""
    """The annotation of its rules of recovery."""

    @property
    def key(self) -> Key:
        """Namespace and name."""
        return self.namespace, self.name


@dataclass(frozen=True, slots=True, kw_only=True)
class ManagedWorkload:
    """One entry of the Directive: what may be placed here, and where."""

    at: Instant
    order: int
    binding: BindingId
    workload: str
    decision: DecisionId
    epoch: int
    domain: DomainId | None
    tier: int | None
    admitted: Amounts
    gang: Gang | None
    give_up: Amounts = Amounts()
    """Surplus pods that leave, as long as more than `admitted` are bound."""
    held: Amounts = Amounts()
    """Pods of a workload that is not admitted yet, for which room is kept until `held_until`."""
    held_domain: DomainId | None = None
    held_until: Instant = Instant(0)
    leaving: tuple[BindingId, ...] = ()
    """Whose pods leave for it; none with `held`: the domain drains by itself."""
    call: str = ""
    """The call for a checkpoint that is to stand on its pods; empty for none."""

    @property
    def turn(self) -> tuple[Instant, int, BindingId]:
        """The order in which room was given."""
        return self.at, self.order, self.binding


@dataclass(frozen=True, slots=True, kw_only=True)
class PodUnit:
    """Pods that are placed together: those of a PodGroup, or of a root owner.

    `holder` is the object that carries the plan. `minimum` is what must run together; `bound`
    pods count towards it, and so do those that succeeded.
    """

    key: str
    namespace: str
    name: str
    kind: str
    created: Instant
    holder: "NoteHolder | None"
    binding: BindingId | None
    root_kind: str
    """The kind of its root owner, `Pod` without one."""
    minimum: Amounts
    """Per pod set; empty where only their sum counts."""
    floor: int
    """How many pods in all make the minimum."""
    topology: NetworkTopology | None
    subgroups: tuple[SubGroupPolicy, ...]
    """The PodGroup's constraint and subgroups; without a PodGroup the pods' annotations tell."""
    waiting: tuple[PodRecord, ...]
    """Ours to bind, in the order in which they start."""
    placed: tuple[PodRecord, ...]
    """Bound and running, or about to."""
    succeeded: Amounts
    unbound: Amounts
    """Pods without a node, of any scheduler."""
    others: tuple[str, ...] = ()
    """Scheduler names of pods without a node that are not ours to bind."""
    problem: str = ""
    """Why nothing of it can be placed: a field that cannot be read, something not seen yet."""
    root: "NoteHolder | None" = None
    """Its root owner, which carries the memory of its placement."""
    together: str = ""
    """Tasks whose partitions lie together, as an annotation says."""
    failed: tuple[PodRecord, ...] = ()
    """Pods that ended in failure on a node and still exist."""
    pod_sets: tuple[PodSetName, ...] = ()
    """The template's order, as far as it is known."""
    recovery: str = ""
    """The annotation of its root owner with its rules of recovery."""

    def active(self) -> Amounts:
        """Bound pods that have not ended, by pod set: all that hold room."""
        return count_pods(self.placed)

    def staying(self) -> tuple[PodRecord, ...]:
        """Bound pods that are not being deleted: all that count towards the minimum."""
        return tuple(pod for pod in self.placed if not pod.deleting)


def count_pods(pods: Iterable[PodRecord]) -> Amounts:
    """How many pods of each pod set."""
    counts: dict[PodSetName, int] = {}
    for pod in pods:
        counts[pod.pod_set] = counts.get(pod.pod_set, 0) + 1
    return Amounts.of(counts)


@dataclass(frozen=True, slots=True, kw_only=True)
class NoteHolder:
    """The PodGroup or root owner that carries a unit's notes."""

    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    resource_version: str
    notes: Notes
