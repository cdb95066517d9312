"""Choice of a domain's own nodes for pods of one shape: best fit, or least marginal cost.

Problem: under one leaf all nodes are equally close, so only what is left over counts.
Method, packed (the gang has a constraint): first fit decreasing by pods per node, and best fit for
the last pods, which leaves the fewest nodes touched and the largest whole. Nodes with idle devices
that the shape does not ask for come last.
Method, scattered (no constraint): greedy by marginal cost. A node's rank is what other shapes lose
there (`capacity.scarcity`: the loss of a weighted sum of logarithms of room, as in proportional
fairness, Kelly 1998), then devices left, the balance of CPU and devices, and the fullest.
Exact: packed is optimal in nodes for one shape; scattered is greedy, with no bound.
Cost: O(rows log rows) up to 64 rows; beyond, `capacity.node_order` keeps the order from pod to pod,
O(log rows) per row that changed. docs/design/0003, "Nodes of a gang without constraint".
"""

from collections.abc import Iterable, Sequence
from functools import partial

from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.node_order import NodeOrder, Rank, RowRoom
from global_sched.shared.placement.capacity.shape_table import ShapeTable

_FEW_ROWS = 64
"""So many rows are put in order anew for every pod."""

Chosen = tuple[int, int, int]
"""(row, nodes, pods on each)."""


def fill(rows: Rows, table: ShapeTable, domain: int, pods: int, *, scatter: bool) -> list[Chosen]:
    """Nodes for pods that fit on the domain's own nodes.

    Packed: as few nodes as possible, and for the last pods the tightest node that takes them.
    Nodes with free devices that the shape does not ask for are left out when the others suffice.
    Scattered (no constraint): where others lose least, see `_line`.

    Order:  ties go by the row's value, never by how many nodes are alike.
    """
    if scatter:
        return _scattered(_line(rows, table, domain), pods)
    room = [
        (cap, key, row, rows.count[row])
        for key, row in rows.ordered(domain)
        if (cap := table.cap(row)) > 0
    ]
    if not table.always_lean:
        device_free = [item for item in room if table.is_lean(item[2])]
        if sum([cap * nodes for cap, _, _, nodes in device_free]) >= pods:
            room = device_free
    return _packed(room, pods)


def _line(rows: Rows, table: ShapeTable, domain: int) -> Iterable[RowRoom]:
    """A domain's own rows in the order in which scattered pods take them.

    Nodes where no device that the shape does not ask for lies idle; then where it costs other pods
    least, or without a demand profile, where fewest devices are left and the CPU suits those; then
    the fullest.
    """
    if len(rows.ordered(domain)) <= _FEW_ROWS:
        present = [row for _, row in rows.ordered(domain)]
        ranks = _ranks(rows, table, present)
        order = sorted((rank, row) for rank, row in zip(ranks, present, strict=True) if rank)
        return [(rank[4], rank[5], row, rows.count[row]) for rank, row in order]
    line = table.lines.get(domain)
    if line is None:
        line = table.lines[domain] = NodeOrder(rows, domain, partial(_ranks, rows, table))
    scarcity = rows.scarcity
    return line.room((scarcity, rows.renewals if scarcity is None else scarcity.stamp))


def _ranks(rows: Rows, table: ShapeTable, numbers: Sequence[int]) -> list[Rank | None]:
    """What orders rows; None for one that takes no pod."""
    caps = [table.cap(row) for row in numbers]
    priced = rows.scarcity is not None
    taking = [row for row, cap in zip(numbers, caps, strict=True) if cap > 0] if priced else []
    costs = table.costs(taking)
    device_free = table.always_lean
    found: list[Rank | None] = []
    for row, cap in zip(numbers, caps, strict=True):
        if cap <= 0:
            found.append(None)
            continue
        left, ill = (0, 0) if priced else table.leftover(row)
        idle = not (device_free or table.is_lean(row))
        cost = costs.get(row, 0)
        found.append((idle, cost, left, ill, cap, rows.key(row)))
    return found


def _scattered(room: Iterable[RowRoom], pods: int) -> list[Chosen]:
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


def _packed(room: Sequence[RowRoom], pods: int) -> list[Chosen]:
    chosen: list[Chosen] = []
    left = pods
    if len(room) == 1:
        cap, _, row, nodes = room[0]
        whole = min(nodes, pods // cap)
        _choose(chosen, row, whole, cap)
        _choose(chosen, row, min(1, nodes - whole), pods - whole * cap)
        return chosen
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
    chosen: list[Chosen], descending: Sequence[RowRoom], position: int, left: int
) -> None:
    """The tightest of the nodes that are left, from `position` on."""
    tightest = min(
        (item for item in descending[position:] if item[0] >= left),
        key=lambda item: (item[0], item[1]),
    )
    _choose(chosen, tightest[2], 1, left)


def _choose(chosen: list[Chosen], row: int, nodes: int, pods: int) -> None:
    """Alike nodes of one row with as many pods are one choice: every choice costs a move."""
    if not nodes or not pods:
        return
    if chosen and chosen[-1][0] == row and chosen[-1][2] == pods:
        nodes += chosen.pop()[1]
    chosen.append((row, nodes, pods))
