"""Spread constraints: how many clusters, regions, zones or providers are used.

The clusters come ranked, best first. Up to a rule's maximum of different values are taken in rank
order; fewer values than the minimum is a refusal. A cluster without a value for a field that a
rule names cannot be used at all.
"""

from collections.abc import Sequence
from typing import TypeVar

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.placement_rule import ClusterField, PlacementRule, SpreadRule
from global_sched.shared.model.selection import field_values
from global_sched.shared.model.verdict import Code, Verdict

T = TypeVar("T")


def lacks_field(rule: PlacementRule, cluster: Cluster) -> ClusterField | None:
    """The field that a spread constraint names and the cluster has no value for."""
    for spread in rule.spread:
        if not field_values(cluster, spread.by):
            return spread.by
    return None


def minimum_clusters(rule: PlacementRule) -> int:
    """How many clusters the policy wants at least; 1 without a constraint."""
    return max([1, *(spread.minimum for spread in rule.spread)])


def maximum_clusters(rule: PlacementRule) -> int:
    """How many clusters the policy allows at most; 0 for any number."""
    limits = [s.maximum for s in rule.spread if s.by == ClusterField.CLUSTER and s.maximum]
    return min(limits, default=0)


def choose(
    rule: PlacementRule, ranked: Sequence[tuple[Cluster, T]], *, kept: int = 0
) -> list[tuple[Cluster, T]] | Verdict:
    """The clusters to use, best first, or why the constraints cannot be met.

    The first `kept` of the ranked ones are in use already and are taken whatever the maximum is.
    The best cluster of each value comes first, so that a minimum of regions is met before a
    second cluster of one region is taken.
    """
    if not rule.spread:
        return list(ranked)
    ordered = list(ranked[:kept]) + _by_new_values(rule, ranked, kept)
    taken: list[tuple[Cluster, T]] = []
    seen: dict[ClusterField, set[str]] = {spread.by: set() for spread in rule.spread}
    for position, (cluster, item) in enumerate(ordered):
        if position >= kept and any(_exceeds(s, seen[s.by], cluster) for s in rule.spread):
            continue
        taken.append((cluster, item))
        for spread in rule.spread:
            seen[spread.by].update(field_values(cluster, spread.by))
    for spread in rule.spread:
        found = len(seen[spread.by])
        if found < spread.minimum:
            return Verdict(
                code=Code.NO_FIT,
                reason=Reason.CLUSTER_SPREAD,
                detail=f"the policy's spreadConstraints want {spread.minimum} different "
                f"{spread.by}s, and {found} can take it",
                missing=spread.minimum - found,
            )
    return taken


def _exceeds(spread: SpreadRule, seen: set[str], cluster: Cluster) -> bool:
    """Whether this cluster would bring more values than the maximum."""
    if not spread.maximum:
        return False
    return len(seen.union(field_values(cluster, spread.by))) > spread.maximum


def _by_new_values(
    rule: PlacementRule, ranked: Sequence[tuple[Cluster, T]], kept: int
) -> list[tuple[Cluster, T]]:
    """The clusters that are not in use: first those that bring a new value, in rank order."""
    seen = {value for cluster, _ in ranked[:kept] for value in _places(rule, cluster)}
    news: list[tuple[Cluster, T]] = []
    olds: list[tuple[Cluster, T]] = []
    for cluster, item in ranked[kept:]:
        values = _places(rule, cluster)
        (olds if values <= seen else news).append((cluster, item))
        seen |= values
    return news + olds


def _places(rule: PlacementRule, cluster: Cluster) -> set[tuple[ClusterField, str]]:
    """The cluster's values of the fields that rules name, its own name left out."""
    fields = [spread.by for spread in rule.spread if spread.by != ClusterField.CLUSTER]
    return {(field, value) for field in fields for value in field_values(cluster, field)}
