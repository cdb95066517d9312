"""The fields of a scenario file, and reading one with errors that name the place."""

from typing import Annotated

import msgspec
import yaml
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
    """Requests of pods that run on each of them and belong to nobody in this scenario."""
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


class TenantSpec(Part):
    """A Tenant."""

    name: str
    weight: Positive = 1
    namespaces: list[str] = msgspec.field(default_factory=list)
    queues: list[str] = msgspec.field(default_factory=list)
    priority_classes: list[str] = msgspec.field(default_factory=list)


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


class World(Part):
    """What there is before the first cycle."""

    clusters: list[ClusterSpec]
    policy: dict[str, object] = msgspec.field(default_factory=dict)
    """Fields of the Policy that differ from their defaults (docs/reference/policy.md)."""
    queues: list[QueueSpec] = msgspec.field(default_factory=list)
    tenants: list[TenantSpec] = msgspec.field(default_factory=list)
    priority_classes: dict[str, int] = msgspec.field(default_factory=dict)
    jobs: list[JobSpec] = msgspec.field(default_factory=list)
    traces: list[TraceSpec] = msgspec.field(default_factory=list)
    manifests: list[str] = msgspec.field(default_factory=list)
    """Files of Kubernetes manifests beside the scenario file, each applied a second after the one
    before: what is in one file was submitted at once."""


class Want(Part):
    """What must come out for one job. Fields that are left out are not compared."""

    cluster: str | None = None
    clusters: dict[str, int] | None = None
    """Pods by cluster, for jobs that are split."""
    domain: str | None = None
    tier: int | None = None
    pods: int | None = None
    """Pods admitted in all."""
    pending: str | None = None
    """The verdict of a job that is not admitted: WAIT, NO_FIT or NEVER."""
    reason: str | None = None
    nearest: str | None = None
    """The cluster that came closest."""
    says: str | None = None
    """A part of the verdict's sentence."""
    refused: dict[str, str] | None = None
    """The reason of each of these clusters."""
    finished: bool | None = None


class Step(Part):
    """One thing that happens, in the order of the fields, followed by a cycle."""

    wait_seconds: int = 0
    finish: list[str] = msgspec.field(default_factory=list)
    """Jobs that complete."""
    delete: list[str] = msgspec.field(default_factory=list)
    submit: list[JobSpec] = msgspec.field(default_factory=list)
    report_age: dict[str, int] = msgspec.field(default_factory=dict)
    """How many seconds old the report of each of these clusters is from now on."""
    close_queues: list[str] = msgspec.field(default_factory=list)
    open_queues: list[str] = msgspec.field(default_factory=list)
    lose_nodes: dict[str, list[str]] = msgspec.field(default_factory=dict)
    """Nodes of each of these clusters that are gone."""
    expect: dict[str, Want] = msgspec.field(default_factory=dict)


class Scenario(Part):
    """A whole file."""

    scenario: str
    """What it shows, as a sentence."""
    world: World
    about: str = ""
    """More, for the docs."""
    expect: dict[str, Want] = msgspec.field(default_factory=dict)
    """By job: `namespace/name`, or the name alone when it is the only one."""
    steps: list[Step] = msgspec.field(default_factory=list)


def parse(text: str, source: str = "scenario") -> Scenario:
    """Read a scenario file's text.

    Raises:  ScenarioError naming the line for YAML that cannot be read, the field otherwise.
    """
    try:
        content = yaml.safe_load(text)
    except yaml.YAMLError as error:
        raise ScenarioError(f"{source}: not YAML: {' '.join(str(error).split())}") from error
    try:
        return msgspec.convert(content, Scenario)
    except msgspec.ValidationError as error:
        raise ScenarioError(f"{source}: {error}") from error
