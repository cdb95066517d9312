"""Takes of a Space and their order, so that each can be given back or undone."""

from bisect import insort
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, Topology
from global_sched.shared.model.values import InvariantError
from global_sched.shared.placement.capacity.histogram import LeafKey, counted_leaves
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.request.node_match import Request
from global_sched.shared.placement.result import Placed, Take

_MOST_EXPECTED = 64

Lift = tuple[list[int], int, int, Resources, int]
"""(nodes, their row, the row that they come to, what each of so many pods asks for, these pods)."""


@dataclass(slots=True)
class _Move:
    """Nodes that went from one row to another; `fresh` ones had no identity before."""

    nodes: list[int]
    source: int
    target: int
    fresh: bool
    request: Request = ()
    pods: int = 0
    """What is put on each node: so many pods with this request."""


@dataclass(slots=True)
class _Entry:
    """One take or give_back, as the moves that it made."""

    placed: Placed
    moves: list[_Move]
    taken: bool
    origin: "_Entry | None" = None
    """For a give_back: the take that it undid."""


class Allocations:
    """Nodes by number: leaves where they have names, else numbers given when nodes are taken."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._baseline = rows.baseline
        self._row_of: dict[int, int] = dict(self._baseline.row_of) if self._baseline.named else {}
        self._members: dict[int, list[int]] = {}
        self._next = len(self._baseline.topology.leaves)
        rank = self._baseline.rank
        in_order = not self._baseline.named or all(at == place for at, place in rank.items())
        self._order = None if in_order else rank.__getitem__
        self._entries: list[_Entry] = []
        self._open: dict[int, list[_Entry]] = {}
        """Takes that were not given back, by identity of the Placed."""
        self._requests: dict[Resources, Request] = {}
        self._expected: dict[int, tuple[Placed, list[Lift]]] = {}
        """Answers for the rows as they are now, by identity, with the moves that they mean."""

    def members(self, row: int) -> list[int]:
        """The nodes of a row that have an identity, in order. Not to be changed by the caller."""
        known = self._members.get(row)
        if known is None:
            initial = self._baseline.members[row] if row < len(self._baseline.members) else []
            known = self._members[row] = list(initial)
        return known

    def row_of(self, node: int) -> int | None:
        """The row of a node that has an identity; None for one that is not there."""
        return self._row_of.get(node)

    def order(self) -> Callable[[int], int] | None:
        """The order of nodes: by name where they have names. None: by their numbers."""
        return self._order

    def request(self, requests: Resources) -> Request:
        """Requests on the topology's axis."""
        known = self._requests.get(requests)
        if known is None:
            axis = {name: at for at, name in enumerate(self._baseline.topology.axis)}
            known = tuple((axis[name], amount) for name, amount in requests)
            self._requests[requests] = known
        return known

    def expect(self, placed: Placed, moves: list[Lift]) -> None:
        """An answer for the rows as they are now: taking it needs no second look at each node."""
        if moves:
            if len(self._expected) >= _MOST_EXPECTED:
                self._expected.clear()
            self._expected[id(placed)] = (placed, moves)

    def take(self, placed: Placed) -> None:
        """Apply the takes. Raises InvariantError where the room is not there."""
        entry = _Entry(placed, [], taken=True)
        self._entries.append(entry)
        expected = self._expected.get(id(placed))
        self._expected = {}
        try:
            if expected is not None:
                for nodes, row, target, requests, pods in expected[1]:
                    request = self.request(requests)
                    self._move(entry, _Move(nodes, row, target, False, request, pods))
            elif self._baseline.named:
                self._take_named(entry)
            else:
                for take in placed.takes:
                    self._take(entry, take)
        except (InvariantError, KeyError, IndexError) as error:
            self.rollback(len(self._entries) - 1)
            raise InvariantError(f"{placed.amounts} is not from this Space: {error}") from error
        self._open.setdefault(id(placed), []).append(entry)

    def _take_named(self, entry: _Entry) -> None:
        """Nodes in a row that were alike and get alike pods move together."""
        row_of = self._row_of
        takes = entry.placed.takes
        at, end = 0, len(takes)
        while at < end:
            take = takes[at]
            row = row_of[take.leaf]
            nodes, known = [take.leaf], {take.leaf}
            at += 1
            while at < end:
                other = takes[at]
                if (
                    other.pods_per_node != take.pods_per_node
                    or row_of[other.leaf] != row
                    or other.leaf in known
                    or other.requests != take.requests
                ):
                    break
                nodes.append(other.leaf)
                known.add(other.leaf)
                at += 1
            request = self.request(take.requests)
            target = self._rows.after(row, request, take.pods_per_node)
            move = _Move(nodes, row, target, fresh=False, request=request, pods=take.pods_per_node)
            self._move(entry, move)

    def _take(self, entry: _Entry, take: Take) -> None:
        request, pods = self.request(take.requests), take.pods_per_node
        row = take.leaf
        target = self._rows.after(row, request, pods)
        known = self.members(row)
        unknown = min(take.nodes, self._rows.count[row] - len(known))
        if unknown > 0:
            nodes = list(range(self._next, self._next + unknown))
            self._next += unknown
            self._move(entry, _Move(nodes, row, target, fresh=True, request=request, pods=pods))
        if take.nodes > unknown:
            nodes = known[: take.nodes - max(unknown, 0)]
            self._move(entry, _Move(nodes, row, target, fresh=False, request=request, pods=pods))

    def _move(self, entry: _Entry, move: _Move) -> None:
        self._rows.shift(move.source, move.target, len(move.nodes))
        entry.moves.append(move)
        self._carry(move.nodes, None if move.fresh else move.source, move.target)

    def _carry(self, nodes: list[int], source: int | None, target: int) -> None:
        """Nodes are members of another row from now on; None: of no row until now."""
        if source is not None:
            self._drop(nodes, source)
        members, row_of = self.members(target), self._row_of
        if len(nodes) > 1 or not members:
            members.extend(nodes)
            members.sort(key=self._order)
        elif self._order is None:
            insort(members, nodes[0])
        else:
            insort(members, nodes[0], key=self._order)
        for node in nodes:
            row_of[node] = target

    def renew(self, node: int, source: int | None, target: int | None) -> None:
        """A node is in another row for good; in none where it is gone or was."""
        self._expected = {}
        if target is not None:
            self._carry([node], source, target)
        elif source is not None:
            self._drop([node], source)
            del self._row_of[node]

    def _drop(self, nodes: list[int], row: int) -> None:
        members = self.members(row)
        if len(nodes) == len(members):
            members.clear()
        elif len(nodes) == 1:
            members.remove(nodes[0])
        else:
            gone = set(nodes)
            self._members[row] = [n for n in members if n not in gone]

    def vacate(self, freed: Mapping[int, Request]) -> None:
        """Nodes get back what pods of others hold there: amounts per node, by occupants."""
        self._expected = {}
        rows = self._rows
        entry = _Entry(Placed(Amounts(), None, None, "", ()), [], taken=False)
        found = [row for row, at in enumerate(rows.tenant) if rows.count[row] and at in freed]
        for row in found:
            target = rows.after(row, freed[rows.tenant[row]], -1)
            nodes = list(self.members(row))
            fresh = rows.count[row] - len(nodes)
            if nodes:
                self._move(entry, _Move(nodes, row, target, fresh=False))
            if fresh > 0:
                numbers = list(range(self._next, self._next + fresh))
                self._next += fresh
                self._move(entry, _Move(numbers, row, target, fresh=True))
        self._entries.append(entry)

    def give_back(self, placed: Placed) -> None:
        """Undo one take, whatever came after it. Raises InvariantError when it is not taken."""
        self._expected = {}
        origin = self._find(placed)
        entry = _Entry(placed, [], taken=False, origin=origin)
        for move in reversed(origin.moves):
            for row, nodes in self._by_row(move.nodes):
                target = self._rows.after(row, move.request, -move.pods)
                self._move(entry, _Move(nodes, row, target, fresh=False))
        self._entries.append(entry)

    def _by_row(self, nodes: list[int]) -> Iterable[tuple[int, list[int]]]:
        """The nodes by the rows that they are in now, which mostly is one."""
        rows = [self._row_of[node] for node in nodes]
        if rows.count(rows[0]) == len(rows):
            return ((rows[0], nodes),)
        here: dict[int, list[int]] = {}
        for row, node in zip(rows, nodes, strict=True):
            here.setdefault(row, []).append(node)
        return here.items()

    def _find(self, placed: Placed) -> _Entry:
        entries = self._open.get(id(placed))
        if not entries:
            same = [key for key, found in self._open.items() if found and found[0].placed == placed]
            if not same:
                raise InvariantError(f"{placed.amounts} was not taken from this Space")
            entries = self._open[same[0]]
        entry = entries.pop()
        if not entries:
            del self._open[id(entry.placed)]
        return entry

    def mark(self) -> int:
        """A point to roll back to."""
        return len(self._entries)

    def rollback(self, mark: int) -> None:
        """Undo every take and give_back since a mark."""
        self._expected = {}
        while len(self._entries) > mark:
            entry = self._entries.pop()
            for move in reversed(entry.moves):
                self._rows.shift(move.target, move.source, len(move.nodes))
                self._return(move)
            if entry.origin is not None:
                self._open.setdefault(id(entry.origin.placed), []).append(entry.origin)
            elif entry.taken:
                self._forget(entry)

    def _return(self, move: _Move) -> None:
        if not move.fresh:
            self._carry(move.nodes, move.target, move.source)
            return
        self._drop(move.nodes, move.target)
        for node in move.nodes:
            del self._row_of[node]

    def _forget(self, entry: _Entry) -> None:
        entries = self._open.get(id(entry.placed), [])
        if entry in entries:
            entries.remove(entry)
        if not entries:
            self._open.pop(id(entry.placed), None)

    def remaining(self, topology: Topology) -> Topology:
        """The topology with what is left: named leaves in place, counted ones split and merged."""
        rows, baseline = self._rows, self._baseline
        if baseline.named:
            leaves = tuple(
                replace(leaf, free=rows.free[self._row_of[at]]) if at in self._row_of else leaf
                for at, leaf in enumerate(topology.leaves)
            )
            return replace(topology, leaves=leaves)
        return replace(topology, leaves=self.counted())

    def counted(self, tenants: Collection[int] | None = None) -> tuple[Leaf, ...]:
        """Nodes as they are now, alike ones together: all, or those with these occupants."""
        rows, baseline = self._rows, self._baseline
        counts: dict[LeafKey, int] = {}
        for row, count in enumerate(rows.count):
            if count and (tenants is None or rows.tenant[row] in tenants):
                at = rows.domain[row]
                name: DomainId | None = (
                    None if at == baseline.index.root else baseline.index.domains[at].name
                )
                key = (
                    name,
                    baseline.classes[rows.kind[row]],
                    rows.free[row],
                    baseline.occupants[rows.tenant[row]],
                )
                counts[key] = counts.get(key, 0) + count
        return counted_leaves(counts)
