"""Karmada's kinds: bindings, clusters, override policies."""

import msgspec

from global_sched.shared.api.base import (
    Condition,
    JsonMap,
    LabelSelector,
    LabelSelectorRequirement,
    Meta,
    Quantity,
    Wire,
)
from global_sched.shared.api.core import NodeSelector, TaintWire, TolerationWire


class ObjectReference(Wire, frozen=True):
    """The template that a binding stands for."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""


class NodeClaim(Wire, frozen=True):
    """Node constraints of a replica."""

    hard_node_affinity: NodeSelector | None = None
    node_selector: dict[str, str] | None = None
    tolerations: list[TolerationWire] | None = None


class ReplicaRequirements(Wire, frozen=True):
    """What one replica asks for, as Karmada's interpreter says."""

    node_claim: NodeClaim | None = None
    resource_request: dict[str, Quantity] | None = None
    priority_class_name: str = ""


class Component(Wire, frozen=True):
    """One template of a job with several."""

    name: str = ""
    replicas: int = 0
    replica_requirements: ReplicaRequirements | None = None


class TargetCluster(Wire, frozen=True):
    """An entry of `spec.clusters`."""

    name: str = ""
    replicas: int | None = None


class FieldSelector(Wire, frozen=True):
    """Requirements on provider, region, zone."""

    match_expressions: list[LabelSelectorRequirement] | None = None


class ClusterAffinity(Wire, frozen=True):
    """Which clusters; all parts hold."""

    affinity_name: str = ""
    label_selector: LabelSelector | None = None
    field_selector: FieldSelector | None = None
    cluster_names: list[str] | None = None
    exclude: list[str] | None = None
    overflow_affinities: "list[ClusterAffinity] | None" = None


class SpreadConstraint(Wire, frozen=True):
    """How many different clusters, regions, zones or providers."""

    spread_by_field: str = ""
    spread_by_label: str = ""
    min_groups: int | None = None
    max_groups: int | None = None


class StaticClusterWeight(Wire, frozen=True):
    """A weight for the clusters of an affinity."""

    target_cluster: ClusterAffinity = ClusterAffinity()
    weight: int = 0


class WeightPreference(Wire, frozen=True):
    """Static weights, or dynamic ones."""

    static_weight_list: list[StaticClusterWeight] | None = None
    dynamic_weight: str = ""


class ReplicaScheduling(Wire, frozen=True):
    """Duplicated, or Divided and how."""

    replica_scheduling_type: str = ""
    replica_division_preference: str = ""
    weight_preference: WeightPreference | None = None


class PlacementWire(Wire, frozen=True):
    """A policy's placement."""

    cluster_affinity: ClusterAffinity | None = None
    cluster_affinities: list[ClusterAffinity] | None = None
    cluster_tolerations: list[TolerationWire] | None = None
    spread_constraints: list[SpreadConstraint] | None = None
    replica_scheduling: ReplicaScheduling | None = None


class GracefulEvictionTask(Wire, frozen=True):
    """A cluster that is being left."""

    from_cluster: str = ""
    purge_mode: str = ""
    reason: str = ""
    producer: str = ""
    creation_timestamp: str | None = None


class Suspension(Wire, frozen=True):
    """What is held back."""

    dispatching: bool | None = None
    scheduling: bool | None = None


class BindingSpec(Wire, frozen=True):
    """What a scheduler reads of a binding. `placement` is kept as it is stored (empty: absent)."""

    resource: ObjectReference = ObjectReference()
    replicas: int | None = None
    replica_requirements: ReplicaRequirements | None = None
    components: list[Component] | None = None
    clusters: list[TargetCluster] | None = None
    placement: msgspec.Raw = msgspec.Raw()
    graceful_eviction_tasks: list[GracefulEvictionTask] | None = None
    required_by: list[JsonMap] | None = None
    scheduler_name: str = ""
    reschedule_triggered_at: str | None = None
    suspension: Suspension | None = None
    failover: JsonMap | None = None
    """What Karmada's own failover does with it, by `application` and `cluster`."""


