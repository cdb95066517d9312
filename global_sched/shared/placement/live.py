"""The HyperNode tree while nodes come, go and change labels: one node's change, one node's work.

HyperNodes themselves change rarely; then the tree is made anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from global_sched.shared.api.volcano import HyperNode, Member
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import Requirement, matches
from global_sched.shared.placement.members import (
    Pattern,
    compile_pattern,
    literal_prefix,
    requirements_of,
)
from global_sched.shared.placement.tree import (
    Draft,
    Tree,
    missing_note,
    overlap_problems,
    smallest,
)

Labels = Mapping[str, str]
_Pair = tuple[str, str]


@dataclass(frozen=True, slots=True)
class _Selector:
    """A label selector of one HyperNode."""

    hyper_node: str
    labels: tuple[_Pair, ...]
    requirements: tuple[Requirement, ...]

    def takes(self, labels: Labels) -> bool:
        return all(labels.get(key) == value for key, value in self.labels) and all(
            matches(requirement, dict(labels)) for requirement in self.requirements
        )


class LiveTree:
    """The same as `build_tree` over the nodes as they are now, kept in step node by node.

    `tree()` shares its `leaf_of` with later answers: read it before the next change.
    """

    def __init__(self, hypernodes: Sequence[HyperNode], nodes: Mapping[str, Labels]) -> None:
        draft = Draft(hypernodes, nodes)
        tree = draft.tree()
        self._tree = tree
        self._nodes = dict(nodes)
        self._leaf_of = dict(tree.leaf_of)
        self._tier, self._parent = draft.tier, draft.parent
        self._overlaps = dict(draft.overlaps)
        self._problems = draft.problems
        self._missing = {
            name: set(listed.missing_nodes)
            for name, listed in draft.listed.items()
            if listed.missing_nodes
        }
        self._lists = _Lists(draft)
        self._stale = False
        self._publish()

    def tree(self) -> Tree:
        """The tree as it is now."""
        if self._stale:
            self._publish()
        return self._tree

    def _publish(self) -> None:
        self._stale = False
        notes = {
            name: missing_note(sorted(nodes)) for name, nodes in self._missing.items() if nodes
        }
        self._tree = Tree(
            domains=self._tree.domains,
            leaf_of=self._leaf_of,
            problems=dict(sorted({**overlap_problems(self._overlaps), **self._problems}.items())),
            notes=dict(sorted(notes.items())),
        )

    def put_node(self, name: str, labels: Labels) -> None:
        """A node is new, or has other labels."""
        if name not in self._nodes:
            self._exists(name, present=True)
        self._nodes[name] = labels
        names = self._lists.holders(name, labels)
        strangers = False
        leaf: DomainId | None = None
        if names:
            leaf, strangers = smallest(names, self._tier, self._parent)
        self._leaf_of[name] = leaf
        self._overlap(name, tuple(names) if strangers else ())

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        if self._nodes.pop(name, None) is None:
            return
        del self._leaf_of[name]
        self._exists(name, present=False)
        self._overlap(name, ())

    def _exists(self, name: str, *, present: bool) -> None:
        for hyper_node in self._lists.naming(name):
            missing = self._missing.setdefault(hyper_node, set())
            if present:
                missing.discard(name)
            else:
                missing.add(name)
            if not missing:
                del self._missing[hyper_node]
            self._stale = True

    def _overlap(self, name: str, names: tuple[str, ...]) -> None:
        if self._overlaps.get(name, ()) == names:
            return
        self._stale = True
        if names:
            self._overlaps[name] = names
        else:
            del self._overlaps[name]


class _Lists:
    """Which HyperNodes list a node, found from the node."""

    def __init__(self, draft: Draft) -> None:
        kept = draft.kept()
        self._exact: dict[str, list[str]] = {}
        self._kept = kept
        self._by_pair: dict[_Pair, list[_Selector]] = {}
        self._selectors: list[_Selector] = []
        self._patterns: dict[str, list[str]] = {}
        self._by_prefix: dict[str, list[str]] = {}
        self._compiled: dict[str, Pattern] = {}
        for name, hyper_node in draft.objects.items():
            for member in hyper_node.spec.members or ():
                if member.type == "Node":
                    self._add(name, member, kept=name in kept)
        self._lengths = sorted({len(prefix) for prefix in self._by_prefix})

    def _add(self, name: str, member: Member, *, kept: bool) -> None:
        selector = member.selector
        if selector.exact_match is not None:
            own = self._exact.setdefault(selector.exact_match.name, [])
            if name not in own[-1:]:
                own.append(name)
        elif not kept:
            return
        elif selector.regex_match is not None:
            pattern = selector.regex_match.pattern
            if pattern not in self._patterns:
                self._by_prefix.setdefault(literal_prefix(pattern), []).append(pattern)
            self._patterns.setdefault(pattern, []).append(name)
        elif selector.label_match is not None:
            pairs = tuple(sorted((selector.label_match.match_labels or {}).items()))
            found = _Selector(name, pairs, tuple(requirements_of(selector.label_match)))
            if pairs:
                self._by_pair.setdefault(pairs[0], []).append(found)
            elif found.requirements:
                self._selectors.append(found)

    def naming(self, node: str) -> Sequence[str]:
        """HyperNodes that name the node exactly, set aside or not."""
        return self._exact.get(node, ())

    def holders(self, node: str, labels: Labels) -> list[str]:
        """The HyperNodes of the tree that list a node, ascending."""
        found = {name for name in self._exact.get(node, ()) if name in self._kept}
        for pair in labels.items():
            for selector in self._by_pair.get(pair, ()):
                if selector.takes(labels):
                    found.add(selector.hyper_node)
        found.update(one.hyper_node for one in self._selectors if one.takes(labels))
        for length in self._lengths:
            for pattern in self._by_prefix.get(node[:length], ()):
                if self._search(pattern, node):
                    found.update(self._patterns[pattern])
        return sorted(found)

    def _search(self, pattern: str, node: str) -> bool:
        compiled = self._compiled.get(pattern)
        if compiled is None:
            compiled = self._compiled[pattern] = compile_pattern(pattern)
        return compiled.search(node) is not None
