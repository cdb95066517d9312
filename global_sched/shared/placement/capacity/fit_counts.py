"""Pods of each shape that fit, per domain of many clusters: one structure for all of them.

A federation asks the same question of every cluster. Counted cluster by cluster it costs more in
calls than in arithmetic; counted over all rows of all clusters at once it is a few vector
operations, and what a placement changes is worked out for all shapes together.
"""

from collections.abc import Iterable, Sequence
from operator import le
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.capacity.baseline import Baseline
from global_sched.shared.placement.capacity.row_sums import RowLayout, row_layout
from global_sched.shared.placement.request.node_match import is_device, node_class_admits
from global_sched.shared.placement.sentinels import LARGEST_AMOUNT, MOST_PODS_COUNTED


class ShapeRequests:
    """What one pod of each shape asks for, and where it may go; shapes on the last axis."""

    def __init__(self, axis: int, classes: int, size: int) -> None:
        self.asked = np.ones((axis, size), dtype=np.int64)
        self.weighed = np.zeros((axis, size), dtype=np.int64)
        """1 for what slack is measured in."""
        self.floor = np.full((axis, size), MOST_PODS_COUNTED, dtype=np.int64)
        """What an amount of nothing counts as: no limit."""
        self.devices = np.zeros((axis, size), dtype=np.int64)
        """1 for devices that it does not ask for."""
        self.takes = np.zeros((classes, size), dtype=np.int64)
        self.most = np.full(size, MOST_PODS_COUNTED, dtype=np.int64)

    def copy_from(self, other: "ShapeRequests", size: int) -> None:
        """Take over the first shapes of another."""
        for mine, own in (
            (self.asked, other.asked),
            (self.weighed, other.weighed),
            (self.floor, other.floor),
            (self.devices, other.devices),
            (self.takes, other.takes),
            (self.most, other.most),
        ):
            mine[..., :size] = own[..., :size]

    def repeated(self, times: int) -> "ShapeRequests":
        """The same shapes so many times in a row: several nodes are counted in one go then."""
        found = ShapeRequests(0, 0, 0)
        for name, own in vars(self).items():
            setattr(found, name, np.concatenate([own] * times, axis=-1))
        return found


_PART_BITS = 6
PARTS = 1 << _PART_BITS
MOST_SLACK_FREE = 2**56
MOST_SLACK = 2**28
"""Parts of a request that slack is measured in, and bounds that keep its sums within 63 bits."""
_LARGEST_ASKED = 2**34
SUMS, DEVICE_FREE, SLACK = range(3)
"""The three counts: pods; pods on nodes where no other device lies idle; free parts."""
_FIRST_SIZE = 8
_FEW_NODES = 4
"""So many nodes are measured with the fewest operations, one array for all of them."""
_FEW_CLUSTERS = 4
"""So many clusters are counted one by one; more of them in one array."""
_MOST_KNOWN = 4096
_MOST_CELLS = 2**21

Ints = NDArray[np.int64]
Free = tuple[int, ...]


class CountedCluster(Protocol):
    """A cluster whose rows change: what `FitCounts` has to know of it."""

    at: int
    """Its position."""

    def follow(self) -> None:
        """Bring the counts up to date."""

    def changed(self) -> list[tuple[int, Free, int, int]]:
        """(domain, free vector, class, more nodes) of all rows, against the start."""


