"""Our own kinds: Tenant, CapacityReport, Directive, WaitingList; and the decision annotation.

Units: amounts are ints in base units (milli-CPU for cpu, bytes, whole devices); times RFC 3339.
"""

from typing import Annotated

from msgspec import Meta as Limits

from global_sched.shared.api.base import Condition, JsonMap, Meta, Quantity, Wire
from global_sched.shared.api.core import TaintWire

Count = Annotated[int, Limits(ge=0, le=2**62)]
Name = Annotated[str, Limits(max_length=253)]


class TenantSpec(Wire, frozen=True):
    """Who belongs to a tenant and what its namespaces may use."""

    weight: Annotated[int, Limits(ge=1, le=65535)] = 1
    """Its share of the federation against other tenants; 2 gets twice as much as 1."""
    namespaces: list[Name] | None = None
    """Control-plane namespaces. A namespace in two Tenants belongs to the older one."""
    queues: list[Name] | None = None
    """Queues that its namespaces may use; empty allows all."""
    priority_classes: list[Name] | None = None
    """PriorityClasses that its namespaces may use; empty allows all."""
    limits: dict[str, Quantity] | None = None
    """The most that its workloads may hold over the whole federation, by resource; an amount of 0
    allows none, and what is not named is unlimited."""
    pending_limit: Annotated[int, Limits(ge=0, le=1_000_000)] | None = None
    """At most so many of its waiting workloads are considered, oldest first; the others wait with
    a reason."""


class TenantStatus(Wire, frozen=True):
    """What the leader writes."""

    dominant_share: str = ""
    """The weighted dominant share, as a decimal for people."""
    admitted: Count = 0
    """Workloads that hold room."""
    pending: Count = 0
    """Workloads that wait."""
    conditions: list[Condition] | None = None


class Tenant(Wire, frozen=True):
    """A cluster-scoped object on the control plane: a team with its namespaces."""

    api_version: str = "federation.global-sched.io/v1alpha1"
    kind: str = "Tenant"
    metadata: Meta = Meta()
    spec: TenantSpec = TenantSpec()
    status: TenantStatus = TenantStatus()


class ReportDomain(Wire, frozen=True):
    """A HyperNode of the tree."""

    name: Name = ""
    tier: int = 0
    tier_name: str = ""
    parent: str = ""


class ReportClass(Wire, frozen=True):
    """A node class: values of the reported label keys, taints, and whether it is cordoned."""

    labels: dict[str, str] | None = None
    taints: list[TaintWire] | None = None
    cordoned: bool = False


class ReportOccupant(Wire, frozen=True):
    """Pods of a gang on each node of a row: only these can be evicted to make room."""

    binding: str = ""
    pod_set: str = ""
    pods: Count = 0
    surplus: list[Count] | None = None
    """Which of those pods may leave without breaking the gang, as their turns: 1 is the pod of its
    pod set that goes first (the highest index bound). A node with such pods is a row of its own."""


class ReportRow(Wire, frozen=True):
    """`count` nodes that are alike.

    `node_class` and `free` are positions in the lists of the same slice, so each slice can be read
    alone; `domain` (perhaps of another slice's tree) is empty for nodes in no HyperNode.
    """

    domain: str = ""
    node_class: Count = 0
    free: Count = 0
    count: Count = 0
    occupants: list[ReportOccupant] | None = None


class ReportLoss(Wire, frozen=True):
    """A pod of a workload that ran and was lost."""

    uid: str = ""
    pod: str = ""
    node: str = ""
    cause: str = ""
    detail: str = ""
    at: str = ""


