"""Sentences about changes that would let a workload run."""

from collections.abc import Sequence
from typing import NamedTuple

from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.shared.model.explanation import Victim
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.workload import Workload

UNKNOWN = "; what then still stands against it is not known"


def name_for(one: Workload, reader: Workload) -> WorkloadKey | None:
    """The name of a job as another one's user sees it: only within one namespace."""
    same = (one.namespace, one.tenant) == (reader.namespace, reader.tenant)
    return one.key if same else None


def open_text(names: Sequence[QueueName]) -> str:
    """`queue a and queue b are open`."""
    text = " and ".join(f"queue {name}" for name in names)
    return f"{text} {'are' if len(names) > 1 else 'is'} open"


def enough_text(low: int, least: int, field: str) -> str:
    """`6 pods are enough to start (spec.minAvailable, now 8)`."""
    enough = f"{counted(low, 'pod')} {'is' if low == 1 else 'are'} enough to start"
    return f"{enough} ({field}, now {least})"


def tier_text(gang: Gang, field: str, tier: int | str | None) -> str:
    """`spec.networkTopology.highestTierAllowed is 2 (now 1)`; None: no constraint at all."""
    constraint = gang.constraint
    assert constraint is not None
    now = constraint.highest_tier_name or constraint.highest_tier
    before = "" if now is None else f"now {now}"
    if tier is None:
        return f"it has no topology constraint ({', '.join(filter(None, (field, before)))})"
    return f"{field} is {tier}" + (f" ({before})" if before else "")


class _Gone(NamedTuple):
    pods: int
    whole: bool
    queue: QueueName
    name: WorkloadKey | None

    @property
    def number(self) -> int:
        """As many as one speaks of: a gang, or single pods."""
        return 1 if self.whole else self.pods


def leaving_text(victims: Sequence[Victim]) -> str:
    """`2 gangs of queue b (16 pods) leave member1`."""
    gone = [_Gone(one.pods, one.whole, one.queue, one.workload) for one in victims]
    places = sorted({str(one.cluster) for one in victims})
    verb = "leave" if sum(one.number for one in gone) > 1 else "leaves"
    return f"{_summed(gone)} {verb} {', '.join(places)}"


def ending_text(units: Sequence[EvictionUnit], reader: Workload) -> str:
    """`2 gangs of queue c (12 pods) end in member1`."""
    gone = [
        _Gone(
            unit.holder.grant.amounts.pods(),
            True,
            unit.holder.workload.queue,
            name_for(unit.holder.workload, reader),
        )
        for unit in units
    ]
    places = sorted({str(unit.cluster) for unit in units})
    return f"{_summed(gone)} {'end' if len(gone) > 1 else 'ends'} in {', '.join(places)}"


def _summed(gone: Sequence[_Gone]) -> str:
    """`2 gangs of queue b (16 pods)`, with the names of jobs of one's own namespace."""
    parts = []
    for queue in sorted({one.queue for one in gone}):
        those = [one for one in gone if one.queue == queue]
        gangs = sum(1 for one in those if one.whole)
        surplus = sum(one.pods for one in those if not one.whole)
        words = [counted(gangs, "gang")] if gangs else []
        words += [counted(surplus, "surplus pod")] if surplus else []
        told = [counted(sum(one.pods for one in those), "pod")] if gangs else []
        told += [", ".join(sorted({str(one.name) for one in those if one.name is not None}))]
        said = ": ".join(one for one in told if one)
        parts.append(f"{' and '.join(words)} of queue {queue}" + (f" ({said})" if said else ""))
    return ", ".join(parts)
