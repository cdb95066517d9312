"""The content of a binding: from its template and its policy; pure."""

import copy
from typing import Any, Final

from global_sched.propagation.claim import CLAIM_ANNOTATIONS, CLAIM_LABELS, PolicyClaim
from global_sched.propagation.demand import demand_of
from global_sched.propagation.fields import (
    Obj,
    annotations,
    get,
    labels,
    name_of,
    namespace_of,
    uid_of,
    version_of,
)
from global_sched.propagation.naming import binding_name
from global_sched.shared.api.names import BINDING_ID, CLUSTER_BINDING_ID

BINDING_FINALIZER: Final = "karmada.io/binding-controller"
CLUSTER_BINDING_FINALIZER: Final = "karmada.io/cluster-resource-binding-controller"
_POLICY_FIELDS: Final = (
    "placement",
    "failover",
    "conflictResolution",
    "preserveResourcesOnDeletion",
)
"""Copied from the policy as they are; absent there means absent here."""


def reference_to(template: Obj) -> Obj:
    """`spec.resource`: the template and the version of it that the binding is about."""
    reference = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "namespace": namespace_of(template),
        "name": name_of(template),
        "uid": uid_of(template),
        "resourceVersion": version_of(template),
    }
    return {key: value for key, value in reference.items() if value}


def owner_reference(template: Obj) -> Obj:
    """The template as the binding's controller: garbage collection takes the binding with it."""
    return {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "name": name_of(template),
        "uid": uid_of(template),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def new_binding(template: Obj, policy: Obj, claim: PolicyClaim, *, id_: str, priority: Any) -> Obj:
    """The binding of a template that has none."""
    namespaced = bool(namespace_of(template))
    id_label = BINDING_ID if namespaced else CLUSTER_BINDING_ID
    metadata: Obj = {
        "name": binding_name(template["kind"], name_of(template)),
        "labels": {id_label: id_} | claim.labels,
        "annotations": dict(claim.annotations),
        "finalizers": [BINDING_FINALIZER if namespaced else CLUSTER_BINDING_FINALIZER],
        "ownerReferences": [owner_reference(template)],
    }
    if namespaced:
        metadata["namespace"] = namespace_of(template)
    binding: Obj = {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding" if namespaced else "ClusterResourceBinding",
        "metadata": metadata,
        "spec": {},
    }
    _fill(binding["spec"], template, policy, priority)
    return binding


def updated_binding(
    binding: Obj, template: Obj, policy: Obj, claim: PolicyClaim, *, priority: Any
) -> Obj:
    """The binding after a change of its template or policy.

    Never touched: clusters, gracefulEvictionTasks, rescheduleTriggeredAt, requiredBy, labels and
    annotations that are not the claim's.
    """
    done = copy.deepcopy(binding)
    metadata = done["metadata"]
    namespaced = bool(namespace_of(template))
    metadata["labels"] = _without(labels(binding), CLAIM_LABELS) | claim.labels
    metadata["annotations"] = _without(annotations(binding), CLAIM_ANNOTATIONS) | claim.annotations
    metadata["ownerReferences"] = [owner_reference(template)]
    finalizer = BINDING_FINALIZER if namespaced else CLUSTER_BINDING_FINALIZER
    if finalizer not in metadata.setdefault("finalizers", []):
        metadata["finalizers"].append(finalizer)
    _fill(done["spec"], template, policy, priority)
    return done


def _without(having: dict[str, str], names: tuple[str, ...]) -> dict[str, str]:
    return {key: value for key, value in having.items() if key not in names}


def _fill(spec: Obj, template: Obj, policy: Obj, priority: Any) -> None:
    wanted = policy.get("spec") or {}
    spec["resource"] = reference_to(template)
    spec["schedulerName"] = wanted.get("schedulerName") or "default-scheduler"
    demand = demand_of(template)
    values: Obj = {name: wanted.get(name) for name in _POLICY_FIELDS}
    # A policy without a placement allows every cluster; a binding without one is never scheduled.
    values["placement"] = wanted.get("placement") or {}
    values["propagateDeps"] = wanted.get("propagateDeps") or None
    values["replicas"] = (demand[0] or None) if demand else None
    values["replicaRequirements"] = demand[1] if demand else None
    values["schedulePriority"] = None if priority is None else {"priority": priority}
    values["suspension"] = _suspension(
        get(wanted, "suspension"), get(spec, "suspension", "scheduling")
    )
    for name, value in values.items():
        if value is None:
            spec.pop(name, None)
        else:
            spec[name] = copy.deepcopy(value)


def _suspension(policy: Obj | None, scheduling: bool | None) -> Obj | None:
    """The policy says what is not dispatched; whether scheduling is held is the binding's own."""
    merged = dict(policy or {})
    if scheduling is not None:
        merged["scheduling"] = scheduling
    return merged or None
