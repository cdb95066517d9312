"""The schedulerName after override policies, per cluster.

Karmada applies ClusterOverridePolicies first, then the namespace's OverridePolicies; within each,
policies that select less exactly go first, then by name; a later one wins. We follow plaintext
overriders on the very paths where a schedulerName stands; anything that may touch such a path in
another way makes the name unknown (None), which is neither a fit nor a refusal.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Final

from global_sched.cache.readers.selectors import (
    SelectorError,
    cluster_selector,
    label_requirements,
    labels_match,
)
from global_sched.shared.api.karmada import (
    ClusterAffinity,
    OverridePolicy,
    Overriders,
    ResourceSelector,
)
from global_sched.shared.kinds import KINDS, kind_of
from global_sched.shared.kinds.parts.reading import Reading, SchedulerField, scheduling
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.placement_rule import ClusterSelector
from global_sched.shared.model.pods import Requirement
from global_sched.shared.model.selection import selected

Overrides = tuple[tuple[ClusterName, str | None], ...]
_SCHEDULERS: Final = tuple(
    path.split("/") for path in sorted({path for one in KINDS.values() for path in one.schedulers})
)
"""Where a schedulerName may stand in any kind, part by part."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subject:
    """The template that policies are asked about."""

    api_version: str
    kind: str
    namespace: str
    name: str
    labels: tuple[tuple[str, str], ...] = ()


@dataclass(frozen=True, slots=True)
class _Step:
    """Set what stands at a path; a value of None makes it unknown."""

    path: str
    value: str | None


@dataclass(frozen=True, slots=True)
class _Rule:
    selector: ClusterSelector | None
    """None: every cluster. A selector that cannot be read may mean any cluster, too."""
    steps: tuple[_Step, ...]


@dataclass(frozen=True, slots=True)
class _Selector:
    wire: ResourceSelector
    labels: tuple[Requirement, ...]
    readable: bool = True

    def rank(self, subject: Subject) -> int:
        """How exactly it selects the template: 0 not at all, 1 all, 2 by labels, 3 by name."""
        wire = self.wire
        if (wire.api_version, wire.kind) != (subject.api_version, subject.kind):
            return 0
        if wire.namespace and wire.namespace != subject.namespace:
            return 0
        if wire.name:
            return 3 if wire.name == subject.name else 0
        if wire.label_selector is None:
            return 1
        return 2 if not self.readable or labels_match(self.labels, dict(subject.labels)) else 0


@dataclass(frozen=True, slots=True, kw_only=True)
class _Policy:
    namespace: str
    name: str
    selectors: tuple[_Selector, ...]
    rules: tuple[_Rule, ...]

    def rank(self, subject: Subject) -> int:
        if self.namespace and self.namespace != subject.namespace:
            return 0
        if not self.selectors:
            return 1
        return max(selector.rank(subject) for selector in self.selectors)


class SchedulerOverrides:
    """The override policies that may touch a schedulerName; all others are not kept."""

    def __init__(self) -> None:
        self._policies: dict[tuple[str, str], _Policy] = {}

    def upsert(self, wire: OverridePolicy) -> bool:
        """Take a policy in; whether any schedulerName may have changed."""
        key = (wire.metadata.namespace, wire.metadata.name)
        policy = _read(wire)
        if policy is None:
            return self._policies.pop(key, None) is not None
        if self._policies.get(key) == policy:
            return False
        self._policies[key] = policy
        return True

    def unreadable(self, namespace: str, name: str) -> bool:
        """A policy that cannot be decoded may touch any schedulerName of its namespace."""
        rule = _Rule(None, (_Step("/spec", None),))
        policy = _Policy(namespace=namespace, name=name, selectors=(), rules=(rule,))
        changed = self._policies.get((namespace, name)) != policy
        self._policies[(namespace, name)] = policy
        return changed

    def delete(self, namespace: str, name: str) -> bool:
        """The policy is gone; whether any schedulerName may have changed."""
        return self._policies.pop((namespace, name), None) is not None

    def __bool__(self) -> bool:
        return bool(self._policies)

    def names_for(
        self, subject: Subject, reading: Reading, clusters: Mapping[ClusterName, Cluster]
    ) -> Overrides:
        """The names that differ from the template's, by cluster."""
        ranked = [(p.rank(subject), p) for p in self._policies.values()]
        matching = sorted(
            ((bool(p.namespace), rank, p.name, p) for rank, p in ranked if rank),
            key=lambda item: item[:3],
        )
        if not matching:
            return ()
        plain = reading.scheduler_name()
        found = []
        for name in sorted(clusters):
            steps = [
                step
                for *_, policy in matching
                for rule in policy.rules
                if rule.selector is None or selected(rule.selector, clusters[name])
                for step in rule.steps
            ]
            if steps and (after := _apply(reading, steps)) != plain:
                found.append((name, after))
        return tuple(found)


