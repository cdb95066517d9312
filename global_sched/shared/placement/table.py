"""How many pods of one shape every node and every domain still hold."""

from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.pods import PodShape, matches, tolerated
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.board import (
    MOST_PODS,
    MOST_SLACK,
    MOST_SLACK_FREE,
    PARTS,
    Board,
    Ints,
    Measure,
)
from global_sched.shared.placement.ground import BaseTable, Ground, TableKey
from global_sched.shared.placement.rows import Request, Rows

_MOST_TABLES = 256
_PLAIN = ("cpu", "memory", "ephemeral-storage", "storage", "pods")

V = TypeVar("V")


def class_takes(kind: NodeClass, shape: PodShape) -> bool:
    """Whether pods of a shape may go to nodes of a class, apart from room."""
    return kind.schedulable and class_problem(kind, shape) == ""


def class_problem(kind: NodeClass, shape: PodShape) -> str:
    """Why pods of a shape may not go to nodes of a class (a cordon left out); empty if they may."""
    labels = dict(kind.labels)
    for key, value in shape.selector:
        if labels.get(key) != value:
            return f"label {key} is not {value}"
    if shape.affinity and not any(
        all(matches(requirement, labels) for requirement in term) for term in shape.affinity
    ):
        return "the node affinity does not match"
    taint = tolerated(kind.taints, shape.tolerations)
    if taint is not None:
        return f"taint {taint.key} is not tolerated"
    return ""


def is_device(resource: str) -> bool:
    """Whether a resource is scarce enough to keep free of pods that do not ask for it."""
    return resource not in _PLAIN and not resource.startswith("hugepages-")


def request_on(axis: tuple[str, ...], shape: PodShape) -> Request | None:
    """The shape's request on an axis; None when no node has one of the resources."""
    position = {name: at for at, name in enumerate(axis)}
    if any(name not in position for name, _ in shape.requests):
        return None
    return tuple((position[name], amount) for name, amount in shape.requests)


