"""Requirements of one pod on its node."""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.resources import Resources


class Operator(StrEnum):
    """Operators of a node affinity or label selector requirement."""

    IN = "In"
    NOT_IN = "NotIn"
    EXISTS = "Exists"
    DOES_NOT_EXIST = "DoesNotExist"
    GT = "Gt"
    LT = "Lt"


class Effect(StrEnum):
    """Effects of a taint."""

    NO_SCHEDULE = "NoSchedule"
    PREFER_NO_SCHEDULE = "PreferNoSchedule"
    NO_EXECUTE = "NoExecute"


@dataclass(frozen=True, slots=True, order=True)
class Requirement:
    """One label requirement; `values` is sorted."""

    key: str
    operator: Operator
    values: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, order=True)
class Taint:
    """A taint of a node or of a cluster."""

    key: str
    value: str
    effect: Effect


@dataclass(frozen=True, slots=True, order=True)
class Toleration:
    """A toleration; an empty key with `Exists` tolerates everything, no effect means all."""

    key: str = ""
    exists: bool = False
    value: str = ""
    effect: Effect | None = None

    def tolerates(self, taint: Taint) -> bool:
        """Whether it covers this taint (Kubernetes' rule)."""
        if self.effect is not None and self.effect != taint.effect:
            return False
        if self.key and self.key != taint.key:
            return False
        if not self.key and not self.exists:
            return False
        return self.exists or self.value == taint.value


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PodShape:
    """All that decides on which nodes a pod fits: pods with equal shapes are interchangeable.

    Units:  `requests` are the pod's effective requests (init containers and overhead included)
            and always hold `pods: 1`.
    """

    requests: Resources
    selector: tuple[tuple[str, str], ...] = ()
    affinity: tuple[tuple[Requirement, ...], ...] = ()
    """Required node affinity: any of these terms, all requirements of a term."""
    tolerations: tuple[Toleration, ...] = ()
    anti_affine: bool = False
    """One pod of this pod set per node (required pod anti-affinity on the host name)."""
    per_node: int = 0
    """At most so many pods of this pod set per node (spread over host names); 0: any number."""
    apart: str = ""
    """Pods of pod sets with equal text here share no node: their anti-affinity's selector."""
    ports: tuple[str, ...] = ()
    """Host ports that it takes on its node, such as `TCP/8080`; sorted."""

    def most_per_node(self) -> int:
        """At most so many pods of this pod set go on one node, whatever the room; 0: any number."""
        return 1 if self.anti_affine or self.ports else self.per_node

    def label_keys(self) -> tuple[str, ...]:
        """The node label keys that it selects on, ascending."""
        keys = {key for key, _ in self.selector}
        keys.update(requirement.key for term in self.affinity for requirement in term)
        return tuple(sorted(keys))


def tolerated(taints: tuple[Taint, ...], tolerations: tuple[Toleration, ...]) -> Taint | None:
    """The first taint (NoSchedule or NoExecute) that no toleration covers, or None."""
    for taint in taints:
        if taint.effect == Effect.PREFER_NO_SCHEDULE:
            continue
        if not any(toleration.tolerates(taint) for toleration in tolerations):
            return taint
    return None


def matches(requirement: Requirement, labels: Mapping[str, str]) -> bool:
    """Whether a label set meets one requirement (Kubernetes' rule: NotIn holds when absent)."""
    value = labels.get(requirement.key)
    match requirement.operator:
        case Operator.IN:
            return value is not None and value in requirement.values
        case Operator.NOT_IN:
            return value is None or value not in requirement.values
        case Operator.EXISTS:
            return value is not None
        case Operator.DOES_NOT_EXIST:
            return value is None
        case Operator.GT | Operator.LT:
            return _compares(requirement, value)


def _compares(requirement: Requirement, value: str | None) -> bool:
    """Gt and Lt compare whole numbers; anything else does not match."""
    try:
        have, want = int(value or ""), int(requirement.values[0])
    except (ValueError, IndexError):
        return False
    return have > want if requirement.operator == Operator.GT else have < want
