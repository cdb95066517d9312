"""Karmada's kinds that only its own controllers act on: propagation policies, Works, rebalancers.

A scheduler reads none of them; the embedded control plane serves them, and their CRDs come from
here. See `karmada` for the kinds that a scheduler reads.
"""

from global_sched.shared.api.base import Condition, JsonMap, Meta, Wire
from global_sched.shared.api.karmada import PlacementWire, ResourceSelector
from global_sched.shared.api.resource import Resource

WORKLOAD_REBALANCERS = Resource(
    "apps.karmada.io",
    "v1alpha1",
    "workloadrebalancers",
    "WorkloadRebalancer",
    namespaced=False,
)


class ClusterNames(Wire, frozen=True):
    """Clusters by name."""

    cluster_names: list[str] | None = None


class PolicySuspension(Wire, frozen=True):
    """What a policy holds back: dispatching everywhere, or on some clusters."""

    dispatching: bool | None = None
    dispatching_on_clusters: ClusterNames | None = None


class SchedulePriority(Wire, frozen=True):
    """Where the binding's priority comes from; only KubePriorityClass is known."""

    priority_class_source: str = ""
    priority_class_name: str = ""


class PropagationSpec(Wire, frozen=True):
    """Which templates are propagated, to where, and how."""

    resource_selectors: list[ResourceSelector] | None = None
    propagate_deps: bool = False
    placement: PlacementWire | None = None
    priority: int | None = None
    """Of two policies that select the same template, the higher one claims it."""
    preemption: str = ""
    """Whether a policy may take over what a lower one has claimed: Always or Never."""
    dependent_overrides: list[str] | None = None
    scheduler_name: str = ""
    """Who decides for the bindings; it cannot be changed later."""
    failover: JsonMap | None = None
    conflict_resolution: str = ""
    """What happens when a member has the object already: Abort or Overwrite."""
    activation_preference: str = ""
    """Lazy: a change of the policy waits for the next change of the template."""
    suspension: PolicySuspension | None = None
    preserve_resources_on_deletion: bool | None = None
    schedule_priority: SchedulePriority | None = None


class PropagationPolicy(Wire, frozen=True):
    """policy.karmada.io/v1alpha1 PropagationPolicy or ClusterPropagationPolicy."""

    api_version: str = "policy.karmada.io/v1alpha1"
    kind: str = "PropagationPolicy"
    metadata: Meta = Meta()
    spec: PropagationSpec = PropagationSpec()


class Manifests(Wire, frozen=True):
    """The objects of a Work, as the member is to have them."""

    manifests: list[JsonMap] | None = None


class WorkSpec(Wire, frozen=True):
    """What one member is to have."""

    workload: Manifests = Manifests()
    suspend_dispatching: bool | None = None
    preserve_resources_on_deletion: bool | None = None


class ManifestIdentifier(Wire, frozen=True):
    """Which manifest a status belongs to."""

    ordinal: int = 0
    group: str = ""
    version: str = ""
    kind: str = ""
    resource: str = ""
    namespace: str = ""
    name: str = ""


class ManifestStatus(Wire, frozen=True):
    """What the member says about one manifest."""

    identifier: ManifestIdentifier = ManifestIdentifier()
    status: JsonMap | None = None
    health: str = ""


class WorkStatus(Wire, frozen=True):
    """Whether the manifests are in the member, and how they are."""

    conditions: list[Condition] | None = None
    manifest_statuses: list[ManifestStatus] | None = None


class Work(Wire, frozen=True):
    """work.karmada.io/v1alpha1 Work: the copy of a template for one member."""

    api_version: str = "work.karmada.io/v1alpha1"
    kind: str = "Work"
    metadata: Meta = Meta()
    spec: WorkSpec = WorkSpec()
    status: WorkStatus = WorkStatus()


class RebalancedObject(Wire, frozen=True):
    """A template that is to be placed again."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""


class RebalancerSpec(Wire, frozen=True):
    """Which templates, and when the object itself may go."""

    workloads: list[RebalancedObject] | None = None
    ttl_seconds_after_finished: int | None = None


class RebalancerStatus(Wire, frozen=True):
    """What became of each."""

    observed_workloads: list[JsonMap] | None = None
    observed_generation: int | None = None
    finish_time: str | None = None


class WorkloadRebalancer(Wire, frozen=True):
    """apps.karmada.io/v1alpha1 WorkloadRebalancer: the users' "place this again now"."""

    api_version: str = "apps.karmada.io/v1alpha1"
    kind: str = "WorkloadRebalancer"
    metadata: Meta = Meta()
    spec: RebalancerSpec = RebalancerSpec()
    status: RebalancerStatus = RebalancerStatus()
