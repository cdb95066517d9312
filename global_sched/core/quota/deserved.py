"""The deserved of every queue: the federation's amounts divided down the tree, in whole numbers."""

from collections.abc import Iterable, Mapping
from math import gcd
from typing import Final, NamedTuple

from global_sched.core.quota.dominant_share import Amount
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.core.quota.water_filling import Portion, water_fill
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import QueueName

QueueAmounts = dict[QueueName, Amount]
WeightBounds = tuple[dict[QueueName, int], dict[QueueName, int]]
"""The least and the most that a queue's weight gives it, of one resource."""
Fraction = tuple[int, int]
"""So much over so much."""
_ALL: Final = 2**63


class Measures(NamedTuple):
    """What a queue's standing is measured by: (name, deserved, counts), (name, amount, part)."""

    wanted: tuple[str, ...]
    limits: tuple[tuple[str, int, bool], ...]
    parts: tuple[tuple[str, int, int], ...]


class Deserved:
    """The division of one cycle. `asked` is what each queue holds and waits for.

    `shares` are the fractions that a share is taken of. For a queue that says its amount: that
    times its weight. For any other its weight's part of what there is to divide among those that
    hold or ask for anything, however much that is: of what its parent deserves and others do not
    say, or of its parent's own part where no sibling says anything. So parts of different
    resources stay in the proportion of the whole (HDRF, SoCC'13), whichever each queue asks for.
    """

    def __init__(
        self,
        clusters: Iterable[Cluster],
        tree: QueueTree,
        totals: dict[str, int],
        asked: Mapping[QueueName, Amount],
    ) -> None:
        self._tree = tree
        self._limits = _limits(clusters, tree)
        self._totals = totals
        self.deserved: QueueAmounts = {}
        self.shares: dict[QueueName, dict[str, Fraction]] = {}
        self.asked = asked
        self._active = {name for name, amounts in asked.items() if any(amounts.values())}
        names = set(totals)
        for node in tree.order:
            names.update(name for name, _ in node.queue.deserved)
            names.update(node.guarantee)
            self.deserved[node.queue.name] = {}
            self.shares[node.queue.name] = {}
        for name in sorted(names):
            self._divide(name, tree.order)

    def _divide(self, name: str, order: list[QueueNode]) -> None:
        floors, ceilings, said = self._bounds(name, order)
        root = self._tree.root
        total = self._totals.get(name, 0)
        most = min(total, root.capability.get(name, total))
        self._set(root, name, most, (most, 1))
        wholes = {root.queue.name: (most, 1)}
        for node in order:
            if not node.children:
                continue
            left, whole = self.deserved[node.queue.name].get(name, 0), wholes[node.queue.name]
            by_weight = []
            for child in node.children:
                amount = said.get(child.queue.name)
                if amount is None:
                    by_weight.append(child)
                else:
                    self._set(child, name, amount, (amount * max(child.queue.weight, 0), 1))
                    wholes[child.queue.name] = (amount, 1)
                    left -= amount
            left = max(left, 0)
            if len(by_weight) < len(node.children):
                whole = (left, 1)
            wholes |= self._by_weight(name, left, whole, by_weight, (floors, ceilings))

    def _by_weight(
        self, name: str, left: int, whole: Fraction, children: list[QueueNode], bounds: WeightBounds
    ) -> dict[QueueName, Fraction]:
        """Divide what is left among these; what their shares are taken of, by queue."""
        floors, ceilings = bounds
        keys = [child.queue.name for child in children]
        parts = [
            Portion(ceilings.get(key, 0), child.queue.weight, floors.get(key, 0))
            for key, child in zip(keys, children, strict=True)
        ]
        bases = self._bases(whole, keys, parts)
        for child, amount, base in zip(children, water_fill(left, parts), bases, strict=True):
            self._set(child, name, amount, base if base[0] else (amount, 1))
        return dict(zip(keys, bases, strict=True))

    def _bases(
        self, whole: Fraction, keys: list[QueueName], parts: list[Portion]
    ) -> list[Fraction]:
        """What each would have if all that take part asked for everything, guarantees first."""
        weights = [
            max(part.weight, 0) if key in self._active else 0
            for key, part in zip(keys, parts, strict=True)
        ]
        if any(part.floor for part in parts):
            most = whole[0] // whole[1]
            floored = [
                Portion(max(most, part.floor) if weight else part.floor, weight, part.floor)
                for weight, part in zip(weights, parts, strict=True)
            ]
            return [(amount, 1) for amount in water_fill(most, floored)]
        over, under = whole[0], whole[1] * (sum(weights) or 1)
        common = gcd(over, under)
        over, under = over // common, under // common
        return [(over * weight, under) for weight in weights]

    def _set(self, node: QueueNode, name: str, deserved: int, share: Fraction) -> None:
        if deserved:
            self.deserved[node.queue.name][name] = deserved
            self.shares[node.queue.name][name] = share

    def _bounds(
        self, name: str, order: list[QueueNode]
    ) -> tuple[dict[QueueName, int], dict[QueueName, int], dict[QueueName, int]]:
        """For each queue the least and the most that its weight gives, or what it says itself.

        A queue that says nothing has at least what those below it say together, one that says less
        than is guaranteed deserves what is guaranteed. One that is frozen deserves what it holds.
        """
        floors: dict[QueueName, int] = {}
        ceilings: dict[QueueName, int] = {}
        said: dict[QueueName, int] = {}
        for node in reversed(order):
            key = node.queue.name
            limit = self._limits.get(key, node.capability).get(name)
            if node.problem:
                said[key] = node.held.get(name, 0)
            elif node.queue.deserved:
                amount = max(dict(node.queue.deserved).get(name, 0), node.guarantee.get(name, 0))
                said[key] = amount if limit is None else min(amount, limit)
            floor = node.guarantee.get(name, 0)
            if node.children:
                below = sum(
                    said.get(child.queue.name, floors.get(child.queue.name, 0))
                    for child in node.children
                )
                floor = max(floor, below)
            ceiling = max(self._asked(node, name, ceilings), floor)
            if limit is not None:
                floor, ceiling = min(floor, limit), min(ceiling, limit)
            if floor:
                floors[key] = floor
            if ceiling:
                ceilings[key] = ceiling
        return floors, ceilings, said

    def _asked(self, node: QueueNode, name: str, ceilings: Mapping[QueueName, int]) -> int:
        """What it asks for, of each queue below it no more than that one may have."""
        asked = self.asked.get(node.queue.name, {}).get(name, 0)
        for child in node.children if asked else ():
            below = child.queue.name
            asked -= max(0, self.asked.get(below, {}).get(name, 0) - ceilings.get(below, 0))
        return asked


def _limits(clusters: Iterable[Cluster], tree: QueueTree) -> QueueAmounts:
    """The capability of queues that have limits in clusters: no more than those add up to.

    A cluster without a limit counts with all that it has.
    """
    found: QueueAmounts = {}
    capped = [node for node in tree.order if node.cluster_capability]
    if not capped:
        return found
    totals = {
        one.name: dict(one.capacity.total.entries) for one in clusters if one.capacity is not None
    }
    for node in capped:
        limits = found[node.queue.name] = dict(node.capability)
        for name in sorted({n for named in node.cluster_capability.values() for n in named}):
            most = sum(
                min(total.get(name, 0), node.cluster_capability.get(at, total).get(name, _ALL))
                for at, total in totals.items()
            )
            limits[name] = min(limits.get(name, most), most)
    return found
