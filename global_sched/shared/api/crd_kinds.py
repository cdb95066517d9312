"""Which kinds are served through CRDs, and what each CRD has beyond the wire type's fields.

Columns, short names, categories, enums, bounds and CRD defaults, as the real Karmada, Volcano and
training operator have them. What their webhooks set or refuse is not here.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from global_sched.shared.api import federation, karmada, propagation, resource, volcano, workloads
from global_sched.shared.api.crd_gang import GANG_RULE
from global_sched.shared.api.crd_rules import BINDING_RULES, OVERRIDE_RULES, POLICY_RULES
from global_sched.shared.api.resource import Resource

AGE: Final = ("AGE", ".metadata.creationTimestamp", "date")
Column = tuple[str, str, str] | tuple[str, str, str, int]
"""Name, JSON path, type, and the priority (1: only with `-o wide`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdKind:
    """What the CRD of one kind has beyond its fields.

    rules: additions to the schema, by path; `[]` stands for the items of a list.
    scale: paths of the scale subresource, empty when there is none.
    """

    resource: Resource
    type: type
    strict: bool = False
    status: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = (AGE,)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scale: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The CRD's name: plural and group."""
        return f"{self.resource.plural}.{self.resource.group}"

    @property
    def file_name(self) -> str:
        """Its file in `crds/`."""
        return f"{self.resource.group}_{self.resource.plural}.yaml"


# --- ours -----------------------------------------------------------------------------------

_OURS: Final = (
    CrdKind(
        resource=resource.TENANTS,
        type=federation.Tenant,
        strict=True,
        columns=(
            ("READY", '.status.conditions[?(@.type=="Ready")].status', "string"),
            ("ADMITTED", ".status.admitted", "integer"),
            ("PENDING", ".status.pending", "integer"),
            ("SHARE", ".status.dominantShare", "string"),
            AGE,
        ),
    ),
    CrdKind(
        resource=resource.CAPACITY_REPORTS,
        type=federation.CapacityReport,
        strict=True,
        short_names=("capr",),
        columns=(
            ("ACCEPTED", '.status.conditions[?(@.type=="Accepted")].status', "string"),
            ("NODES", ".spec.nodes.total", "integer"),
            ("READY", ".spec.nodes.ready", "integer"),
            ("OBSERVED", ".spec.observedAt", "date"),
            ("AGENT", ".spec.agentVersion", "string", 1),
            AGE,
        ),
        rules={"": {"required": ["spec"]}, "spec": {"required": ["cluster"]}},
    ),
    CrdKind(
        resource=resource.DIRECTIVES,
        type=federation.Directive,
        strict=True,
        status=False,
        columns=(
            ("CLUSTER", ".spec.cluster", "string"),
            ("ENTRIES", ".spec.size", "integer"),
            ("EPOCH", ".spec.epoch", "integer"),
            AGE,
        ),
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["cluster"]},
            "spec.entries[].gang": GANG_RULE,
        },
    ),
)

# --- Karmada ---------------------------------------------------------------------------------

_CATEGORY: Final = ("karmada-io",)
_POLICY_COLUMNS: Final[tuple[Column, ...]] = (
    ("CONFLICT-RESOLUTION", ".spec.conflictResolution", "string"),
    ("PRIORITY", ".spec.priority", "string"),
    AGE,
)
_BINDING_COLUMNS: Final[tuple[Column, ...]] = (
    ("SCHEDULED", '.status.conditions[?(@.type=="Scheduled")].status', "string"),
    ("FULLYAPPLIED", '.status.conditions[?(@.type=="FullyApplied")].status', "string"),
    AGE,
)

