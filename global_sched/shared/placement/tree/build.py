"""HyperNodes to a valid tree of domains; what is wrong is set aside, and only that."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from global_sched.shared.api.volcano import HyperNode
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain
from global_sched.shared.placement.tree.member_selectors import Listed, MemberError, MemberResolver
from global_sched.shared.placement.tree.parents import Forest, some
from global_sched.shared.placement.tree.twins import merge_twins

MOST_HYPERNODES = 100_000
_MOST_NAMED = 1000
"""So many of those beyond are named as problems."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DomainTree:
    """A valid tree (or several) of domains, and where each node hangs.

    `leaf_of` gives the smallest HyperNode of every node, None for nodes in none. `problems`
    says per HyperNode what is wrong with it. A HyperNode that is set aside is not in `domains`, nor
    is anything below it. `notes` are oddities that change nothing.
    """

    domains: tuple[Domain, ...] = ()
    leaf_of: Mapping[str, DomainId | None]
    problems: Mapping[str, str]
    notes: Mapping[str, str]


def build_tree(
    hypernodes: Sequence[HyperNode], nodes: Mapping[str, Mapping[str, str]]
) -> DomainTree:
    """Read HyperNodes against the nodes (name to labels) that exist.

    Set aside with everything below: a cycle, a HyperNode that two others list, one whose tier is
    not below its parent's, one with a selector that cannot be read. Kept, with a problem: a parent
    that lists a HyperNode that does not exist (yet). A node that two unrelated HyperNodes list is
    in neither; HyperNodes with the very same nodes are merged (`twins`). Uneven trees, several
    roots and tiers with gaps are fine.

    Order:   the result does not depend on the order of the input.
    Source:  Volcano's HyperNode API; unlike upstream one bad object never disables the others.
    """
    return TreeDraft(hypernodes, nodes).tree()


class TreeDraft:
    """The tree while it is being read."""

    def __init__(
        self, hypernodes: Sequence[HyperNode], nodes: Mapping[str, Mapping[str, str]]
    ) -> None:
        named = {h.metadata.name: h for h in hypernodes}
        names = sorted(named)
        self.left_out = {name: named[name] for name in names[MOST_HYPERNODES:]}
        self.objects = {name: named[name] for name in names[:MOST_HYPERNODES]}
        self.nodes = nodes
        self.forest = Forest()
        self.overlaps: dict[str, tuple[str, ...]] = {}
        """Nodes that unrelated HyperNodes list, with those."""
        self.resolver = MemberResolver(nodes)
        # Those that look at few nodes come first: none of them pays for others that match all.
        breadth = {name: self.resolver.breadth(one) for name, one in self.objects.items()}
        listed = {
            name: read(self.forest, self.resolver, self.objects[name])
            for name in sorted(self.objects, key=lambda name: (breadth[name], name))
        }
        self.listed = {name: listed[name] for name in self.objects}
        self.forest.check(self.objects)
        self.same: Mapping[str, str] = {}
        self.leaf_of = self._leaves()
        self.contested = bool(self.overlaps) or self.forest.shares()
        """Whether anything is listed twice: then one change may move nodes elsewhere, too."""
        if self.contested:
            self._merge()

    def _merge(self) -> None:
        """Let facts that are there twice count once, and look again."""
        good = [name for name in self.objects if not self.forest.error(name)]
        # The oldest first: one that is written later moves no nodes to another domain.
        good.sort(key=lambda name: (self.objects[name].metadata.creation_timestamp or "", name))
        merged = merge_twins({name: self.forest.tier[name] for name in good}, self.listed)
        self.listed, self.same = dict(merged.listed), merged.same
        for name in good:
            self.forest.put(name, self.forest.tier[name], self.listed[name].children)
        self.forest.check(self.objects)
        self.overlaps.clear()
        self.leaf_of = self._leaves()

    def tree(self) -> DomainTree:
        """The tree of what has no faults."""
        forest = self.forest
        notes = {
            name: missing_note(listed.missing_nodes)
            for name, listed in self.listed.items()
            if listed.missing_nodes
        }
        for name, first in self.same.items():
            notes[name] = f"has the nodes of {first}, in which they are"
        return DomainTree(
            domains=tuple(
                [
                    domain_of(forest, hypernode)
                    for name, hypernode in self.objects.items()
                    if name not in forest.faults
                ]
            ),
            leaf_of=self.leaf_of,
            problems=problems_of(forest, self.objects, self.overlaps, list(self.left_out)),
            notes=dict(sorted(notes.items())),
        )

    def _leaves(self) -> dict[str, DomainId | None]:
        """The smallest HyperNode of each node."""
        forest, holders = self.forest, dict[str, list[str]]()
        for name, listed in self.listed.items():
            if name not in forest.faults:
                for node in listed.nodes:
                    holders.setdefault(node, []).append(name)
        result: dict[str, DomainId | None] = dict.fromkeys(sorted(self.nodes))
        for node, names in holders.items():
            result[node], strangers = smallest(names, forest.tier, forest.parent)
            if strangers:
                self.overlaps[node] = tuple(names)
        return result


def read(forest: Forest, resolver: MemberResolver, hypernode: HyperNode) -> Listed:
    """Put a HyperNode into the forest; what it lists, or no nodes where a member is bad."""
    error = ""
    try:
        listed = resolver.resolve(hypernode)
    except MemberError as problem:
        error = str(problem)
        listed = Listed(children=_readable_children(hypernode))
    forest.put(hypernode.metadata.name, hypernode.spec.tier, listed.children, error)
    return listed


def domain_of(forest: Forest, hypernode: HyperNode) -> Domain:
    """A good HyperNode as a domain."""
    name = hypernode.metadata.name
    parent = forest.parent.get(name)
    return Domain(
        name=DomainId(name),
        tier=hypernode.spec.tier,
        tier_name=hypernode.spec.tier_name,
        parent=None if parent is None else DomainId(parent),
    )


def problems_of(
    forest: Forest,
    names: Iterable[str],
    overlaps: Mapping[str, Sequence[str]],
    left_out: Sequence[str] = (),
) -> dict[str, str]:
    """What is wrong with each HyperNode, ascending by name."""
    found = overlap_problems(overlaps)
    for name in names:
        absent = forest.absent(name)
        if absent:
            found[name] = f"lists {some(absent)}, which does not exist"
    for name, fault in forest.faults.items():
        found[name] = f"is set aside: {fault}"
    too_many = f"is set aside: there are more than {MOST_HYPERNODES} HyperNodes"
    found.update(dict.fromkeys(left_out[:_MOST_NAMED], too_many))
    return dict(sorted(found.items()))


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
            shown = some(others, len(listed) - 1)
            problems[name] = f"node {node} is left out of it, since {shown} lists it, too"
    return problems


def missing_note(missing: Sequence[str]) -> str:
    """What to say of a HyperNode that names nodes which do not exist."""
    return f"lists {some(missing)}, which is no node now"


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