def _apply(reading: Reading, steps: Iterable[_Step]) -> str | None:
    plain = reading.scheduling
    fields = {field.path: field.value for field in plain.fields}
    kind = kind_of(reading.api_version, reading.kind)
    brings = kind.brings if kind is not None else ()
    fallback = plain.fallback
    if fallback is not None:
        fields[fallback.path] = fallback.value
    for step in steps:
        if step.path in fields and step.value is not None:
            fields[step.path] = step.value
        elif _may_touch(step.path, fields, brings):
            return None
    return scheduling(
        [SchedulerField(field.path, fields[field.path]) for field in plain.fields],
        None if fallback is None else SchedulerField(fallback.path, fields[fallback.path]),
        default=plain.default,
    ).name


def _may_touch(path: str, fields: Iterable[str], brings: Iterable[str]) -> bool:
    """Whether a change at a path may change, add or remove a schedulerName."""
    prefix = path.rstrip("/") + "/"
    if any(field == path or field.startswith(prefix) for field in fields):
        return True
    # A task or replica type that is added has a template of its own, and so has a leader.
    parts = path.rstrip("/").split("/")
    patterns = (one.split("/") for one in brings)
    return any(len(one) == len(parts) and _above(parts, one) for one in patterns)


def _read(wire: OverridePolicy) -> _Policy | None:
    """The policy reduced to what concerns schedulerName; None when nothing does."""
    spec = wire.spec
    rules = [
        _rule(rule.target_cluster, rule.overriders, f"spec.overrideRules[{i}]")
        for i, rule in enumerate(spec.override_rules or ())
    ]
    if spec.overriders is not None and not spec.override_rules:
        rules.append(_rule(spec.target_cluster, spec.overriders, "spec"))
    relevant = tuple(rule for rule in rules if rule.steps)
    if not relevant:
        return None
    return _Policy(
        namespace=wire.metadata.namespace,
        name=wire.metadata.name,
        selectors=tuple(_selector(one) for one in spec.resource_selectors or ()),
        rules=relevant,
    )


def _selector(wire: ResourceSelector) -> _Selector:
    try:
        return _Selector(wire, label_requirements(wire.label_selector, "labelSelector"))
    except SelectorError:
        return _Selector(wire, (), readable=False)


def _rule(affinity: ClusterAffinity | None, overriders: Overriders, field: str) -> _Rule:
    steps = [
        _Step(one.path, _value(one.operator, one.value))
        for one in overriders.plaintext or ()
        if _relevant(one.path)
    ]
    for one in overriders.field_overrider or ():
        path = one.get("fieldPath")
        if not isinstance(path, str) or _relevant(path):
            steps.append(_Step(path if isinstance(path, str) else "", None))
    if affinity is None:
        return _Rule(None, tuple(steps))
    try:
        return _Rule(cluster_selector(affinity, f"{field}.targetCluster"), tuple(steps))
    except SelectorError:
        return _Rule(None, tuple(_Step(step.path, None) for step in steps))


def _relevant(path: str) -> bool:
    """Whether a path is at or above a place where a schedulerName may stand."""
    parts = path.rstrip("/").split("/")
    return any(_above(parts, pattern) for pattern in _SCHEDULERS)


def _above(parts: list[str], pattern: list[str]) -> bool:
    """Whether a path leads to, or is a beginning of, what a pattern (`*` is any part) means."""
    return len(parts) <= len(pattern) and all(
        want in ("*", part) for part, want in zip(parts, pattern, strict=False)
    )


def _value(operator: str, value: object) -> str | None:
    match operator:
        case "remove":
            return ""
        case "add" | "replace" if isinstance(value, str):
            return value
        case _:
            return None