class FitCounts:
    """Three counts per domain and shape; `table[domain, count, shape]`.

    The domains of one cluster follow each other, `first[at]` is where those of cluster `at` begin.
    """

    def __init__(self, baselines: Sequence[Baseline]) -> None:
        self.baselines = tuple(baselines)
        class_sets = dict.fromkeys(baseline.class_set for baseline in baselines)
        axes = dict.fromkeys(class_set.axis for class_set in class_sets)
        self.axis = (
            next(iter(axes)) if len(axes) == 1 else tuple(sorted({n for one in axes for n in one}))
        )
        classes: dict[NodeClass, int] = {}
        numbers = {
            class_set: [classes.setdefault(kind, len(classes)) for kind in class_set.classes]
            for class_set in class_sets
        }
        onto = {class_set: _onto(class_set.axis, self.axis) for class_set in class_sets}
        self.kinds = [numbers[baseline.class_set] for baseline in baselines]
        """By cluster: the number here of each of its node classes."""
        self._classes = tuple(classes)
        self._onto = [onto[baseline.class_set] for baseline in baselines]
        self.first: list[int] = [0]
        for baseline in baselines:
            self.first.append(self.first[-1] + baseline.index.root + 1)
        self.shapes: dict[PodShape, int] = {}
        self._limits = ShapeRequests(len(self.axis), max(1, len(classes)), _FIRST_SIZE)
        self.table, self.lines = _table(self.first[-1], _FIRST_SIZE)
        """And `lines[domain, number]`: the same numbers, those of a domain in a row."""
        self.counted = 0
        """Changes whenever lines that were measured before are no longer whole."""
        self._followers: list[CountedCluster] = []
        self._known: dict[tuple[Free, int], Ints] = {}
        self._masks: dict[tuple[int, tuple[bool, ...]], Ints | None] = {}
        self._repeated: dict[int, ShapeRequests] = {}
        self._usual: list[int] | None = None
        """By resource: up to so much on a node, no slack has to be cut off."""
        self._layout: RowLayout | None = None

    def place(self, shape: PodShape) -> int:
        """The shape's place in the table, counted now where it is new."""
        at = self.shapes.get(shape)
        if at is None:
            self.count((shape,))
            at = self.shapes[shape]
        return at

    def count(self, shapes: Iterable[PodShape]) -> None:
        """Count shapes that will be asked for: many at once cost little more than one."""
        new = [shape for shape in dict.fromkeys(shapes) if shape not in self.shapes]
        if not new:
            return
        for follower in self._followers:
            follower.follow()
        first = len(self.shapes)
        after = first + len(new)
        if after > self.table.shape[2]:
            self._grow(max(after, 2 * first))
        for at, shape in enumerate(new, first):
            self.shapes[shape] = at
            self._limit(at, shape)
        if self.baselines:
            self._count_new(first, [_Key(shape) for shape in new])
        for follower in self._followers:
            self._catch_up(slice(first, after), follower)
        self._known.clear()
        self._masks.clear()
        self._repeated.clear()
        self._usual = None
        self.counted += 1

    def join(self, follower: "CountedCluster") -> None:
        """From now on new shapes count what has changed in that cluster."""
        self._followers.append(follower)

    def free(self, at: int, free: Free) -> Free:
        """A cluster's free vector on the common axis."""
        onto = self._onto[at]
        return free if onto is None else tuple([free[p] if p >= 0 else 0 for p in onto])

    def measure(self, nodes: Sequence[tuple[Free, int]]) -> list[Ints]:
        """A line of one node with such free amounts, of such a class."""
        known = self._known
        lacking = [node for node in nodes if node not in known]
        if lacking:
            if len(known) > _MOST_KNOWN:
                known.clear()
                lacking = list(nodes)
            if len(lacking) <= _FEW_NODES and all(
                max(f, default=0) <= MOST_SLACK_FREE for f, _ in lacking
            ):
                known.update(zip(lacking, self._count_few(lacking), strict=True))
                return [known[node] for node in nodes]
            free = np.array(
                [[min(f, LARGEST_AMOUNT) for f in node[0]] for node in lacking], np.int64
            )
            kinds = np.array([node[1] for node in lacking], dtype=np.int64)
            every = slice(0, self.table.shape[2])
            counts = self._counts(every, free.reshape(len(lacking), len(self.axis)), kinds)
            known.update(zip(lacking, counts.reshape(len(lacking), -1), strict=True))
        return [known[node] for node in nodes]

    def _count_few(self, nodes: Sequence[tuple[Free, int]]) -> list[Ints]:
        """The same of a few nodes with no absurd amounts, with as few operations as there are."""
        limits, usual = self._in_a_row(len(nodes)), all(self._is_usual(f) for f, _ in nodes)
        size = self._limits.most.size
        free = (np.array([f for f, _ in nodes], dtype=np.int64) * PARTS).T
        slack = (free if len(nodes) == 1 else free.repeat(size, axis=1)) // limits.asked
        fits = slack >> _PART_BITS
        np.maximum(fits, limits.floor, out=fits)
        if not usual:
            np.minimum(slack, MOST_SLACK, out=slack)
        slack *= limits.weighed
        result = np.empty((3, limits.most.size), dtype=np.int64)
        pods = np.minimum.reduce(fits, axis=0, out=result[SUMS])
        np.minimum(pods, limits.most, out=pods)
        result[DEVICE_FREE] = pods
        parts = np.add.reduce(slack, axis=0, out=result[SLACK])
        if not usual:
            np.minimum(parts, MOST_SLACK, out=parts)
        found = []
        for at, (amounts, kind) in enumerate(nodes):
            counts = result[:, at * size : (at + 1) * size]
            mask = self._mask(kind, tuple([amount > 0 for amount in amounts]))
            if mask is not None:
                counts *= mask
            found.append(counts.reshape(-1))
        return found

    def _in_a_row(self, times: int) -> ShapeRequests:
        """What the shapes ask for, so many times in a row."""
        if times == 1:
            return self._limits
        found = self._repeated.get(times)
        if found is None:
            found = self._repeated[times] = self._limits.repeated(times)
        return found

    def _is_usual(self, free: Free) -> bool:
        """Whether slack stays within its bound for every shape, so that nothing has to be cut."""
        if self._usual is None:
            limits = self._limits
            asked = np.where(
                limits.weighed > 0, np.minimum(limits.asked, _LARGEST_ASKED), _LARGEST_ASKED
            )
            most = asked.min(axis=1) * (MOST_SLACK // max(1, len(self.axis))) // PARTS
            self._usual = most.tolist()
        return all(map(le, free, self._usual))

    def _mask(self, kind: int, has: tuple[bool, ...]) -> Ints | None:
        """1 for what counts on nodes of a class that have some of these resources left.

        None where all of it does.
        """
        if (kind, has) not in self._masks:
            limits = self._limits
            found = np.broadcast_to(limits.takes[kind], (3, limits.most.size)).copy()
            found[DEVICE_FREE] *= ~limits.devices[list(has)].any(axis=0)
            self._masks[kind, has] = None if found.all() else found
        return self._masks[kind, has]

    def _counts(self, shapes: slice, free: Ints, kinds: Ints) -> Ints:
        """The three counts of nodes, by (node, count, shape)."""
        limits, asked = self._limits, self._limits.asked[:, shapes]
        bounded = np.minimum(free, MOST_SLACK_FREE)
        slack = (bounded * PARTS)[:, :, None] // asked
        absurd = free.max(initial=0) > MOST_SLACK_FREE
        fits = free[:, :, None] // asked if absurd else slack // PARTS
        np.maximum(fits, limits.floor[:, shapes], out=fits)
        np.minimum(slack, MOST_SLACK, out=slack)
        slack *= limits.weighed[:, shapes]
        result = np.empty((len(free), 3, fits.shape[2]), dtype=np.int64)
        np.minimum.reduce(fits, axis=1, initial=MOST_PODS_COUNTED, out=result[:, SUMS])
        np.add.reduce(slack, axis=1, out=result[:, SLACK])
        np.minimum(result[:, SUMS], limits.most[shapes], out=result[:, SUMS])
        np.minimum(result[:, SLACK], MOST_SLACK, out=result[:, SLACK])
        result[:, DEVICE_FREE] = result[:, SUMS]
        result *= limits.takes[kinds, shapes][:, None]
        idle = (free > 0).astype(np.int64) @ limits.devices[:, shapes]
        result[:, DEVICE_FREE] *= idle == 0
        return result

    def _limit(self, at: int, shape: PodShape) -> None:
        """Write down what the shape asks for. Nowhere room where no cluster has a resource."""
        limits, position = self._limits, {name: p for p, name in enumerate(self.axis)}
        asked = {name for name, _ in shape.requests}
        limits.most[at] = shape.most_per_node() or MOST_PODS_COUNTED
        if asked <= position.keys():
            limits.takes[: len(self._classes), at] = [
                node_class_admits(kind, shape) for kind in self._classes
            ]
        asking = [
            (position[name], amount)
            for name, amount in shape.requests
            if amount and name in position
        ]
        weighed = [item for item in asking if self.axis[item[0]] != PODS] or asking
        for p, amount in asking:
            limits.asked[p, at], limits.floor[p, at] = min(amount, LARGEST_AMOUNT), 0
        for p, _ in weighed:
            limits.weighed[p, at] = 1
        for p, name in enumerate(self.axis):
            limits.devices[p, at] = is_device(name) and name not in asked

    def _count_new(self, first: int, keys: "list[_Key]") -> None:
        """The counts at the start. They depend on the baselines only, which keep them."""
        missing = [
            i
            for i, one in enumerate(self.baselines)
            if any(key not in one.base_counts for key in keys)
        ]
        if len(missing) > _FEW_CLUSTERS and self._layout is None:
            self._layout = row_layout(self.baselines, self.kinds, self._onto)
        if len(missing) > _FEW_CLUSTERS and self._layout is not None:
            self._count_all(first, keys, self._layout)
            return
        fresh: dict[tuple[int, int], Ints] = {}
        for i in missing:
            layout = row_layout((self.baselines[i],), (self.kinds[i],), (self._onto[i],))
            for at, key in enumerate(keys, first):
                fresh[i, at] = self._sums(slice(at, at + 1), layout)[:, :, 0]
                self.baselines[i].base_counts.keep(
                    key, fresh[i, at]
                )  # which may forget another one of these
        for at, key in enumerate(keys, first):
            parts = [
                fresh[i, at] if (i, at) in fresh else baseline.base_counts[key]
                for i, baseline in enumerate(self.baselines)
            ]
            np.concatenate(parts, out=self.table[:, :, at])

    def _count_all(self, first: int, keys: "list[_Key]", layout: RowLayout) -> None:
        """Count in all clusters at once."""
        step = max(1, _MOST_CELLS // max(1, len(layout.free) * len(self.axis)))
        for low in range(0, len(keys), step):
            block = keys[low : low + step]
            places = slice(first + low, first + low + len(block))
            sums = self._sums(places, layout)
            self.table[:, :, places] = sums
            for i, baseline in enumerate(self.baselines):
                here = sums[self.first[i] : self.first[i + 1]]
                for at, key in enumerate(block):
                    baseline.base_counts.keep(key, here[:, :, at].copy())

    def _sums(self, places: slice, layout: RowLayout) -> Ints:
        counts = self._counts(places, layout.free, layout.kinds)
        sums = layout.sums(counts.reshape(len(counts), counts.shape[1] * counts.shape[2]))
        return sums.reshape(len(sums), 3, counts.shape[2])

    def _catch_up(self, places: slice, follower: CountedCluster) -> None:
        """New shapes start from the baseline: what changed since then is added for them alone."""
        changed = follower.changed()
        if not changed:
            return
        own, first = self.kinds[follower.at], self.first[follower.at]
        free = [[min(f, LARGEST_AMOUNT) for f in self.free(follower.at, one[1])] for one in changed]
        kinds = np.array([own[kind] for _, _, kind, _ in changed], dtype=np.int64)
        vectors = np.array(free, dtype=np.int64).reshape(len(changed), len(self.axis))
        counts = self._counts(places, vectors, kinds)
        chains = self.baselines[follower.at].index.chain
        for (domain, _, _, nodes), each in zip(changed, counts, strict=True):
            for above in chains[domain]:
                self.table[first + above, :, places] += each * nodes

    def _grow(self, size: int) -> None:
        """Room for so many shapes."""
        table, limits, before = self.table, self._limits, len(self.shapes)
        self.table, self.lines = _table(len(table), size)
        self.table[:, :, :before] = table[:, :, :before]
        self._limits = ShapeRequests(len(self.axis), len(limits.takes), size)
        self._limits.copy_from(limits, before)


class _Key:
    """A shape as a key of many dicts: its hash is worked out once."""

    __slots__ = ("_hash", "shape")

    def __init__(self, shape: PodShape) -> None:
        self.shape, self._hash = shape, hash(shape)

    def __hash__(self) -> int:
        return self._hash

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Key) and self.shape == other.shape


def _table(domains: int, shapes: int) -> tuple[Ints, Ints]:
    """A table and its lines. One shape's numbers of all domains lie side by side in memory."""
    numbers = np.zeros((3 * shapes, domains), dtype=np.int64)
    return numbers.reshape(3, shapes, domains).transpose(2, 0, 1), numbers.T


def _onto(own: tuple[str, ...], axis: tuple[str, ...]) -> list[int] | None:
    """Where each name of the common axis is on the cluster's own; None when they are the same."""
    if own == axis:
        return None
    position = {name: at for at, name in enumerate(own)}
    return [position.get(name, -1) for name in axis]
