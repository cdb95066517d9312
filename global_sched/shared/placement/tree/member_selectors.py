"""Members of a HyperNode: exact names, patterns and label selectors."""

from bisect import bisect_left, insort
from collections.abc import Collection, Mapping, Sequence
from dataclasses import InitVar, dataclass, field
from typing import Protocol

import re2

from global_sched.shared.api.base import LabelSelector
from global_sched.shared.api.volcano import HyperNode, Member
from global_sched.shared.model.pods import Requirement, matches
from global_sched.shared.placement.requirements import SpecError, node_requirement

_LONGEST_PATTERN = 1024
_PATTERN_MEMORY = 1 << 20
_MOST_TESTS = 5_000_000
"""Name and label tests for one tree; a hostile tree stops here and not at a minute of CPU."""
_MOST_LISTED = 1_000_000
"""Nodes that patterns and labels of one tree list together: the same, for memory."""


class MemberError(ValueError):
    """A member that cannot be resolved: why, in words for the HyperNode's owner."""


class Pattern(Protocol):
    """A compiled pattern."""

    def search(self, text: str) -> object:
        """A match somewhere in the text, or None."""


def compile_pattern(pattern: str) -> Pattern:
    """The compiled RE2 pattern. Raises re2.error."""
    options = re2.Options()
    options.log_errors = False
    options.max_mem = _PATTERN_MEMORY
    compiled: Pattern = re2.compile(pattern, options=options)
    return compiled


def literal_prefix(pattern: str) -> str:
    """What every name that an anchored pattern matches starts with; empty when that is not known.

    With it a pattern per rack costs as many tests as the rack has nodes, not as the cluster has.
    """
    if not pattern.startswith("^") or "|" in pattern:
        return ""
    prefix = ""
    at = 1
    while at < len(pattern):
        char = pattern[at]
        if char == "\\" and at + 1 < len(pattern) and pattern[at + 1] in "-._":
            at, char = at + 1, pattern[at + 1]
        elif not (char.isascii() and (char.isalnum() or char in "-_")):
            break
        prefix += char
        at += 1
    # What a repetition follows may be absent.
    return prefix[:-1] if at < len(pattern) and pattern[at] in "*?{+" else prefix


@dataclass(frozen=True, slots=True, kw_only=True)
class Listed:
    """What one HyperNode lists, as sorted names."""

    nodes: tuple[str, ...] = ()
    children: tuple[str, ...] = ()
    missing_nodes: tuple[str, ...] = ()


