"""References of a template's pods: they must be in the member before the pods can start."""

from collections.abc import Callable, Iterator
from typing import Final, NamedTuple

from global_sched.propagation.demand import pod_spec_of
from global_sched.propagation.fields import Obj, get, kind_of, namespace_of
from global_sched.shared.kinds import KINDS


class Dependency(NamedTuple):
    """An object that a template needs."""

    api_version: str
    kind: str
    namespace: str
    name: str

    def as_object(self) -> Obj:
        """As it is spelled in the binding's annotation."""
        return {
            "apiVersion": self.api_version,
            "kind": self.kind,
            "namespace": self.namespace,
            "name": self.name,
        }


def dependencies_of(template: Obj) -> list[Dependency] | None:
    """What a template depends on, each once, in order of kind and name.

    None for kinds that are not looked into (a Volcano Job, as released).
    """
    kind = KINDS.get(kind_of(template))
    pods = _OTHERS.get(kind_of(template)) if kind is None else kind.karmada.pods
    if pods is None:
        return None
    namespace = namespace_of(template)
    names: set[tuple[str, str]] = set()
    for pod in pods(template):
        names.update(_references(pod))
    return [Dependency("v1", kind, namespace, name) for kind, name in sorted(names) if name]


def _references(pod: Obj) -> Iterator[tuple[str, str]]:
    for secret in pod.get("imagePullSecrets") or []:
        yield "Secret", secret.get("name", "")
    account = pod.get("serviceAccountName")
    if account and account != "default":
        yield "ServiceAccount", account
    for volume in pod.get("volumes") or []:
        yield from _volume_references(volume)
    for group in ("containers", "initContainers", "ephemeralContainers"):
        for container in pod.get(group) or []:
            yield from _container_references(container)


def _volume_references(volume: Obj) -> Iterator[tuple[str, str]]:
    if volume.get("configMap"):
        yield "ConfigMap", volume["configMap"].get("name", "")
    if volume.get("secret"):
        yield "Secret", volume["secret"].get("secretName", "")
    if volume.get("persistentVolumeClaim"):
        yield "PersistentVolumeClaim", volume["persistentVolumeClaim"].get("claimName", "")
    for source in get(volume, "projected", "sources") or []:
        if source.get("configMap"):
            yield "ConfigMap", source["configMap"].get("name", "")
        if source.get("secret"):
            yield "Secret", source["secret"].get("name", "")
    for driver in volume.values():
        if isinstance(driver, dict) and isinstance(driver.get("secretRef"), dict):
            yield "Secret", driver["secretRef"].get("name", "")


def _container_references(container: Obj) -> Iterator[tuple[str, str]]:
    for source in container.get("envFrom") or []:
        if source.get("configMapRef"):
            yield "ConfigMap", source["configMapRef"].get("name", "")
        if source.get("secretRef"):
            yield "Secret", source["secretRef"].get("name", "")
    for variable in container.get("env") or []:
        value = variable.get("valueFrom") or {}
        if value.get("configMapKeyRef"):
            yield "ConfigMap", value["configMapKeyRef"].get("name", "")
        if value.get("secretKeyRef"):
            yield "Secret", value["secretKeyRef"].get("name", "")


def _one(template: Obj) -> list[Obj]:
    return [pod_spec_of(template)]


def _cron(template: Obj) -> list[Obj]:
    return [get(template, "spec", "jobTemplate", "spec", "template", "spec") or {}]


_OTHERS: Final[dict[tuple[str, str], Callable[[Obj], list[Obj]]]] = {
    ("apps/v1", "ReplicaSet"): _one,
    ("apps/v1", "DaemonSet"): _one,
    ("batch/v1", "CronJob"): _cron,
    ("v1", "Pod"): _one,
}
