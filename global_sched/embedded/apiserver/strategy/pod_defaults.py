"""Defaults of pods and pod templates."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

Obj = dict[str, Any]

_PROBE: Final = {
    "timeoutSeconds": 1,
    "periodSeconds": 10,
    "successThreshold": 1,
    "failureThreshold": 3,
}
_FILE_MODE: Final = 420
_MODED: Final = ("secret", "configMap", "downwardAPI", "projected")
DEFAULT_TOLERATIONS: Final = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")


def pull_policy(image: str) -> str:
    """Always for a moving tag, IfNotPresent for a fixed one."""
    if "@" in image:
        return "IfNotPresent"
    tag = image.rpartition("/")[2].partition(":")[2]
    return "Always" if tag in {"", "latest"} else "IfNotPresent"


def containers_of(spec: Obj, *, ephemeral: bool = True) -> Iterator[Obj]:
    """Every container of a pod."""
    kinds = ["initContainers", "containers"]
    if ephemeral:
        kinds.append("ephemeralContainers")
    for kind in kinds:
        yield from spec.get(kind) or ()


def _http_get(action: Obj) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _handler(handler: Obj) -> None:
    if isinstance(handler.get("httpGet"), dict):
        _http_get(handler["httpGet"])
    if isinstance(handler.get("grpc"), dict):
        handler["grpc"].setdefault("service", "")


def _field_ref(holder: Obj) -> None:
    reference = holder.get("fieldRef")
    if isinstance(reference, dict):
        reference.setdefault("apiVersion", "v1")


def _container(container: Obj) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image") or "")
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")
    for port in container.get("ports") or ():
        port.setdefault("protocol", "TCP")
    for variable in container.get("env") or ():
        if isinstance(variable.get("valueFrom"), dict):
            _field_ref(variable["valueFrom"])
    for probe in ("livenessProbe", "readinessProbe", "startupProbe"):
        if isinstance(container.get(probe), dict):
            for key, value in _PROBE.items():
                container[probe].setdefault(key, value)
            _handler(container[probe])
    lifecycle = container.get("lifecycle") or {}
    for hook in ("postStart", "preStop"):
        if isinstance(lifecycle.get(hook), dict):
            _handler(lifecycle[hook])


def _volume(volume: Obj) -> None:
    if set(volume) <= {"name"}:
        volume["emptyDir"] = {}
    for kind in _MODED:
        if isinstance(volume.get(kind), dict):
            volume[kind].setdefault("defaultMode", _FILE_MODE)
    if isinstance(volume.get("hostPath"), dict):
        volume["hostPath"].setdefault("type", "")
    for item in (volume.get("downwardAPI") or {}).get("items") or ():
        _field_ref(item)
    for source in (volume.get("projected") or {}).get("sources") or ():
        for item in (source.get("downwardAPI") or {}).get("items") or ():
            _field_ref(item)
        if isinstance(source.get("serviceAccountToken"), dict):
            source["serviceAccountToken"].setdefault("expirationSeconds", 3600)
    claim = (volume.get("ephemeral") or {}).get("volumeClaimTemplate") or {}
    if isinstance(claim.get("spec"), dict):
        claim["spec"].setdefault("volumeMode", "Filesystem")


def default_pod_spec(spec: Obj) -> None:
    """Fill a pod spec, in place."""
    spec.setdefault("dnsPolicy", "ClusterFirst")
    spec.setdefault("restartPolicy", "Always")
    spec.setdefault("securityContext", {})
    spec.setdefault("terminationGracePeriodSeconds", 30)
    spec.setdefault("schedulerName", "default-scheduler")
    name = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if name:
        spec["serviceAccountName"] = spec["serviceAccount"] = name
    for volume in spec.get("volumes") or ():
        _volume(volume)
    for container in containers_of(spec):
        _container(container)
    if spec.get("hostNetwork"):
        _host_ports(spec)


def _host_ports(spec: Obj) -> None:
    for container in containers_of(spec, ephemeral=False):
        for port in container.get("ports") or ():
            port.setdefault("hostPort", port.get("containerPort"))


def default_template(template: Obj | None) -> None:
    """Fill a pod template, in place."""
    if isinstance(template, dict) and isinstance(template.get("spec"), dict):
        default_pod_spec(template["spec"])


def default_pod(pod: Obj) -> None:
    """Fill a pod, in place: a template's defaults, and requests from limits."""
    spec = pod["spec"]
    default_pod_spec(spec)
    for container in containers_of(spec, ephemeral=False):
        resources = container.get("resources") or {}
        limits = resources.get("limits")
        if limits:
            resources["requests"] = {**limits, **(resources.get("requests") or {})}
    spec.setdefault("enableServiceLinks", True)


def add_tolerations(spec: Obj) -> None:
    """Tolerate a node that is not ready or unreachable for five minutes."""
    held = spec.get("tolerations") or []
    for key in DEFAULT_TOLERATIONS:
        if not any(_covers(toleration, key) for toleration in held):
            held = [
                *held,
                {"key": key, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": 300},
            ]
    spec["tolerations"] = held


def _covers(toleration: Obj, key: str) -> bool:
    named = toleration.get("key") or ""
    effect = toleration.get("effect") or ""
    return named in {"", key} and effect in {"", "NoExecute"}


def qos_class(spec: Obj) -> str:
    """Guaranteed, Burstable or BestEffort, by the containers' requests and limits."""
    counted = ("cpu", "memory")
    asked = False
    guaranteed = True
    for container in containers_of(spec, ephemeral=False):
        resources: Mapping[str, Any] = container.get("resources") or {}
        requests, limits = resources.get("requests") or {}, resources.get("limits") or {}
        if any(name in requests or name in limits for name in counted):
            asked = True
        if any(name not in limits or requests.get(name) != limits[name] for name in counted):
            guaranteed = False
    if not asked:
        return "BestEffort"
    return "Guaranteed" if guaranteed else "Burstable"
