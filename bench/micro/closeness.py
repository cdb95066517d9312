"""Closeness of a gang's pods on real network trees, against the exact optimum.

The optimum is a dynamic program over the tree, written here for itself: of all ways to choose k
free hosts, the least sum of tiers over all pairs. Greedy and random choices are beside it.
"""

import random
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from bench.harness import Figure, at_most, shown
from bench.traces import TraceMissingError, lingjun_hosts, zhejianglab_hosts
from bench.trees import SOFT, Host, from_hosts, gang, workers
from global_sched.shared.placement import Placed, Space

SEEDS = tuple(range(1, 21))
SIZES = (2, 4, 8, 16, 32, 64, 128)
FULL = (50, 70, 90)
TREES: tuple[tuple[str, Callable[[], list[Host]]], ...] = (
    ("lingjun-topo", lingjun_hosts),
    ("zhejianglab-topo", zhejianglab_hosts),
)

Costs = NDArray[np.int64]
_FAR = 2**40


class Network:
    """A tree of hosts with some of them free, as plain lists."""

    def __init__(self, hosts: Sequence[Host], free: Sequence[str]) -> None:
        self.path = dict(hosts)
        self.free = list(free)
        self.depth = len(hosts[0][1])
        self.children: dict[str, set[str]] = {}
        self.tier: dict[str, int] = {}
        for _, path in hosts:
            for at, name in enumerate(path):
                self.tier[name] = self.depth - at
                self.children.setdefault(name, set())
                if at:
                    self.children[path[at - 1]].add(name)
        self.room = Counter(name for host in self.free for name in self.path[host])
        self.leaf = Counter(self.path[host][-1] for host in self.free)

    def pair_tier(self, one: str, other: str) -> int:
        """The tier of the lowest domain around two hosts."""
        same = sum(a == b for a, b in zip(self.path[one], self.path[other], strict=True))
        return self.depth - same + 1

    def mean_tier(self, hosts: Sequence[str]) -> float:
        """The mean over all pairs."""
        tiers = [self.pair_tier(a, b) for a, b in combinations(hosts, 2)]
        return sum(tiers) / len(tiers)


# --- the exact optimum ----------------------------------------------------------------------------


def _costs(network: Network, domain: str, most: int) -> Costs:
    """The least sum of pair tiers for 0, 1, … free hosts below a domain."""
    tier = network.tier[domain]
    below = sorted(network.children[domain])
    if not below:
        counts = np.arange(min(most, network.leaf[domain]) + 1, dtype=np.int64)
        return tier * counts * (counts - 1) // 2
    best: Costs = np.zeros(1, dtype=np.int64)
    for child in below:
        best = _joined(best, _costs(network, child, most), tier, most)
    return best


def _joined(left: Costs, right: Costs, tier: int, most: int) -> Costs:
    """Hosts of both sides: every pair across them counts the tier of the domain above."""
    size = min(most, len(left) + len(right) - 2) + 1
    found: Costs = np.full(size, _FAR, dtype=np.int64)
    here = np.arange(len(left), dtype=np.int64)
    for count, cost in enumerate(right.tolist()):
        end = min(size, count + len(left))
        if end > count:
            part = left[: end - count] + cost + tier * count * here[: end - count]
            np.minimum(found[count:end], part, out=found[count:end])
    return found


def optimum(network: Network, pods: int) -> tuple[float, float]:
    """The least mean tier in a domain of the lowest tier that holds all, and over all choices."""
    pairs = pods * (pods - 1) // 2
    fitting = [name for name, room in network.room.items() if room >= pods]
    low = min(network.tier[name] for name in fitting)
    lowest = [name for name in fitting if network.tier[name] == low]
    closest = min(int(_costs(network, name, pods)[pods]) for name in lowest)
    tops = [name for name in fitting if network.tier[name] == network.depth]
    anywhere = min(int(_costs(network, name, pods)[pods]) for name in tops)
    return closest / pairs, anywhere / pairs