class Table:
    """Counts for one shape, kept in step with the rows: `caps` per row, `sums` per domain.

    `lean` are the sums over nodes with no free device that the shape does not ask for; `slack` sums
    the free amounts, each in parts of what a pod asks for: of two domains that hold equally many
    pods, the one with less slack is the tighter.
    """

    def __init__(self, rows: Rows, key: TableKey, board: Board) -> None:
        self._rows = rows
        self.shape, self._mark, self._binding = key
        ground = rows.ground
        self.request = request_on(ground.topology.axis, self.shape)
        self._takes = [class_takes(kind, self.shape) for kind in ground.classes]
        asked = set(self.shape.requests.names())
        self._devices = [
            at
            for at, name in enumerate(ground.topology.axis)
            if is_device(name) and name not in asked
        ]
        asking = [(p, amount) for p, amount in self.request or () if amount]
        axis = ground.topology.axis
        self._weighed = [item for item in asking if axis[item[0]] != PODS] or asking
        self._barred = {
            at
            for at, occupants in enumerate(ground.occupants)
            if self._binding
            and any(o.binding == self._binding and o.pod_set == self._mark for o in occupants)
        }
        base = ground.tables.get(key)
        if base is None:
            base = self._build(ground)
            if not self._binding:
                keep(ground.tables, key, base)
        self._caps = base.caps
        self._more: dict[int, int] = {}
        """Caps of rows that came later."""
        self._board = board
        self._place: int | None = None
        if not self._mark:
            measure = Measure(self.request, self._takes, self._devices, tuple(self._weighed))
            self._place = board.add(measure, base)
            return
        self._own_sums = (base.sums.copy(), base.lean.copy(), base.slack.copy())
        self._at = 0
        self.follow()

    @property
    def sums(self) -> Ints:
        """Pods per domain."""
        return self._own_sums[0] if self._place is None else self._board.sums[self._place]

    @property
    def lean(self) -> Ints:
        """Pods per domain on nodes where no other device lies idle."""
        return self._own_sums[1] if self._place is None else self._board.lean[self._place]

    @property
    def slack(self) -> Ints:
        """Free amounts per domain, in parts of a request."""
        return self._own_sums[2] if self._place is None else self._board.slack[self._place]

    def cap(self, row: int) -> int:
        """Pods that each node of a row still holds."""
        if row < len(self._caps):
            return self._caps[row]
        cap = self._more.get(row)
        if cap is None:
            cap = self._more[row] = self._cap(row)
        return cap

    def is_lean(self, row: int) -> bool:
        """Whether the row's nodes have no free device that the shape does not ask for."""
        free = self._rows.free[row]
        return not any(free[position] for position in self._devices)

    def follow(self) -> None:
        """Bring the sums up to date with the rows."""
        if self._place is not None:
            self._board.follow()
            return
        log, skips = self._rows.log, self._rows.skips
        at, end = self._at, len(log)
        if at == end:
            return
        changes: dict[int, list[int]] = {}
        while at < end:
            after = skips.get(at)
            if after is not None:
                at = after
                continue
            row, nodes = log[at]
            at += 1
            self._change(changes, row, nodes)
        self._at = end
        chains = self._rows.index.chain
        for domain, change in changes.items():
            for above in chains[domain]:
                for sums, amount in zip(self._own_sums, change, strict=True):
                    sums[above] += amount

    def _change(self, changes: dict[int, list[int]], row: int, nodes: int) -> None:
        """Add what so many more nodes of a row mean for their domain."""
        if self.request is None or not self._takes[self._rows.kind[row]]:
            return
        domain = self._rows.domain[row]
        change = changes.get(domain)
        if change is None:
            change = changes[domain] = [0, 0, 0]
        pods = self.cap(row) * nodes
        change[0] += pods
        if self.is_lean(row):
            change[1] += pods
        change[2] += self._slack(row) * nodes

    def _slack(self, row: int) -> int:
        """The node's free amounts in parts of a request."""
        free = self._rows.free[row]
        return min(
            sum(min(free[p], MOST_SLACK_FREE) * PARTS // amount for p, amount in self._weighed),
            MOST_SLACK,
        )

    def own(self, domain: int) -> int:
        """Pods on the nodes that hang directly on a domain."""
        below = self._rows.index.below(domain)
        return int(self.sums[domain]) - int(self.sums[below].sum())

    def _cap(self, row: int) -> int:
        rows = self._rows
        if self.request is None or not self._takes[rows.kind[row]]:
            return 0
        if self._mark and (self._mark in rows.marks[row] or rows.tenant[row] in self._barred):
            return 0
        free = rows.free[row]
        cap = min((free[p] // amount for p, amount in self.request if amount), default=MOST_PODS)
        return min(cap, 1 if self.shape.anti_affine else MOST_PODS)

    def _build(self, ground: Ground) -> BaseTable:
        size = len(ground.count)
        caps = np.zeros(size, dtype=np.int64)
        if self.request is not None and size:
            limit = 1 if self.shape.anti_affine else MOST_PODS
            caps = np.full(size, limit, dtype=np.int64)
            for position, amount in self.request:
                np.minimum(caps, ground.matrix[:, position] // min(amount, 2**62), out=caps)
            caps *= np.array(self._takes, dtype=np.int64)[ground.kinds]
            if self._barred:
                caps[[tenant in self._barred for tenant in ground.tenant]] = 0
        pods = caps * ground.sizes
        lean = pods
        if self._devices and size:
            lean = np.where(ground.matrix[:, self._devices].any(axis=1), 0, pods)
        slack = np.zeros(size, dtype=np.int64)
        if size:
            for position, amount in self._weighed:
                free = np.minimum(ground.matrix[:, position], MOST_SLACK_FREE)
                slack = np.minimum(slack + free * PARTS // amount, MOST_SLACK)
            slack *= np.array(self._takes, dtype=np.int64)[ground.kinds] * ground.sizes
        return BaseTable(
            caps.tolist(), _sums(ground, pods), _sums(ground, lean), _sums(ground, slack)
        )


def keep(tables: dict[TableKey, V], key: TableKey, table: V) -> None:
    """Keep a table; the oldest goes when there are many, since shapes come from users."""
    if len(tables) >= _MOST_TABLES:
        del tables[next(iter(tables))]
    tables[key] = table


def _sums(ground: Ground, pods: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pods per domain: own rows, then children into parents (positions ascend with the tier)."""
    sums = np.zeros(ground.index.root + 1, dtype=np.int64)
    np.add.at(sums, ground.places, pods)
    held = sums.tolist()
    for at, above in enumerate(ground.index.parent[:-1]):
        held[above] += held[at]
    return np.array(held, dtype=np.int64)
