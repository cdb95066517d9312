"""Pods of one shape that fit, per node and per domain."""

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import Occupant
from global_sched.shared.placement.bounded_cache import BoundedCache
from global_sched.shared.placement.capacity.baseline import MOST_TABLES, Baseline, BaseTable
from global_sched.shared.placement.capacity.cluster_counts import ClusterFitCounts
from global_sched.shared.placement.capacity.fit_counts import (
    MOST_SLACK,
    MOST_SLACK_FREE,
    PARTS,
    Ints,
)
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.node_order import NodeOrder
from global_sched.shared.placement.capacity.scarcity import Scarcity
from global_sched.shared.placement.request.compile import TableKey, Task
from global_sched.shared.placement.sentinels import MOST_PODS_COUNTED

_MOST_TASKS = 256
"""Tasks of which a Space keeps the tables."""
_FEW_ROWS = 64
"""So few rows are counted one by one as they are asked for."""

_ASKED_OF_CPU = 0.7
"""Pods ask for about so much of the CPU that goes with their devices (openb's arrivals)."""


class ShapeTable:
    """Counts for one shape, kept in step with the rows: `caps` per row, `sums` per domain.

    `device_free` are the sums over nodes with no free device that the shape does not ask for;
    `slack` sums the free amounts, each in parts of what a pod asks for: of two domains that hold
    equally many pods, the one with less slack is the tighter.
    """

    def __init__(self, rows: Rows, key: TableKey, cluster_counts: ClusterFitCounts) -> None:
        self._rows = rows
        self.shape, self._mark, self._binding = key
        baseline = rows.baseline
        asked = baseline.class_set.shapes.of(self.shape)
        self.request, self._takes, self._limit = asked.request, asked.takes, asked.limit
        self._asking, self._scarce_first = asked.asking, asked.scarce_first
        self._scarce, self._devices = asked.scarce, asked.devices
        self._cpu_at, self._cpu_asked = asked.cpu_at, asked.cpu_asked
        self._weighed = asked.weighed
        self._per_device = (-1, 0)
        """The free CPU per device over the cluster at first, after so many renewals."""
        self._costs: dict[int, int] = {}
        self._priced: tuple[Scarcity, int] | None = None
        """What a pod costs on a node of each row, by the prices of then."""
        self.lines: dict[int, NodeOrder] = {}
        """The nodes of large domains in the order in which scattered pods take them."""
        self.marks = marks(self.shape, self._mark)
        self._held = {
            at: sum(o.pods for o in occupants if self._is_own(o))
            for at, occupants in enumerate(baseline.occupants if self._binding else ())
            if any(self._is_own(o) for o in occupants)
        }
        """Pods of the pod set that run already, by occupants."""
        self._more: dict[int, int] = {}
        """Caps of rows that came later."""
        self._cluster_counts = cluster_counts
        self._place: int | None = None
        if not self._mark and (cluster_counts.shared or len(baseline.count) <= _FEW_ROWS):
            self._caps: list[int] = []
            self._place = cluster_counts.add(self.shape)
            return
        base = baseline.tables.get(key)
        if base is None:
            base = self._build(baseline)
            if not self._binding:
                baseline.tables.keep(key, base)
        self._caps = base.caps
        if not self._mark:
            self._place = cluster_counts.add(self.shape)
            return
        self._own_sums = (base.sums.copy(), base.device_free.copy(), base.slack.copy())
        self._at = 0
        self.follow()

    def _cpu_per_device(self, cpu_at: int) -> int:
        """The CPU that goes with a device, by what the cluster had free at first."""
        renewals, each = self._per_device
        if renewals != self._rows.renewals:
            devices, cpu = self._rows.balance(self._scarce[0][0], cpu_at)
            each = int(_ASKED_OF_CPU * cpu / devices) if devices else 0
            self._per_device = (self._rows.renewals, each)
        return each

    def _is_own(self, occupant: Occupant) -> bool:
        return occupant.binding == self._binding and occupant.pod_set == self._mark

    def marks_of(self, pods: int) -> tuple[str, ...]:
        """What so many pods leave on their node."""
        return tuple(mark for mark, _ in self.marks for _ in range(pods))

    @property
    def sums(self) -> Ints:
        """Pods per domain."""
        return self._own_sums[0] if self._place is None else self._cluster_counts.sums[self._place]

    @property
    def device_free(self) -> Ints:
        """Pods per domain on nodes where no other device lies idle."""
        return (
            self._own_sums[1]
            if self._place is None
            else self._cluster_counts.device_free[self._place]
        )

    @property
    def slack(self) -> Ints:
        """Free amounts per domain, in parts of a request."""
        return self._own_sums[2] if self._place is None else self._cluster_counts.slack[self._place]

    def counts(self) -> list[list[int]]:
        """`sums`, `device_free` and `slack` as lists: fewer calls where there are few domains."""
        if self._place is None:
            return [one.tolist() for one in self._own_sums]
        return self._cluster_counts.counts(self._place)

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

    @property
    def always_lean(self) -> bool:
        """Whether there are no devices that the shape does not ask for."""
        return not self._devices

    def leftover(self, row: int) -> tuple[int, int]:
        """What a node keeps beside one pod: devices, and how ill its CPU suits those.

        Least of both is where large pods lose least: whole nodes stay whole, and no device is left
        without the CPU that goes with it. Nothing is said of shapes without devices.
        """
        if not self._scarce:
            return 0, 0
        free = self._rows.free[row]
        devices = sum([free[at] - amount for at, amount in self._scarce])
        at = self._cpu_at
        if at is None:
            return devices, 0
        kept = free[at] - self._cpu_asked
        return devices, abs(kept - devices * self._cpu_per_device(at))

    def costs(self, rows: Sequence[int]) -> Mapping[int, int]:
        """What one pod costs others on a node of each of these rows, which all take one.

        Empty without a demand profile.
        """
        scarcity = self._rows.scarcity
        if scarcity is None:
            return {}
        if self._priced != (scarcity, scarcity.stamp):
            self._priced = (scarcity, scarcity.stamp)
            self._costs = {}
        new = [row for row in rows if row not in self._costs]
        if new:
            nodes = [(self._rows.free[row], self._rows.kind[row]) for row in new]
            self._costs.update(zip(new, scarcity.costs(nodes, self._asking), strict=True))
        return self._costs

    def follow(self) -> None:
        """Bring the sums up to date with the rows."""
        if self._place is not None:
            self._cluster_counts.follow()
            return
        end = len(self._rows.log)
        if self._at == end:
            return
        changes: dict[int, list[int]] = {}
        for row, nodes in self._rows.changes_since(self._at).items():
            if nodes:
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

    def step(self, domain: int) -> int:
        """Any number of pods may be in a domain."""
        del domain
        return 1

    def _cap(self, row: int) -> int:
        rows = self._rows
        if self.request is None or not self._takes[rows.kind[row]]:
            return 0
        free, cap = rows.free[row], MOST_PODS_COUNTED
        for p, amount in self._scarce_first:
            pods = free[p] // amount
            if pods == 0:
                return 0
            cap = min(cap, pods)
        if not self._mark:
            return min(cap, self._limit)
        there = rows.marks[row]
        room = min(
            (limit - there.count(mark) for mark, limit in self.marks), default=MOST_PODS_COUNTED
        )
        return max(0, min(cap, room, self._limit - self._held.get(rows.tenant[row], 0)))

    def _build(self, baseline: Baseline) -> BaseTable:
        size = len(baseline.count)
        caps = np.zeros(size, dtype=np.int64)
        if self.request is not None and size:
            caps = np.full(size, self._limit, dtype=np.int64)
            for position, amount in self.request:
                np.minimum(caps, baseline.matrix[:, position] // min(amount, 2**62), out=caps)
            caps *= np.array(self._takes, dtype=np.int64)[baseline.kinds]
            if self._held:
                held = [self._held.get(tenant, 0) for tenant in baseline.tenant]
                left = np.maximum(self._limit - np.array(held, dtype=np.int64), 0)
                caps = np.minimum(caps, left)
        pods = caps * baseline.sizes
        device_free = pods
        if self._devices and size:
            device_free = np.where(baseline.matrix[:, self._devices].any(axis=1), 0, pods)
        slack = np.zeros(size, dtype=np.int64)
        if size:
            for position, amount in self._weighed:
                free = np.minimum(baseline.matrix[:, position], MOST_SLACK_FREE)
                slack = np.minimum(slack + free * PARTS // amount, MOST_SLACK)
            slack *= np.array(self._takes, dtype=np.int64)[baseline.kinds] * baseline.sizes
        return BaseTable(
            caps.tolist(),
            _sums(baseline, pods),
            _sums(baseline, device_free),
            _sums(baseline, slack),
        )


def marks(shape: PodShape, pod_set: str) -> tuple[tuple[str, int], ...]:
    """What a pod leaves on its node for the others of its gang: marks, and how many may be there.

    A pod set with a limit per node counts its own pods; pods that stay apart, and those that need
    the same host port, count together.
    """
    if not pod_set:
        return ()
    own = f"apart {shape.apart}" if shape.apart else f"set {pod_set}"
    limit = shape.most_per_node()
    counted = ((own, limit),) if shape.anti_affine or shape.per_node else ()
    return (*counted, *((f"port {port}", 1) for port in shape.ports))


def _sums(baseline: Baseline, pods: NDArray[np.int64]) -> NDArray[np.int64]:
    """Pods per domain: own rows, then children into parents (positions ascend with the tier)."""
    sums = np.zeros(baseline.index.root + 1, dtype=np.int64)
    np.add.at(sums, baseline.places, pods)
    held = sums.tolist()
    for at, above in enumerate(baseline.index.parent[:-1]):
        held[above] += held[at]
    return np.array(held, dtype=np.int64)


class ShapeTables:
    """By shape, and by task where the same is asked again: shapes are dear to compare."""

    def __init__(self, rows: Rows, cluster_counts: ClusterFitCounts) -> None:
        self._rows, self._cluster_counts = rows, cluster_counts
        self._by_key = BoundedCache[TableKey, ShapeTable](MOST_TABLES)
        self._by_task = BoundedCache[int, tuple[Task, list[ShapeTable]]](_MOST_TASKS)
        """By identity of the task, which is kept with them."""

    def of(self, key: TableKey) -> ShapeTable:
        """The counts of one shape, in step with the rows."""
        table = self._by_key.get(key)
        if table is None:
            table = ShapeTable(self._rows, key, self._cluster_counts)
            self._by_key.keep(key, table)
        else:
            table.follow()
        return table

    def of_task(self, task: Task) -> list[ShapeTable]:
        """The counts of a task's shapes, in step with the rows."""
        known = self._by_task.get(id(task))
        if known is None:
            tables = [self.of(unit.key) for unit in task.units]
            known = self._by_task.keep(id(task), (task, tables))
        for table in known[1]:
            table.follow()
        return known[1]
