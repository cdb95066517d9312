"""Locations of pods in the tree of their cluster."""

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class PodLocations:
    """Where the pods of a job or PodGroup lie, in the tree of their cluster."""

    nodes: Mapping[str, str] = field(default_factory=dict)
    """Node by pod, of those that have one."""
    leaf_of: Mapping[str, str] = field(default_factory=dict)
    """The smallest HyperNode of a node."""
    parents: Mapping[str, str] = field(default_factory=dict)
    """The HyperNode above a HyperNode."""
    waiting: int = 0
    """Pods that have no node."""
    reason: str = ""
    """Why they have none."""
    uids: tuple[str, ...] = ()
    """Of the pods that have a node, ascending, where there are real ones."""

    def under(self, domain: str) -> int:
        """How many of the pods lie under a HyperNode."""
        return sum(domain in self._chain(node) for node in self.nodes.values())

    def around(self) -> str:
        """The smallest HyperNode around all of the pods; empty when there is none."""
        chains = [self._chain(node) for node in self.nodes.values()]
        return next((at for at in chains[0] if all(at in c for c in chains)), "") if chains else ""

    def _chain(self, node: str) -> list[str]:
        """The HyperNodes around a node, upwards."""
        at, chain = self.leaf_of.get(node, ""), list[str]()
        while at and at not in chain:
            chain.append(at)
            at = self.parents.get(at, "")
        return chain