# --- others ---------------------------------------------------------------------------------------


def greedy(network: Network, pods: int) -> list[str]:
    """The tightest domain of the lowest tier that fits; in it the fullest use of each child."""
    fitting = [name for name, room in network.room.items() if room >= pods]
    start = min(fitting, key=lambda name: (network.tier[name], network.room[name], name))
    chosen: Counter[str] = Counter()
    _descend(network, start, pods, chosen)
    by_leaf: dict[str, list[str]] = {}
    for host in network.free:
        by_leaf.setdefault(network.path[host][-1], []).append(host)
    return [host for leaf, count in chosen.items() for host in by_leaf[leaf][:count]]


def _descend(network: Network, domain: str, pods: int, chosen: Counter[str]) -> None:
    """The tightest child that holds the rest, else the largest whole."""
    below = sorted(network.children[domain])
    if not below:
        chosen[domain] += pods
        return
    left = {child: network.room[child] for child in below if network.room[child]}
    while pods:
        enough = [child for child, room in left.items() if room >= pods]
        if enough:
            child = min(enough, key=lambda name: (left[name], name))
        else:
            child = max(left, key=lambda name: (left[name], name))
        take = min(pods, left.pop(child))
        _descend(network, child, take, chosen)
        pods -= take


def ours(space: Space, pods: int) -> list[str]:
    """What the engine chooses."""
    placed = space.place(gang(workers(pods), constraint=SOFT))
    assert isinstance(placed, Placed), placed
    leaves = space.topology.leaves
    return [leaves[take.leaf].node for take in placed.takes]


# --- the figures ----------------------------------------------------------------------------------


def _trials(hosts: Sequence[Host], full: int) -> Mapping[int, list[tuple[float, ...]]]:
    """By gang size: (ours, exact, exact over all choices, greedy, random) of each trial."""
    found: dict[int, list[tuple[float, ...]]] = {}
    names = sorted(name for name, _ in hosts)
    for seed in SEEDS:
        draw = random.Random(seed)
        free = sorted(draw.sample(names, len(names) - len(names) * full // 100))
        network = Network(hosts, free)
        space = Space(from_hosts(hosts, frozenset(free)))
        for pods in SIZES:
            if pods > len(free):
                continue
            exact, anywhere = optimum(network, pods)
            row = (
                network.mean_tier(ours(space, pods)),
                exact,
                anywhere,
                network.mean_tier(greedy(network, pods)),
                network.mean_tier(draw.sample(free, pods)),
            )
            found.setdefault(pods, []).append(row)
    return found


def _means(rows: Sequence[tuple[float, ...]]) -> list[float]:
    return [sum(column) / len(rows) for column in zip(*rows, strict=True)]


def figures() -> list[Figure]:
    """The largest gap of any trial per tree and load; the mean tiers in the note."""
    found = []
    for name, hosts_of in TREES:
        try:
            hosts = hosts_of()
        except TraceMissingError as error:
            found.append(shown("closeness", f"mean tier, {name}", None, "tiers", str(error)))
            continue
        for full in FULL:
            trials = _trials(hosts, full)
            gap = max(row[0] - row[1] for rows in trials.values() for row in rows)
            parts = []
            for pods, rows in sorted(trials.items()):
                mine, exact, anywhere, near, drawn = _means(rows)
                parts.append(
                    f"{pods}: {mine:.3f} / {exact:.3f} / {anywhere:.3f} / {near:.3f} / {drawn:.3f}"
                )
            note = (
                "gang size: ours / exact / exact over all tiers / greedy / random; "
                + "; ".join(parts)
                + f"; seeds {SEEDS[0]}-{SEEDS[-1]}"
            )
            title = f"gap of the mean tier to the exact DP, {name}, {full} % full"
            found.append(at_most("closeness", title, round(gap, 9), "tiers", 0, note))
    return found
