"""Which clusters a policy selects, and in which order it tries its groups of clusters.

A policy has one affinity or several ordered ones. The group that was used last comes first, then
those behind it, and at the end those before it: a group further back is a failover, and going
forward to a better group is what a reschedule asks for. A group may have overflow
selectors, which widen it one after another when it does not suffice.
"""

from dataclasses import dataclass

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterField,
    ClusterSelector,
    PlacementRule,
)
from global_sched.shared.model.pods import Operator, Requirement, matches

_FIELDS = (ClusterField.PROVIDER, ClusterField.REGION, ClusterField.ZONE)
"""Fields that a selector may name; a requirement on any other holds nowhere."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Choice:
    """One set of clusters to try: a group with as much of its overflow as this try takes."""

    name: str = ""
    selectors: tuple[ClusterSelector, ...] = (ClusterSelector(),)

    def selects(self, cluster: Cluster) -> bool:
        """Whether the cluster is in the set."""
        return any(selected(selector, cluster) for selector in self.selectors)


def selected(selector: ClusterSelector, cluster: Cluster) -> bool:
    """Whether every part of the selector holds; an empty part holds."""
    if cluster.name in selector.exclude:
        return False
    if selector.names and cluster.name not in selector.names:
        return False
    if selector.labels:
        labels = dict(cluster.labels)
        if not all(matches(requirement, labels) for requirement in selector.labels):
            return False
    return all(_field_matches(requirement, cluster) for requirement in selector.fields)


def _field_matches(requirement: Requirement, cluster: Cluster) -> bool:
    """`In` wants all of the field's values in the list and at least one value; `NotIn` none.

    A cluster in two zones is in a list of zones only when both are there (Karmada's rule).
    """
    if requirement.key not in _FIELDS:
        return False
    values = field_values(cluster, ClusterField(requirement.key))
    match requirement.operator:
        case Operator.IN | Operator.EXISTS:
            listed = requirement.operator == Operator.EXISTS or all(
                value in requirement.values for value in values
            )
            return bool(values) and listed
        case Operator.NOT_IN:
            return not any(value in requirement.values for value in values)
        case Operator.DOES_NOT_EXIST:
            return not values
        case Operator.GT | Operator.LT:
            return False


def field_values(cluster: Cluster, field: ClusterField) -> tuple[str, ...]:
    """The cluster's values of a field, empty when it has none."""
    match field:
        case ClusterField.CLUSTER:
            return (cluster.name,)
        case ClusterField.PROVIDER:
            return (cluster.provider,) if cluster.provider else ()
        case ClusterField.REGION:
            return (cluster.region,) if cluster.region else ()
        case ClusterField.ZONE:
            return cluster.zones


def choices(rule: PlacementRule, observed: str) -> tuple[Choice, ...]:
    """The sets of clusters to try, in order; the group named `observed` first."""
    groups = rule.affinities or (AffinityGroup(),)
    first = next((i for i, group in enumerate(groups) if group.name == observed), 0)
    return tuple(
        Choice(name=group.name, selectors=(group.selector, *group.overflow[:wide]))
        for group in groups[first:] + groups[:first]
        for wide in range(len(group.overflow) + 1)
    )


def in_any_group(rule: PlacementRule, cluster: Cluster) -> bool:
    """Whether any group or overflow of the policy selects the cluster."""
    return not rule.affinities or any(
        selected(selector, cluster)
        for group in rule.affinities
        for selector in (group.selector, *group.overflow)
    )
