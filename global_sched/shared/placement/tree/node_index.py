"""Index of HyperNodes by the nodes that they list, and of nodes by HyperNode."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from global_sched.shared.api.volcano import HyperNode, Member
from global_sched.shared.model.pods import Requirement, matches
from global_sched.shared.placement.tree.build import TreeDraft
from global_sched.shared.placement.tree.member_selectors import (
    Pattern,
    compile_pattern,
    literal_prefix,
    requirements_of,
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


class NodeIndex:
    """Nodes and the HyperNodes that list them, good or set aside, kept in step with both."""

    def __init__(self, draft: TreeDraft) -> None:
        self._members: dict[str, HyperNode] = {}
        # In dicts without values what is there keeps its order, and one of very many goes at once.
        self._exact: dict[str, dict[str, None]] = {}
        self._by_pair: dict[_Pair, dict[_Selector, None]] = {}
        self._selectors: dict[_Selector, None] = {}
        self._patterns: dict[str, dict[str, None]] = {}
        self._by_prefix: dict[str, list[str]] = {}
        self._compiled: dict[str, Pattern] = {}
        self._lengths: list[int] = []
        self._of: dict[str, tuple[str, ...]] = {}
        self._nodes: dict[str, set[str]] = {}
        holding: dict[str, list[str]] = {}
        for name, hyper_node in draft.objects.items():
            if draft.forest.error(name):
                continue
            self._register(hyper_node)
            for node in draft.listed[name].nodes:
                holding.setdefault(node, []).append(name)
            if draft.listed[name].nodes:
                self._nodes[name] = set(draft.listed[name].nodes)
        self._of = {node: tuple(names) for node, names in holding.items()}

    def of(self, node: str) -> Sequence[str]:
        """The HyperNodes that list a node, ascending."""
        return self._of.get(node, ())

    def nodes(self, hyper_node: str) -> Collection[str]:
        """The nodes that a HyperNode lists."""
        return self._nodes.get(hyper_node, ())

    def naming(self, node: str) -> Collection[str]:
        """HyperNodes that name the node exactly."""
        return self._exact.get(node, ())

    # --- nodes ------------------------------------------------------------------------------

    def put_node(self, node: str, labels: Labels) -> None:
        """A node is new, or has other labels."""
        self._hold(node, self._find(node, labels))

    def drop_node(self, node: str) -> None:
        """A node is gone."""
        self._hold(node, ())

    def _hold(self, node: str, names: Sequence[str]) -> None:
        before, after = set(self._of.get(node, ())), set(names)
        for name in before - after:
            self._nodes[name].discard(node)
        for name in after - before:
            self._nodes.setdefault(name, set()).add(node)
        if names:
            self._of[node] = tuple(names)
        else:
            self._of.pop(node, None)

    def _find(self, node: str, labels: Labels) -> list[str]:
        found = set(self._exact.get(node, ()))
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

    # --- HyperNodes -------------------------------------------------------------------------

    def put(self, hyper_node: HyperNode, nodes: Iterable[str]) -> None:
        """A HyperNode is new and lists these nodes."""
        name = hyper_node.metadata.name
        self._register(hyper_node)
        for node in nodes:
            self._hold(node, sorted({*self.of(node), name}))

    def drop(self, name: str) -> None:
        """A HyperNode is gone."""
        for node in tuple(self.nodes(name)):
            self._hold(node, [one for one in self.of(node) if one != name])
        self._nodes.pop(name, None)
        hyper_node = self._members.pop(name, None)
        for member in _nodes_of(hyper_node) if hyper_node is not None else ():
            self._forget(name, member)

    def _register(self, hyper_node: HyperNode) -> None:
        name = hyper_node.metadata.name
        self._members[name] = hyper_node
        for member in _nodes_of(hyper_node):
            selector = member.selector
            if selector.exact_match is not None:
                self._exact.setdefault(selector.exact_match.name, {})[name] = None
            elif selector.regex_match is not None:
                self._add_pattern(name, selector.regex_match.pattern)
            elif (found := _selector(name, member)) is not None:
                self._listed(found)[found] = None

    def _listed(self, selector: _Selector) -> dict[_Selector, None]:
        if not selector.labels:
            return self._selectors
        return self._by_pair.setdefault(selector.labels[0], {})

    def _add_pattern(self, name: str, pattern: str) -> None:
        if pattern not in self._patterns:
            prefix = literal_prefix(pattern)
            if prefix not in self._by_prefix:
                self._lengths = sorted({*self._lengths, len(prefix)})
            self._by_prefix.setdefault(prefix, []).append(pattern)
        self._patterns.setdefault(pattern, {})[name] = None

    def _forget(self, name: str, member: Member) -> None:
        """What `_register` wrote down for one member; lengths without a pattern do no harm."""
        selector = member.selector
        if selector.exact_match is not None:
            own = self._exact.get(selector.exact_match.name, {})
            own.pop(name, None)
            if not own:
                self._exact.pop(selector.exact_match.name, None)
        elif selector.regex_match is not None:
            self._forget_pattern(name, selector.regex_match.pattern)
        elif (found := _selector(name, member)) is not None:
            self._listed(found).pop(found, None)

    def _forget_pattern(self, name: str, pattern: str) -> None:
        names = self._patterns.get(pattern)
        if names is None:
            return
        names.pop(name, None)
        if not names:
            del self._patterns[pattern]
            self._compiled.pop(pattern, None)
            self._by_prefix[literal_prefix(pattern)].remove(pattern)


def _nodes_of(hyper_node: HyperNode) -> list[Member]:
    return [member for member in hyper_node.spec.members or () if member.type == "Node"]


def _selector(name: str, member: Member) -> _Selector | None:
    """A label selector; None for an empty one, which matches nothing."""
    label_match = member.selector.label_match
    if label_match is None:
        return None
    pairs = tuple(sorted((label_match.match_labels or {}).items()))
    found = _Selector(name, pairs, tuple(requirements_of(label_match)))
    return found if pairs or found.requirements else None
