"""Domains in which victims are looked for, and the cost of a set of victims."""

from collections.abc import Sequence
from dataclasses import dataclass

from global_sched.core.make_room.all_rows import AllRows, DomainRows
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.shared.model.ids import ClusterName


@dataclass(frozen=True, slots=True, order=True)
class Cost:
    """What a set of victims costs; less is better. Surplus pods lose no work."""

    priority: int
    """The highest of a gang that leaves whole and is not below its minimum."""
    lost: int
    """The work that all gangs lose, as `AllRows.lost` has it."""
    size: int
    gangs: int
    pods: int
    rank: int
    """How late they come in the order of victims: between equals the last to start leaves."""


@dataclass(frozen=True, slots=True)
class Spot:
    """Where victims are looked for."""

    place: DomainRows | None = None
    """The domain; None: there is room, and only a quota is lacking."""
    cluster: ClusterName | None = None
    """Its limits count as well; None: any cluster where the claimant's queues have none."""


def spot_at(place: DomainRows) -> Spot:
    """A domain, with the limits in its cluster."""
    return Spot(place, place.occupancy.cluster)


def cost_of(units: Sequence[EvictionUnit], field: AllRows) -> Cost:
    """The cost of these victims."""
    whole = [unit for unit in units if unit.whole]
    return Cost(
        priority=max(
            (int(field.priority[unit.at]) for unit in whole if not field.broken[unit.at]),
            default=-(2**62),
        ),
        lost=sum(int(field.lost[unit.at]) for unit in whole),
        size=sum(int(field.size[unit.at]) for unit in whole),
        gangs=len(whole),
        pods=sum(unit.pods for unit in units),
        rank=sum(int(field.rank[unit.at]) for unit in units),
    )