class ReportWorkload(Wire, frozen=True):
    """What the member has of one admitted workload."""

    binding: str = ""
    bound: dict[str, Count] | None = None
    """Pods that have a node, by pod set; pods that succeeded count, too."""
    decision: str = ""
    """The decision under which the agent places it."""
    minimum_reached: bool = False
    """Whether the minimum was bound once under that decision."""
    reason: str = ""
    """Why the rest has no node yet."""
    below_since: str = ""
    """Since when fewer pods than its minimum have a node, after all had one under that decision;
    empty while the minimum has."""
    short_since: str = ""
    """Since when fewer pods than admitted have a node, after its minimum had one under that
    decision; empty while all have, and for services."""
    losses: list[ReportLoss] | None = None
    """Its last losses within a day, at most ten, the latest one last."""
    waits_at: str = ""
    """The step of the leader (`shrink`, `cluster`) to which its recovery ladder has come here: the
    member can do no more for it. Empty before, and for jobs without a ladder."""
    checkpoint_answered: str = ""
    """The call for a checkpoint (`checkpoint_call` of the Directive) that its program answered."""


class WantedShape(Wire, frozen=True):
    """What some of a member's pods ask for, running or waiting."""

    shape: JsonMap | None = None
    """`model.PodShape` as JSON, in round numbers; fields that say nothing are left out."""
    pods: Count = 0
    """About how many: a power of two."""


class ReportNodes(Wire, frozen=True):
    """Node totals."""

    total: Count = 0
    ready: Count = 0
    schedulable: Count = 0
    allocatable: dict[str, Count] | None = None
    """Sum over nodes that are ready and not cordoned."""
    largest: dict[str, Count] | None = None
    """Of each resource the most that any node has, in use or not, ready or not."""
    troubled: Count = 0
    """Nodes in trouble: they take no new pods."""
    probation: Count = 0
    """Nodes on probation: the leader does not count what is free there."""
    domains: list[str] | None = None
    """The smallest HyperNodes of which several nodes fell at once."""


class ReportNodeTrouble(Wire, frozen=True):
    """A node that takes no new pods, or that gangs use only where nothing else holds them."""

    node: str = ""
    domain: str = ""
    state: str = ""
    """`trouble` or `probation`."""
    cause: str = ""
    detail: str = ""
    since: str = ""
    until: str = ""
    """When probation ends; empty while it is in trouble."""
    count: Count = 0
    """How often it fell within a day."""


class ReportOmission(Wire, frozen=True):
    """Something that was left out, and why."""

    what: str = ""
    reason: str = ""


class LeftBinding(Wire, frozen=True):
    """A withdrawal that is to be shown: the Directive asks, and the report answers in its words."""

    binding: str = ""
    at: str = ""
    """When it was withdrawn; it distinguishes two withdrawals of one binding."""
    namespace: str = ""
    kind: str = ""
    name: str = ""
    """The object, by which its pods are known where the agent cannot watch its kind."""


class CapacityReportSpec(Wire, frozen=True):
    """What a member can still hold. Slices of one generation belong together."""

    cluster: Name = ""
    generation: Count = 0
    slice: Count = 0
    slices: Annotated[int, Limits(ge=1, le=1024)] = 1
    observed_at: str = ""
    period_seconds: Annotated[int, Limits(ge=1, le=86400)] = 10
    """The agent writes at least this often."""
    agent_version: str = ""
    scheduler_names: list[str] | None = None
    """Scheduler names that the agent binds pods for; none means that it only reports."""
    volcano_scheduler: bool = False
    volcano_topology: bool = False
    """Whether Volcano's scheduler runs there, and with its topology plugin."""
    label_keys: list[str] | None = None
    """Node label keys whose values the classes hold."""
    resolution: dict[str, Count] | None = None
    """Free amounts were rounded down to multiples of these, to keep the report small."""
    axis: list[str] | None = None
    """The resource of each position of a free vector."""
    tree: list[ReportDomain] | None = None
    classes: list[ReportClass] | None = None
    free: list[list[Count]] | None = None
    """Free vectors that occur; rows name them by position."""
    rows: list[ReportRow] | None = None
    workloads: list[ReportWorkload] | None = None
    nodes: ReportNodes = ReportNodes()
    demand: list[WantedShape] | None = None
    """What most pods there ask for, in the first slice: by it scarce nodes are left to pods that
    need them."""
    trouble: list[ReportNodeTrouble] | None = None
    """In the first slice the nodes in trouble and on probation, at most a hundred."""
    omitted: list[ReportOmission] | None = None
    left: list[LeftBinding] | None = None
    """In the first slice the withdrawals of the Directive of which nothing is left here."""


