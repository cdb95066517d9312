"""The scores: which of the clusters that fit is the better one, 0..100, exact.

Each is multiplied by its weight in the Policy and summed; the highest sum wins and ties end in the
name. By default a tier outweighs `tightness`, `packing` and `balance` together, and `shape` the
last two: they decide between clusters that are alike. Those that depend on room only take one
cluster or, with arrays in place of numbers, many.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from global_sched.core.view import CycleView
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import NO_TIER, is_device

Ints = NDArray[np.int64]
Mask = NDArray[np.bool_]
Numbers = Ints | int

BEST = 100
_TIERS = 9
"""Tiers with a score of their own; the ninth and all above it score alike."""
_STEP = 11
"""Between two tiers."""
_ALIKE = 80
"""Of 100 of the best evenness: what still counts as going with a shape as well as the best."""
_IDLE = 4
"""Evenness is divided by it where devices would idle: below what any other pair of amounts has."""


class Fill(NamedTuple):
    """What filling a cluster with a gang is measured by; the same for a whole cycle.

    `resource` is the one of which the gang takes the largest part of the cluster's `total`;
    `evenness` is 100 when it takes the same part of each, less when one is used up first, and a
    quarter of that where it asks for none of the cluster's devices: they would idle.
    """

    resource: str
    total: Numbers
    evenness: Numbers


class ScoreInput(NamedTuple):
    """A gang's place in a cluster: what is scored.

    `tier` is the lowest with a domain that holds it, `holds` how many of its `pods` fit in the
    tightest one. `free` is what the cluster has left of the resource that `fill` names.

    tier:  `NO_TIER` where only the whole cluster holds it; None where the gang has no constraint.
    """

    tier: Numbers | None
    pods: int
    holds: Numbers
    fill: Fill
    free: Numbers


def fill_of(requests: Resources, total: Resources) -> Fill:
    """What filling a cluster with so much is measured by; ties end in the name."""
    found, most, of = "", 0, 1
    there = dict(total.entries)
    for name, amount in requests.entries:
        has = there.get(name, 0)
        if has > 0 and amount * of > most * has:
            found, most, of = name, amount, has
    if not found:
        return Fill("", 0, 0)
    parts = [
        BEST * amount * of // (there[name] * most)
        for name, amount in requests.entries
        if name != PODS and there.get(name, 0) > 0
    ]
    evenness = sum(parts) // len(parts) if parts else BEST
    return Fill(found, of, evenness // _IDLE if idle_devices(requests, total) else evenness)


def idle_devices(requests: Resources, total: Resources) -> tuple[str, ...]:
    """The devices of a cluster where a gang asks for none of them; nothing where it does."""
    devices = tuple([name for name, _ in total.entries if is_device(name)])
    for name, _ in requests.entries:
        if name in devices:
            return ()
    return devices


def _smaller(numbers: Numbers, other: Numbers) -> Numbers:
    """The smaller of two, in each place where they are arrays: numpy is slow with one number."""
    if isinstance(numbers, int):
        return min(other, numbers)
    return np.minimum(numbers, other)


def _larger(numbers: Numbers, other: int) -> Numbers:
    """The larger of two, in the same way."""
    if isinstance(numbers, int):
        return max(other, numbers)
    return np.maximum(numbers, other)


def topology(subject: ScoreInput, view: CycleView) -> Numbers:  # noqa: ARG001 - a score's signature
    """The lowest tier of the enclosing domain first.

    Nothing for gangs without a constraint, which do not care and are scattered.
    """
    tier = subject.tier
    if tier is None:
        return 0
    level = _smaller(_larger(tier, 1), _TIERS)
    return (BEST - _STEP * (level - 1)) * (tier != NO_TIER)


def tightness(subject: ScoreInput, view: CycleView) -> Numbers:  # noqa: ARG001 - a score's signature
    """The domain which the gang fills most; nothing for gangs without a constraint, too."""
    tier, holds = subject.tier, subject.holds
    if tier is None:
        return 0
    return BEST * _smaller(holds, subject.pods) // _larger(holds, 1) * (tier != NO_TIER)


def packing(subject: ScoreInput, view: CycleView) -> Numbers:  # noqa: ARG001 - a score's signature
    """The fuller cluster first, and the one whose resources go with what the gang asks for.

    Full by the resource of which the gang takes the largest part there. The second matters between
    unequal clusters: pods that need memory go where there is much of it for each CPU. Half each.
    """
    return (used_of(subject) + subject.fill.evenness) // 2 * (subject.fill.total > 0)


def used_of(subject: ScoreInput) -> Numbers:
    """How much of 100 is used of the resource by which a cluster is measured."""
    total = subject.fill.total
    return BEST * (total - _smaller(subject.free, total)) // _larger(total, 1)


def shape(evenness: Ints, fits: Mask) -> Ints:
    """Whether a cluster's resources go with the gang about as well as those of the best that fits.

    All or nothing, so that it decides between unlike clusters and leaves alike ones to the others.
    """
    best = np.where(fits, evenness, 0).max(initial=0)
    score: Ints = BEST * np.greater_equal(evenness * BEST, best * _ALIKE)
    return score


def unlike(evenness: Ints) -> bool:
    """Whether any two clusters could score differently by `shape`."""
    return len(evenness) > 0 and bool(evenness.min() * BEST < evenness.max() * _ALIKE)


def balance(workload: Workload, cluster: Cluster, view: CycleView) -> int:
    """Where the tenant holds less first: what its largest part of the cluster leaves of 100."""
    held, largest = view.held(workload.tenant, cluster.name), 0
    for name, has in view.total(cluster.name).entries if held else ():
        amount = held.get(name)
        if amount and has > 0:
            part = BEST * amount // has
            largest = max(largest, part)
    return BEST - min(BEST, largest)


def locality(workload: Workload, cluster: Cluster, view: CycleView) -> int:  # noqa: ARG001 - a score's signature
    """Where the workload is already."""
    return BEST if any(target.cluster == cluster.name for target in workload.targets) else 0
