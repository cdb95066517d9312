"""The fields of a scenario's world: clusters, queues, tenants, jobs, and PodGroups of members."""

from typing import Annotated

import msgspec
from msgspec import Meta as Limits

from global_sched.shared.api.base import Quantity

Amount = dict[str, Quantity]
Positive = Annotated[int, Limits(ge=1, le=1_000_000)]


class ScenarioError(ValueError):
    """A scenario file cannot be used; the message names the place and the reason."""


class Part(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """Camel-case names; a name that is not known is an error."""


class DomainSpec(Part):
    """A HyperNode."""

    tier: Annotated[int, Limits(ge=0, le=100)]
    tier_name: str = ""
    parent: str = ""


class HyperNodeSpec(Part):
    """A HyperNode with its members as they are written in the wild."""

    name: str
    tier: int
    tier_name: str = ""
    nodes: list[str] = msgspec.field(default_factory=list)
    """Nodes that it names exactly."""
    children: list[str] = msgspec.field(default_factory=list)
    """HyperNodes that it names exactly."""
    node_pattern: str = ""
    """A regular expression (RE2, unanchored) for node names."""
    node_labels: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels of its nodes."""


class NodesSpec(Part):
    """`count` equal nodes, named `name-0`, `name-1`, … (or `name` when there is one)."""

    name: str = ""
    """Default: the domain's name, or `node`."""
    domain: str = ""
    """The HyperNode that lists them; empty for none."""
    count: Positive = 1
    allocatable: Amount = msgspec.field(default_factory=dict)
    """Default: cpu 64, memory 512Gi, nvidia.com/gpu 8, pods 110."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    taints: list[str] = msgspec.field(default_factory=list)
    """As kubectl spells them: `key=value:NoSchedule`."""
    used: Amount = msgspec.field(default_factory=dict)
    """Requests of pods that run on each of them and belong to no job of this scenario."""
    ready: bool = True
    cordoned: bool = False


class HostTable(Part):
    """A CSV file of hosts: the first column names the host, the others its domains, top first."""

    file: str
    """Path beside the scenario file."""
    tier_names: list[str] = msgspec.field(default_factory=list)
    """Names of the tiers, top first, one per column after the host."""
    allocatable: Amount = msgspec.field(default_factory=dict)


class AgentSpec(Part):
    """What the member's agent says of itself."""

    scheduler_names: list[str] = msgspec.field(default_factory=lambda: ["member-agent", "volcano"])
    report_age_seconds: Annotated[int, Limits(ge=-86_400, le=10_000_000)] = 1
    """How old its report is; negative for one from the future."""
    label_keys: list[str] = msgspec.field(default_factory=list)
    """Node label keys that it reports, apart from those that jobs select on."""
    reports_wanted_keys: bool = True
    """Whether it reports the keys that jobs select on already."""
    volcano_scheduler: bool = False
    volcano_topology: bool = False


class ClusterSpec(Part):
    """A member cluster."""

    name: str
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    provider: str = ""
    region: str = ""
    zones: list[str] = msgspec.field(default_factory=list)
    taints: list[str] = msgspec.field(default_factory=list)
    ready: bool = True
    kinds: list[str] | None = None
    """Enabled `apiVersion/Kind`s; default: all that this project reads."""
    domains: dict[str, DomainSpec] = msgspec.field(default_factory=dict)
    """HyperNodes by name, in short: nodes say in which one they are."""
    hyper_nodes: list[HyperNodeSpec] = msgspec.field(default_factory=list)
    """More of them, each with its members."""
    nodes: list[NodesSpec] = msgspec.field(default_factory=list)
    hosts: HostTable | None = None
    agent: AgentSpec | None = msgspec.field(default_factory=AgentSpec)
    """null: the member has no agent, so nothing is known of its capacity."""


class QueueSpec(Part):
    """A Volcano Queue."""

    name: str
    priority: int = 0
    weight: Positive = 1
    capability: Amount = msgspec.field(default_factory=dict)
    state: str = "Open"
    parent: str = ""
    deserved: Amount = msgspec.field(default_factory=dict)
    guarantee: Amount = msgspec.field(default_factory=dict)
    reclaimable: bool | None = None
    cluster_capability: dict[str, Amount] = msgspec.field(default_factory=dict)
    """Its hard limit in each of these clusters (`spec.extendClusters`)."""
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    spec: dict[str, object] = msgspec.field(default_factory=dict)
    """Further fields of the Queue's `spec`, as in its manifest."""


class TenantSpec(Part):
    """A Tenant."""

    name: str
    weight: Positive = 1
    namespaces: list[str] = msgspec.field(default_factory=list)
    queues: list[str] = msgspec.field(default_factory=list)
    priority_classes: list[str] = msgspec.field(default_factory=list)
    spec: dict[str, object] = msgspec.field(default_factory=dict)
    """Further fields of the Tenant's `spec`, as in its manifest."""


class TopologySpec(Part):
    """A network topology constraint, as in a Volcano Job."""

    mode: str = "hard"
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class PartitionSpec(Part):
    """A task's pods in partitions, as in a Volcano Job."""

    total_partitions: Positive
    partition_size: Positive
    min_partitions: int = 0
    network_topology: TopologySpec | None = None


class TaskSpec(Part):
    """A task of a Volcano Job: equal pods."""

    name: str = "worker"
    replicas: Positive = 1
    min_available: int | None = None
    requests: Amount = msgspec.field(default_factory=dict)
    """Default: nvidia.com/gpu 8."""
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    tolerations: list[str] = msgspec.field(default_factory=list)
    """`key=value:Effect`, `key:Effect` or `key`."""
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    """Of its pods, like `volcano.sh/preemptable: "false"`."""
    partition_policy: PartitionSpec | None = None


class RunningSpec(Part):
    """Where a job runs already."""

    cluster: str
    domain: str = ""
    """The HyperNode that its pods were directed to."""


class JobSpec(Part):
    """A Volcano Job in short, with the policy that propagates it."""

    name: str
    namespace: str = "default"
    queue: str = ""
    priority_class: str = ""
    created: int = 0
    """Seconds after the start of the scenario's clock; the order in the file breaks ties."""
    min_available: int | None = None
    tasks: list[TaskSpec] = msgspec.field(default_factory=lambda: [TaskSpec()])
    topology: TopologySpec | None = None
    scheduler_name: str = "member-agent"
    clusters: list[str] = msgspec.field(default_factory=list)
    """Clusters that its policy allows; empty: all."""
    exclude: list[str] = msgspec.field(default_factory=list)
    cluster_tolerations: list[str] = msgspec.field(default_factory=list)
    run_seconds: int | None = None
    """How long each pod runs in an embedded member; default: a few seconds."""
    running: RunningSpec | None = None
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    annotations: dict[str, str] = msgspec.field(default_factory=dict)
    """Of the Job; those of its pods are in its tasks."""


class TraceSpec(Part):
    """Jobs from a CSV file with the columns `name`, `nodes` and `gpus`: one pod per node."""

    file: str
    namespace: str = "default"
    queue: str = ""
    clusters: list[str] = msgspec.field(default_factory=list)
    requests: Amount = msgspec.field(default_factory=dict)
    """Of each pod, in addition to its GPUs."""
    topology: TopologySpec | None = None
    limit: Positive = 1000
    """How many rows to take, from the first."""
    run_seconds: int | None = None
    """How long each pod runs in an embedded member."""
    scheduler_name: str = "member-agent"


class SubgroupSpec(Part):
    """A subgroup policy of a PodGroup: pods with equal values of the keys are one group."""

    name: str
    keys: list[str] = msgspec.field(default_factory=list)
    """Label keys whose values tell the groups apart; a pod without one of them is in none."""
    selector: dict[str, str] = msgspec.field(default_factory=dict)
    """Labels of the pods that it is about; empty for all."""
    size: Positive = 1
    min_groups: int = 0
    topology: TopologySpec | None = None


class GroupPodSpec(Part):
    """A pod of a PodGroup."""

    name: str
    requests: Amount = msgspec.field(default_factory=dict)
    labels: dict[str, str] = msgspec.field(default_factory=dict)
    node_selector: dict[str, str] = msgspec.field(default_factory=dict)
    node: str = ""
    """Where it runs already; empty for one that waits."""


class GroupSpec(Part):
    """A PodGroup that is in a cluster already, with its pods: placed by the cluster's agent alone.

    Files with such groups need the agent: run them with `make scenarios`.
    """

    name: str
    namespace: str = "default"
    cluster: str = ""
    """Default: the only cluster."""
    min_member: Positive = 1
    topology: TopologySpec | None = None
    subgroups: list[SubgroupSpec] = msgspec.field(default_factory=list)
    domain: str = ""
    """The HyperNode that it sat in before, for people: its running pods tell the agent."""
    pods: list[GroupPodSpec] = msgspec.field(default_factory=list)


class World(Part):
    """What there is before the first cycle."""

    clusters: list[ClusterSpec]
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    """Fields of the Policy that differ from their defaults (docs/reference/policy.md)."""
    queues: list[QueueSpec] = msgspec.field(default_factory=list)
    tenants: list[TenantSpec] = msgspec.field(default_factory=list)
    priority_classes: dict[str, int] = msgspec.field(default_factory=dict)
    """Value by name."""
    jobs: list[JobSpec] = msgspec.field(default_factory=list)
    traces: list[TraceSpec] = msgspec.field(default_factory=list)
    manifests: list[str] = msgspec.field(default_factory=list)
    """Files of Kubernetes manifests beside the scenario file, each applied a second after the one
    before: what is in one file was submitted at once."""
    groups: list[GroupSpec] = msgspec.field(default_factory=list)
