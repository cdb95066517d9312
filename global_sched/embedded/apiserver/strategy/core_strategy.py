"""Namespaces, nodes, services, secrets, volumes, quotas, events and leases."""

import base64
import ipaddress
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.strategy.pod_validation import NEGATIVE, amount_causes
from global_sched.embedded.apiserver.strategy.strategy import Strategy

Obj = dict[str, Any]

_SERVICES: Final = ipaddress.ip_network("10.96.0.0/12")
_NODE_PORTS: Final = range(30000, 32768)
_PHASED: Final = {"phase": "Pending"}
_SECRET_LIMIT: Final = 1024 * 1024
_IMMUTABLE: Final = "field is immutable when `immutable` is set"
_FIXED: Final = "field is immutable"


def _namespace_defaults(obj: Obj) -> None:
    name = obj["metadata"].get("name")
    if name:
        obj["metadata"].setdefault("labels", {})["kubernetes.io/metadata.name"] = name


def _namespace_prepare(_backend: Backend, obj: Obj) -> None:
    finalizers = obj["spec"].get("finalizers") or []
    if "kubernetes" not in finalizers:
        obj["spec"]["finalizers"] = [*finalizers, "kubernetes"]
    obj["status"] = {"phase": "Active"}


def _namespace_update(_backend: Backend, obj: Obj, old: Obj) -> None:
    obj["spec"] = old["spec"]


def _node_defaults(obj: Obj) -> None:
    status = obj["status"]
    if "capacity" in status and "allocatable" not in status:
        status["allocatable"] = dict(status["capacity"])


def _node_causes(obj: Obj) -> list[StatusCause]:
    found = amount_causes(obj["status"].get("capacity"), "status.capacity")
    found += amount_causes(obj["status"].get("allocatable"), "status.allocatable")
    seen: set[tuple[str, str]] = set()
    for index, taint in enumerate(obj["spec"].get("taints") or ()):
        where = f"spec.taints[{index}]"
        effect = taint.get("effect") or ""
        if effect not in {"NoSchedule", "PreferNoSchedule", "NoExecute"}:
            known = ["NoSchedule", "PreferNoSchedule", "NoExecute"]
            found.append(field_errors.not_supported(f"{where}.effect", effect, known))
        mark = (taint.get("key", ""), effect)
        if mark in seen:
            why = "taints must be unique by key and effect pair"
            found.append(field_errors.duplicate(where, taint))
            del why
        seen.add(mark)
    return found


# ---- services ------------------------------------------------------------------------------


def _service_defaults(obj: Obj) -> None:
    spec = obj["spec"]
    spec.setdefault("sessionAffinity", "None")
    spec.setdefault("type", "ClusterIP")
    for port in spec.get("ports") or ():
        port.setdefault("protocol", "TCP")
        if not port.get("targetPort"):
            port["targetPort"] = port.get("port", 0)
    outside = spec["type"] in {"NodePort", "LoadBalancer"}
    if outside:
        spec.setdefault("externalTrafficPolicy", "Cluster")
    if spec["type"] in {"ClusterIP", "NodePort", "LoadBalancer"}:
        spec.setdefault("internalTrafficPolicy", "Cluster")
    if spec["type"] == "LoadBalancer":
        spec.setdefault("allocateLoadBalancerNodePorts", True)


def _used(backend: Backend) -> tuple[set[str], set[int]]:
    """The addresses and node ports that services hold."""
    addresses: set[str] = set()
    ports: set[int] = set()
    for record in backend.store.collection("services").select():
        addresses.add(record.fields.get("spec.clusterIP", ""))
        if record.fields.get("spec.type") in {"NodePort", "LoadBalancer"}:
            ports |= {port.get("nodePort", 0) for port in record.load()["spec"].get("ports") or ()}
    return addresses, ports


def _service_prepare(backend: Backend, obj: Obj) -> None:
    obj["status"] = {"loadBalancer": {}}
    _allocate(backend, obj["spec"])


