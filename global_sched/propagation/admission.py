"""Fields that Karmada's webhooks fill into policies; pure.

The embedded control plane has no webhooks: the detector brings policies into this shape before
it acts on them; bindings and Works get their permanent ids when they are made. What the webhooks
refuse (a changed schedulerName) the CRD refuses.
"""

import copy
from collections.abc import Callable

from global_sched.propagation.claim import (
    CLUSTER_POLICY_FINALIZER,
    POLICY_FINALIZER,
)
from global_sched.propagation.fields import Obj, get, labels, namespace_of, put
from global_sched.shared.api.names import CLUSTER_POLICY_ID, POLICY_ID


def admitted_policy(policy: Obj, new_id: Callable[[], str]) -> Obj:
    """The policy with its permanent id, its finalizer and the webhook's defaults.

    Spread constraints get a field and a minimum, Divided gets a preference, selectors of a
    namespaced policy get its namespace.
    """
    done = copy.deepcopy(policy)
    namespaced = policy["kind"] == "PropagationPolicy"
    id_label = POLICY_ID if namespaced else CLUSTER_POLICY_ID
    if not labels(done).get(id_label):
        put(done, "metadata", "labels", id_label, value=new_id())
    finalizer = POLICY_FINALIZER if namespaced else CLUSTER_POLICY_FINALIZER
    finalizers = done["metadata"].setdefault("finalizers", [])
    if finalizer not in finalizers:
        finalizers.append(finalizer)
    if namespaced:
        for selector in get(done, "spec", "resourceSelectors") or []:
            selector["namespace"] = namespace_of(policy)
    _default_placement(get(done, "spec", "placement") or {})
    if get(done, "spec", "failover", "application") is not None:
        put(done, "spec", "propagateDeps", value=True)
    return done


def _default_placement(placement: Obj) -> None:
    for constraint in placement.get("spreadConstraints") or []:
        if not constraint.get("spreadByField") and not constraint.get("spreadByLabel"):
            constraint["spreadByField"] = "cluster"
        if not constraint.get("minGroups"):
            constraint["minGroups"] = 1
    scheduling = placement.get("replicaScheduling")
    if (
        isinstance(scheduling, dict)
        and scheduling.get("replicaSchedulingType", "Divided") == "Divided"
        and not scheduling.get("replicaDivisionPreference")
    ):
        scheduling["replicaDivisionPreference"] = "Weighted"
