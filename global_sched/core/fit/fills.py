"""Free amounts of the clusters and the measures of filling them: vectors over all clusters."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from global_sched.core.fit.scores import Fill, fill_of, unlike
from global_sched.shared.model.resources import Resources

Ints = NDArray[np.int64]

_MOST = 2**52
"""Up to here the scores' products fit 63 bits; beyond, whole numbers of any size are used."""


class Free:
    """Free amounts by resource and cluster."""

    def __init__(self, each: Sequence[Mapping[str, int]], totals: Iterable[Resources]) -> None:
        names = {name for one in each for name in one}
        names.update(name for total in totals for name, _ in total.entries)
        self._row = {name: at for at, name in enumerate(sorted(names))}
        listed = [[one.get(name, 0) for one in each] for name in self._row]
        listed.append([0] * len(each))
        largest = max((amount for row in listed for amount in row), default=0)
        self._amounts = _numbers(listed, largest).reshape(len(listed), len(each))

    def row(self, name: str) -> int:
        """Where a resource stands; one that no cluster has is free nowhere."""
        return self._row.get(name, -1)

    def of(self, at: int) -> dict[str, int]:
        """One cluster's amounts, those of 0 left out."""
        amounts = self._amounts[:-1, at].tolist()
        return {name: has for name, has in zip(self._row, amounts, strict=True) if has}

    def at(self, rows: Ints, clusters: Ints) -> Ints:
        """The amounts of one resource in each of some clusters."""
        found: Ints = self._amounts[rows, clusters]
        return found

    def one(self, row: int, cluster: int) -> int:
        """The amount of one resource in one cluster."""
        return int(self._amounts[row, cluster])

    def add(self, at: int, amount: Resources, sign: int) -> None:
        """So much more, or less, in one cluster."""
        for name, value in amount.entries:
            row = self._row.get(name)
            if row is None:
                continue
            now = int(self._amounts[row, at]) + sign * value
            if now > _MOST:
                self._amounts = self._amounts.astype(np.object_)
            self._amounts[row, at] = now

    def holds(self, request: Resources) -> Ints:
        """How many times each cluster has so much, counted in sums."""
        found: Ints | None = None
        for name, value in request.entries:
            times = self._amounts[self.row(name)] // value
            found = times if found is None else np.minimum(found, times)
        return self._amounts[-1] if found is None else found

    def times(self, request: Resources, at: int) -> int:
        """How many times one cluster has room for it."""
        rows = [(self.row(name), value) for name, value in request.entries]
        return min([int(self._amounts[row, at]) // value for row, value in rows], default=0)

    def sum(self, name: str) -> int:
        """How much of a resource all clusters have together."""
        return int(self._amounts[self.row(name)].sum())

    def kept(self, at: int) -> Ints:
        """One cluster's amounts, to put back."""
        return self._amounts[:, at].copy()

    def put_back(self, at: int, kept: Ints) -> None:
        """The amounts are as they were."""
        self._amounts[:, at] = kept


class Fills:
    """What filling each cluster with the same request is measured by."""

    def __init__(self, requests: Resources, totals: Sequence[Resources], free: Free) -> None:
        known: dict[Resources, Fill] = {}
        for total in totals:
            if total not in known:
                known[total] = fill_of(requests, total)
        self._each = each = [known[total] for total in totals]
        largest = max((amount for total in totals for _, amount in total.entries), default=0)
        self._rows: Ints = np.array([free.row(one.resource) for one in each], dtype=np.int64)
        self._every = np.arange(len(each))
        totals_of = _numbers([one.total for one in each], largest)
        self.evenness: Ints = np.array([one.evenness for one in each], dtype=np.int64)
        self._all = Fill("", totals_of, self.evenness)
        self.unlike = unlike(self.evenness)
        """Whether the request goes better with some clusters than with others."""
        self._free = free

    def one(self, cluster: int) -> tuple[Fill, int]:
        """In one cluster what filling it is measured by, and how much of that is free."""
        fill = self._each[cluster]
        return fill, self._free.one(self._free.row(fill.resource), cluster)

    def every(self) -> tuple[Fill, Ints]:
        """The same of every cluster, as arrays."""
        return self._all, self._free.at(self._rows, self._every)


def _numbers(listed: object, largest: int) -> Ints:
    """As an array: of whole numbers of any size where 63 bits might not do for products."""
    exact: Any = np.int64 if largest <= _MOST else np.object_
    found: Ints = np.array(listed, dtype=exact)
    return found