def _allocate(backend: Backend, spec: Obj) -> None:
    """Give a service its address and node ports."""
    if spec["type"] == "ExternalName":
        return
    addresses, ports = _used(backend)
    if not spec.get("clusterIP"):
        spec["clusterIP"] = next(
            str(address)
            for address in _SERVICES.hosts()
            if str(address) not in addresses and int(address) > int(_SERVICES[9])
        )
    spec["clusterIPs"] = [spec["clusterIP"]]
    spec.setdefault("ipFamilies", ["IPv4"])
    spec.setdefault("ipFamilyPolicy", "SingleStack")
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        for port in spec.get("ports") or ():
            if not port.get("nodePort"):
                port["nodePort"] = next(n for n in _NODE_PORTS if n not in ports)
            ports.add(port["nodePort"])


def _service_update(backend: Backend, obj: Obj, old: Obj) -> None:
    spec, before = obj["spec"], old["spec"]
    if spec["type"] == "ExternalName":
        return
    for key in ("clusterIP", "clusterIPs", "ipFamilies", "ipFamilyPolicy"):
        if not spec.get(key) and before.get(key):
            spec[key] = before[key]
    held = {port.get("port"): port.get("nodePort") for port in before.get("ports") or ()}
    if spec["type"] in {"NodePort", "LoadBalancer"}:
        for port in spec.get("ports") or ():
            if not port.get("nodePort") and held.get(port.get("port")):
                port["nodePort"] = held[port.get("port")]
    _allocate(backend, spec)


def _service_causes(obj: Obj) -> list[StatusCause]:
    spec = obj["spec"]
    found: list[StatusCause] = []
    kinds = ["ClusterIP", "ExternalName", "LoadBalancer", "NodePort"]
    if spec["type"] not in kinds:
        found.append(field_errors.not_supported("spec.type", spec["type"], kinds))
    headless = spec.get("clusterIP") == "None"
    ports = spec.get("ports") or []
    if not ports and not headless and spec["type"] != "ExternalName":
        found.append(field_errors.required("spec.ports"))
    for index, port in enumerate(ports):
        where = f"spec.ports[{index}]"
        if len(ports) > 1 and not port.get("name"):
            found.append(field_errors.required(f"{where}.name"))
        if not 0 < port.get("port", 0) < 65536:
            why = "must be between 1 and 65535, inclusive"
            found.append(field_errors.invalid(f"{where}.port", port.get("port", 0), why))
    if spec["type"] == "ExternalName" and not spec.get("externalName"):
        found.append(field_errors.required("spec.externalName"))
    return found


def _service_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    now, before = obj["spec"].get("clusterIP"), old["spec"].get("clusterIP")
    if before and now != before and obj["spec"]["type"] != "ExternalName":
        why = "may not change once set"
        return [field_errors.invalid("spec.clusterIPs[0]", [now], why)]
    return []


# ---- configuration -------------------------------------------------------------------------


def _secret_defaults(obj: Obj) -> None:
    if not obj.get("type"):
        obj["type"] = "Opaque"
    plain = obj.pop("stringData", None)
    if plain:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in plain.items()}
        obj["data"] = {**(obj.get("data") or {}), **encoded}


def _data_causes(obj: Obj) -> list[StatusCause]:
    size = sum(
        len(str(value))
        for part in ("data", "binaryData")
        for value in (obj.get(part) or {}).values()
    )
    if size > _SECRET_LIMIT * 4 // 3:
        return [field_errors.too_long("data", _SECRET_LIMIT)]
    return []


def _data_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    fixed = ("data", "binaryData", "immutable") if old.get("immutable") else ()
    found = [
        field_errors.forbidden(key, _IMMUTABLE) for key in fixed if obj.get(key) != old.get(key)
    ]
    if obj.get("type") != old.get("type"):
        found.append(field_errors.invalid("type", obj.get("type"), _FIXED))
    return found


def _claim_defaults(obj: Obj) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")


def _volume_defaults(obj: Obj) -> None:
    obj["spec"].setdefault("volumeMode", "Filesystem")
    obj["spec"].setdefault("persistentVolumeReclaimPolicy", "Retain")


def _pending(_backend: Backend, obj: Obj) -> None:
    obj["status"] = dict(_PHASED)


