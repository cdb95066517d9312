"""The closest placement of several shapes, held against a mixed-integer program."""

import random

import numpy as np
import pytest
from scipy.optimize import Bounds, LinearConstraint, milp

from global_sched.shared.placement import Placed, Space
from tests.global_sched.shared.placement.search.test_one_shape_exact import mean_tier
from tests.global_sched.shared.placement.worlds import (
    domain,
    free,
    gang,
    hard,
    leaf,
    parts,
    pod_set,
    topology,
)

RACKS, SPINES, NODES = 4, 2, 4


def world(draw):
    """A core over two spines of four racks of four nodes."""
    domains = [domain("core", 3)]
    leaves = []
    for spine in range(SPINES):
        domains.append(domain(f"s{spine}", 2, "core"))
        for rack in range(RACKS):
            name = f"s{spine}-r{rack}"
            domains.append(domain(name, 1, f"s{spine}"))
            leaves += [
                leaf(
                    name, free(draw.randint(1, 6), draw.choice((0, 1, 2, 4))), node=f"{name}-n{at}"
                )
                for at in range(NODES)
            ]
    return topology(domains, leaves)


class Program:
    """Pods per node and set, and per domain a choice of how many pods it holds."""

    def __init__(self, room, wanted, within):
        self.leaves = [item for item in room.leaves if within in ("core", item.domain[:2])]
        self.sets = wanted.pod_sets
        self.total = wanted.pods()
        racks = sorted({item.domain for item in self.leaves})
        spines = sorted({name[:2] for name in racks}) if within == "core" else []
        self.domains = [*racks, *spines]
        self.groups = [
            (at, one.partition.size) for at, one in enumerate(self.sets) if one.partition
        ]
        self.pods = len(self.leaves) * len(self.sets)
        self.choices = len(self.domains) * (self.total + 1)
        self.size = self.pods + self.choices + len(self.groups) * len(racks)
        self.racks = racks
        self.rows = []

    def pod(self, leaf_at, set_at):
        return leaf_at * len(self.sets) + set_at

    def choice(self, domain_at, pods):
        return self.pods + domain_at * (self.total + 1) + pods

    def add(self, terms, low, high):
        row = np.zeros(self.size)
        for at, value in terms:
            row[at] += value
        self.rows.append((row, low, high))

    def least_cost(self, tier):
        """The least sum of tiers over pairs, or None where the gang does not fit."""
        for at, item in enumerate(self.leaves):
            for place, name in enumerate(("cpu", "gpu")):
                asks = [
                    (self.pod(at, s), one.shape.requests.get(name))
                    for s, one in enumerate(self.sets)
                ]
                self.add(asks, 0, item.free[place])
        for s, one in enumerate(self.sets):
            self.add([(self.pod(at, s), 1) for at in range(len(self.leaves))], one.count, one.count)
        for d, name in enumerate(self.domains):
            counts = [(self.choice(d, n), n) for n in range(self.total + 1)]
            own = [
                (self.pod(at, s), -1)
                for at, item in enumerate(self.leaves)
                if item.domain.startswith(name)
                for s in range(len(self.sets))
            ]
            self.add([*counts, *own], 0, 0)
            self.add([(self.choice(d, n), 1) for n in range(self.total + 1)], 1, 1)
        first = self.pods + self.choices
        for g, (s, size) in enumerate(self.groups):
            for r, name in enumerate(self.racks):
                own = [
                    (self.pod(at, s), 1)
                    for at, item in enumerate(self.leaves)
                    if item.domain == name
                ]
                self.add([*own, (first + g * len(self.racks) + r, -size)], 0, 0)
        cost = np.zeros(self.size)
        for d, name in enumerate(self.domains):
            saved = (tier if len(name) == 2 or len(self.domains) == len(self.racks) else 2) - (
                2 if len(name) == 2 else 1
            )
            for n in range(self.total + 1):
                cost[self.choice(d, n)] = -saved * n * (n - 1) / 2
        matrix = np.array([row for row, _, _ in self.rows])
        limits = LinearConstraint(matrix, [r[1] for r in self.rows], [r[2] for r in self.rows])
        found = milp(cost, constraints=limits, integrality=1, bounds=Bounds(0, self.total))
        if not found.success:
            return None
        return tier * self.total * (self.total - 1) // 2 + round(found.fun)


@pytest.mark.parametrize("seed", range(12))
def test_nothing_is_closer_than_what_is_chosen(seed):
    """A launcher, workers in groups and others: the program finds the same tier and mean tier."""
    draw = random.Random(seed)
    room = world(draw)
    wanted = gang(
        pod_set("launcher", 1, cpu=2),
        pod_set("worker", 6, partition=parts(2, 3, constraint=hard(1)), cpu=1, gpu=2),
        pod_set("loader", draw.randint(2, 5), cpu=2, gpu=draw.randint(0, 1)),
        constraint=hard(3),
    )

    placed = Space(room, search_limit=10**9).place(wanted)

    spines = [Program(room, wanted, f"s{at}").least_cost(2) for at in range(SPINES)]
    found = [cost for cost in spines if cost is not None]
    want = min(found) if found else Program(room, wanted, "core").least_cost(3)
    if want is None:
        assert not isinstance(placed, Placed)
        return
    homes = [room.leaves[t.leaf].domain for t in placed.takes for _ in range(t.pods_per_node)]
    pairs = wanted.pods() * (wanted.pods() - 1) // 2
    tier = 1 if want == pairs else 2 if found else 3
    assert (placed.exact, placed.tier, mean_tier(room, homes)) == (True, tier, want)
