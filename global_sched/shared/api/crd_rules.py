"""Validation and defaults of Karmada's CRDs beyond the fields' types, by path.

`[]` stands for the items of a list; the empty path is the whole object.
"""

from typing import Any, Final

Rules = dict[str, dict[str, Any]]
_ENUM_CONFLICT: Final = {"enum": ["Abort", "Overwrite"], "default": "Abort"}

_AFFINITY: Final = "spec.placement.clusterAffinities[]"

_REPLICAS: Final = "spec.placement.replicaScheduling"

_SELECTORS: Final = {"required": ["apiVersion", "kind"]}

POLICY_RULES: Final[Rules] = {
    "": {"required": ["spec"]},
    "spec": {"required": ["resourceSelectors"]},
    "spec.resourceSelectors": {"minItems": 1},
    "spec.resourceSelectors[]": _SELECTORS,
    "spec.priority": {"default": 0},
    "spec.preemption": {"enum": ["Always", "Never"], "default": "Never"},
    "spec.schedulerName": {
        "default": "default-scheduler",
        "x-kubernetes-validations": [
            {"rule": "self == oldSelf", "message": "the schedulerName should not be updated"}
        ],
    },
    "spec.conflictResolution": _ENUM_CONFLICT,
    "spec.activationPreference": {"enum": ["Lazy"]},
    "spec.schedulePriority": {"required": ["priorityClassName", "priorityClassSource"]},
    "spec.schedulePriority.priorityClassSource": {"enum": ["KubePriorityClass"]},
    _AFFINITY: {"required": ["affinityName"]},
    f"{_AFFINITY}.affinityName": {"minLength": 1, "maxLength": 32},
    "spec.placement.spreadConstraints[].spreadByField": {
        "enum": ["cluster", "region", "zone", "provider"]
    },
    f"{_REPLICAS}.replicaSchedulingType": {"enum": ["Duplicated", "Divided"], "default": "Divided"},
    f"{_REPLICAS}.replicaDivisionPreference": {"enum": ["Aggregated", "Weighted"]},
    f"{_REPLICAS}.weightPreference.dynamicWeight": {"enum": ["AvailableReplicas"]},
    f"{_REPLICAS}.weightPreference.staticWeightList[]": {"required": ["targetCluster", "weight"]},
    f"{_REPLICAS}.weightPreference.staticWeightList[].weight": {"minimum": 1},
}

BINDING_RULES: Final[Rules] = {
    "": {"required": ["spec"]},
    "spec": {"required": ["resource"]},
    "spec.resource": {"required": ["apiVersion", "kind", "name"]},
    "spec.clusters[]": {"required": ["name"]},
    "spec.schedulerName": {"default": "default-scheduler"},
    "spec.gracefulEvictionTasks[]": {"required": ["fromCluster", "producer", "reason"]},
    "spec.gracefulEvictionTasks[].purgeMode": {
        "enum": ["Immediately", "Directly", "Graciously", "Gracefully", "Never"]
    },
    "spec.gracefulEvictionTasks[].reason": {
        "maxLength": 32,
        "pattern": "^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$",
    },
    "status.aggregatedStatus[]": {"required": ["clusterName"]},
    "status.aggregatedStatus[].health": {"enum": ["Healthy", "Unhealthy", "Unknown"]},
}

OVERRIDE_RULES: Final[Rules] = {
    "": {"required": ["spec"]},
    "spec.resourceSelectors[]": _SELECTORS,
    "spec.overrideRules[]": {"required": ["overriders"]},
    "spec.overrideRules[].overriders.plaintext[]": {"required": ["path", "operator"]},
    "spec.overrideRules[].overriders.plaintext[].operator": {"enum": ["add", "remove", "replace"]},
}
