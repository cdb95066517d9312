"""Places for pods of a demand: how they should lie, and where they are."""

from collections.abc import Sequence
from dataclasses import dataclass

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import PodShape
from member_agent.cache import PodRecord
from member_agent.scheduler.plan.outcome import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Assignment:
    """Places for pods of a demand, and the smallest domain around all pods."""

    slots: tuple[Slot, ...] = ()
    domain: DomainId | None = None
    tier: int | None = None
    short: str = ""
    """Why surplus pods have no place, empty when all have one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementPreferences:
    """Where a demand should lie, besides its own constraint.

    `prefer` is tried first, then with `nearby` the domains around it. `around` are nodes with pods
    of the unit already: under a constraint the others lie in one allowed domain with them. Nodes to
    `avoid` are only used when it does not fit without them, those of `never` not at all.
    """

    prefer: DomainId | None = None
    nearby: bool = False
    around: tuple[str, ...] = ()
    avoid: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


def assign(pods: Sequence[PodRecord], slots: Sequence[Slot]) -> tuple[dict[str, str], set[Slot]]:
    """Pods on places of their set and shape, lower index first; and the places that are used.

    A pod whose index is a free position takes that, so that groups of a partition stay together.
    """
    open_: dict[tuple[str, PodShape], dict[int, Slot]] = {}
    named = {slot.pod: slot for slot in slots if slot.pod}
    for slot in slots:
        if not slot.pod:
            pod_set = slot.part.partition("~")[0]
            open_.setdefault((pod_set, slot.shape), {})[slot.position] = slot
    assigned: dict[str, str] = {}
    used: set[Slot] = set()
    for pod in pods:
        places = open_.get((pod.pod_set, pod.shape))
        if pod.uid in named:
            slot = named[pod.uid]
        elif places:
            slot = places.pop(pod.index if pod.index in places else min(places))
        else:
            continue
        assigned[pod.uid] = slot.node
        used.add(slot)
    return assigned, used
