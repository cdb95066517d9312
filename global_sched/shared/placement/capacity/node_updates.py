"""Room of pods that run: what a node gets back without them, and how to shut nodes."""

from collections.abc import Collection, Mapping

from global_sched.shared.model.ids import MAIN, DomainId
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, Occupant
from global_sched.shared.placement.capacity.allocations import Allocations
from global_sched.shared.placement.capacity.baseline import Baseline, SortKey
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.request.node_match import Request
from global_sched.shared.placement.result import Take


def per_tenant(
    baseline: Baseline, freed: Mapping[tuple[Occupant, ...], Resources]
) -> dict[int, Request]:
    """What each node gets back, by the number of its occupants."""
    position = {name: at for at, name in enumerate(baseline.topology.axis)}
    tenants = baseline.tenants()
    return {
        tenants[occupants]: tuple(
            (position[name], amount) for name, amount in amounts if name in position
        )
        for occupants, amounts in freed.items()
        if occupants in tenants
    }


def all_free(
    rows: Rows,
    allocations: Allocations,
    occupants: Collection[tuple[Occupant, ...]],
    domain: DomainId | None,
    beyond: DomainId | None = None,
) -> tuple[Take, ...]:
    """Takes of everything free on nodes with these occupants, under a domain, and beyond one."""
    baseline, index = rows.baseline, rows.index
    known = baseline.tenants()
    shut = {known[one] for one in occupants if one in known}
    under = index.position.get(domain) if domain is not None else None
    within = index.position.get(beyond) if beyond is not None else None
    takes = []
    for row, count in enumerate(rows.count):
        if not count or not any(rows.free[row]):
            continue
        chain = index.chain[rows.domain[row]]
        wanted = under in chain or (beyond is not None and within not in chain)
        if not wanted and rows.tenant[row] not in shut:
            continue
        free = Resources.of(dict(zip(baseline.topology.axis, rows.free[row], strict=True)))
        if baseline.named:
            takes += [Take(node, MAIN, 1, 1, free) for node in allocations.members(row)]
        else:
            takes.append(Take(row, MAIN, count, 1, free))
    return tuple(takes)


_LONGEST_LOG = 200_000
"""After so many changes of rows a Space made anew is smaller and no slower."""

_Place = tuple[int, SortKey]
"""(domain, what orders the node's row in it)."""


class NodeUpdates:
    """Changes the nodes of a Space with named nodes, from which nothing is taken.

    Afterwards it answers as one made anew would. What would make that untrue is refused: a class or
    occupants that the Space does not know, and the last node of a class.
    """

    def __init__(self, rows: Rows, allocations: Allocations) -> None:
        self._rows = rows
        self._allocations = allocations
        self._kinds = {kind: at for at, kind in enumerate(rows.baseline.classes)}
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
            row = self._allocations.row_of(at)
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
        baseline = self._rows.baseline
        kind, tenant = self._kinds.get(leaf.node_class), baseline.tenants().get(leaf.occupants)
        if kind is None or tenant is None or leaf.count != 1:
            return None
        return baseline.index.at(leaf.domain), (leaf.free, tenant, kind, ())

    def _put(self, node: int, place: _Place | None) -> None:
        rows = self._rows
        source = self._allocations.row_of(node)
        target = None if place is None else rows.row(*place)
        if source == target:
            return
        if source is not None:
            rows.leave(source, 1)
        if target is not None:
            rows.enter(target, 1)
        self._allocations.renew(node, source, target)
        rows.renewed(source, target)
