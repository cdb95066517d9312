"""Copies of a template for members: what travels, one member's replicas, what a member keeps."""

import copy
from collections.abc import Callable, Sequence
from typing import Final

from global_sched.propagation.fields import (
    ANNOTATIONS,
    LABELS,
    Obj,
    annotations,
    drop,
    get,
    kind_of,
    labels,
    name_of,
    put,
    version_of,
)
from global_sched.shared.kinds import KINDS, batch_job
from global_sched.shared.kinds.parts.interpretation import keep, keep_replicas


def prune_kind(manifest: Obj) -> None:
    """Remove what is generated per kind, in place."""
    kind = KINDS.get(kind_of(manifest))
    hook = _PRUNED.get(kind_of(manifest)) if kind is None else kind.karmada.prune
    if hook is not None:
        hook(manifest)


def _prune_service(manifest: Obj) -> None:
    if get(manifest, "spec", "clusterIP") != "None":
        drop(manifest, "spec", "clusterIP")
        drop(manifest, "spec", "clusterIPs")


def _prune_service_account(manifest: Obj) -> None:
    secrets = manifest.get("secrets")
    if secrets:
        prefix = f"{name_of(manifest)}-token-"
        manifest["secrets"] = [
            one for one in secrets if not str(one.get("name")).startswith(prefix)
        ]


def _prune_secret(manifest: Obj) -> None:
    if manifest.get("type") == "kubernetes.io/service-account-token":
        drop(manifest, "metadata", "annotations", "kubernetes.io/service-account.uid")
        manifest.pop("data", None)


def _prune_volume_claim(manifest: Obj) -> None:
    drop(manifest, "metadata", "annotations", "volume.kubernetes.io/selected-node")


_PRUNED: Final[dict[tuple[str, str], Callable[[Obj], None]]] = {
    ("v1", "Service"): _prune_service,
    ("v1", "ServiceAccount"): _prune_service_account,
    ("v1", "Secret"): _prune_secret,
    ("v1", "PersistentVolumeClaim"): _prune_volume_claim,
}


BATCH_JOB: Final = batch_job.KIND.key
_REPLICA_FIELDS: Final = {("apps/v1", "ReplicaSet"): "replicas"}


def revise(manifest: Obj, replicas: int) -> None:
    """Set a manifest's replicas; kinds without a hook stay whole."""
    kind = KINDS.get(kind_of(manifest))
    if name := _REPLICA_FIELDS.get(kind_of(manifest)) if kind is None else kind.karmada.revised:
        put(manifest, "spec", name, value=replicas)


def divide(total: int, weights: Sequence[int]) -> list[int]:
    """A total divided by weights, rounded down; the rest goes to the first ones, one each."""
    whole = sum(weights)
    if whole == 0:
        return [0 for _ in weights]
    shares = [total * weight // whole for weight in weights]
    for index in range(total - sum(shares)):
        shares[index] += 1
    return shares


def completions_of(template: Obj) -> int | None:
    """A batch Job's completions, None for other kinds and for work queues."""
    if kind_of(template) != BATCH_JOB:
        return None
    completions = get(template, "spec", "completions")
    return None if completions is None else int(completions)


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
    hook = _RETAINED.get(kind_of(done)) if kind is None else kind.karmada.retain
    if hook is not None:
        hook(done, observed)
    return done


def _unmanaged(having: dict[str, str], managed: str) -> dict[str, str]:
    names = set(managed.split(","))
    return {key: value for key, value in having.items() if key not in names}


def _retain_pod(done: Obj, observed: Obj) -> None:
    for name in ("nodeName", "serviceAccountName", "serviceAccount", "volumes", "tolerations"):
        keep(done, observed, "spec", name)
    for group in ("containers", "initContainers"):
        mounts = {
            one.get("name"): one.get("volumeMounts") for one in get(observed, "spec", group) or []
        }
        for one in get(done, "spec", group) or []:
            if mounts.get(one.get("name")):
                one["volumeMounts"] = copy.deepcopy(mounts[one["name"]])


def _retain_service(done: Obj, observed: Obj) -> None:
    for name in ("clusterIP", "clusterIPs", "healthCheckNodePort"):
        keep(done, observed, "spec", name)


def _retain_service_account(done: Obj, observed: Obj) -> None:
    having = [str(one.get("name")) for one in done.get("secrets") or []]
    new = [one for one in observed.get("secrets") or [] if str(one.get("name")) not in having]
    if new:
        done["secrets"] = [*(done.get("secrets") or []), *new]


def _retain_volume_claim(done: Obj, observed: Obj) -> None:
    keep(done, observed, "spec", "volumeName")


_RETAINED: Final[dict[tuple[str, str], Callable[[Obj, Obj], None]]] = {
    ("apps/v1", "ReplicaSet"): keep_replicas,
    ("v1", "Pod"): _retain_pod,
    ("v1", "Service"): _retain_service,
    ("v1", "ServiceAccount"): _retain_service_account,
    ("v1", "PersistentVolumeClaim"): _retain_volume_claim,
}
