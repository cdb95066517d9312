"""The CRDs of Volcano's, Kubeflow's and LeaderWorkerSet's kinds, as the real ones are."""

from typing import Final

from global_sched.shared.api import resource, volcano, workloads
from global_sched.shared.api.crd_kind import AGE, CrdKind

_TOPOLOGY_MODE: Final = {"enum": ["hard", "soft"], "default": "hard"}
_NOT_NEGATIVE: Final = {"minimum": 0, "format": "int32"}

VOLCANO_KINDS: Final = (
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

KUBEFLOW_KINDS: Final = (
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

LEADER_WORKER_KINDS: Final = (
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
