"""How changes that would let a workload run are said."""

from collections.abc import Sequence
from typing import NamedTuple

from global_sched.core.make_room.leaving import Unit
from global_sched.core.offer import Offer, Refusal
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.quantity import counted

UNKNOWN = "; what then still stands against it is not known"


def remedy_of(
    change: Change,
    text: str,
    refusal: Refusal | None = None,
    victims: Sequence[Victim] = (),
    *,
    cluster: ClusterName | None = None,
) -> Remedy:
    """A change that was tried: who leaves with it, or what then still stands against the job."""
    if refusal is not None:
        text = f"{text}; then still: {refusal.verdict.detail}"
        return Remedy(change=change, text=text, enough=False, cluster=cluster)
    if victims:
        text = f"{text}, and {leaving_text(victims)}"
    return Remedy(change=change, text=text, cluster=cluster)


def placed(offer: Offer, change: Change, text: str) -> Remedy:
    """A change of the gang, and where it would be then."""
    part = offer.parts[0]
    domain = part.placed.domain if part.placed is not None else None
    where = f"{part.cluster} holds it" + (f" in {domain}" if domain is not None else "")
    return Remedy(change=change, text=f"{text}: {where}", cluster=part.cluster, domain=domain)


def open_text(names: Sequence[QueueName]) -> str:
    """`queue a and queue b are open`."""
    text = " and ".join(f"queue {name}" for name in names)
    return f"{text} {'are' if len(names) > 1 else 'is'} open"


def enough_text(low: int, least: int) -> str:
    """`6 pods are enough to start (now 8)`."""
    return f"{counted(low, 'pod')} {'is' if low == 1 else 'are'} enough to start (now {least})"


def instead_of(gang: Gang) -> str:
    """The tier that it asks for now, where it names one."""
    constraint = gang.constraint
    assert constraint is not None
    now = constraint.highest_tier_name or constraint.highest_tier
    return "" if now is None else f" (now {now})"


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


def ending_text(units: Sequence[Unit], own: TenantName) -> str:
    """`2 gangs of queue c (12 pods) end in member1`."""
    gone = [
        _Gone(
            unit.holder.grant.amounts.pods(),
            True,
            unit.holder.workload.queue,
            unit.holder.workload.key if unit.holder.workload.tenant == own else None,
        )
        for unit in units
    ]
    places = sorted({str(unit.cluster) for unit in units})
    return f"{_summed(gone)} {'end' if len(gone) > 1 else 'ends'} in {', '.join(places)}"


def _summed(gone: Sequence[_Gone]) -> str:
    """`2 gangs of queue b (16 pods)`, with the names of one's own tenant's."""
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