class CapacityReportStatus(Wire, frozen=True):
    """What the leader makes of it."""

    conditions: list[Condition] | None = None


class CapacityReport(Wire, frozen=True):
    """What one member cluster can still hold, by HyperNode domain."""

    api_version: str = "federation.global-sched.io/v1alpha1"
    kind: str = "CapacityReport"
    metadata: Meta = Meta()
    spec: CapacityReportSpec = CapacityReportSpec()
    status: CapacityReportStatus = CapacityReportStatus()


class DirectiveEntry(Wire, frozen=True):
    """One admitted workload: what may be placed, and where."""

    binding: str = ""
    workload: str = ""
    """`namespace/name` of the binding, for people."""
    decision: str = ""
    epoch: Count = 0
    at: str = ""
    order: Count = 0
    """(at, order) is the order in which room was given."""
    domain: str = ""
    tier: int | None = None
    admitted: dict[str, Count] | None = None
    """Pods by pod set: never more are bound."""
    gang: JsonMap | None = None
    """What its pods ask for and how many make its minimum: `model.Gang` as JSON. The agent keeps
    room by it until the pods arrive; it may be left out once all admitted pods are counted."""
    give_up: dict[str, Count] | None = None
    """Pods by pod set to delete, highest index first, as long as more than `admitted` are bound: at
    most so many, and never below `admitted`."""
    checkpoint_call: str = ""
    """It has to leave soon, and is asked for a checkpoint: the name of the call (a time), which the
    agent writes on its pods. Empty: it is not asked, and pods have no such annotation."""
    held: dict[str, Count] | None = None
    """Pods by pod set of a workload that is not admitted yet (`admitted` is empty then), for which
    room is kept in `held_domain` (empty: anywhere in the cluster), from `at` to `held_until`."""
    held_domain: str = ""
    held_until: str = ""
    leaving: list[str] | None = None
    """Bindings whose pods leave for it: nodes that still have such pods take nothing else. Empty
    with `held`: the domain drains by itself, and only what was admitted before `at`, and what the
    leader admits into it on purpose, is placed there."""


class DirectiveRecovery(Wire, frozen=True):
    """Defaults and bounds of recovery, as the Policy has them."""

    heal_seconds: Count = 60
    step_seconds: Count = 600
    hold_limit_seconds: Count = 3600
    node_exit_codes: list[Annotated[int, Limits(ge=1, le=255)]] | None = None


class DirectiveSpec(Wire, frozen=True):
    """What one member is to place."""

    cluster: Name = ""
    epoch: Count = 0
    slice: Count = 0
    slices: Annotated[int, Limits(ge=1, le=1024)] = 1
    label_keys: list[str] | None = None
    """Node label keys that workloads select on, for the next report."""
    demand: list[WantedShape] | None = None
    """In the first slice the demand profile that the leader placed by, as the member reported it:
    the agent places by the same one."""
    recovery: DirectiveRecovery | None = None
    """In the first slice, where the Policy's values are not the defaults."""
    size: Count | None = None
    """How many entries this slice has, for people; 0 is written, too."""
    entries: list[DirectiveEntry] | None = None
    left: list[LeftBinding] | None = None
    """In the first slice what was withdrawn from here: the report lists those of which no object
    and no pod, not even a Terminating one, is there any more."""