@dataclass(slots=True)
class MemberResolver:
    """Resolves members against the nodes that exist, each pattern and selector once."""

    nodes: InitVar[Mapping[str, Mapping[str, str]]]
    _known: dict[str, Mapping[str, str]] = field(init=False)
    _names: list[str] = field(init=False)
    _by_label: dict[str, dict[str, set[str]]] = field(init=False)
    """Names by the value of a label, for the keys that were asked for."""
    _patterns: dict[str, frozenset[str]] = field(init=False)
    _tests_left: int = field(init=False)
    _listed_left: int = field(init=False)

    def __post_init__(self, nodes: Mapping[str, Mapping[str, str]]) -> None:
        self._known = dict(nodes)
        self._names = sorted(self._known)
        self._by_label = {}
        self._patterns = {}
        self._tests_left = _MOST_TESTS
        self._listed_left = _MOST_LISTED

    def put_node(self, name: str, labels: Mapping[str, str]) -> None:
        """A node is new, or has other labels."""
        nodes = self._known
        if name not in nodes:
            insort(self._names, name)
            self._patterns.clear()
        self._unlabel(name)
        nodes[name] = labels
        for key, by_value in self._by_label.items():
            if key in labels:
                by_value.setdefault(labels[key], set()).add(name)

    def drop_node(self, name: str) -> None:
        """A node is gone."""
        if name in self._known:
            self._unlabel(name)
            del self._known[name], self._names[bisect_left(self._names, name)]
            self._patterns.clear()

    def _unlabel(self, name: str) -> None:
        labels = self._known.get(name, {})
        for key, by_value in self._by_label.items():
            if key in labels:
                by_value[labels[key]].discard(name)

    def _having(self, key: str, value: str) -> set[str]:
        """The nodes with a label."""
        by_value = self._by_label.get(key)
        if by_value is None:
            by_value = self._by_label[key] = {}
            for name, labels in self._known.items():
                if key in labels:
                    by_value.setdefault(labels[key], set()).add(name)
        return by_value.get(value, set())

    def is_worn(self) -> bool:
        """Whether changes have used up so many tests that the next could be refused for them."""
        return self._tests_left < _MOST_TESTS // 2 or self._listed_left < _MOST_LISTED // 2

    def breadth(self, hypernode: HyperNode) -> int:
        """How many nodes have to be looked at to resolve a HyperNode, at most."""
        looked = 0
        for member in hypernode.spec.members or ():
            selector = member.selector
            if selector.regex_match is not None:
                looked += len(self._starting(literal_prefix(selector.regex_match.pattern)))
            elif selector.label_match is not None:
                pairs = (selector.label_match.match_labels or {}).items()
                looked += min(
                    (len(self._having(*pair)) for pair in pairs), default=len(self._known)
                )
        return looked

    def resolve(self, hypernode: HyperNode) -> Listed:
        """All members of one HyperNode. Raises MemberError for the first bad one."""
        nodes: set[str] = set()
        children: set[str] = set()
        missing: set[str] = set()
        for position, member in enumerate(hypernode.spec.members or ()):
            try:
                if member.type == "HyperNode":
                    children.add(_child(member))
                else:
                    self._add_nodes(member, nodes, missing)
            except MemberError as error:
                raise MemberError(f"member {position}: {error}") from error
        return Listed(
            nodes=tuple(sorted(nodes)),
            children=tuple(sorted(children)),
            missing_nodes=tuple(sorted(missing)),
        )

    def _add_nodes(self, member: Member, nodes: set[str], missing: set[str]) -> None:
        if member.type != "Node":
            raise MemberError(f"its type {member.type[:40]!r} is none of Node, HyperNode")
        selector = member.selector
        given = [
            part
            for part in (selector.exact_match, selector.regex_match, selector.label_match)
            if part is not None
        ]
        if len(given) != 1:
            raise MemberError("needs exactly one of exactMatch, regexMatch and labelMatch")
        if selector.exact_match is not None:
            name = selector.exact_match.name
            (nodes if name in self._known else missing).add(name)
        elif selector.regex_match is not None:
            nodes.update(self._bounded(self._matching(selector.regex_match.pattern)))
        elif selector.label_match is not None:
            nodes.update(self._bounded(self._labelled(selector.label_match)))

    def _bounded(self, found: Collection[str]) -> Collection[str]:
        if len(found) > self._listed_left:
            raise MemberError(
                f"the tree's selectors list more than {_MOST_LISTED} nodes together; list nodes "
                "in the lowest tier only"
            )
        self._listed_left -= len(found)
        return found

    def _spend(self, tests: int) -> None:
        self._tests_left -= tests
        if self._tests_left < 0:
            raise MemberError(
                f"the tree's selectors need more than {_MOST_TESTS} tests; use exactMatch or "
                "one label per domain"
            )

    def _matching(self, pattern: str) -> frozenset[str]:
        """Names that contain a match: unanchored, as Go's MatchString and Volcano read it."""
        found = self._patterns.get(pattern)
        if found is not None:
            return found
        if not pattern or len(pattern) > _LONGEST_PATTERN:
            raise MemberError(f"regexMatch needs a pattern of 1 to {_LONGEST_PATTERN} characters")
        try:
            compiled = compile_pattern(pattern)
        except re2.error as error:
            raise MemberError(f"regexMatch {pattern[:80]!r} is no RE2 pattern: {error}") from error
        candidates = self._starting(literal_prefix(pattern))
        self._spend(len(candidates))
        found = frozenset(name for name in candidates if compiled.search(name))
        self._patterns[pattern] = found
        return found

    def _starting(self, prefix: str) -> Sequence[str]:
        """The names with a prefix, which are neighbours in their order."""
        if not prefix:
            return self._names
        first = bisect_left(self._names, prefix)
        after = bisect_left(self._names, prefix[:-1] + chr(ord(prefix[-1]) + 1), first)
        return self._names[first:after]

    def _labelled(self, selector: LabelSelector) -> set[str]:
        """Nodes with these labels; an empty selector matches nothing (Volcano's rule)."""
        labels = selector.match_labels or {}
        expressions = selector.match_expressions or []
        if not labels and not expressions:
            return set()
        requirements = requirements_of(selector)
        found: set[str] | None = None
        for item in labels.items():
            having = self._having(*item)
            found = set(having) if found is None else found & having
        candidates = self._known.keys() if found is None else found
        if requirements:
            self._spend(len(candidates) * len(requirements))
            candidates = {
                name
                for name in candidates
                if all(
                    matches(requirement, dict(self._known[name])) for requirement in requirements
                )
            }
        return set(candidates)


def requirements_of(selector: LabelSelector) -> list[Requirement]:
    """The expressions of a selector. Raises MemberError for one that cannot be read."""
    try:
        return [
            node_requirement(expression, f"labelMatch.matchExpressions[{position}]")
            for position, expression in enumerate(selector.match_expressions or ())
        ]
    except SpecError as error:
        raise MemberError(str(error)) from error


def _child(member: Member) -> str:
    exact = member.selector.exact_match
    if exact is None or member.selector.regex_match or member.selector.label_match:
        raise MemberError("a member of type HyperNode needs exactMatch and nothing else")
    return exact.name
