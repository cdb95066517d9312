"""Requests that no change of room mends: pods larger than any node, gangs than any domain.

Judged over the whole federation, and only while every cluster says how large its nodes are: one
that does not may have anything. A bound from above: nodes that are cordoned or not ready count as
if each were the largest, and in whichever domain they are. So what is called impossible is so until
nodes join.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.gang import Amounts, Gang, Mode, TopologyConstraint
from global_sched.shared.model.ids import ClusterName, DomainId
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.words import in_ranges
from global_sched.shared.placement import Limit, TreeIndex, limit_of, tree_index

_Most = dict[str, tuple[int, list[ClusterName]]]
"""By resource the most that there is of it, and in which clusters."""

_ANY = 2**62
"""More than any amount: it is not counted there."""


class _Domain(NamedTuple):
    """What the largest domains of a cluster have: so many nodes, each as its largest node."""

    cluster: ClusterName
    names: tuple[DomainId, ...]
    kind: str
    nodes: int
    node: dict[str, int]

    def amount(self, resource: str) -> int:
        """The most that all its nodes have of a resource."""
        return self.nodes * self.node.get(resource, 0) if self._counts(resource) else _ANY

    def _counts(self, resource: str) -> bool:
        """Whether it is known: nodes need not say how many pods they take."""
        return resource != PODS or PODS in self.node

    def pods(self, shape: PodShape) -> int:
        """The most pods of a shape that all its nodes hold."""
        asked = ((name, n) for name, n in shape.requests.entries if n and self._counts(name))
        each = [self.node.get(name, 0) // n for name, n in asked]
        most = shape.most_per_node()
        return self.nodes * min([*each, *([most] if most else [])], default=_ANY)


class Sizes:
    """The largest node, domain and cluster of a federation, by resource."""

    def __init__(self, clusters: Sequence[Cluster]) -> None:
        self._known = bool(clusters) and all(
            one.capacity is not None and one.capacity.largest is not None for one in clusters
        )
        self._clusters = clusters
        self._domains: dict[TopologyConstraint, list[_Domain]] = {}
        self._node: _Most = {}
        self._cluster: _Most = {}
        for one in clusters if self._known else ():
            capacity = one.capacity
            assert capacity is not None
            for name, amount in capacity.largest or ():
                _note(self._node, name, amount, one.name)
                whole = capacity.total.get(name) + capacity.missing * amount
                _note(self._cluster, name, whole, one.name)

    def largest(self) -> dict[str, int]:
        """Of each resource the most that any node has; empty where that is not known."""
        return {name: most for name, (most, _) in self._node.items()}

    def beyond(self, gang: Gang, minimum: Amounts) -> str:
        """What of these pods the federation does not have, in a sentence; empty where it may."""
        if not self._known:
            return ""
        for pod_set in gang.pod_sets:
            if not minimum.get(pod_set.name):
                continue
            for name, amount in pod_set.shape.requests.entries:
                most, where = self._node.get(name, (0, []))
                if amount > most and name != PODS:
                    asked, has = format_quantity(amount, name), format_quantity(most, name)
                    return (
                        f"a pod of {pod_set.name} asks for {name} {asked}, and no node of the "
                        f"federation has as much: {_largest(has, where)}"
                    )
        for name, amount in gang.requests(minimum).entries:
            most, where = self._cluster.get(name, (0, []))
            if amount > most:
                asked, has = format_quantity(amount, name), format_quantity(most, name)
                return (
                    f"{counted(minimum.pods(), 'pod')} that start together ask for {name} {asked}, "
                    f"and no cluster has as much: {_largest(has, where)}"
                )
        return self._beyond_domains(gang, minimum)

    def _beyond_domains(self, gang: Gang, minimum: Amounts) -> str:
        """The same of the domains that its constraint allows."""
        if gang.constraint is None or gang.constraint.mode != Mode.HARD:
            return ""
        domains = self._domains.get(gang.constraint)
        if domains is None:
            domains = list(self._allowed(gang.constraint))
            self._domains[gang.constraint] = domains
        if not domains:
            return ""
        for pod_set in gang.pod_sets:
            pods, shape = minimum.get(pod_set.name), pod_set.shape
            if not pods:
                continue
            most, kind, where = _most(domains, [one.pods(shape) for one in domains])
            if pods > most:
                return (
                    f"{counted(pods, 'pod')} of {pod_set.name} start together in one {kind}, and "
                    f"no {kind} of the federation has nodes for as many: the largest {where} "
                    f"nodes for {most}"
                )
        for name, amount in gang.requests(minimum).entries:
            most, kind, where = _most(domains, [one.amount(name) for one in domains])
            if amount > most:
                asked, has = format_quantity(amount, name), format_quantity(most, name)
                return (
                    f"{counted(minimum.pods(), 'pod')} that start together in one {kind} ask for "
                    f"{name} {asked}, and no {kind} of the federation has as much: the largest "
                    f"{where} {has}"
                )
        return ""

    def _allowed(self, constraint: TopologyConstraint) -> Iterator[_Domain]:
        """The largest that it allows; none where it allows a whole cluster, which is judged above.

        Nor where HyperNodes contradict each other, or its tier's name means several tiers.
        """
        found: list[_Domain] = []
        for cluster in self._clusters:
            capacity = cluster.capacity
            assert capacity is not None
            index = _tree_of(capacity.topology)
            limit = limit_of(index, constraint)
            if not isinstance(limit, Limit):
                continue
            unsure = bool(index.faults) or constraint.highest_tier_name in index.ambiguous
            if limit.tier is None or unsure:
                return
            nodes, names = _largest_domains(capacity.topology, limit.tier)
            if names:
                kind, node = index.kind_of(limit.tier), dict(capacity.largest or ())
                nodes += capacity.missing  # which may belong to any of them
                found.append(_Domain(cluster.name, names, kind, nodes, node))
        yield from found


def _most(domains: Sequence[_Domain], sizes: Sequence[int]) -> tuple[int, str, str]:
    """The most that any of these has, what that is called, and which have it, as a text."""
    most = max(sizes)
    largest = [one for one, has in zip(domains, sizes, strict=True) if has == most]
    first, others = largest[0], len(largest) - 1
    more = f" and in {counted(others, 'more cluster')}" if others else ""
    has = "has" if len(first.names) == len(largest) == 1 else "have"
    return most, first.kind, f"({in_ranges(first.names)} in {first.cluster}{more}) {has}"


def _tree_of(topology: Topology) -> TreeIndex:
    return topology.kept((tree_index,), lambda: tree_index(topology.domains, topology.problems))


def _largest_domains(topology: Topology, tier: int) -> tuple[int, tuple[DomainId, ...]]:
    """The most nodes that a domain up to a tier has, and the domains that have so many."""
    return topology.kept((_count, tier), lambda: _count(topology, tier))


def _count(topology: Topology, tier: int) -> tuple[int, tuple[DomainId, ...]]:
    index = _tree_of(topology)
    nodes = [0] * (index.root + 1)
    for leaf in topology.leaves:
        for at in index.chain[index.at(leaf.domain)]:
            nodes[at] += leaf.count
    allowed = range(index.up_to(tier))
    most = max((nodes[at] for at in allowed), default=0)
    return most, tuple(index.domains[at].name for at in allowed if nodes[at] == most)


def _note(found: _Most, name: str, amount: int, cluster: ClusterName) -> None:
    most, where = found.get(name, (-1, []))
    if amount > most:
        found[name] = amount, [cluster]
    elif amount == most:
        where.append(cluster)


def _largest(has: str, where: Sequence[ClusterName]) -> str:
    return f"the largest has {has} (in {in_ranges(where)})" if where else "none has any"
