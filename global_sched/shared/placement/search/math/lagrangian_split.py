"""One entry of a (min, +) product: Lagrangian prices with an expanding core.

Problem: min over n_1 + ... + n_k = n of sum_i c_i(n_i), for a single n.
Method: at a price p per pod, loss_i(m) = c_i(m) + p m - min of that, and the losses of a split add
up to its cost above the dual bound (Everett 1963). So a split within a limit L of total loss uses
numbers with loss_i <= L and sums <= L only. L starts at a 64th of what a known split loses and
grows until a split is found within it (the expanding core of Pisinger 1995, for knapsacks); the
price that makes the bound highest is found by bisection, since the bound is concave in p.
Exact: yes, since every split of at most that loss was there to be found.
Cost: (numbers of small loss) x (sums of small loss) per child; at worst pods x room.
docs/design/0003, "One number only".
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from global_sched.shared.placement.capacity.domain_room import Ints
from global_sched.shared.placement.search.math.min_plus import merge, non_concave_points, share_of
from global_sched.shared.placement.sentinels import FAR

_FIRST_PARTS = (64, 8, 1)
"""The parts of what is known to suffice that the losses may come to, one after the other."""


@dataclass(slots=True)
class Child:
    """What a child adds to the cost, for 0, 1, … pods in it.

    `exactly` gives the true costs where `costs` are only known to be no more than those, besides
    the first.
    """

    costs: Ints
    exactly: Callable[[], Ints] | None = None


def min_plus_entry(children: Sequence[Child], pods: int, known: int) -> list[int] | None:
    """The pods of every child. `known` is what some split costs; None where a bound is as high.

    Of equally good splits the one that gives the last child the most, then the one before, and so
    on. Cost: (numbers of small loss) x (sums of small loss) per child; at worst pods x room.
    """
    price, least = _price(children, pods)
    spare = known - least
    if spare <= 0:
        return None
    losses = [_losses(child.costs, price) for child in children]
    for part in _FIRST_PARTS:
        limit = spare // part
        _sharpen(children, losses, price, limit)
        shares = _within(losses, pods, limit)
        if shares is not None:
            return shares
    return None


def _price(children: Sequence[Child], pods: int) -> tuple[int, int]:
    """The price per pod at which the bound is highest, and the bound."""
    numbers = [non_concave_points(child.costs) for child in children]
    costs = np.concatenate([c.costs[at] for c, at in zip(children, numbers, strict=True)])
    starts = np.cumsum([0, *(len(at) for at in numbers[:-1])])
    number = np.concatenate(numbers)

    def bound(price: int) -> int:
        return int(np.minimum.reduceat(costs + price * number, starts).sum()) - price * pods

    low, high = 0, int((-costs // np.maximum(number, 1)).max()) + 1
    while low < high:
        middle = (low + high) // 2
        if bound(middle + 1) > bound(middle):
            low = middle + 1
        else:
            high = middle
    return low, bound(low)


def _losses(costs: Ints, price: int, least: int | None = None) -> Ints:
    losses = costs + price * np.arange(len(costs), dtype=np.int64)
    losses -= losses.min() if least is None else least
    losses[costs >= FAR] = FAR
    return losses


def _sharpen(children: Sequence[Child], losses: list[Ints], price: int, limit: int) -> None:
    """Put true costs where more than the first number matters."""
    for at, child in enumerate(children):
        if child.exactly is None or not (losses[at][1:] <= limit).any():
            continue
        old = child.costs
        child.costs, child.exactly = child.exactly(), None
        # Losses still count from the least at the price that the bound counts with.
        least = int((old + price * np.arange(len(old), dtype=np.int64)).min())
        losses[at] = _losses(child.costs, price, least)


@dataclass(slots=True)
class _Stage:
    """A child and those before it: losses by their sum from `start` on, and its own by pods."""

    child: int
    first: int
    """The least pods of the child, which are not in the sums."""
    start: int
    before: Ints
    losses: Ints


def _within(losses: Sequence[Ints], pods: int, limit: int) -> list[int] | None:
    """The split with the least loss, if that is within the limit."""
    small = [np.flatnonzero(one <= limit) for one in losses]
    if not all(len(numbers) for numbers in small):
        return None
    bounds = [(int(numbers[0]), int(numbers[-1])) for numbers in small]
    shares = [first for first, _ in bounds]
    left, after = pods - sum(shares), sum(last - first for first, last in bounds)
    if not 0 <= left <= after:
        return None
    stages: list[_Stage] = []
    start, total = 0, np.zeros(1, dtype=np.int64)
    for at, (first, last) in enumerate(bounds):
        if first == last:
            continue
        own = np.where(losses[at] <= limit, losses[at], FAR)[first : last + 1]
        stages.append(_Stage(at, first, start, total, own))
        after -= last - first
        if not after:
            break
        total = merge(total, own, left - start)
        # Sums that are within the limit, and from which the one asked for can be reached.
        alive = np.flatnonzero(total <= limit)
        alive = alive[np.searchsorted(alive, left - after - start) :]
        if not len(alive):
            return None
        total = total[alive[0] : alive[-1] + 1]
        start += int(alive[0])
    return _taken(stages, shares, left, limit)


def _taken(stages: Sequence[_Stage], shares: list[int], left: int, limit: int) -> list[int] | None:
    """The way back: from the last child to the first, what each adds to its least pods."""
    for stage in reversed(stages):
        sums = left - stage.start
        if sums >= len(stage.before) + len(stage.losses) - 1:
            return None
        here = share_of(stage.before, stage.losses, sums)
        if stage is stages[-1] and stage.before[sums - here] + stage.losses[here] > limit:
            return None
        shares[stage.child] += here
        left -= here
    return shares
