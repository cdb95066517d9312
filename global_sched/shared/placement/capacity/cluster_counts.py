"""One cluster's counts of many shapes, kept in step with its rows.

The numbers stand in a `FitCounts`, which may hold other clusters, too. What a change of rows
means is worked out once for all shapes, as vectors; per shape it would cost more than the placement
itself when a federation's jobs come in many shapes.
"""

from heapq import heapify, heappop, heappush

from global_sched.shared.model.pods import PodShape
from global_sched.shared.placement.capacity.fit_counts import (
    DEVICE_FREE,
    SLACK,
    SUMS,
    FitCounts,
    Free,
    Ints,
)
from global_sched.shared.placement.capacity.node_groups import Rows

_MOST_KEPT = 4096


class ClusterFitCounts:
    """Sums per shape (by their place in `FitCounts`) and domain."""

    def __init__(self, rows: Rows, fit_counts: FitCounts | None = None, at: int = 0) -> None:
        self._rows = rows
        self._fit_counts = FitCounts((rows.baseline,)) if fit_counts is None else fit_counts
        self.at = at
        self.shared = fit_counts is not None
        """Whether other clusters are counted together with this one."""
        self._first = self._fit_counts.first[at]
        self._after = self._fit_counts.first[at + 1]
        self._kinds = self._fit_counts.kinds[at]
        self._seen = len(rows.log)
        self._joined = False
        self._kept: dict[int, Ints] = {}
        self._kept_at = self._fit_counts.counted

    @property
    def sums(self) -> Ints:
        """Pods, by shape and domain."""
        return self._fit_counts.table[self._first : self._after, SUMS].T

    @property
    def device_free(self) -> Ints:
        """Pods on nodes where no other device lies idle, by shape and domain."""
        return self._fit_counts.table[self._first : self._after, DEVICE_FREE].T

    @property
    def slack(self) -> Ints:
        """Free amounts in parts of a request, by shape and domain."""
        return self._fit_counts.table[self._first : self._after, SLACK].T

    def counts(self, place: int) -> list[list[int]]:
        """Pods, those on device-free nodes, and slack of one shape, each by domain."""
        found: list[list[int]] = self._fit_counts.table[
            self._first : self._after, :, place
        ].T.tolist()
        return found

    def add(self, shape: PodShape) -> int:
        """The shape's place, counted now where it is new."""
        self.follow()
        return self._fit_counts.place(shape)

    def follow(self) -> None:
        """Bring all sums up to date with the rows."""
        end = len(self._rows.log)
        if self._seen == end:
            return
        net = self._rows.changes_since(self._seen)
        self._seen = end
        # The last one first: what is gained and lost in a domain is then mostly one subtraction.
        changed = [(row, change) for row, change in reversed(net.items()) if change]
        if changed:
            self._apply(changed)

    def _apply(self, changed: list[tuple[int, int]]) -> None:
        """So many more nodes of some rows, for all shapes."""
        if not self._joined:
            self._joined = True
            self._fit_counts.join(self)
        rows, fit_counts = self._rows, self._fit_counts
        lines_of = self._lines_of(changed)
        parents, chain = rows.index.parent, rows.index.chain
        by_domain: dict[int, Ints] = {}
        for (row, nodes), each in zip(changed, lines_of, strict=True):
            domain = rows.domain[row]
            held = by_domain.get(domain)
            if nodes == -1 and held is not None:
                by_domain[domain] = held - each
            else:
                more = each if nodes == 1 else each * nodes
                by_domain[domain] = more if held is None else held + more
        lines, first = fit_counts.lines, self._first
        if len(by_domain) == 1:
            for domain, more in by_domain.items():
                for above in chain[domain]:
                    line = lines[first + above]
                    line += more
            return
        # From the lowest tier up: what several domains add to one around them is added once.
        waiting = list(by_domain)
        heapify(waiting)
        while waiting:
            domain = heappop(waiting)
            more = by_domain[domain]
            line = lines[first + domain]
            line += more
            above = parents[domain]
            if above < 0:
                continue
            held = by_domain.get(above)
            if held is None:
                heappush(waiting, above)
            by_domain[above] = more if held is None else held + more

    def _lines_of(self, changed: list[tuple[int, int]]) -> list[Ints]:
        """What one node of each of these rows counts for: kept, since rows never change."""
        rows, fit_counts, kept = self._rows, self._fit_counts, self._kept
        if self._kept_at != fit_counts.counted:
            kept.clear()
            self._kept_at = fit_counts.counted
        if len(kept) > _MOST_KEPT:
            kept.clear()
        new = [row for row, _ in changed if row not in kept]
        if new:
            nodes = [
                (fit_counts.free(self.at, rows.free[r]), self._kinds[rows.kind[r]]) for r in new
            ]
            kept.update(zip(new, fit_counts.measure(nodes), strict=True))
        return [kept[row] for row, _ in changed]

    def changed(self) -> list[tuple[int, Free, int, int]]:
        """(domain, free vector, class, more nodes) of all rows, against the baseline."""
        rows, start = self._rows, self._rows.baseline.count
        size = len(start)
        found = []
        for row, count in enumerate(rows.count):
            more = count - (start[row] if row < size else 0)
            if more:
                found.append((rows.domain[row], rows.free[row], rows.kind[row], more))
        return found
