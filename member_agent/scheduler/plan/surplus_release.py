"""Surplus pods that the Directive takes back, to make room for another workload. Pure."""

from collections.abc import Sequence

from member_agent.cache import ManagedWorkload, PodRecord, PodUnit, last_first
from member_agent.scheduler.gang.subgroups import Key, by_index, key_of, policy_of, size_of
from member_agent.scheduler.plan.outcome import SurplusEviction

GIVEN_UP = "it was surplus, and its room was reclaimed for another workload"


def surplus_evictions(
    entry: ManagedWorkload, units: Sequence[PodUnit]
) -> tuple[SurplusEviction, ...]:
    """The pods of an entry that leave now, by unit.

    As long as more than `admitted` of a pod set are bound: the highest indices, at most `give_up`
    of them, and never so many that less than `admitted` stay. Pods of a partition leave in whole
    groups. Asked again after a restart it names the same pods, or fewer when some have gone.
    """
    if not entry.give_up.entries:
        return ()
    staying = [(unit, pod) for unit in units for pod in unit.staying()]
    chosen: set[str] = set()
    for name, most in entry.give_up.entries:
        own = [(unit, pod) for unit, pod in staying if pod.pod_set == name]
        chosen.update(pod.uid for pod in _last(own, entry.admitted.get(name), most))
    found: dict[str, list[PodRecord]] = {}
    for unit, pod in staying:
        if pod.uid in chosen:
            found.setdefault(unit.key, []).append(pod)
    return tuple(
        SurplusEviction(unit=unit, pods=tuple(found[unit.key]), reason=GIVEN_UP)
        for unit in units
        if unit.key in found
    )


def _last(own: Sequence[tuple[PodUnit, PodRecord]], admitted: int, most: int) -> list[PodRecord]:
    """The pods of one pod set beyond those admitted, at most so many.

    Those of a partition leave by groups. A group that lost pods counts as one: the others of it
    stay for those that come back, or leave with it.
    """
    size = _group_size(own)
    if size == 1 or admitted % size or most % size:
        over = min(most, len(own) - admitted)
        return last_first(pod for _, pod in own)[: max(0, over)]
    groups: dict[Key, list[PodRecord]] = {}
    for unit, pod in own:
        groups.setdefault((unit.key, *key_of(unit, pod)), []).append(pod)
    ordered = sorted(groups.values(), key=lambda group: last_first(group)[0].index)
    kept = max(admitted, len(groups) * size - most) // size
    return [pod for group in ordered[kept:] for pod in group]


def _group_size(own: Sequence[tuple[PodUnit, PodRecord]]) -> int:
    """How many of these pods make a group; 1 where they are in no groups by index."""
    found = {
        size_of(policy) if policy is not None and by_index(policy) else 1
        for unit, pod in own
        for policy in (policy_of(unit.subgroups, pod),)
    }
    return found.pop() if len(found) == 1 else 1