class AggregatedStatusItem(Wire, frozen=True):
    """The status of the copy in one cluster."""

    cluster_name: str = ""
    status: JsonMap | None = None
    applied: bool = False
    applied_message: str = ""
    health: str = ""


class BindingStatus(Wire, frozen=True):
    """What was observed and decided."""

    scheduler_observed_generation: int | None = None
    scheduler_observed_affinity_name: str = msgspec.field(
        name="schedulerObservingAffinityName", default=""
    )
    last_scheduled_time: str | None = None
    conditions: list[Condition] | None = None
    aggregated_status: list[AggregatedStatusItem] | None = None


class ResourceBinding(Wire, frozen=True):
    """work.karmada.io/v1alpha2 ResourceBinding or ClusterResourceBinding."""

    api_version: str = "work.karmada.io/v1alpha2"
    kind: str = "ResourceBinding"
    metadata: Meta = Meta()
    spec: BindingSpec = BindingSpec()
    status: BindingStatus = BindingStatus()


class ApiResource(Wire, frozen=True):
    """A served kind."""

    name: str = ""
    kind: str = ""


class ApiEnablement(Wire, frozen=True):
    """The kinds of one group version."""

    group_version: str = ""
    resources: list[ApiResource] | None = None


class ResourceSummary(Wire, frozen=True):
    """Sums over a cluster's nodes; `allocating` counts pods without a node."""

    allocatable: dict[str, Quantity] | None = None
    allocating: dict[str, Quantity] | None = None
    allocated: dict[str, Quantity] | None = None


class ClusterSpec(Wire, frozen=True):
    """Where it is and what taints it has."""

    id: str = ""
    sync_mode: str = ""
    """Push: the control plane writes to the member; Pull: an agent there fetches its Works."""
    api_endpoint: str = ""
    provider: str = ""
    region: str = ""
    zone: str = ""
    zones: list[str] | None = None
    taints: list[TaintWire] | None = None


class NodeSummary(Wire, frozen=True):
    """Node totals."""

    total_num: int = 0
    ready_num: int = 0


class ClusterStatus(Wire, frozen=True):
    """Health, kinds and sums."""

    kubernetes_version: str = ""
    node_summary: NodeSummary | None = None
    conditions: list[Condition] | None = None
    api_enablements: list[ApiEnablement] | None = None
    resource_summary: ResourceSummary | None = None


class Cluster(Wire, frozen=True):
    """cluster.karmada.io/v1alpha1 Cluster."""

    api_version: str = "cluster.karmada.io/v1alpha1"
    kind: str = "Cluster"
    metadata: Meta = Meta()
    spec: ClusterSpec = ClusterSpec()
    status: ClusterStatus = ClusterStatus()


class ResourceSelector(Wire, frozen=True):
    """Which templates a policy is for."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    label_selector: LabelSelector | None = None


class PlaintextOverrider(Wire, frozen=True):
    """A JSON-patch-like operation on the copy."""

    path: str = ""
    operator: str = ""
    value: object = None


class Overriders(Wire, frozen=True):
    """Only plaintext overriders can be read; the others are noticed."""

    plaintext: list[PlaintextOverrider] | None = None
    field_overrider: list[JsonMap] | None = None


class RuleWithCluster(Wire, frozen=True):
    """Overriders for the clusters of an affinity (None: all)."""

    target_cluster: ClusterAffinity | None = None
    overriders: Overriders = Overriders()


class OverridePolicySpec(Wire, frozen=True):
    """Also the deprecated top-level pair."""

    resource_selectors: list[ResourceSelector] | None = None
    override_rules: list[RuleWithCluster] | None = None
    target_cluster: ClusterAffinity | None = None
    overriders: Overriders | None = None


class OverridePolicy(Wire, frozen=True):
    """policy.karmada.io/v1alpha1 OverridePolicy or ClusterOverridePolicy."""

    api_version: str = "policy.karmada.io/v1alpha1"
    kind: str = "OverridePolicy"
    metadata: Meta = Meta()
    spec: OverridePolicySpec = OverridePolicySpec()
