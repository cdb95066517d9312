"""Volcano's kinds: Job, PodGroup, Queue, HyperNode."""

from global_sched.shared.api.base import (
    Condition,
    JsonMap,
    LabelSelector,
    Meta,
    Quantity,
    Wire,
)
from global_sched.shared.api.core import PodTemplate


class NetworkTopology(Wire, frozen=True):
    """`mode` is hard (default) or soft; at most one of the two tier fields."""

    mode: str = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class PartitionPolicy(Wire, frozen=True):
    """A task's pods in partitions of equal size."""

    total_partitions: int = 0
    partition_size: int = 0
    min_partitions: int = 0
    network_topology: NetworkTopology | None = None


class LifecyclePolicy(Wire, frozen=True):
    """When this happens, do that."""

    action: str = ""
    event: str = ""
    events: list[str] | None = None
    exit_code: int | None = None
    timeout: str | None = None


class DependsOn(Wire, frozen=True):
    """Tasks that must run (or have succeeded) before this one starts."""

    name: list[str] | None = None
    iteration: str = ""


class Task(Wire, frozen=True):
    """One task of a Job."""

    name: str = ""
    replicas: int | None = None
    min_available: int | None = None
    template: PodTemplate = PodTemplate()
    policies: list[LifecyclePolicy] | None = None
    max_retry: int | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class VolcanoJobSpec(Wire, frozen=True):
    """batch.volcano.sh/v1alpha1 Job."""

    scheduler_name: str = ""
    min_available: int | None = None
    tasks: list[Task] | None = None
    policies: list[LifecyclePolicy] | None = None
    plugins: dict[str, list[str] | None] | None = None
    queue: str = ""
    max_retry: int | None = None
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    network_topology: NetworkTopology | None = None


class JobState(Wire, frozen=True):
    """Phase and why."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    last_transition_time: str | None = None


class VolcanoJobStatus(Wire, frozen=True):
    """What the Job controller writes."""

    state: JobState = JobState()
    min_available: int = 0
    pending: int = 0
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    terminating: int = 0
    unknown: int = 0
    version: int = 0
    retry_count: int = 0
    running_duration: str | None = None
    task_status_count: dict[str, JsonMap] | None = None
    controlled_resources: dict[str, str] | None = None
    conditions: list[JsonMap] | None = None


class VolcanoJob(Wire, frozen=True):
    """batch.volcano.sh/v1alpha1 Job."""

    api_version: str = "batch.volcano.sh/v1alpha1"
    kind: str = "Job"
    metadata: Meta = Meta()
    spec: VolcanoJobSpec = VolcanoJobSpec()
    status: VolcanoJobStatus = VolcanoJobStatus()


class SubGroupPolicy(Wire, frozen=True):
    """Pods of a group in subgroups of equal size, by labels."""

    name: str = ""
    network_topology: NetworkTopology | None = None
    sub_group_size: int | None = None
    min_sub_groups: int | None = None
    label_selector: LabelSelector | None = None
    match_label_keys: list[str] | None = None


class PodGroupSpec(Wire, frozen=True):
    """scheduling.volcano.sh/v1beta1 PodGroup."""

    min_member: int = 0
    min_task_member: dict[str, int] | None = None
    queue: str = ""
    priority_class_name: str = ""
    min_resources: dict[str, Quantity] | None = None
    network_topology: NetworkTopology | None = None
    sub_group_policy: list[SubGroupPolicy] | None = None


class PodGroupStatus(Wire, frozen=True):
    """Phase and counts."""

    phase: str = ""
    running: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[JsonMap] | None = None


class PodGroup(Wire, frozen=True):
    """scheduling.volcano.sh/v1beta1 PodGroup."""

    api_version: str = "scheduling.volcano.sh/v1beta1"
    kind: str = "PodGroup"
    metadata: Meta = Meta()
    spec: PodGroupSpec = PodGroupSpec()
    status: PodGroupStatus = PodGroupStatus()


class Guarantee(Wire, frozen=True):
    """What is kept for a queue."""

    resource: dict[str, Quantity] | None = None


class ExtendCluster(Wire, frozen=True):
    """A cluster that a queue reaches to; `capacity` is its hard limit there."""

    name: str = ""
    weight: int | None = None
    capacity: dict[str, Quantity] | None = None


class QueueSpec(Wire, frozen=True):
    """scheduling.volcano.sh/v1beta1 Queue: the quota words."""

    weight: int | None = None
    priority: int | None = None
    capability: dict[str, Quantity] | None = None
    deserved: dict[str, Quantity] | None = None
    guarantee: Guarantee | None = None
    reclaimable: bool | None = None
    parent: str = ""
    extend_clusters: list[ExtendCluster] | None = None


class Reservation(Wire, frozen=True):
    """What of the guarantee is kept while it is unused."""

    nodes: list[str] | None = None
    resource: dict[str, Quantity] | None = None


class QueueStatus(Wire, frozen=True):
    """State and counts."""

    state: str = ""
    unknown: int = 0
    pending: int = 0
    running: int = 0
    inqueue: int = 0
    completed: int = 0
    reservation: Reservation | None = None
    allocated: dict[str, Quantity] | None = None


class Queue(Wire, frozen=True):
    """scheduling.volcano.sh/v1beta1 Queue."""

    api_version: str = "scheduling.volcano.sh/v1beta1"
    kind: str = "Queue"
    metadata: Meta = Meta()
    spec: QueueSpec = QueueSpec()
    status: QueueStatus = QueueStatus()


class ExactMatch(Wire, frozen=True):
    """One name."""

    name: str = ""


class RegexMatch(Wire, frozen=True):
    """An RE2 pattern, unanchored."""

    pattern: str = ""


class MemberSelector(Wire, frozen=True):
    """Exactly one of the three."""

    exact_match: ExactMatch | None = None
    regex_match: RegexMatch | None = None
    label_match: LabelSelector | None = None


class Member(Wire, frozen=True):
    """A member of a HyperNode: nodes, or a HyperNode below it."""

    type: str = ""
    selector: MemberSelector = MemberSelector()


class HyperNodeSpec(Wire, frozen=True):
    """Tier and members."""

    tier: int = 0
    tier_name: str = ""
    members: list[Member] | None = None


class HyperNodeStatus(Wire, frozen=True):
    """Conditions and the number of nodes."""

    conditions: list[Condition] | None = None
    node_count: int = 0


class HyperNode(Wire, frozen=True):
    """topology.volcano.sh/v1alpha1 HyperNode."""

    api_version: str = "topology.volcano.sh/v1alpha1"
    kind: str = "HyperNode"
    metadata: Meta = Meta()
    spec: HyperNodeSpec = HyperNodeSpec()
    status: HyperNodeStatus = HyperNodeStatus()
