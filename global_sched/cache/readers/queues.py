"""Volcano Queues as decisions see them, and PriorityClasses by name."""

from dataclasses import dataclass
from typing import Final

from global_sched.cache.readers.amounts import read_amounts
from global_sched.shared.api.core import PriorityClass
from global_sched.shared.api.names import MIN_RUNTIME_PREEMPTION, MIN_RUNTIME_RECLAIM
from global_sched.shared.api.volcano import Queue as WireQueue
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import DAY, parse_seconds
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import ROOT, Named, Queue, QueueState

_WEIGHT_LIMIT: Final = 65535
_MIN_RUNTIMES: Final = (MIN_RUNTIME_RECLAIM, MIN_RUNTIME_PREEMPTION)
_LONGEST_MIN_RUNTIME: Final = 7 * DAY
_STATES: Final = {"": QueueState.OPEN} | {state.value: state for state in QueueState}
_BUILT_IN: Final = {
    "system-cluster-critical": 2_000_000_000,
    "system-node-critical": 2_000_001_000,
}
"""Classes that every API server has, whether they are listed or not."""


def read_queue(wire: WireQueue) -> Queue:
    """The queue; what cannot be read becomes its `problem`, and nothing is admitted from it."""
    spec, name = wire.spec, wire.metadata.name
    problems: list[str] = []
    weight = 1 if spec.weight is None else spec.weight
    if not 1 <= weight <= _WEIGHT_LIMIT:
        problems.append(f"spec.weight: is {weight}; use 1 to {_WEIGHT_LIMIT}")
        weight = 1
    priority = spec.priority or 0
    if not -(2**31) <= priority < 2**31:
        problems.append(f"spec.priority: {priority} does not fit 32 bits; use a smaller one")
        priority = 0
    read: dict[str, Named] = {}
    guarantee = None if spec.guarantee is None else spec.guarantee.resource
    for field, quantities in (
        ("capability", spec.capability),
        ("deserved", spec.deserved),
        ("guarantee.resource", guarantee),
    ):
        read[field], unreadable = read_amounts(quantities, f"spec.{field}")
        problems += unreadable
    clusters, found = _in_clusters(wire)
    problems += found
    notices: list[str] = []
    runtimes = [_min_runtime(wire, key, notices) for key in _MIN_RUNTIMES]
    problems += _beyond("guarantee.resource", read["guarantee.resource"], read["capability"])
    state = wire.status.state
    return Queue(
        name=QueueName(name),
        priority=priority,
        weight=weight,
        capability=read["capability"],
        deserved=read["deserved"],
        guarantee=read["guarantee.resource"],
        cluster_capability=clusters,
        reclaimable=spec.reclaimable is not False,
        parent=QueueName(spec.parent or ROOT),
        open=state in ("", QueueState.OPEN),
        state=_STATES.get(state, QueueState.UNKNOWN),
        problem="; ".join(problems),
        notice="; ".join(notices),
        min_runtime_before_reclaim=runtimes[0],
        min_runtime_before_preemption=runtimes[1],
    )


def _min_runtime(wire: WireQueue, key: str, notices: list[str]) -> int | None:
    """What the annotation says, in seconds; one that cannot be read is noticed and says nothing."""
    text = wire.metadata.annotation(key)
    if not text:
        return None
    seconds = parse_seconds(text)
    if seconds is None or seconds > _LONGEST_MIN_RUNTIME:
        notices.append(
            f"metadata.annotations[{key}]: is {text[:40]!r}; use a duration from 0 to 7d such as "
            "90m, 2h or 3600s (until then what is said above it holds)"
        )
        return None
    return seconds


def _in_clusters(wire: WireQueue) -> tuple[tuple[tuple[ClusterName, Named], ...], list[str]]:
    """The limits in single clusters, and what is wrong with them."""
    found: dict[ClusterName, Named] = {}
    problems: list[str] = []
    for at, cluster in enumerate(wire.spec.extend_clusters or ()):
        field = f"spec.extendClusters[{at}]"
        amounts, bad = read_amounts(cluster.capacity, f"{field}.capacity")
        problems += bad
        if not cluster.name:
            problems.append(f"{field}.name: is empty; name a member cluster")
        elif cluster.name in found:
            problems.append(f"{field}.name: {cluster.name} is there twice; keep one of them")
        elif amounts:
            found[ClusterName(cluster.name)] = amounts
    return tuple(sorted(found.items())), problems


def _beyond(field: str, amounts: Named, limits: Named) -> list[str]:
    """What is more than the queue's own capability."""
    most = dict(limits)
    return [
        f"spec.{field}[{name}]: {format_quantity(amount, name)} is more than the capability "
        f"{format_quantity(most[name], name)}; lower it"
        for name, amount in amounts
        if amount > most.get(name, amount)
    ]


@dataclass(frozen=True, slots=True)
class Priority:
    """The priority of a workload, and the class that gave it (empty: none did)."""

    value: int = 0
    name: str = ""
    missing: bool = False
    """The class that it names does not exist."""


class Priorities:
    """PriorityClasses of the control plane: one resolver for all kinds."""

    def __init__(self) -> None:
        self._values: dict[str, int] = {}
        self._defaults: dict[str, int] = {}

    def upsert(self, wire: PriorityClass) -> bool:
        """Take a class in; whether any answer may have changed."""
        name = wire.metadata.name
        before = (self._values.get(name), name in self._defaults)
        self._values[name] = wire.value
        self._defaults.pop(name, None)
        if wire.global_default:
            self._defaults[name] = wire.value
        return before != (wire.value, wire.global_default)

    def delete(self, name: str) -> bool:
        """The class is gone; whether it was known."""
        self._defaults.pop(name, None)
        return self._values.pop(name, None) is not None

    def of(self, name: str) -> Priority:
        """The priority that a class name (or none) gives.

        Of several global defaults the lowest counts, as in Kubernetes.
        """
        if name:
            value = self._values.get(name, _BUILT_IN.get(name))
            return Priority(missing=True, name=name) if value is None else Priority(value, name)
        if not self._defaults:
            return Priority()
        value, default = min(zip(self._defaults.values(), self._defaults, strict=True))
        return Priority(value, default)

    def values(self) -> tuple[tuple[str, int], ...]:
        """What every class gives, by name."""
        return tuple(sorted({**_BUILT_IN, **self._values}.items()))
