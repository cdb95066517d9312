"""The CRDs of Volcano's PodGroups, Queues and HyperNodes, as the real ones are."""

from typing import Final

from global_sched.shared.api import resource, volcano
from global_sched.shared.api.crd_kind import AGE, TOPOLOGY_MODE, CrdKind

VOLCANO_KINDS: Final = (
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
            "spec.networkTopology.mode": TOPOLOGY_MODE,
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
