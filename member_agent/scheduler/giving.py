"""Surplus pods that leave because the Directive says so, to make room for somebody else. Pure."""

from collections.abc import Sequence

from member_agent.cache import Directed, PodRecord, Unit, last_first
from member_agent.scheduler.round import GivingUp

GIVEN_UP = "it was surplus, and its room was reclaimed for another workload"


def pods_to_give_up(entry: Directed, units: Sequence[Unit]) -> tuple[GivingUp, ...]:
    """The pods of an entry that leave now, by unit.

    As long as more than `admitted` of a pod set are bound: the highest indices, at most `give_up`
    of them, and never so many that less than `admitted` stay. Asked again after a restart it names
    the same pods, or fewer when some have gone.
    """
    if not entry.give_up.entries:
        return ()
    staying = [(unit, pod) for unit in units for pod in unit.staying()]
    chosen: set[str] = set()
    for name, most in entry.give_up.entries:
        own = [pod for _, pod in staying if pod.pod_set == name]
        over = min(most, len(own) - entry.admitted.get(name))
        chosen.update(pod.uid for pod in last_first(own)[: max(0, over)])
    found: dict[str, list[PodRecord]] = {}
    for unit, pod in staying:
        if pod.uid in chosen:
            found.setdefault(unit.key, []).append(pod)
    return tuple(
        GivingUp(unit=unit, pods=tuple(found[unit.key]), reason=GIVEN_UP)
        for unit in units
        if unit.key in found
    )