_KARMADA: Final = (
    CrdKind(
        resource=resource.CLUSTERS,
        type=karmada.Cluster,
        columns=(
            ("VERSION", ".status.kubernetesVersion", "string"),
            ("MODE", ".spec.syncMode", "string"),
            ("READY", '.status.conditions[?(@.type=="Ready")].status', "string"),
            AGE,
            ("REGION", ".spec.region", "string", 1),
            ("APIENDPOINT", ".spec.apiEndpoint", "string", 1),
        ),
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["syncMode"]},
            "spec.syncMode": {"enum": ["Push", "Pull"]},
            "spec.taints[]": {"required": ["key", "effect"]},
        },
    ),
    CrdKind(
        resource=resource.PROPAGATION_POLICIES,
        type=propagation.PropagationPolicy,
        status=False,
        short_names=("pp",),
        categories=_CATEGORY,
        columns=_POLICY_COLUMNS,
        rules=POLICY_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_PROPAGATION_POLICIES,
        type=propagation.PropagationPolicy,
        status=False,
        short_names=("cpp",),
        categories=_CATEGORY,
        columns=_POLICY_COLUMNS,
        rules=POLICY_RULES,
    ),
    CrdKind(
        resource=resource.OVERRIDE_POLICIES,
        type=karmada.OverridePolicy,
        status=False,
        short_names=("op",),
        categories=_CATEGORY,
        rules=OVERRIDE_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_OVERRIDE_POLICIES,
        type=karmada.OverridePolicy,
        status=False,
        short_names=("cop",),
        categories=_CATEGORY,
        rules=OVERRIDE_RULES,
    ),
    CrdKind(
        resource=resource.RESOURCE_BINDINGS,
        type=karmada.ResourceBinding,
        short_names=("rb",),
        categories=_CATEGORY,
        columns=_BINDING_COLUMNS,
        rules=BINDING_RULES,
    ),
    CrdKind(
        resource=resource.CLUSTER_RESOURCE_BINDINGS,
        type=karmada.ResourceBinding,
        short_names=("crb",),
        categories=_CATEGORY,
        columns=_BINDING_COLUMNS,
        rules=BINDING_RULES,
    ),
    CrdKind(
        resource=resource.WORKS,
        type=propagation.Work,
        short_names=("wk",),
        categories=_CATEGORY,
        columns=(
            ("WORKLOAD-KIND", ".spec.workload.manifests[*].kind", "string"),
            ("APPLIED", '.status.conditions[?(@.type=="Applied")].status', "string"),
            AGE,
        ),
        rules={
            "": {"required": ["spec"]},
            "spec.workload.manifests[]": {"x-kubernetes-embedded-resource": True},
            "status.manifestStatuses[]": {"required": ["identifier"]},
            "status.manifestStatuses[].health": {"enum": ["Healthy", "Unhealthy", "Unknown"]},
        },
    ),
    CrdKind(
        resource=propagation.WORKLOAD_REBALANCERS,
        type=propagation.WorkloadRebalancer,
        categories=_CATEGORY,
        rules={
            "": {"required": ["spec"]},
            "spec": {"required": ["workloads"]},
            "spec.workloads": {"minItems": 1},
            "spec.workloads[]": {"required": ["apiVersion", "kind", "name"]},
        },
    ),
)

# --- Volcano and Kubeflow --------------------------------------------------------------------

_TOPOLOGY_MODE: Final = {"enum": ["hard", "soft"], "default": "hard"}
_NOT_NEGATIVE: Final = {"minimum": 0, "format": "int32"}

