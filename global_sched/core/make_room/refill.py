"""Whether others would fill what victims leave over, so that a victim had the right to it again.

Who leaves may leave more than the claimant asks for. The rest is free, and whoever waits below the
claimant's queue may have it. That queue is further over then than when it was compared with those
that gave, and they could make each other leave by turns.

A queue that has less than its deserved takes all the same: what it is owed does not wait for that.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.leaving import Unit
from global_sched.core.make_room.trial_room import asked_by, carry_out, would_fit
from global_sched.core.offer import Offer
from global_sched.core.quota.tree import Node
from global_sched.core.statement import Statement
from global_sched.core.waiting import WaitingKind
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload

MOST_TRIED: Final = 64
"""So many kinds that wait are tried in the room that is left over."""


class Refill:
    """One claimant with what it is offered, and its victims. Nothing stays in the statement."""

    def __init__(
        self, claimant: Workload, units: Sequence[Unit], offer: Offer, statement: Statement
    ) -> None:
        self._claimant, self._units, self._offer = claimant, units, offer
        self._statement, self._ledger = statement, statement.ledger
        self._rights = statement.ledger.entitlements

    def returns(self, asked: Resources, field: AllRows) -> bool:
        """Whether a victim would have the right to come back; the claimant asks for that much."""
        over = [found for unit in self._units if unit.reclaim if (found := self._over(unit, asked))]
        if not over:
            return False
        statement = self._statement
        mark = statement.mark()
        carry_out(self._claimant, self._offer, self._units, field, statement)
        fillers: dict[Node, list[WaitingKind]] = {}
        returns = any(self._regains(*one, fillers) for one in over)
        statement.rollback(mark)
        return returns

    def _over(self, unit: Unit, asked: Resources) -> tuple[Unit, Node, tuple[str, ...]] | None:
        """The claimant's side, with the resources of which it has its deserved already."""
        side, _ = self._rights.part(self._claimant.queue, unit.holder.workload.queue)
        deserved = self._rights.deserved_of(side)
        names = tuple(
            name
            for name in asked.names()
            if self._rights.counts(side, name) and side.held.get(name, 0) >= deserved.get(name, 0)
        )
        return (unit, side, names) if names else None

    def _regains(
        self, unit: Unit, side: Node, names: tuple[str, ...], fillers: dict[Node, list[WaitingKind]]
    ) -> bool:
        """Whether it could take from the claimant's side with all in it that would fit."""
        rooms = self._statement.rooms
        free = Resources.of(rooms.rooms[rooms.position[unit.cluster]].free)
        if not self._could_take(unit, names, free):
            return False
        if side not in fillers:
            fillers[side] = list(self._waiting(side))
        wanted = Resources.total(
            asked_by(kind.one, self._statement).times(len(self._others(kind)))
            for kind in fillers[side]
        )
        least = {name: min(amount, wanted.get(name)) for name, amount in free.entries}
        return self._could_take(unit, names, Resources.of(least))

    def _could_take(self, unit: Unit, names: tuple[str, ...], filled: Resources) -> bool:
        """Whether that is so with that much more in the claimant's queue."""
        claimant, tree = self._claimant.queue, self._ledger.tree
        tree.charge(tree.node(claimant), None, filled, 1)
        found = self._rights.regains(unit.holder.workload.queue, unit.amount, claimant, names)
        tree.charge(tree.node(claimant), None, filled, -1)
        return found

    def _waiting(self, side: Node) -> Iterator[WaitingKind]:
        """Those below it who would find a place now."""
        statement, tree = self._statement, self._ledger.tree
        looked = 0
        for queue, kinds in statement.waiting.items():
            if side not in tree.node(queue).path:
                continue
            for kind in kinds:
                if looked == MOST_TRIED:
                    return
                if self._others(kind) and self._ledger.gates.refusal(kind.one) is None:
                    looked += 1
                    if would_fit(kind, statement):
                        yield kind

    def _others(self, kind: WaitingKind) -> list[Workload]:
        return [one for one in kind.those if one.key != self._claimant.key]
