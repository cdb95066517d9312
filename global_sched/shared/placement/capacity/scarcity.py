"""Scarcity: the cost of a place, as the room that other shapes lose where a pod goes.

Every shape that a cluster's pods have counts by how many pods have it, and a place for it is the
dearer the fewer such places there are. What a pod costs is the sum over shapes of their share of
the pods times the part of their room that goes: the least loss of the weighted logarithms of room.
So whole nodes stay whole as long as pods of whole nodes come, devices keep the CPU that goes with
them, and nodes that few can do without are left to those.
"""

from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from typing import Final

import numpy as np
from numpy.typing import NDArray

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.topology import Wanted
from global_sched.shared.placement.capacity.baseline import Baseline
from global_sched.shared.placement.request.node_match import is_device, node_class_admits
from global_sched.shared.placement.sentinels import LARGEST_AMOUNT, MOST_PODS_COUNTED

MOST_WANTED: Final = 128
"""Shapes that are weighed; those of which there are fewest pods are left out."""
_LONGEST_TEXT: Final = 1024
"""A shape that says more than so many characters about nodes is left out."""
_MOST_TEXT: Final = 2**16
"""And so many are enough for all together: the profile goes over the wire."""
MOST_ASKED: Final = 2**60
"""Larger amounts count as so much: no node has them."""
_DIGITS: Final = 3
"""Binary digits of an amount that count: shapes that are alike are one."""
_SHARE: Final = 2**20
_PART: Final = 2**22
_ROWS_AT_ONCE: Final = 4096

Ints = NDArray[np.int64]
Free = tuple[int, ...]
Node = tuple[Free, int]
"""A node's free vector and class."""


def demand_of(
    pods: Mapping[PodShape, int], keys: Collection[str] | None = None
) -> tuple[Wanted, ...]:
    """The demand profile of so many pods: the most frequent, alike ones together.

    Amounts that are no devices are rounded to few digits and counts to a power of two, so that the
    profile changes seldom. Shapes that select on other label keys than `keys` (None: any) are left
    out.
    """
    counts: Counter[PodShape] = Counter()
    for shape, number in pods.items():
        plain = plain_shape(shape)
        if plain is None or number <= 0:
            continue
        if keys is None or all(key in keys for key in shape.label_keys()):
            counts[plain] += number
    found: list[Wanted] = []
    left = _MOST_TEXT
    texts = {shape: _text(shape) for shape in counts}
    for shape in sorted(counts, key=lambda shape: (-counts[shape], texts[shape]))[:MOST_WANTED]:
        left -= len(texts[shape])
        if left >= 0:
            found.append(Wanted(shape=shape, pods=_power_of_two(counts[shape])))
    return tuple(found)


def _power_of_two(number: int) -> int:
    return 1 << (number.bit_length() - 1)


def plain_shape(shape: PodShape) -> PodShape | None:
    """What the demand profile counts of a shape; None where it says too much about nodes."""
    if len(_text(shape)) > _LONGEST_TEXT:
        return None
    requests = {name: min(_rounded(name, n), MOST_ASKED) for name, n in shape.requests}
    return replace(
        shape,
        requests=Resources.of(requests),
        anti_affine=False,
        per_node=0,
        apart="",
        ports=(),
    )


def _rounded(name: str, amount: int) -> int:
    if name == PODS or is_device(name):
        return amount
    return _round(amount)


def _round(amount: int) -> int:
    """To the nearest number of few binary digits."""
    low = max(0, amount.bit_length() - _DIGITS)
    return (amount + (1 << low >> 1)) >> low << low


def _text(shape: PodShape) -> str:
    """What orders shapes, and how long what they say is."""
    return repr((shape.requests.entries, shape.selector, shape.affinity, shape.tolerations))


