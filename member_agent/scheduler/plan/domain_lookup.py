"""The HyperNode tree of a round: which domains hold which nodes, and which lie in which."""

from collections.abc import Iterable

from global_sched.shared.model.ids import DomainId
from member_agent.cache import ClusterCache


class DomainLookup:
    """Look-ups; nodes that are gone are in no domain."""

    def __init__(self, cache: ClusterCache) -> None:
        self._cache = cache

    def domains_of(self, nodes: Iterable[str]) -> tuple[DomainId | None, ...]:
        """The domains of these nodes; one that is gone binds no pod to a domain."""
        leaf_of = self._cache.tree().leaf_of
        there = {leaf_of.get(n) for n in nodes if n in self._cache.nodes}
        return tuple(sorted(there, key=lambda domain: domain or ""))

    def enclosing(self, nodes: Iterable[str]) -> DomainId | None:
        """The smallest domain around these nodes; None when there is none."""
        common: list[DomainId] | None = None
        for domain in self.domains_of(nodes):
            chain = self._chain(domain)
            common = chain if common is None else [name for name in common if name in chain]
        return common[0] if common else None

    def _chain(self, domain: DomainId | None) -> list[DomainId]:
        """A domain and its ancestors, upwards."""
        parents = {d.name: d.parent for d in self._cache.tree().domains}
        chain: list[DomainId] = []
        while domain is not None and domain not in chain:
            chain.append(domain)
            domain = parents.get(domain)
        return chain

    def lies_in(self, domain: DomainId | None, around: DomainId | None) -> bool:
        """Whether a domain is within another, or the same; None is the whole cluster."""
        return around is None or around in self._chain(domain)

    def nodes_in(self, domains: frozenset[DomainId | None]) -> frozenset[str]:
        """The nodes of these domains; None is the whole cluster."""
        if None in domains:
            return frozenset(self._cache.nodes)
        if not domains:
            return frozenset()
        leaf_of = self._cache.tree().leaf_of
        inside = {
            leaf
            for leaf in set(leaf_of.values())
            if any(self.lies_in(leaf, domain) for domain in domains)
        }
        return frozenset(name for name, leaf in leaf_of.items() if leaf in inside)
