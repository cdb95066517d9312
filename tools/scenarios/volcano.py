"""Facts of Volcano's tests as data (`allocateUnit`, `hypernodeE2E`), read strictly.

Every field that the format describes is a field here; one that is not known, or a value that is
not, is an error of its case. `scenarios` turns the cases into the project's own format.
"""

from typing import Annotated, Literal

import msgspec
from msgspec import Meta

Count = Annotated[int, Meta(ge=0)]
Amount = dict[str, str | int | float]
Mode = Literal["", "hard", "soft"]


class Strict(msgspec.Struct, kw_only=True, rename="camel", forbid_unknown_fields=True):
    """A name that is not known is an error."""


class Overhead(Strict):
    """What a DaemonSet takes on every node."""

    cpu: str = "0"
    memory: str = "0"


class Capacity(Strict):
    """The size of a node of the whole-cluster cases."""

    cpu: str = "8"
    memory: str = "8Gi"
    assumed_daemonset_overhead: Overhead = msgspec.field(default_factory=Overhead)


class Topology(Strict):
    """A network topology constraint."""

    mode: Mode = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""


class Selector(Strict):
    """Labels of the pods that a policy is about."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict)


class Subgroup(Strict):
    """A subgroup policy."""

    name: str
    match_label_keys: list[str] = msgspec.field(default_factory=list)
    label_selector: Selector | None = None
    mode: Mode = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""
    sub_group_size: Count = 1
    min_sub_groups: Count = 0


class Group(Strict):
    """A PodGroup."""

    name: str
    namespace: str = ""
    annotated_hyper_node: str = ""
    queue: str = ""
    min_member: Count = 0
    phase: Literal["", "Inqueue", "Running"] = "Inqueue"
    mode: Mode = ""
    highest_tier_allowed: int | None = None
    highest_tier_name: str = ""
    sub_group_policy: list[Subgroup] = msgspec.field(default_factory=list)


class UnitPod(Strict, kw_only=True):
    """A pod; one with a node runs there."""

    name: str
    namespace: str = ""
    node: str | None = ""
    phase: Literal["", "Pending", "Running"] = "Pending"
    req: Amount = msgspec.field(default_factory=dict)
    group: str = ""
    labels: dict[str, str] | None = None
    selector: dict[str, str] | None = None


class UnitNode(Strict):
    """A node."""

    name: str
    alloc: Amount
    labels: dict[str, str] | None = None


class TreeNode(Strict):
    """A HyperNode."""

    tier: Count
    tier_name: str | None = None
    members: list[str] = msgspec.field(default_factory=list)
    member_type: list[Literal["Node", "HyperNode"]] | None = None


class UnitCase(Strict, kw_only=True):
    """One allocation cycle on one cluster."""

    id: str = ""
    name: str = ""
    func: str = ""
    pod_groups: list[Group]
    pods: list[UnitPod]
    nodes: list[UnitNode]
    tree: dict[str, TreeNode] | None = None
    tiers: dict[str, list[str]] | None = None
    real_nodes: dict[str, list[str]] | None = None
    expect_binds: Count
    expect_bind_map: dict[str, str] | None = None
    expect_bind_nums_in_hyper_node: list[Count] | None = None
    only_count: bool = True
    notes: list[str] = msgspec.field(default_factory=list)


class Blocker(Strict):
    """A pod that runs already."""

    node: str
    cpu: float
    mem_gi: float = 0


class Partition(msgspec.Struct, kw_only=True, forbid_unknown_fields=True):
    """A task's partitions, with the names that the data has."""

    TotalPartitions: Annotated[int, Meta(ge=1)]
    PartitionSize: Annotated[int, Meta(ge=1)]
    MinPartitions: Count = 0
    networkTopology: Topology | None = None  # noqa: N815 - the data's own spelling


class Task(Strict, kw_only=True):
    """The job's one task: `cpu` CPUs and as many Gi for each pod."""

    cpu: float
    mem_gi: float | None = None
    replicas: Annotated[int, Meta(ge=1)]
    min: Count | None = None
    partition_policy: Partition | None = None


class Expectation(Strict):
    """What must come out; at least one of these is said."""

    all_pods_on_nodes: list[str] | None = None
    pending_at_least: Count | None = None
    pods_per_hyper_node_incl_blockers: dict[str, Count] | None = None
    then_kill_pods: Count | None = None


class ClusterCase(Strict, kw_only=True):
    """One job on a whole cluster of eight nodes."""

    id: str = ""
    name: str = ""
    blockers: list[Blocker] = msgspec.field(default_factory=list)
    job_network_topology: Topology | None = None
    job_min_available: Count | None = None
    task: Task
    expect: Expectation
    notes: list[str] = msgspec.field(default_factory=list)


def _usual_capacity() -> Capacity:
    """What the given cases assume."""
    return Capacity(assumed_daemonset_overhead=Overhead(cpu="100m", memory="50Mi"))


class File(Strict):
    """A whole file; cases stay as they are until each is read for itself."""

    source: str = ""
    node_capacity_e2e: Capacity = msgspec.field(
        default_factory=_usual_capacity, name="nodeCapacityE2E"
    )
    allocate_unit: list[object] = msgspec.field(default_factory=list)
    hypernode_e2e: list[object] = msgspec.field(default_factory=list, name="hypernodeE2E")