def _empty_status(_backend: Backend, obj: Obj) -> None:
    obj["status"] = {}


def _quota_causes(obj: Obj) -> list[StatusCause]:
    return amount_causes(obj["spec"].get("hard"), "spec.hard")


def _lease_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    spec = obj["spec"]
    seconds = spec.get("leaseDurationSeconds")
    if seconds is not None and seconds <= 0:
        why = "must be greater than 0"
        found.append(field_errors.invalid("spec.leaseDurationSeconds", seconds, why))
    turns = spec.get("leaseTransitions")
    if turns is not None and turns < 0:
        found.append(field_errors.invalid("spec.leaseTransitions", turns, NEGATIVE))
    return found


def _event_causes(obj: Obj) -> list[StatusCause]:
    """An event is in the namespace of what it is about; a new-style one says who and why."""
    found: list[StatusCause] = []
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    namespace = obj["metadata"].get("namespace") or ""
    of = about.get("namespace") or ""
    field = "regarding.namespace" if "regarding" in obj else "involvedObject.namespace"
    if (of and of != namespace) or (not of and namespace not in {"", "default", "kube-system"}):
        found.append(field_errors.invalid(field, of, "does not match event.namespace"))
    if obj.get("apiVersion") == "events.k8s.io/v1" or obj.get("eventTime"):
        found += _new_event_causes(obj)
    return found


def _new_event_causes(obj: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    if not obj.get("eventTime"):
        found.append(field_errors.required("eventTime"))
    controller = obj.get("reportingController") or obj.get("reportingComponent")
    if not controller:
        found.append(field_errors.required("reportingController"))
    for key, limit in (("reportingInstance", 128), ("action", 128), ("reason", 128)):
        value = obj.get(key)
        if not value:
            found.append(field_errors.required(key))
        elif len(value) > limit:
            found.append(field_errors.invalid(key, "", f"can have at most {limit} characters"))
    note = obj.get("note") or obj.get("message") or ""
    if len(note) > 1024:
        found.append(field_errors.invalid("message", "", "can have at most 1024 characters"))
    if obj.get("type") not in {"Normal", "Warning"}:
        found.append(
            field_errors.invalid("type", "", "has invalid value: " + (obj.get("type") or ""))
        )
    return found


def _event_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    """Of an Event of the newer kind only the series changes."""
    if obj.get("apiVersion") != "events.k8s.io/v1":
        return []
    text, before = ((one.get("note") or one.get("message") or "") for one in (obj, old))
    found = [] if text == before else [field_errors.invalid("message", text, _FIXED)]
    return found + [
        field_errors.invalid(key, obj.get(key), _FIXED)
        for key in ("reason", "type", "action")
        if obj.get(key) != old.get(key)
    ]


CORE_RULES: Final = {
    "namespaces": Strategy(
        defaults=_namespace_defaults,
        prepare=_namespace_prepare,
        prepare_update=_namespace_update,
    ),
    "nodes": Strategy(defaults=_node_defaults, validate=_node_causes),
    "services": Strategy(
        defaults=_service_defaults,
        prepare=_service_prepare,
        prepare_update=_service_update,
        validate=_service_causes,
        validate_update=_service_fixed,
        create_on_update=True,
    ),
    "secrets": Strategy(
        defaults=_secret_defaults, validate=_data_causes, validate_update=_data_fixed
    ),
    "configmaps": Strategy(validate=_data_causes, validate_update=_data_fixed),
    "persistentvolumeclaims": Strategy(defaults=_claim_defaults, prepare=_pending),
    "persistentvolumes": Strategy(defaults=_volume_defaults, prepare=_pending),
    "resourcequotas": Strategy(prepare=_empty_status, validate=_quota_causes),
    "leases.coordination.k8s.io": Strategy(
        validate=_lease_causes, create_on_update=True, unconditional=False
    ),
    "events": Strategy(validate=_event_causes, validate_update=_event_fixed, create_on_update=True),
    "endpoints": Strategy(create_on_update=True),
    "limitranges": Strategy(create_on_update=True),
}