_VOLCANO: Final = (
    CrdKind(
        resource=resource.VOLCANO_JOBS,
        type=volcano.VolcanoJob,
        short_names=("vcjob", "vj"),
        columns=(
            ("STATUS", ".status.state.phase", "string"),
            ("minAvailable", ".status.minAvailable", "integer"),
            ("RUNNINGS", ".status.running", "integer"),
            AGE,
            ("QUEUE", ".spec.queue", "string", 1),
        ),
        rules={
            "spec.maxRetry": {"default": 3, **_NOT_NEGATIVE},
            "spec.queue": {"default": "default", "maxLength": 253},
            "spec.minAvailable": _NOT_NEGATIVE,
            "spec.minSuccess": {"minimum": 1, "format": "int32"},
            "spec.networkTopology.mode": _TOPOLOGY_MODE,
            "spec.networkTopology.highestTierAllowed": {"minimum": 0},
            "spec.tasks[].replicas": _NOT_NEGATIVE,
            "spec.tasks[].minAvailable": _NOT_NEGATIVE,
            "spec.tasks[].name": {"maxLength": 63},
            "spec.tasks[].partitionPolicy": {"required": ["partitionSize", "totalPartitions"]},
            "spec.tasks[].partitionPolicy.partitionSize": {"minimum": 1},
            "spec.tasks[].partitionPolicy.totalPartitions": {"minimum": 1},
            "spec.tasks[].partitionPolicy.networkTopology.mode": _TOPOLOGY_MODE,
        },
    ),
    CrdKind(
        resource=resource.POD_GROUPS,
        type=volcano.PodGroup,
        short_names=("pg", "podgroup-v1beta1"),
        columns=(
            ("STATUS", ".status.phase", "string"),
            ("minMember", ".spec.minMember", "integer"),
            ("RUNNINGS", ".status.running", "integer"),
            AGE,
            ("QUEUE", ".spec.queue", "string", 1),
        ),
        rules={
            "spec.queue": {"default": "default"},
            "spec.networkTopology.mode": _TOPOLOGY_MODE,
        },
    ),
    CrdKind(
        resource=resource.QUEUES,
        type=volcano.Queue,
        short_names=("q", "queue-v1beta1"),
        columns=(
            ("PARENT", ".spec.parent", "string"),
            ("WEIGHT", ".spec.weight", "integer"),
            ("PRIORITY", ".spec.priority", "integer"),
            ("STATE", ".status.state", "string"),
            ("RUNNING", ".status.running", "integer"),
            ("PENDING", ".status.pending", "integer"),
            ("ALLOCATED", ".status.allocated", "string", 1),
            AGE,
        ),
    ),
    CrdKind(
        resource=resource.HYPER_NODES,
        type=volcano.HyperNode,
        short_names=("hn",),
        columns=(
            ("Tier", ".spec.tier", "string"),
            ("TierName", ".spec.tierName", "string"),
            ("NodeCount", ".status.nodeCount", "integer"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec.tier": {"minimum": 0},
            "spec.tierName": {"maxLength": 253},
            "spec.members": {"minItems": 1},
            "spec.members[]": {"required": ["type"]},
            "spec.members[].type": {"enum": ["Node", "HyperNode"]},
            "spec.members[].selector.regexMatch.pattern": {"minLength": 1},
            "spec.members[].selector.exactMatch.name": {"minLength": 1, "maxLength": 253},
            "status.nodeCount": {"minimum": 0},
        },
    ),
)

_KUBEFLOW: Final = (
    CrdKind(
        resource=resource.PYTORCH_JOBS,
        type=workloads.PyTorchJob,
        columns=(
            ("State", ".status.conditions[-1:].type", "string"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        scale={
            "specReplicasPath": ".spec.pytorchReplicaSpecs.Worker.replicas",
            "statusReplicasPath": ".status.replicaStatuses.Worker.active",
            "labelSelectorPath": ".status.replicaStatuses.Worker.selector",
        },
    ),
)

_LEADER_WORKER: Final = (
    CrdKind(
        resource=resource.LEADER_WORKER_SETS,
        type=workloads.LeaderWorkerSet,
        short_names=("lws",),
        columns=(
            ("Ready", ".status.readyReplicas", "integer"),
            ("Desired", ".spec.replicas", "integer"),
            ("Up-to-date", ".status.updatedReplicas", "integer"),
            ("Age", ".metadata.creationTimestamp", "date"),
        ),
        rules={
            "spec": {"required": ["leaderWorkerTemplate"]},
            "spec.replicas": {"default": 1},
            "spec.startupPolicy": {
                "default": "LeaderCreated",
                "enum": ["LeaderCreated", workloads.LEADER_READY],
            },
            "spec.leaderWorkerTemplate": {"required": ["workerTemplate"]},
            "spec.leaderWorkerTemplate.size": {"default": 1},
            "spec.leaderWorkerTemplate.restartPolicy": {
                "default": "RecreateGroupOnPodRestart",
                "enum": [
                    "Default",
                    "RecreateGroupOnPodRestart",
                    "RecreateGroupAfterStart",
                    "None",
                ],
            },
        },
        scale={
            "specReplicasPath": ".spec.replicas",
            "statusReplicasPath": ".status.replicas",
            "labelSelectorPath": ".status.hpaPodSelector",
        },
    ),
)

KINDS: Final = (*_OURS, *_KARMADA, *_VOLCANO, *_KUBEFLOW, *_LEADER_WORKER)
"""Every kind that is served through a CRD, ours first."""
