"""Subgroups of a unit: pods that a PodGroup's policies put together, by their labels."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from global_sched.shared.api.names import LWS_GROUP_INDEX, PARTITION_ID
from global_sched.shared.api.volcano import SubGroupPolicy
from global_sched.shared.model.gang import TopologyConstraint
from global_sched.shared.model.label_selectors import selects
from global_sched.shared.placement import constraint_of, families_of
from member_agent.cache import PodRecord, PodUnit

Key = tuple[str, ...]
"""The policy (or the set of policies whose partitions lie together) and the label values."""


@dataclass(slots=True)
class Subgroup:
    """One subgroup: how many pods make it whole, those that run, and those that wait."""

    key: Key
    size: int
    running: int = 0
    waiting: list[PodRecord] = field(default_factory=list)

    @property
    def whole(self) -> bool:
        """Whether enough of its pods run."""
        return self.running >= self.size

    def missing(self) -> list[PodRecord]:
        """Waiting pods that would make it whole; empty when there are too few."""
        lacking = self.size - self.running
        return self.waiting[:lacking] if len(self.waiting) >= lacking else []


def policy_of(policies: Sequence[SubGroupPolicy], pod: PodRecord) -> SubGroupPolicy | None:
    """The first policy that matches; one without `matchLabelKeys` never does (Volcano's rule)."""
    rank = _rank(policies, pod)
    return policies[rank] if rank >= 0 else None


def rank_of(unit: PodUnit, pod: PodRecord) -> int:
    """The place of a pod's policy among the unit's; -1 for a pod that is in no subgroup."""
    return _rank(unit.subgroups, pod)


def _rank(policies: Sequence[SubGroupPolicy], pod: PodRecord) -> int:
    labels = dict(pod.labels)
    for at, policy in enumerate(policies):
        keys = policy.match_label_keys or []
        matches = bool(keys) and _may_match(policy, labels)
        if matches and all(key in labels for key in keys):
            return at
    return -1


def _may_match(policy: SubGroupPolicy, labels: Mapping[str, str]) -> bool:
    """A policy without a selector takes every pod that has its keys."""
    return policy.label_selector is None or selects(policy.label_selector, labels)


def family_of(unit: PodUnit, policy: SubGroupPolicy) -> str:
    """The set of tasks whose partitions lie together that a policy belongs to; else empty."""
    found = (names for names in families_of(unit.together) if policy.name in names)
    return "+".join(next(found, ()))


def key_of(unit: PodUnit, pod: PodRecord) -> Key:
    """The subgroup that a pod belongs to; empty for none."""
    policy = policy_of(unit.subgroups, pod)
    if policy is None:
        return ()
    labels = dict(pod.labels)
    name = family_of(unit, policy) or policy.name
    return (name, *(labels[key] for key in policy.match_label_keys or ()))


def by_index(policy: SubGroupPolicy) -> bool:
    """Whether pods of a subgroup are those of consecutive indexes."""
    return (policy.match_label_keys or []) in ([PARTITION_ID], [LWS_GROUP_INDEX])


def size_of(policy: SubGroupPolicy) -> int:
    """How many pods make a subgroup of the policy whole."""
    return max(1, policy.sub_group_size or 1)


def constraint_of_policy(policy: SubGroupPolicy) -> TopologyConstraint | None:
    """The constraint of every subgroup. Raises SpecError when it cannot be read."""
    return constraint_of(policy.network_topology)


def subgroups_of(
    unit: PodUnit, policy: SubGroupPolicy, pods: Sequence[PodRecord]
) -> dict[Key, Subgroup]:
    """The policy's subgroups in the order in which their pods come; running ones first."""
    found: dict[Key, Subgroup] = {}
    for pod, runs in (*((p, True) for p in unit.staying()), *((p, False) for p in pods)):
        if policy_of(unit.subgroups, pod) is not policy:
            continue
        key = key_of(unit, pod)
        group = found.setdefault(key, Subgroup(key, size_of(policy)))
        if runs:
            group.running += 1
        else:
            group.waiting.append(pod)
    return found


def oversized(unit: PodUnit, pods: Sequence[PodRecord]) -> dict[Key, int]:
    """Subgroups by label of which more pods wait than make one whole, and how many these are."""
    counts: dict[Key, int] = {}
    sizes: dict[Key, int] = {}
    for pod in pods:
        policy = policy_of(unit.subgroups, pod)
        if policy is not None and not by_index(policy):
            key = key_of(unit, pod)
            counts[key] = counts.get(key, 0) + 1
            sizes[key] = size_of(policy)
    return {key: count for key, count in counts.items() if count > sizes[key]}


def cut(unit: PodUnit, pods: Sequence[PodRecord], most: int) -> list[PodRecord]:
    """The pods without those of a subgroup that are beyond its size and beyond `most`."""
    large = oversized(unit, pods)
    counts: dict[Key, int] = {}
    kept: list[PodRecord] = []
    for pod in pods:
        policy = policy_of(unit.subgroups, pod)
        key = key_of(unit, pod)
        counts[key] = counts.get(key, 0) + 1
        if policy is None or key not in large or counts[key] <= max(most, size_of(policy)):
            kept.append(pod)
    return kept
