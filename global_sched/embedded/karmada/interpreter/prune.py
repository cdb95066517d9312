"""What a server put into an object that cannot or must not travel to another one."""

from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import Obj, drop, get, kind_of, name_of

_SELECTOR_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")
_TEMPLATE_LABELS: Final = (*_SELECTOR_LABELS, "job-name", "batch.kubernetes.io/job-name")


def prune_kind(manifest: Obj) -> None:
    """Remove what is generated per kind, in place."""
    hook = _PRUNERS.get(kind_of(manifest))
    if hook is not None:
        hook(manifest)


def _deployment(manifest: Obj) -> None:
    drop(manifest, "metadata", "annotations", "deployment.kubernetes.io/revision")
    drop(manifest, "metadata", "annotations", "deployment.kubernetes.io/revision-history")


def _batch_job(manifest: Obj) -> None:
    """The generated selector names this server's uid; a TTL would delete the copy under us."""
    drop(manifest, "spec", "ttlSecondsAfterFinished")
    if get(manifest, "spec", "manualSelector"):
        return
    selector = get(manifest, "spec", "selector", "matchLabels")
    for label in _SELECTOR_LABELS:
        (selector or {}).pop(label, None)
    template = get(manifest, "spec", "template", "metadata", "labels")
    for label in _TEMPLATE_LABELS:
        (template or {}).pop(label, None)


def _service(manifest: Obj) -> None:
    if get(manifest, "spec", "clusterIP") != "None":
        drop(manifest, "spec", "clusterIP")
        drop(manifest, "spec", "clusterIPs")


def _service_account(manifest: Obj) -> None:
    secrets = manifest.get("secrets")
    if secrets:
        prefix = f"{name_of(manifest)}-token-"
        manifest["secrets"] = [
            one for one in secrets if not str(one.get("name")).startswith(prefix)
        ]


def _secret(manifest: Obj) -> None:
    if manifest.get("type") == "kubernetes.io/service-account-token":
        drop(manifest, "metadata", "annotations", "kubernetes.io/service-account.uid")
        manifest.pop("data", None)


def _volume_claim(manifest: Obj) -> None:
    drop(manifest, "metadata", "annotations", "volume.kubernetes.io/selected-node")


_PRUNERS: Final[dict[tuple[str, str], Callable[[Obj], None]]] = {
    ("apps/v1", "Deployment"): _deployment,
    ("batch/v1", "Job"): _batch_job,
    ("v1", "Service"): _service,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "Secret"): _secret,
    ("v1", "PersistentVolumeClaim"): _volume_claim,
}
