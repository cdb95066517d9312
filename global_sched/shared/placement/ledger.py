"""What was taken from a Space and by whom, so that it can be given back or undone in any order."""

from bisect import insort
from collections.abc import Callable
from dataclasses import dataclass, replace

from global_sched.shared.model.errors import InvariantError
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, Topology
from global_sched.shared.placement.histogram import LeafKey, counted_leaves
from global_sched.shared.placement.placed import Placed, Take
from global_sched.shared.placement.rows import Request, Rows


@dataclass(slots=True)
class _Move:
    """Nodes that went from one row to another; `fresh` ones had not been told apart before."""

    nodes: list[int]
    source: int
    target: int
    fresh: bool


@dataclass(slots=True)
class _Entry:
    """One take or give_back, as the moves that it made."""

    placed: Placed
    moves: list[_Move]
    taken: bool
    origin: "_Entry | None" = None
    """For a give_back: the take that it undid."""


class Ledger:
    """Nodes by number: leaves where they have names, else numbers given when nodes are taken."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._ground = rows.ground
        self._row_of: dict[int, int] = dict(self._ground.row_of) if self._ground.named else {}
        self._members: dict[int, list[int]] = {}
        self._next = len(self._ground.topology.leaves)
        self._entries: list[_Entry] = []
        self._open: dict[int, list[_Entry]] = {}
        """Takes that were not given back, by identity of the Placed."""
        self._requests: dict[Resources, Request] = {}

    def members(self, row: int) -> list[int]:
        """The nodes of a row that can be told apart, in order. Not to be changed by the caller."""
        known = self._members.get(row)
        if known is None:
            initial = self._ground.members[row] if row < len(self._ground.members) else []
            known = self._members[row] = list(initial)
        return known

    def order(self) -> Callable[[int], int]:
        """The order of nodes: by name where they have names."""
        return self._ground.rank.__getitem__ if self._ground.named else int

    def request(self, requests: Resources) -> Request:
        """Requests on the topology's axis."""
        known = self._requests.get(requests)
        if known is None:
            axis = {name: at for at, name in enumerate(self._ground.topology.axis)}
            known = tuple((axis[name], amount) for name, amount in requests)
            self._requests[requests] = known
        return known

    def take(self, placed: Placed) -> None:
        """Apply the takes. Raises InvariantError where the room is not there."""
        entry = _Entry(placed, [], taken=True)
        self._entries.append(entry)
        try:
            for take in placed.takes:
                self._take(entry, take)
        except (InvariantError, KeyError, IndexError) as error:
            self.rollback(len(self._entries) - 1)
            raise InvariantError(f"{placed.amounts} is not from this Space: {error}") from error
        self._open.setdefault(id(placed), []).append(entry)

    def _take(self, entry: _Entry, take: Take) -> None:
        request = self.request(take.requests)
        if self._ground.named:
            row = self._row_of[take.leaf]
            nodes, fresh = [take.leaf], False
            target = self._rows.after(row, request, take.pods_per_node)
            self._move(entry, nodes, row, target, fresh=fresh)
            return
        row = take.leaf
        target = self._rows.after(row, request, take.pods_per_node)
        known = self.members(row)
        unknown = min(take.nodes, self._rows.count[row] - len(known))
        if unknown > 0:
            nodes = list(range(self._next, self._next + unknown))
            self._next += unknown
            self._move(entry, nodes, row, target, fresh=True)
        if take.nodes > unknown:
            self._move(entry, known[: take.nodes - unknown], row, target, fresh=False)

    def _move(
        self, entry: _Entry, nodes: list[int], source: int, target: int, *, fresh: bool
    ) -> None:
        self._rows.move(source, target, len(nodes))
        entry.moves.append(_Move(nodes, source, target, fresh))
        self._carry(nodes, source, target, fresh=fresh)

    def _carry(self, nodes: list[int], source: int, target: int, *, fresh: bool) -> None:
        if not fresh:
            gone = set(nodes)
            self._members[source] = [n for n in self.members(source) if n not in gone]
        order, members = self.order(), self.members(target)
        for node in nodes:
            insort(members, node, key=order)
            self._row_of[node] = target

    def give_back(self, placed: Placed) -> None:
        """Undo one take, whatever came after it. Raises InvariantError when it is not taken."""
        origin = self._find(placed)
        entry = _Entry(placed, [], taken=False, origin=origin)
        moved = [
            (node, take)
            for take, moves in _by_take(origin)
            for move in moves
            for node in move.nodes
        ]
        for node, take in reversed(moved):
            row = self._row_of[node]
            target = self._rows.after(row, self.request(take.requests), -take.pods_per_node)
            self._move(entry, [node], row, target, fresh=False)
        self._entries.append(entry)

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
        while len(self._entries) > mark:
            entry = self._entries.pop()
            for move in reversed(entry.moves):
                self._rows.move(move.target, move.source, len(move.nodes))
                self._return(move)
            if entry.origin is not None:
                self._open.setdefault(id(entry.origin.placed), []).append(entry.origin)
            elif entry.taken:
                self._forget(entry)

    def _return(self, move: _Move) -> None:
        gone = set(move.nodes)
        self._members[move.target] = [n for n in self.members(move.target) if n not in gone]
        if move.fresh:
            for node in move.nodes:
                del self._row_of[node]
            return
        order, members = self.order(), self.members(move.source)
        for node in move.nodes:
            insort(members, node, key=order)
            self._row_of[node] = move.source

    def _forget(self, entry: _Entry) -> None:
        entries = self._open.get(id(entry.placed), [])
        if entry in entries:
            entries.remove(entry)
        if not entries:
            self._open.pop(id(entry.placed), None)

    def remaining(self, topology: Topology) -> Topology:
        """The topology with what is left: named leaves in place, counted ones split and merged."""
        rows, ground = self._rows, self._ground
        if ground.named:
            leaves = tuple(
                replace(leaf, free=rows.free[self._row_of[at]]) if at in self._row_of else leaf
                for at, leaf in enumerate(topology.leaves)
            )
            return replace(topology, leaves=leaves)
        return replace(topology, leaves=self._counted())

    def _counted(self) -> tuple[Leaf, ...]:
        rows, ground = self._rows, self._ground
        counts: dict[LeafKey, int] = {}
        for row, count in enumerate(rows.count):
            if count:
                at = rows.domain[row]
                name: DomainId | None = (
                    None if at == ground.index.root else ground.index.domains[at].name
                )
                key = (
                    name,
                    ground.classes[rows.kind[row]],
                    rows.free[row],
                    ground.occupants[rows.tenant[row]],
                )
                counts[key] = counts.get(key, 0) + count
        return counted_leaves(counts)


def _by_take(entry: _Entry) -> list[tuple[Take, list[_Move]]]:
    """The moves of each take of an entry, in order."""
    result: list[tuple[Take, list[_Move]]] = []
    moves = iter(entry.moves)
    for take in entry.placed.takes:
        own: list[_Move] = []
        left = take.nodes
        while left > 0:
            move = next(moves)
            own.append(move)
            left -= len(move.nodes)
        result.append((take, own))
    return result
