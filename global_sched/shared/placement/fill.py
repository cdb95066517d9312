"""Which of a domain's own nodes take some pods of one shape."""

from collections.abc import Sequence

from global_sched.shared.placement.ground import SortKey
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table

Chosen = tuple[int, int, int]
"""(row, nodes, pods on each)."""
_Room = tuple[int, SortKey, int, int]
"""(pods per node, key, row, nodes)."""


def fill(rows: Rows, table: Table, domain: int, pods: int, *, scatter: bool) -> list[Chosen]:
    """Nodes for pods that fit on the domain's own nodes.

    Packed: as few nodes as possible, and for the last pods the tightest node that takes them.
    Scattered (no constraint): the nodes that keep fewest devices first, then those whose CPU suits
    what they keep, then the fullest, so that large pods find room. Nodes with free devices that the
    shape does not ask for are left out when the others suffice.

    Order:  ties go by the row's value, never by how many nodes are alike.
    """
    room = [
        (cap, key, row, rows.count[row])
        for key, row in rows.ordered(domain)
        if (cap := table.cap(row)) > 0
    ]
    if not table.always_lean:
        lean = [item for item in room if table.is_lean(item[2])]
        if sum([cap * nodes for cap, _, _, nodes in lean]) >= pods:
            room = lean
    if not scatter:
        return _packed(room, pods)
    room.sort(key=lambda item: (*table.leftover(item[2]), item[:2]))
    return _scattered(room, pods)


def _scattered(room: Sequence[_Room], pods: int) -> list[Chosen]:
    chosen: list[Chosen] = []
    left = pods
    for cap, _, row, nodes in room:
        whole = min(nodes, left // cap)
        _choose(chosen, row, whole, cap)
        left -= whole * cap
        if 0 < left < cap and whole < nodes:
            _choose(chosen, row, 1, left)
            left = 0
        if left == 0:
            break
    return chosen


def _packed(room: Sequence[_Room], pods: int) -> list[Chosen]:
    chosen: list[Chosen] = []
    left = pods
    descending = sorted(room, key=lambda item: (-item[0], item[1]))
    for position, (cap, _, row, nodes) in enumerate(descending):
        whole = min(nodes, max(0, -(-(left - cap) // cap)))
        _choose(chosen, row, whole, cap)
        left -= whole * cap
        if left <= cap and whole < nodes:
            _choose_last(chosen, descending, position, left)
            break
    return chosen


def _choose_last(
    chosen: list[Chosen], descending: Sequence[_Room], position: int, left: int
) -> None:
    """The tightest of the nodes that are left, from `position` on."""
    tightest = min(
        (item for item in descending[position:] if item[0] >= left),
        key=lambda item: (item[0], item[1]),
    )
    _choose(chosen, tightest[2], 1, left)


def _choose(chosen: list[Chosen], row: int, nodes: int, pods: int) -> None:
    if nodes and pods:
        chosen.append((row, nodes, pods))
