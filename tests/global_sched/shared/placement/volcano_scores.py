"""Volcano's HyperNode scores as formulas, to compare choices with; for tests only.

Restated from its plugin network-topology-aware (Apache-2.0): a score per HyperNode or node, in
percent times the plugin's weight.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

TIERS = {"s0": 3, "s1": 2, "s2": 2, "s3": 1, "s4": 1, "s5": 1, "s6": 1}
PARENTS = {"s1": "s0", "s2": "s0", "s3": "s1", "s4": "s1", "s5": "s2", "s6": "s2"}
"""The tree of the vectors: s0 over s1 and s2, those over two leaves each; a top above all."""

Amounts = Mapping[str, int]


def chain(name: str, parents: Mapping[str, str]) -> list[str]:
    """A HyperNode and those above it."""
    found = [name]
    while found[-1] in parents:
        found.append(parents[found[-1]])
    return found


def near(
    leaf: str,
    allocated: str,
    *,
    tiers: Mapping[str, int],
    parents: Mapping[str, str],
    weight: float = 1,
) -> float:
    """How close a leaf is to the HyperNode that the job has already; 0 when it has none."""
    if not allocated:
        return 0.0
    if leaf == allocated:
        return 100.0 * weight
    top, low = max(tiers.values()) + 1, min(tiers.values())
    common = next((one for one in chain(leaf, parents) if one in chain(allocated, parents)), "")
    tier = tiers[common] if common else top
    return 100.0 * weight * (top - tier) / (top - low)


def near_with_tasks(
    leaves: Sequence[str],
    allocated: str,
    tasks: Mapping[str, int],
    of: int,
    *,
    tiers: Mapping[str, int] = TIERS,
    parents: Mapping[str, str] = PARENTS,
) -> dict[str, float]:
    """The same for several leaves: those that are best get the share of tasks that they hold."""
    plain = {leaf: near(leaf, allocated, tiers=tiers, parents=parents) for leaf in leaves}
    best = max(plain.values())
    if not best:
        return plain
    return {
        leaf: score + 100.0 * tasks.get(leaf, 0) / of if score == best else score
        for leaf, score in plain.items()
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainRoom:
    """What a HyperNode has and what of it is used."""

    has: Amounts
    used: Amounts


def packed(room: DomainRoom, asked: Amounts, weights: Mapping[str, float]) -> float:
    """How full a HyperNode would be: 0 when something is short, 1 when nothing is left."""
    total = 0.0
    for name, amount in asked.items():
        use = room.used.get(name, 0) + amount
        if use > room.has.get(name, 0):
            return 0.0
        total += weights[name] * use / room.has[name]
    return total / sum(weights[name] for name in asked)


def spared(
    rooms: Sequence[DomainRoom], asked: Amounts, weights: Mapping[str, float], fading: float
) -> float:
    """The score of a node for a pod without topology, over its HyperNodes from the smallest up.

    Each counts `fading` times as much as the one below.
    """
    shares = [fading**at for at in range(len(rooms))]
    scores = [packed(room, asked, weights) for room in rooms]
    return sum(s * w for s, w in zip(scores, shares, strict=True)) / sum(shares)
