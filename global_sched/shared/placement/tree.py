"""HyperNodes to a valid tree of domains; what is wrong is set aside, and only that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

import networkx as nx

from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain
from global_sched.shared.placement.members import Listed, MemberError, MemberResolver

_MOST_HYPERNODES = 100_000
_DEEPEST = 64
_HIGHEST_TIER = 2**31


@dataclass(frozen=True, slots=True, kw_only=True)
class Tree:
    """A valid tree (or several) of domains, and where each node hangs.

    `leaf_of` gives the smallest HyperNode of every node, None for nodes in none. `problems`
    says per HyperNode what is wrong with it. A HyperNode that is set aside is not in `domains`, nor
    is anything below it. `notes` are oddities that change nothing.
    """

    domains: tuple[Domain, ...] = ()
    leaf_of: Mapping[str, DomainId | None]
    problems: Mapping[str, str]
    notes: Mapping[str, str]


def build_tree(hypernodes: Sequence[HyperNode], nodes: Mapping[str, Mapping[str, str]]) -> Tree:
    """Read HyperNodes against the nodes (name to labels) that exist.

    Set aside with everything below: a cycle, a HyperNode that two others list, one whose tier is
    not below its parent's, one with a selector that cannot be read. Kept, with a problem: a parent
    that lists a HyperNode that does not exist (yet). A node that two unrelated HyperNodes list is
    in neither. Uneven trees, several roots and tiers with gaps are fine.

    Order:   the result does not depend on the order of the input.
    Source:  Volcano's HyperNode API; unlike upstream one bad object never disables the others.
    """
    return Draft(hypernodes, nodes).tree()


class Draft:
    """The tree while its faults are being found."""

    def __init__(
        self, hypernodes: Sequence[HyperNode], nodes: Mapping[str, Mapping[str, str]]
    ) -> None:
        named = {h.metadata.name: h for h in hypernodes}
        names = sorted(named)[:_MOST_HYPERNODES]
        self.problems: dict[str, str] = {}
        for name in sorted(named)[_MOST_HYPERNODES:]:
            self.problems[name] = f"is set aside: there are more than {_MOST_HYPERNODES} HyperNodes"
        self.objects = {name: named[name] for name in names}
        self.nodes = nodes
        self.tier = {name: h.spec.tier for name, h in self.objects.items()}
        self.parent: dict[str, str] = {}
        self.notes: dict[str, str] = {}
        self.bad: set[str] = set()
        self.listed: dict[str, Listed] = {}
        self.overlaps: dict[str, tuple[str, ...]] = {}
        """Nodes that unrelated HyperNodes list, with those."""
        self.graph = nx.DiGraph()
        self.graph.add_nodes_from(names)
        self._resolve(MemberResolver(nodes))

    def _resolve(self, resolver: MemberResolver) -> None:
        for name, hypernode in self.objects.items():
            try:
                listed = resolver.resolve(hypernode)
            except MemberError as error:
                self._set_aside(name, f"{error}")
                listed = Listed(children=_readable_children(hypernode))
            self.listed[name] = listed
            absent = [child for child in listed.children if child not in self.objects]
            if absent:
                self.problems.setdefault(name, f"lists {_some(absent)}, which does not exist")
            if listed.missing_nodes:
                self.notes[name] = missing_note(listed.missing_nodes)
            self.graph.add_edges_from(
                (name, child) for child in listed.children if child in self.objects
            )

    def _set_aside(self, name: str, why: str) -> None:
        if name not in self.bad:
            self.bad.add(name)
            self.problems[name] = f"is set aside: {why}"

    def find_faults(self) -> None:
        """Mark what is bad, then everything below it."""
        for name, tier in self.tier.items():
            if not 0 <= tier < _HIGHEST_TIER:
                self._set_aside(name, f"its tier {tier} is out of range")
        for component in nx.strongly_connected_components(self.graph):
            if len(component) > 1 or any(self.graph.has_edge(name, name) for name in component):
                for name in component:
                    self._set_aside(name, f"it is in a cycle of {_some(sorted(component))}")
        for name in self.objects:
            parents = sorted(self.graph.predecessors(name))
            if len(parents) > 1:
                self._set_aside(name, f"{_some(parents)} both list it, so its place is not known")
            elif parents:
                self._check_edge(parents[0], name)
        self._spread()
        self._check_depth()

    def _check_edge(self, parent: str, child: str) -> None:
        if self.tier[child] >= self.tier[parent]:
            self._set_aside(
                child,
                f"its tier {self.tier[child]} is not below tier {self.tier[parent]} of its "
                f"parent {parent}",
            )
        else:
            self.parent[child] = parent

    def _spread(self) -> None:
        """Everything below a bad HyperNode is set aside, too."""
        reached = sorted(self.bad)
        while reached:
            name = reached.pop()
            for child in sorted(self.graph.successors(name)):
                if child not in self.bad:
                    self._set_aside(child, f"{name} above it is set aside")
                    reached.append(child)
        for name in self.bad:
            self.parent.pop(name, None)

    def _check_depth(self) -> None:
        """Depth by walking up; tiers strictly rise, so this ends."""
        depth: dict[str, int] = {}
        for name in sorted(self.objects, key=lambda item: -self.tier[item]):
            above = self.parent.get(name)
            depth[name] = depth.get(above, 0) + 1 if above is not None else 1
            if depth[name] > _DEEPEST and name not in self.bad:
                self._set_aside(name, f"it is more than {_DEEPEST} levels deep")
                self.parent.pop(name, None)

    def tree(self) -> Tree:
        """The tree of what has no faults."""
        self.find_faults()
        kept = self.kept()
        leaf_of = self.leaves(kept)
        domains = tuple(
            Domain(
                name=DomainId(name),
                tier=self.tier[name],
                tier_name=self.objects[name].spec.tier_name,
                parent=DomainId(self.parent[name]) if name in self.parent else None,
            )
            for name in sorted(kept)
        )
        return Tree(
            domains=domains,
            leaf_of=leaf_of,
            problems=dict(sorted({**overlap_problems(self.overlaps), **self.problems}.items())),
            notes=dict(sorted(self.notes.items())),
        )

    def kept(self) -> set[str]:
        """The HyperNodes that are part of the tree."""
        return {name for name in self.objects if name not in self.bad}

    def leaves(self, kept: set[str]) -> dict[str, DomainId | None]:
        """The smallest HyperNode of each node."""
        holders: dict[str, list[str]] = {}
        for name in sorted(kept):
            for node in self.listed[name].nodes:
                holders.setdefault(node, []).append(name)
        result: dict[str, DomainId | None] = dict.fromkeys(sorted(self.nodes))
        for node, names in holders.items():
            result[node], strangers = smallest(names, self.tier, self.parent)
            if strangers:
                self.overlaps[node] = tuple(names)
        return result


def smallest(
    names: Sequence[str], tier: Mapping[str, int], parent: Mapping[str, str]
) -> tuple[DomainId | None, bool]:
    """The smallest of the HyperNodes that list a node; none when not all others are around it.

    And whether there are such strangers.
    """
    least = min(names, key=lambda name: (tier[name], name))
    if len(names) > 1:
        found = {least}
        above = parent.get(least)
        while above is not None:
            found.add(above)
            above = parent.get(above)
        if not found.issuperset(names):
            return None, True
    return DomainId(least), False


def overlap_problems(overlaps: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What to say of HyperNodes that share a node with strangers: the first such node of each."""
    problems: dict[str, str] = {}
    for node in sorted(overlaps):
        names = [name for name in overlaps[node] if name not in problems]
        listed = sorted(overlaps[node]) if names else []
        for name in names:
            others = [other for other in listed[:4] if other != name][:3]
            shown = _some(others, len(listed) - 1)
            problems[name] = f"node {node} is left out of it, since {shown} lists it, too"
    return problems


def missing_note(missing: Sequence[str]) -> str:
    """What to say of a HyperNode that names nodes which do not exist."""
    return f"lists {_some(missing)}, which is no node now"


def _readable_children(hypernode: HyperNode) -> tuple[str, ...]:
    """Children of a HyperNode with a bad member: they go with it."""
    return tuple(
        sorted(
            {
                member.selector.exact_match.name
                for member in hypernode.spec.members or ()
                if member.type == "HyperNode" and member.selector.exact_match is not None
            }
        )
    )


def _some(names: Iterable[str], count: int | None = None) -> str:
    """Up to three names, and how many more (of `count`, when the names are not all)."""
    listed = list(names)
    more = (len(listed) if count is None else count) - 3
    shown = ", ".join(listed[:3])
    return shown if more <= 0 else f"{shown} and {more} more"