class Scarcity:
    """What places on the nodes of one cluster cost, by the demand profile that it sees.

    Prices are those of the room at first: what is placed in a pass does not change them, and what
    nodes have become since (`renewed`) does.
    """

    def __init__(self, baseline: Baseline, demand: Sequence[Wanted]) -> None:
        axis = baseline.topology.axis
        known = [w for w in demand if all(name in axis for name in w.shape.requests.names())]
        self._baseline = baseline
        self._shapes = tuple(wanted.shape for wanted in known)
        total = sum(wanted.pods for wanted in known)
        self._shares = np.array([w.pods * _SHARE // total for w in known], dtype=np.int64)
        asked = [dict(shape.requests.entries) for shape in self._shapes]
        self._asked = [
            (at, *np.unique([one.get(name, 0) for one in asked], return_inverse=True))
            for at, name in enumerate(axis)
            if any(name in one for one in asked)
        ]
        """By position: the amounts that are asked for, ascending, and which each shape asks for."""
        self._takes = np.array(
            [
                [node_class_admits(kind, shape) for shape in self._shapes]
                for kind in baseline.classes
            ],
            dtype=np.int64,
        ).reshape(len(baseline.classes), len(self._shapes))
        self._room: Ints | None = None
        self._prices = np.zeros(len(known), dtype=np.int64)
        self._seen = 0
        self.stamp = 0
        """Changes whenever prices do."""

    def follow(self, renewed: Sequence[tuple[Free, int, int]]) -> None:
        """Bring the prices up to date: (free vector, class, more such nodes) so far, in order."""
        if self._room is not None and self._seen == len(renewed):
            return
        room = self._at_first() if self._room is None else self._room
        net: Counter[Node] = Counter()
        for free, kind, more in renewed[self._seen :]:
            net[free, kind] += more
        changed = [(node, more) for node, more in net.items() if more]
        if changed:
            counts = np.array([more for _, more in changed], dtype=np.int64)
            room = room + (self._pods([node for node, _ in changed]) * counts[:, None]).sum(axis=0)
        self._room, self._seen = room, len(renewed)
        # In round numbers, so that the order of many nodes outlives the change of one.
        prices = self._shares * _PART // np.array([max(1, _round(n)) for n in room.tolist()])
        if not self.stamp or (prices != self._prices).any():
            self._prices = prices
            self.stamp += 1

    def costs(self, nodes: Sequence[Node], taken: Sequence[tuple[int, int]]) -> list[int]:
        """What one pod that takes (position, amount) costs on each of some nodes."""
        assert self._room is not None, "follow comes first"
        after = []
        for free, kind in nodes:
            left = list(free)
            for position, amount in taken:
                left[position] -= amount
            after.append((tuple(left), kind))
        lost = np.minimum(self._pods(nodes) - self._pods(after), np.maximum(self._room, 1))
        found: list[int] = (lost @ self._prices).tolist()
        return found

    def _at_first(self) -> Ints:
        """Pods of each shape that the baseline holds, each alone; the baseline keeps it."""
        baseline = self._baseline
        room = baseline.rooms.get(self._shapes)
        if room is None:
            room = np.zeros(len(self._shapes), dtype=np.int64)
            for low in range(0, len(baseline.sizes), _ROWS_AT_ONCE):
                some = slice(low, low + _ROWS_AT_ONCE)
                pods = self._count(baseline.matrix[some], baseline.kinds[some])
                room += (pods * baseline.sizes[some, None]).sum(axis=0)
            baseline.rooms.clear()
            baseline.rooms[self._shapes] = room
        return room

    def _pods(self, nodes: Sequence[Node]) -> Ints:
        """Pods of each shape on each node, each alone."""
        free = np.array(
            [[min(f, LARGEST_AMOUNT) for f in node[0]] for node in nodes], dtype=np.int64
        )
        return self._count(free, np.array([kind for _, kind in nodes], dtype=np.int64))

    def _count(self, free: Ints, kinds: Ints) -> Ints:
        pods = self._takes[kinds] * MOST_PODS_COUNTED
        for position, amounts, which in self._asked:
            # Few amounts differ, and to divide is what takes time.
            fits = free[:, position, None] // np.maximum(amounts, 1)
            fits[:, amounts == 0] = MOST_PODS_COUNTED
            np.minimum(pods, fits[:, which], out=pods)
        return pods
