"""Kubernetes' own kinds: nodes, pods and their templates, PriorityClasses, ConfigMaps."""

from global_sched.shared.api.base import (
    Condition,
    JsonMap,
    LabelSelector,
    LabelSelectorRequirement,
    Meta,
    Quantity,
    Wire,
)


class ResourceRequirements(Wire, frozen=True):
    """Requests and limits of a container, and which of the pod's resource claims it uses."""

    requests: dict[str, Quantity] | None = None
    limits: dict[str, Quantity] | None = None
    claims: list[JsonMap] | None = None


class ContainerPort(Wire, frozen=True):
    """Only the host port matters for placement."""

    container_port: int = 0
    host_port: int = 0
    protocol: str = "TCP"


class Container(Wire, frozen=True):
    """A container's name, resources, host ports, and restart policy (sidecars)."""

    name: str = ""
    resources: ResourceRequirements = ResourceRequirements()
    ports: list[ContainerPort] | None = None
    restart_policy: str | None = None


class NodeSelectorTerm(Wire, frozen=True):
    """All expressions must hold."""

    match_expressions: list[LabelSelectorRequirement] | None = None
    match_fields: list[LabelSelectorRequirement] | None = None


class NodeSelector(Wire, frozen=True):
    """Any of the terms."""

    node_selector_terms: list[NodeSelectorTerm] | None = None


class NodeAffinity(Wire, frozen=True):
    """Only the required part decides."""

    required_during_scheduling_ignored_during_execution: NodeSelector | None = None


class PodAffinityTerm(Wire, frozen=True):
    """A required pod (anti-)affinity."""

    label_selector: LabelSelector | None = None
    topology_key: str = ""


class PodAntiAffinity(Wire, frozen=True):
    """Only the required part decides."""

    required_during_scheduling_ignored_during_execution: list[PodAffinityTerm] | None = None


class Affinity(Wire, frozen=True):
    """Affinities of a pod."""

    node_affinity: NodeAffinity | None = None
    pod_anti_affinity: PodAntiAffinity | None = None


class TolerationWire(Wire, frozen=True):
    """core/v1 Toleration."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""
    toleration_seconds: int | None = None


class TaintWire(Wire, frozen=True):
    """core/v1 Taint."""

    key: str = ""
    value: str = ""
    effect: str = ""


class TopologySpread(Wire, frozen=True):
    """One topology spread constraint of a pod."""

    max_skew: int = 1
    topology_key: str = ""
    when_unsatisfiable: str = ""


class PodSpec(Wire, frozen=True):
    """What placement reads of a pod."""

    containers: list[Container] | None = None
    init_containers: list[Container] | None = None
    resources: ResourceRequirements = ResourceRequirements()
    """Of the whole pod, in place of what its containers say."""
    overhead: dict[str, Quantity] | None = None
    node_selector: dict[str, str] | None = None
    affinity: Affinity | None = None
    tolerations: list[TolerationWire] | None = None
    topology_spread_constraints: list[TopologySpread] | None = None
    scheduler_name: str = ""
    priority_class_name: str = ""
    priority: int | None = None
    node_name: str = ""
    active_deadline_seconds: int | None = None
    resource_claims: list[JsonMap] | None = None
    scheduling_gates: list[JsonMap] | None = None
    """While there are any, the pod may not be bound."""


class PodTemplate(Wire, frozen=True):
    """A pod template: metadata and spec."""

    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()


class ContainerStateTerminated(Wire, frozen=True):
    """How a container ended."""

    exit_code: int = 0
    reason: str = ""
    finished_at: str | None = None


class ContainerState(Wire, frozen=True):
    """Only the end matters."""

    terminated: ContainerStateTerminated | None = None


class ContainerStatus(Wire, frozen=True):
    """State of one container."""

    name: str = ""
    state: ContainerState = ContainerState()
    ready: bool = False
    restart_count: int = 0


class PodStatus(Wire, frozen=True):
    """Phase and why."""

    phase: str = ""
    reason: str = ""
    message: str = ""
    conditions: list[Condition] | None = None
    container_statuses: list[ContainerStatus] | None = None


class Pod(Wire, frozen=True):
    """core/v1 Pod."""

    api_version: str = "v1"
    kind: str = "Pod"
    metadata: Meta = Meta()
    spec: PodSpec = PodSpec()
    status: PodStatus = PodStatus()


class NodeSpec(Wire, frozen=True):
    """Taints and the cordon."""

    unschedulable: bool = False
    taints: list[TaintWire] | None = None


class NodeStatus(Wire, frozen=True):
    """What it can hold, and whether it is ready."""

    allocatable: dict[str, Quantity] | None = None
    capacity: dict[str, Quantity] | None = None
    conditions: list[Condition] | None = None


class Node(Wire, frozen=True):
    """core/v1 Node."""

    api_version: str = "v1"
    kind: str = "Node"
    metadata: Meta = Meta()
    spec: NodeSpec = NodeSpec()
    status: NodeStatus = NodeStatus()


class PriorityClass(Wire, frozen=True):
    """scheduling.k8s.io/v1 PriorityClass."""

    api_version: str = "scheduling.k8s.io/v1"
    kind: str = "PriorityClass"
    metadata: Meta = Meta()
    value: int = 0
    global_default: bool = False
    preemption_policy: str = ""


class ConfigMap(Wire, frozen=True):
    """core/v1 ConfigMap."""

    api_version: str = "v1"
    kind: str = "ConfigMap"
    metadata: Meta = Meta()
    data: dict[str, str] | None = None


class LeaseSpec(Wire, frozen=True):
    """Who holds it, since when, for how long."""

    holder_identity: str | None = None
    lease_duration_seconds: int | None = None
    acquire_time: str | None = None
    renew_time: str | None = None
    lease_transitions: int | None = None


class Lease(Wire, frozen=True):
    """coordination.k8s.io/v1 Lease."""

    api_version: str = "coordination.k8s.io/v1"
    kind: str = "Lease"
    metadata: Meta = Meta()
    spec: LeaseSpec = LeaseSpec()


class Template(Wire, frozen=True):
    """Any object of a kind without a reader: metadata, and the spec as it is."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: JsonMap | None = None
