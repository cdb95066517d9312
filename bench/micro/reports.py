"""The size of a member's capacity report: equal nodes, and nodes resampled from openb."""

import random
from dataclasses import replace

from bench.harness import Figure, at_most, shown
from bench.traces import TraceMissingError
from bench.worlds import AXIS, GPU, NOW, openb_nodes_once, openb_pods_once
from global_sched.shared.model.ids import BindingId, ClusterName, DomainId, PodSetName
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Occupant, Topology
from global_sched.shared.placement import histogram
from member_agent.report.build import Limits, Observation, report_bytes, slices_of

GROUP = "reports"
NODES = 5000
_RACK = 20
_MIB = 2**20
_KIB = 1024
_AIM = 64.0
_GANG = 8


def figures() -> list[Figure]:
    """Sizes in KiB of JSON, all slices of one report."""
    equal = equal_nodes()
    found = [
        at_most(GROUP, "5,000 equal nodes in 4 tiers", _kib(equal), "KiB", _AIM),
        at_most(
            GROUP,
            "5,000 equal nodes in 4 tiers, with occupants",
            _kib(equal_nodes(occupied=True)),
            "KiB",
            _AIM,
            "gangs of 8 whole nodes on half of the racks",
        ),
    ]
    try:
        mixed = openb_sample(occupied=True)
    except TraceMissingError as missing:
        return [*found, shown(GROUP, "5,000 nodes of openb at 70 %", None, "KiB", str(missing))]
    for rows in (20_000, 4_000, 3_000, 2_000, 1_000):
        bare = replace(mixed, leaves=tuple(replace(leaf, occupants=()) for leaf in mixed.leaves))
        bare = histogram(bare, ())
        note = f"{_kib(mixed):.0f} KiB with occupants" if rows == 20_000 else "rounded down"
        name = f"5,000 nodes of openb at 70 %, at most {rows:,} rows"
        found.append(shown(GROUP, name, _kib(bare, rows), "KiB", note))
    return found


def _kib(topology: Topology, rows: int = 20_000) -> float:
    seen = Observation(cluster=ClusterName("member"), generation=1, observed=NOW, topology=topology)
    return report_bytes(slices_of(seen, Limits(rows=rows))) / _KIB


def _tree() -> tuple[list[Domain], list[DomainId]]:
    """Racks of 20 nodes (tier 1), spines of 10 racks, pods of 5 spines, one core (tier 4)."""
    core = DomainId("core")
    domains, racks = [Domain(name=core, tier=4)], []
    for rack in range(NODES // _RACK):
        spine, pod = rack // 10, rack // 50
        above = DomainId(f"pod-{pod}")
        if rack % 50 == 0:
            domains.append(Domain(name=above, tier=3, parent=core))
        middle = DomainId(f"spine-{spine}")
        if rack % 10 == 0:
            domains.append(Domain(name=middle, tier=2, parent=above))
        racks.append(DomainId(f"rack-{rack}"))
        domains.append(Domain(name=racks[-1], tier=1, parent=middle))
    return sorted(domains), racks


def equal_nodes(*, occupied: bool = False) -> Topology:
    """5,000 nodes of one kind, free, or with gangs of 8 pods of a whole node each."""
    domains, racks = _tree()
    whole, none = (96_000, 768 * 1024 * _MIB, 8, 110), (0, 0, 0, 109)
    leaves = []
    for at, rack in enumerate(racks):
        held = occupied and at % 2 == 0
        kind = NodeClass()
        if held:
            leaves.append(
                Leaf(domain=rack, node_class=kind, free=none, count=_GANG, occupants=_gang(at))
            )
        left = _RACK - _GANG if held else _RACK
        leaves.append(Leaf(domain=rack, node_class=kind, free=whole, count=left))
    return _counted(domains, leaves)


def openb_sample(*, occupied: bool = False, filled: float = 0.7, seed: int = 1) -> Topology:
    """5,000 of openb's GPU nodes, with openb's pods on them until so much of the GPUs is used."""
    rng = random.Random(seed)
    pool, pods = [n for n in openb_nodes_once() if n[2]], openb_pods_once()
    free = [[c, m * _MIB, g, 110] for c, m, g in (rng.choice(pool) for _ in range(NODES))]
    held: list[dict[str, int]] = [{} for _ in free]
    target = filled * sum(node[2] for node in free)
    used, serial = 0, 0
    while used < target:
        cpu, memory, gpus = rng.choice(pods)
        asked = (cpu, memory * _MIB, max(1, gpus), 1)
        serial += 1
        at = rng.randrange(len(free))
        if all(has >= want for has, want in zip(free[at], asked, strict=True)):
            free[at] = [has - want for has, want in zip(free[at], asked, strict=True)]
            used += asked[2]
            held[at][f"{serial // 4:036d}"] = held[at].get(f"{serial // 4:036d}", 0) + 1
    domains, racks = _tree()
    leaves = [
        Leaf(
            domain=racks[at // _RACK],
            node_class=NodeClass(),
            free=tuple(vector),
            count=1,
            occupants=_occupants(held[at]) if occupied else (),
        )
        for at, vector in enumerate(free)
    ]
    return _counted(domains, leaves)


def _gang(serial: int) -> tuple[Occupant, ...]:
    return _occupants({f"{serial:036d}": 1})


def _occupants(held: dict[str, int]) -> tuple[Occupant, ...]:
    return tuple(
        sorted(
            Occupant(binding=BindingId(name), pod_set=PodSetName("worker"), pods=pods)
            for name, pods in held.items()
        )
    )


def _counted(domains: list[Domain], leaves: list[Leaf]) -> Topology:
    assert AXIS[2] == GPU
    tree = Topology(axis=AXIS, domains=tuple(domains), leaves=tuple(leaves), label_keys=())
    return histogram(tree, ())
