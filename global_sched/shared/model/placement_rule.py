"""Clusters that a policy allows a workload: Karmada's placement, reduced to values."""

from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.pods import Requirement, Toleration


class ClusterField(StrEnum):
    """Cluster fields that an affinity or a spread constraint can name."""

    CLUSTER = "cluster"
    PROVIDER = "provider"
    REGION = "region"
    ZONE = "zone"


class Preference(StrEnum):
    """How Divided replicas are split."""

    AGGREGATED = "Aggregated"
    """Into as few clusters as possible."""
    STATIC_WEIGHTS = "StaticWeights"
    """By the listed weights (all equal when none is listed)."""
    DYNAMIC_WEIGHTS = "DynamicWeights"
    """By how many replicas each cluster can hold."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ClusterSelector:
    """Karmada's ClusterAffinity: all parts must hold; an empty part holds."""

    names: tuple[ClusterName, ...] = ()
    exclude: tuple[ClusterName, ...] = ()
    labels: tuple[Requirement, ...] = ()
    fields: tuple[Requirement, ...] = ()
    """Requirements on `provider`, `region` or `zone` (In, NotIn)."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class AffinityGroup:
    """One ordered choice of clusters. `name` is empty for the single `clusterAffinity`.

    `overflow` selectors extend the group, in order, when the first does not suffice.
    """

    name: str = ""
    selector: ClusterSelector = ClusterSelector()
    overflow: tuple[ClusterSelector, ...] = ()


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class SpreadRule:
    """At least `minimum` and at most `maximum` (0: no limit) different values of a field."""

    by: ClusterField
    minimum: int = 1
    maximum: int = 0


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class StaticWeight:
    """A weight for the clusters that a selector matches."""

    selector: ClusterSelector
    weight: int


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PlacementRule:
    """A policy's placement. No affinity group means every cluster."""

    affinities: tuple[AffinityGroup, ...] = ()
    tolerations: tuple[Toleration, ...] = ()
    spread: tuple[SpreadRule, ...] = ()
    preference: Preference = Preference.AGGREGATED
    weights: tuple[StaticWeight, ...] = ()