class Directive(Wire, frozen=True):
    """The decisions of the leader for one member cluster."""

    api_version: str = "federation.global-sched.io/v1alpha1"
    kind: str = "Directive"
    metadata: Meta = Meta()
    spec: DirectiveSpec = DirectiveSpec()


class WaitingJob(Wire, frozen=True):
    """A job that waits. Of other namespaces nothing is named but queues."""

    name: Name = ""
    kind: str = ""
    queue: Name = ""
    position: Count = 0
    """Its place in the order of its queue, from 1; 0 has no place: it is suspended, or of a group
    that is decided together."""
    reason: str = ""
    message: str = ""
    """What the reason means for this job, with the numbers."""
    runs_when: str = ""
    """What would let it run."""
    since: str = ""
    """Since when it waits: its creation, or when it was last withdrawn for another job."""


class WaitingList(Wire, frozen=True):
    """The jobs of a namespace that wait: one object, `waiting`, in each managed namespace."""

    api_version: str = "federation.global-sched.io/v1alpha1"
    kind: str = "WaitingList"
    metadata: Meta = Meta()
    total: Count = 0
    """How many jobs wait."""
    jobs: Annotated[list[WaitingJob], Limits(max_length=100)] | None = None
    """The first of them, in the order of their places."""
    more: Count = 0
    """How many wait beyond `jobs`."""
    then: str = ""
    """The jobs after the first one with their places, in a few words: a column of kubectl's."""


class GrantRecord(Wire, frozen=True):
    """What was admitted in one cluster, or with `left` what it was withdrawn from there."""

    cluster: str = ""
    amounts: dict[str, Count] | None = None
    replicas: int | None = None
    domain: str = ""
    tier: int | None = None
    tier_name: str = ""
    left: str = ""
    """When it was withdrawn from there."""
    uid: str = ""
    """Of the Cluster object that it was withdrawn from."""
    held: dict[str, Count] | None = None
    """What it held there, by resource in base units."""


class BackoffRecord(Wire, frozen=True):
    """A cluster to leave out until then."""

    cluster: str = ""
    until: str = ""
    failures: Count = 1
    reason: str = ""


class LeaverRecord(Wire, frozen=True):
    """A workload of which pods leave."""

    binding: str = ""
    amounts: dict[str, Count] | None = None
    whole: bool = False
    cluster: str = ""


class ClaimPartRecord(Wire, frozen=True):
    """One more cluster in which room is kept."""

    cluster: str = ""
    amounts: dict[str, Count] | None = None
    domain: str = ""
    tier: int | None = None


class ClaimRecord(Wire, frozen=True):
    """Room that is kept for a workload that is not admitted yet."""

    cluster: str = ""
    amounts: dict[str, Count] | None = None
    domain: str = ""
    tier: int | None = None
    victims: list[LeaverRecord] | None = None
    since: str = ""
    until: str = ""
    order: Count = 0
    more: list[ClaimPartRecord] | None = None
    """Further clusters, where it has room in several."""
    check: str = ""
    """Beside grants: ties it to them, since the decision's id says nothing of it."""


class GiveUpRecord(Wire, frozen=True):
    """Surplus pods that leave a cluster."""

    cluster: str = ""
    amounts: dict[str, Count] | None = None


class DecisionRecord(Wire, frozen=True):
    """The JSON of the annotation `decision.global-sched.io/decision`."""

    id: str = ""
    epoch: Count = 0
    at: str = ""
    order: Count = 0
    grants: list[GrantRecord] | None = None
    pending: dict[str, Count] | None = None
    backoffs: list[BackoffRecord] | None = None
    claim: ClaimRecord | None = None
    give_up: list[GiveUpRecord] | None = None
    evicted: str = ""
    priority: Annotated[int, Limits(ge=-(2**31), lt=2**31)] | None = None
    claimed: str = ""
    evictions: Count = 0
    started: str = ""
    moved: str = ""
    moves: Count = 0
    cut: str = ""
    recovering: str = ""
    called: str = ""
