"""Counts of many shapes in one Space, kept in step with its rows together.

What a change of a row means is worked out once for all shapes, as vectors; per shape it would cost
more than the placement itself when a federation's jobs come in many shapes.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.placement.ground import BaseTable
from global_sched.shared.placement.rows import Request, Rows

MOST_PODS = 2**24
"""A bound that keeps the sums of an absurd report within 63 bits; more is never needed."""
PARTS = 64
MOST_SLACK_FREE = 2**56
MOST_SLACK = 2**28
"""Parts of a request that slack is measured in, and bounds on it as above."""
_LARGEST = 2**62
_FIRST_SIZE = 8

Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class Measure:
    """What the counts of one shape depend on; None for `request`: no node has what it asks for."""

    request: Request | None
    takes: list[bool]
    """By node class."""
    devices: list[int]
    """Positions of devices that it does not ask for."""
    weighed: Request
    """The part of the request that slack is measured in."""


class Board:
    """Sums per shape (in the order in which they came) and domain."""

    def __init__(self, rows: Rows) -> None:
        self._rows = rows
        self._size = 0
        domains = rows.index.root + 1
        self._axis = len(rows.ground.topology.axis)
        self._classes = max(1, len(rows.ground.classes))
        self._all = np.zeros((3, _FIRST_SIZE, domains), dtype=np.int64)
        self.sums, self.lean, self.slack = self._all
        self._limits = self._zeros(_FIRST_SIZE)
        self._at = len(rows.log)
        self._known: dict[int, Ints] = {}
        self._chains: dict[int, Ints] = {}

    def _zeros(self, size: int) -> "_Limits":
        shape = (size, self._axis)
        return _Limits(
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.int64),
            np.zeros(shape, dtype=np.bool_),
            np.zeros((size, self._classes), dtype=np.int64),
        )

    def add(self, measure: Measure, base: BaseTable) -> int:
        """Take in a shape with its counts at the start; its place on the board."""
        self.follow()
        at = self._size
        if at == self._all.shape[1]:
            self._grow()
        self._size += 1
        limits = self._limits
        for position, amount in measure.request or ():
            limits.amounts[at, position] = min(amount, _LARGEST)
        for position, amount in measure.weighed:
            limits.weighed[at, position] = min(amount, _LARGEST)
        limits.devices[at, measure.devices] = True
        if measure.request is not None:
            limits.takes[at, : len(measure.takes)] = measure.takes
        self.sums[at], self.lean[at], self.slack[at] = base.sums, base.lean, base.slack
        self._catch_up(at)
        return at

    def follow(self) -> None:
        """Bring all sums up to date with the rows."""
        log, skips = self._rows.log, self._rows.skips
        at, end = self._at, len(log)
        if at == end:
            return
        net: dict[int, int] = {}
        while at < end:
            after = skips.get(at)
            if after is not None:
                at = after
                continue
            row, change = log[at]
            at += 1
            net[row] = net.get(row, 0) + change
        self._at = end
        for row, change in net.items():
            if change:
                self._apply(row, change)

    def _apply(self, row: int, nodes: int) -> None:
        """So many more nodes of a row, for all shapes."""
        size = self._size
        counts = self._known.get(row)
        if counts is None or counts.shape[1] != size:
            counts = self._measure(row)
        self._all[:, :size, self._chain(self._rows.domain[row])] += (counts * nodes)[:, :, None]

    def _catch_up(self, at: int) -> None:
        """A new shape starts from the ground: what changed since then is added for it alone."""
        rows = self._rows
        change = np.array(rows.count, dtype=np.int64)
        start = rows.ground.count
        change[: len(start)] -= np.array(start, dtype=np.int64)
        changed = np.flatnonzero(change).tolist()
        if not changed:
            return
        free = np.array(
            [[min(f, _LARGEST) for f in rows.free[row]] for row in changed], dtype=np.int64
        )
        one = slice(at, at + 1)
        kinds = [rows.kind[row] for row in changed]
        counts = self._counts(one, free[:, None, :], self._limits.takes[one, kinds].T)
        domains = [rows.domain[row] for row in changed]
        for total, each in zip(self._all, counts, strict=True):
            held = np.zeros(total.shape[1], dtype=np.int64)
            np.add.at(held, domains, each[:, 0] * change[changed])
            sums = held.tolist()
            for below, above in enumerate(rows.index.parent[:-1]):
                sums[above] += sums[below]
            total[at] += np.array(sums, dtype=np.int64)

    def _measure(self, row: int) -> Ints:
        """Pods per node, the same where no device lies idle, and slack, for all shapes."""
        size = self._size
        free = np.array([min(f, _LARGEST) for f in self._rows.free[row]], dtype=np.int64)
        takes = self._limits.takes[:size, self._rows.kind[row]]
        found = self._counts(slice(0, size), free, takes)
        self._known[row] = found
        return found

    def _counts(self, shapes: slice, free: Ints, takes: Ints) -> Ints:
        """The three counts of nodes with such free amounts (the last axis), for some shapes."""
        limits = self._limits
        amounts, weighed = limits.amounts[shapes], limits.weighed[shapes]
        fits = np.where(amounts > 0, free // np.maximum(amounts, 1), MOST_PODS)
        caps = np.minimum(fits.min(axis=-1, initial=MOST_PODS), MOST_PODS) * takes
        idle = (limits.devices[shapes] & (free > 0)).any(axis=-1)
        parts = np.minimum(free, MOST_SLACK_FREE) * PARTS // np.maximum(weighed, 1)
        slack = np.minimum(np.where(weighed > 0, parts, 0), MOST_SLACK).sum(axis=-1)
        return np.stack((caps, np.where(idle, 0, caps), np.minimum(slack, MOST_SLACK) * takes))

    def _chain(self, domain: int) -> Ints:
        chain = self._chains.get(domain)
        if chain is None:
            chain = np.array(self._rows.index.chain[domain], dtype=np.int64)
            self._chains[domain] = chain
        return chain

    def _grow(self) -> None:
        """Twice the room for shapes."""
        self._all = np.concatenate((self._all, np.zeros_like(self._all)), axis=1)
        self.sums, self.lean, self.slack = self._all
        self._limits = self._limits.joined(self._zeros(len(self._limits.amounts)))


@dataclass(slots=True)
class _Limits:
    """By shape: amounts asked for, those that slack is measured in, devices, classes."""

    amounts: Ints
    weighed: Ints
    devices: NDArray[np.bool_]
    takes: Ints

    def joined(self, other: "_Limits") -> "_Limits":
        """Both, one after the other."""
        return _Limits(
            np.concatenate((self.amounts, other.amounts)),
            np.concatenate((self.weighed, other.weighed)),
            np.concatenate((self.devices, other.devices)),
            np.concatenate((self.takes, other.takes)),
        )
