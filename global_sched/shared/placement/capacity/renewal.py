"""Nodes of a Space that are other than they were: changed in place, so that all counts stay."""

from collections.abc import Mapping

from global_sched.shared.model.topology import Leaf
from global_sched.shared.placement.capacity.allocations import Ledger
from global_sched.shared.placement.capacity.baseline import SortKey
from global_sched.shared.placement.capacity.node_groups import Rows

_LONGEST_LOG = 200_000
"""After so many changes of rows a Space made anew is smaller and no slower."""

_Place = tuple[int, SortKey]
"""(domain, what orders the node's row in it)."""


class Renewal:
    """Changes the nodes of a Space with named nodes, from which nothing is taken.

    Afterwards it answers as one made anew would. What would make that untrue is refused: a class or
    occupants that the Space does not know, and the last node of a class.
    """

    def __init__(self, rows: Rows, ledger: Ledger) -> None:
        self._rows = rows
        self._ledger = ledger
        self._kinds = {kind: at for at, kind in enumerate(rows.ground.classes)}
        self._nodes = [0] * len(self._kinds)
        for row, count in enumerate(rows.count):
            self._nodes[rows.kind[row]] += count

    def apply(self, changes: Mapping[int, Leaf | None]) -> bool:
        """Put nodes (by leaf) where they are now, None for those that are gone; or do nothing.

        False when the Space has to be made anew.
        """
        places = {at: None if leaf is None else self._place(leaf) for at, leaf in changes.items()}
        if any(places[at] is None for at, leaf in changes.items() if leaf is not None):
            return False
        nodes = list(self._nodes)
        for at, place in places.items():
            row = self._ledger.row_of(at)
            if row is not None:
                nodes[self._rows.kind[row]] -= 1
            if place is not None:
                nodes[place[1][2]] += 1
        if not all(nodes) or len(self._rows.log) + 2 * len(changes) > _LONGEST_LOG:
            return False
        self._nodes = nodes
        for at, place in places.items():
            self._put(at, place)
        return True

    def _place(self, leaf: Leaf) -> _Place | None:
        ground = self._rows.ground
        kind, tenant = self._kinds.get(leaf.node_class), ground.tenants().get(leaf.occupants)
        if kind is None or tenant is None or leaf.count != 1:
            return None
        return ground.index.at(leaf.domain), (leaf.free, tenant, kind, ())

    def _put(self, node: int, place: _Place | None) -> None:
        rows = self._rows
        source = self._ledger.row_of(node)
        target = None if place is None else rows.row(*place)
        if source == target:
            return
        if source is not None:
            rows.leave(source, 1)
        if target is not None:
            rows.enter(target, 1)
        self._ledger.renew(node, source, target)
        rows.renewed(source, target)
