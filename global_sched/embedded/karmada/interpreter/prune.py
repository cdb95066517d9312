"""Fields of a server that cannot or must not travel to another one."""

from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import Obj, drop, get, kind_of, name_of
from global_sched.shared.kinds import KINDS


def prune_kind(manifest: Obj) -> None:
    """Remove what is generated per kind, in place."""
    kind = KINDS.get(kind_of(manifest))
    hook = _OTHERS.get(kind_of(manifest)) if kind is None else kind.karmada.prune
    if hook is not None:
        hook(manifest)


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


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj], None]]] = {
    ("v1", "Service"): _service,
    ("v1", "ServiceAccount"): _service_account,
    ("v1", "Secret"): _secret,
    ("v1", "PersistentVolumeClaim"): _volume_claim,
}
