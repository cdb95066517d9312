"""Rows of the domains of one member."""

import re
from collections import defaultdict
from collections.abc import Iterator

import click

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import Domain, Topology
from global_sched.view.look import View
from global_sched.view.text import Row


def topology_of(view: View, name: str) -> Topology:
    """The room of a cluster, what is assumed there deducted."""
    cluster = next((one for one in view.snapshot.clusters if one.name == name), None)
    if cluster is None:
        known = ", ".join(one.name for one in view.snapshot.clusters) or "none"
        raise click.ClickException(f"there is no member cluster {name!r}; there are: {known}")
    if cluster.capacity is None:
        why = cluster.capacity_problem or "no agent reports its capacity"
        raise click.ClickException(f"nothing is known of {name}: {why}")
    return cluster.capacity.topology


def rows_of(view: View, name: str) -> Iterator[Row]:
    """Domains in tree order, parents first, rack-2 before rack-10; nodes in no domain last."""
    topology = topology_of(view, name)
    children: dict[DomainId | None, list[Domain]] = defaultdict(list)
    for domain in sorted(topology.domains, key=lambda one: natural(one.name)):
        children[domain.parent].append(domain)
    stack = [(domain, 0) for domain in reversed(children[None])]
    sums = _Sums(topology)
    while stack:
        domain, depth = stack.pop()
        yield _row(domain.name, domain, depth, sums)
        stack.extend((child, depth + 1) for child in reversed(children[domain.name]))
    if sums.nodes[None]:
        yield _row(None, None, 0, sums)


def natural(name: str) -> list[tuple[int, str]]:
    """Numbers in a name in their order as numbers."""
    parts = re.findall(r"\d+|\D+", name)
    return [(int(part), "") if part.isdecimal() else (-1, part) for part in parts]


class _Sums:
    """Nodes and free amounts of every domain, its children's included."""

    def __init__(self, topology: Topology) -> None:
        self.nodes: dict[DomainId | None, int] = defaultdict(int)
        self.free: dict[DomainId | None, dict[str, int]] = defaultdict(
            lambda: dict.fromkeys(sorted(set(topology.axis) - {PODS}), 0)
        )
        parents = {domain.name: domain.parent for domain in topology.domains}
        for leaf in topology.leaves:
            at: DomainId | None = leaf.domain
            while True:
                self.nodes[at] += leaf.count
                for resource, value in zip(topology.axis, leaf.free, strict=True):
                    if resource != PODS and leaf.node_class.schedulable:
                        self.free[at][resource] += value * leaf.count
                if at is None or parents.get(at) is None:
                    break
                at = parents[at]


def _row(name: DomainId | None, domain: Domain | None, depth: int, sums: _Sums) -> Row:
    return {
        "shown": "  " * depth + (name or "(in no HyperNode)"),
        "domain": name,
        "parent": domain.parent if domain else None,
        "tier": domain.tier if domain else None,
        "tier_name": domain.tier_name if domain else None,
        "nodes": sums.nodes[name],
        "free": {one: format_quantity(value, one) for one, value in sums.free[name].items()},
    }
