"""Rows of alike nodes while room is taken and given back, with a trail to undo it."""

from bisect import bisect_left, insort
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.topology import Wanted
from global_sched.shared.model.values import InvariantError
from global_sched.shared.placement.capacity.baseline import Baseline, SortKey
from global_sched.shared.placement.capacity.scarcity import Scarcity
from global_sched.shared.placement.request.node_match import Request

Free = tuple[int, ...]


class Rows:
    """How many nodes are in each row. Rows are only added, so a row number stays valid.

    A *mark* says, during one placement, that a node has one more pod of a pod set with a limit per
    node; the row without marks is its `base`.
    """

    def __init__(self, baseline: Baseline) -> None:
        self.baseline = baseline
        self.index = baseline.index
        self.domain = list(baseline.domain)
        self.kind = list(baseline.kind)
        self.free = list(baseline.free)
        self.tenant = list(baseline.tenant)
        self.marks: list[tuple[str, ...]] = [()] * len(self.domain)
        self.base = list(range(len(self.domain)))
        self.count = list(baseline.count)
        self.log: list[tuple[int, int]] = []
        """(row, change of its count), for tables to follow."""
        self.skips: dict[int, int] = {}
        """Stretches of the log that cancel out: first entry to the one after the last."""
        self._ordered = list(baseline.ordered)
        self._owned: set[int] = set()
        self._by_key: dict[int, dict[SortKey, int]] = {}
        """Per domain, once it is needed: the row of each key."""
        self.renewals = 0
        """Changes that are no placement: see `renewed`."""
        self._renewed: dict[Free, int] = {}
        """Free vectors of which there are so many more (or fewer) nodes than in the baseline."""
        self._renewals: list[tuple[Free, int, int]] = []
        """(free vector, class, more nodes) of every renewal, in order."""
        self._demand: tuple[Wanted, ...] = ()
        self._scarcity: Scarcity | None = None
        self.weigh(baseline.topology.demand)
        self._balances: dict[tuple[int, int], list[float]] = {}
        self._steps: dict[tuple[int, Request, int, tuple[str, ...]], int] = {}
        self._known: dict[int, tuple[SortKey, int]] = {}
        self._trail: list[tuple[int, int, int]] = []
        self._own_free: NDArray[np.float64] | None = None
        self._own_free_at = 0

    def key(self, row: int) -> SortKey:
        """What orders the row in its domain."""
        return self.free[row], self.tenant[row], self.kind[row], self.marks[row]

    def ordered(self, domain: int) -> Sequence[tuple[SortKey, int]]:
        """The rows that a domain holds itself and that have nodes, ascending."""
        return self._ordered[domain]

    def after(self, row: int, request: Request, pods: int, added: tuple[str, ...] = ()) -> int:
        """The row of a node of `row` once `pods` more (or, negative, fewer) pods are on it."""
        known = self._steps.get((row, request, pods, added))
        if known is not None:
            return known
        free = list(self.free[row])
        for position, amount in request:
            free[position] -= amount * pods
            if free[position] < 0:
                raise InvariantError(f"row {row} would have {free[position]} of axis {position}")
        marks = self.marks[row]
        if added:
            marks = tuple(sorted((*marks, *added)))
        result = self.row(self.domain[row], (tuple(free), self.tenant[row], self.kind[row], marks))
        self._steps[(row, request, pods, added)] = result
        return result

    def row(self, domain: int, key: SortKey) -> int:
        """The row of a domain with that key, added where it is new."""
        known = self._by_key.get(domain)
        if known is None:
            known = self._by_key[domain] = dict(self.baseline.ordered[domain])
        row = known.get(key)
        if row is not None:
            return row
        free, tenant, kind, marks = key
        base = self.row(domain, (free, tenant, kind, ())) if marks else -1
        row = known[key] = len(self.domain)
        self.domain.append(domain)
        self.kind.append(kind)
        self.free.append(free)
        self.tenant.append(tenant)
        self.marks.append(marks)
        self.base.append(base if marks else row)
        self.count.append(0)
        return row

    def move(self, source: int, target: int, nodes: int) -> None:
        """Move nodes from one row to another, on the trail."""
        self.shift(source, target, nodes)
        self._trail.append((source, target, nodes))

    def here(self) -> int:
        """A point on the trail."""
        return len(self._trail)

    def back_to(self, point: int) -> None:
        """Undo every move since."""
        while len(self._trail) > point:
            source, target, nodes = self._trail.pop()
            self.shift(target, source, nodes)

    def shift(self, source: int, target: int, nodes: int) -> None:
        """Move nodes from one row to another for good: no trail leads back."""
        if source != target and nodes:
            self.leave(source, nodes)
            self.enter(target, nodes)

    def leave(self, row: int, nodes: int) -> None:
        """So many nodes of a row are gone from it."""
        left = self.count[row] - nodes
        if left < 0:
            raise InvariantError(f"row {row} has {self.count[row]} nodes, not {nodes}")
        self.count[row] = left
        if left == 0:
            own = self._own(self.domain[row])
            del own[bisect_left(own, self._entry(row))]
        self.log.append((row, -nodes))

    def enter(self, row: int, nodes: int) -> None:
        """So many more nodes are in a row."""
        if self.count[row] == 0:
            insort(self._own(self.domain[row]), self._entry(row))
        self.count[row] += nodes
        self.log.append((row, nodes))

    def _entry(self, row: int) -> tuple[SortKey, int]:
        """The row as it stands in its domain: one tuple, since the same is compared at once."""
        entry = self._known.get(row)
        if entry is None:
            entry = self._known[row] = (self.key(row), row)
        return entry

    def weigh(self, demand: tuple[Wanted, ...]) -> None:
        """From now on places cost what this demand profile says."""
        if demand != self._demand:
            self._demand = demand
            self._scarcity = Scarcity(self.baseline, demand) if demand else None

    @property
    def scarcity(self) -> Scarcity | None:
        """What places cost now; None without a demand profile."""
        if self._scarcity is not None:
            self._scarcity.follow(self._renewals)
        return self._scarcity

    def renewed(self, before: int | None, after: int | None) -> None:
        """A node is in another row for good, from before everything that was placed."""
        self.renewals += 1
        for row, sign in ((before, -1), (after, 1)):
            if row is None:
                continue
            free = self.free[row]
            self._renewals.append((free, self.kind[row], sign))
            self._renewed[free] = self._renewed.get(free, 0) + sign
            for (device, beside), found in self._balances.items():
                _weigh(found, free, sign, (device, beside))

    def own_free(self) -> NDArray[np.float64]:
        """What is free now on each domain's own nodes, by (domain, axis); kept in step."""
        if self._own_free is None:
            baseline = self.baseline
            axes = len(baseline.topology.axis)
            self._own_free = np.zeros((self.index.root + 1, axes), dtype=np.float64)
            free = baseline.matrix * baseline.sizes[:, None].astype(np.float64)
            np.add.at(self._own_free, baseline.places, free)
        for row, change in self.changes_since(self._own_free_at).items():
            if change:
                free = np.array(self.free[row], dtype=np.float64)
                self._own_free[self.domain[row]] += free * change
        self._own_free_at = len(self.log)
        return self._own_free

    def changes_since(self, at: int) -> dict[int, int]:
        """By row how many more nodes it has since an entry of the log, in the order of the log.

        Stretches that cancel out are left out; other rows may come with a net change of 0.
        """
        log, skips = self.log, self.skips
        net: dict[int, int] = {}
        end = len(log)
        while at < end:
            after = skips.get(at)
            if after is not None:
                at = after
                continue
            row, change = log[at]
            net[row] = net.get(row, 0) + change
            at += 1
        return net

    def balance(self, device: int, beside: int) -> tuple[float, float]:
        """What is free of a device over the cluster at first, and of another resource with it."""
        found = self._balances.get((device, beside))
        if found is None:
            baseline = self.baseline
            having = baseline.matrix[:, device] > 0
            sizes = baseline.sizes[having].astype(np.float64)
            found = [float((baseline.matrix[having, at] * sizes).sum()) for at in (device, beside)]
            for free, nodes in self._renewed.items():
                _weigh(found, free, nodes, (device, beside))
            self._balances[device, beside] = found
        return found[0], found[1]

    def _own(self, domain: int) -> list[tuple[SortKey, int]]:
        """The domain's list of rows, copied from the baseline before its first change."""
        if domain not in self._owned:
            self._ordered[domain] = list(self._ordered[domain])
            self._owned.add(domain)
        return self._ordered[domain]


def _weigh(found: list[float], free: Free, nodes: int, pair: tuple[int, int]) -> None:
    """Add what so many nodes have free of two resources, where they have the first."""
    if free[pair[0]] > 0:
        for at, position in enumerate(pair):
            found[at] += float(free[position] * nodes)
