"""Fields that a member's object keeps when the control plane writes it again."""

import copy
from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import (
    ANNOTATIONS,
    LABELS,
    Obj,
    annotations,
    get,
    kind_of,
    labels,
    put,
    version_of,
)
from global_sched.shared.kinds import KINDS
from global_sched.shared.kinds.parts.retaining import keep, keep_replicas

MANAGED_LABELS: Final = "resourcetemplate.karmada.io/managed-labels"
MANAGED_ANNOTATIONS: Final = "resourcetemplate.karmada.io/managed-annotations"
_KEPT_METADATA: Final = ("ownerReferences", "creationTimestamp", "uid", "generation")


def retained(desired: Obj, observed: Obj) -> Obj:
    """The manifest as it is to be written over what the member has.

    The member's version, finalizers, owners and status stay; so do its labels and annotations
    that were never managed from here; and per kind what only the member can know.
    """
    done = copy.deepcopy(desired)
    put(done, "metadata", "resourceVersion", value=version_of(observed))
    for name in _KEPT_METADATA:
        if (value := get(observed, "metadata", name)) is not None:
            put(done, "metadata", name, value=value)
    finalizers = get(observed, "metadata", "finalizers") or []
    mine = get(done, "metadata", "finalizers") or []
    if finalizers or mine:
        both = [*finalizers, *(one for one in mine if one not in finalizers)]
        put(done, "metadata", "finalizers", value=both)
    kept = _unmanaged(labels(observed), annotations(observed).get(MANAGED_LABELS, ""))
    put(done, *LABELS, value=kept | labels(done))
    notes = annotations(observed)
    kept = _unmanaged(notes, notes.get(MANAGED_ANNOTATIONS, ""))
    put(done, *ANNOTATIONS, value=kept | annotations(done))
    if "status" in observed:
        done["status"] = copy.deepcopy(observed["status"])
    kind = KINDS.get(kind_of(done))
    hook = _OTHERS.get(kind_of(done)) if kind is None else kind.karmada.retain
    if hook is not None:
        hook(done, observed)
    return done


def _unmanaged(having: dict[str, str], managed: str) -> dict[str, str]:
    names = set(managed.split(","))
    return {key: value for key, value in having.items() if key not in names}


def _pod(done: Obj, observed: Obj) -> None:
    for name in ("nodeName", "serviceAccountName", "serviceAccount", "volumes", "tolerations"):
        keep(done, observed, "spec", name)
    for group in ("containers", "initContainers"):
        mounts = {
            one.get("name"): one.get("volumeMounts") for one in get(observed, "spec", group) or []
        }
        for one in get(done, "spec", group) or []:
            if mounts.get(one.get("name")):
                one["volumeMounts"] = copy.deepcopy(mounts[one["name"]])


def _service(done: Obj, observed: Obj) -> None:
    for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
        keep(done, observed, "spec", name)


def _service_account(done: Obj, observed: Obj) -> None:
    having = [str(one.get("name")) for one in done.get("secrets") or []]
    new = [one for one in observed.get("secrets") or [] if str(one.get("name")) not in having]
    if new:
        done["secrets"] = [*(done.get("secrets") or []), *new]


def _volume_claim(done: Obj, observed: Obj) -> None:
    keep(done, observed, "spec", "volumeName")


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj, Obj], None]]] = {
    ("apps/v1", "ReplicaSet"): keep_replicas,
    ("v1", "Pod"): _pod,
    ("v1", "Service"): _service,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "PersistentVolumeClaim"): _volume_claim,
}
