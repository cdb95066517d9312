"""The room that is left in a cluster: what it reported, less what is admitted and not counted."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from global_sched.shared.model.cluster import Capacity
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.last_resort import counting_all, has_last_resort
from global_sched.shared.placement import Placed, Space


@dataclass(frozen=True, slots=True, order=True)
class AssumedPlacement:
    """Pods of one workload that no report counts yet. Ascends in the order of decisions."""

    at: Instant
    order: int
    binding: BindingId
    amounts: Amounts
    gang: Gang
    domain: DomainId | None
    least: Amounts = Amounts()
    """What of the amounts makes up its minimum."""

    def only(self, amounts: Amounts) -> "AssumedPlacement":
        """The same with these pods alone."""
        return replace(self, amounts=amounts, least=self.least.within(amounts))


def in_order(takers: Iterable[AssumedPlacement]) -> tuple[AssumedPlacement, ...]:
    """The order in which the member places them: all minimums first, then all surplus."""
    takers = tuple(takers)
    if all(one.amounts == one.least for one in takers):
        return takers
    least = [one.only(one.least) for one in takers]
    surplus = [one.only(one.amounts.minus(one.least)) for one in takers]
    return tuple(one for one in (*least, *surplus) if one.amounts.entries)


class KeptRoom:
    """One cluster's room, kept between snapshots.

    So a new admission costs one placement, or as many as are not counted where any has surplus.
    """

    def __init__(self) -> None:
        self._base: Capacity | None = None
        self._space: Space | None = None
        self._taken: tuple[AssumedPlacement, ...] = ()

    def deduct(self, base: Capacity, takers: tuple[AssumedPlacement, ...]) -> Capacity:
        """The capacity with every taker's pods placed: minimums, then surplus, by decision.

        Pods that find no room deduct nothing: the report that will count them knows better.
        """
        if not takers:
            self._base, self._space, self._taken = base, None, ()
            return base
        takers = in_order(takers)
        known = len(self._taken)
        if (
            self._base is None
            or self._space is None
            or self._base.topology is not base.topology
            or takers[:known] != self._taken
        ):
            self._space, known = Space(base.topology), 0
        for taker in takers[known:]:
            left = self._take(self._space, taker, taker.gang, taker.amounts)
            if left.entries and has_last_resort(base.topology):
                self._take(self._space, taker, counting_all(taker.gang), left)
        self._base, self._taken = base, takers
        return replace(base, topology=self._space.remaining())

    @staticmethod
    def _take(space: Space, taker: AssumedPlacement, gang: Gang, amounts: Amounts) -> Amounts:
        """Deduct as many of these pods as find room; those that find none."""
        placed = space.place(
            gang, amounts=amounts, minimum=Amounts(), prefer=taker.domain, binding=taker.binding
        )
        if not isinstance(placed, Placed):
            return amounts
        space.take(placed)
        return amounts.minus(placed.amounts)
