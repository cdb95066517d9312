"""Surplus: bound pods that a gang can do without, in the order in which they would leave. Pure."""

from collections.abc import Iterable, Mapping

from global_sched.shared.kinds import GROUPED, ONE_BY_ONE
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, PodSetName
from member_agent.cache.records import PodRecord, PodUid, PodUnit, count_pods


def surplus_turns(units: Iterable[PodUnit]) -> Mapping[PodUid, int]:
    """By uid the turn of every bound pod that its gang does not need: 1 leaves first.

    Turns count for each pod set from the highest index bound. Pods that are needed, that are going
    already, or whose owner forbids it have none. Services have no surplus (they leave whole), nor
    have LeaderWorkerSets, whose groups without one pod are none, and bindings of several units,
    whose minimum is not known in all.
    """
    by_binding: dict[BindingId, list[PodUnit]] = {}
    for unit in units:
        if unit.binding is not None:
            by_binding.setdefault(unit.binding, []).append(unit)
    turns: dict[PodUid, int] = {}
    for own in by_binding.values():
        if len(own) == 1 and own[0].root_kind not in ONE_BY_ONE | GROUPED:
            turns.update(_turns(own[0]))
    return turns


def last_first(pods: Iterable[PodRecord]) -> list[PodRecord]:
    """Pods of one pod set in the order in which they leave: the highest index first."""
    return sorted(pods, key=lambda pod: (pod.index, pod.created, pod.name), reverse=True)


def _turns(unit: PodUnit) -> Mapping[PodUid, int]:
    staying = unit.staying()
    if not all(pod.preemptable for pod in staying):
        return {}
    spare = count_pods(staying).minus(_needed(unit, count_pods(staying)))
    sets: dict[PodSetName, list[PodRecord]] = {}
    for pod in staying:
        sets.setdefault(pod.pod_set, []).append(pod)
    return {
        pod.uid: turn
        for name, pods in spare.entries
        for turn, pod in enumerate(last_first(sets[name])[:pods], start=1)
    }


def _needed(unit: PodUnit, bound: Amounts) -> Amounts:
    """What of the bound pods the minimum takes: each pod set's own, then the first ones."""
    needed = {name: min(pods, bound.get(name)) for name, pods in unit.minimum.entries}
    more = unit.floor - sum(needed.values())
    ranked = [*unit.pod_sets, *(name for name, _ in bound.entries if name not in unit.pod_sets)]
    for name in ranked:
        extra = max(0, min(more, bound.get(name) - needed.get(name, 0)))
        needed[name] = needed.get(name, 0) + extra
        more -= extra
    return Amounts.of(needed)
