"""Selection of clusters by a policy's selector: Karmada's rules, in one place."""

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.placement_rule import ClusterField, ClusterSelector, PlacementRule
from global_sched.shared.model.pods import Operator, Requirement, matches

_FIELDS = (ClusterField.PROVIDER, ClusterField.REGION, ClusterField.ZONE)
"""Fields that a selector may name; a requirement on any other holds nowhere."""


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


def selected_by_any(rule: PlacementRule, cluster: Cluster) -> bool:
    """Whether any group or overflow of the policy selects the cluster."""
    return not rule.affinities or any(
        selected(selector, cluster)
        for group in rule.affinities
        for selector in (group.selector, *group.overflow)
    )


def only_cluster(rule: PlacementRule) -> ClusterName | None:
    """The cluster beside which the policy can select none, by its names; None: it can."""
    found: set[ClusterName] = set()
    for group in rule.affinities:
        for selector in (group.selector, *group.overflow):
            if not selector.names:
                return None
            found |= set(selector.names) - set(selector.exclude)
    return found.pop() if len(found) == 1 else None


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
