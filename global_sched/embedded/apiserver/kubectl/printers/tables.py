"""Tables of built-in kinds: the columns people know from `kubectl get`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver.kubectl.printers.pods import node_cells, pod_cells
from global_sched.embedded.apiserver.kubectl.printers.workloads import (
    cron_job_cells,
    daemon_set_cells,
    deployment_cells,
    job_cells,
    replica_set_cells,
    stateful_set_cells,
)
from global_sched.embedded.apiserver.resources.resource_info import Column

Obj = dict[str, Any]
Age = Callable[[str | None], str]
Cells = Callable[[Obj, Age], list[Any]]


@dataclass(frozen=True, slots=True)
class Printer:
    """The columns of a kind after its name, and how its cells (the name first) are made."""

    columns: tuple[Column, ...]
    cells: Cells


def _columns(text: str) -> tuple[Column, ...]:
    """Columns from `Name:type` words; a `+` marks those of `-o wide`."""
    found = []
    for word in text.split(","):
        name, _, kind = word.strip().partition(":")
        wide = name.startswith("+")
        found.append(
            Column(name=name.lstrip("+"), type=kind or "string", path="", priority=1 if wide else 0)
        )
    return tuple(found)


def _name(obj: Obj) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: Obj, age: Age) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


def _namespace(obj: Obj, age: Age) -> list[Any]:
    return [_name(obj), (obj.get("status") or {}).get("phase", ""), _age(obj, age)]


def _config_map(obj: Obj, age: Age) -> list[Any]:
    size = len(obj.get("data") or ()) + len(obj.get("binaryData") or ())
    return [_name(obj), size, _age(obj, age)]


def _secret(obj: Obj, age: Age) -> list[Any]:
    return [_name(obj), obj.get("type", ""), len(obj.get("data") or ()), _age(obj, age)]


def _service_account(obj: Obj, age: Age) -> list[Any]:
    return [_name(obj), len(obj.get("secrets") or ()), _age(obj, age)]


def _service(obj: Obj, age: Age) -> list[Any]:
    spec = obj["spec"]
    ports = []
    for port in spec.get("ports") or ():
        node = f":{port['nodePort']}" if port.get("nodePort") else ""
        ports.append(f"{port.get('port')}{node}/{port.get('protocol', 'TCP')}")
    selector = spec.get("selector") or {}
    return [
        _name(obj),
        spec.get("type", ""),
        spec.get("clusterIP") or "<none>",
        spec.get("externalName") or ",".join(spec.get("externalIPs") or ()) or "<none>",
        ",".join(ports) or "<none>",
        _age(obj, age),
        ",".join(f"{key}={value}" for key, value in sorted(selector.items())) or "<none>",
    ]


def _event(obj: Obj, age: Age) -> list[Any]:
    about = obj.get("involvedObject") or obj.get("regarding") or {}
    source = obj.get("source") or obj.get("deprecatedSource") or {}
    first = obj.get("firstTimestamp") or obj.get("deprecatedFirstTimestamp") or obj.get("eventTime")
    last = obj.get("lastTimestamp") or obj.get("deprecatedLastTimestamp")
    series = obj.get("series") or {}
    last = series.get("lastObservedTime") or last or first
    target = f"{str(about.get('kind', '')).lower()}/{about.get('name', '')}"
    component = (
        source.get("component")
        or obj.get("reportingComponent")
        or obj.get("reportingController")
        or ""
    )
    return [
        age(last),
        obj.get("type", ""),
        obj.get("reason", ""),
        target,
        about.get("fieldPath", ""),
        ", ".join(part for part in (component, source.get("host", "")) if part),
        str(obj.get("message") or obj.get("note") or "").strip(),
        age(first),
        series.get("count") or obj.get("count") or obj.get("deprecatedCount") or 1,
        _name(obj),
    ]


def _lease(obj: Obj, age: Age) -> list[Any]:
    return [_name(obj), obj["spec"].get("holderIdentity", ""), _age(obj, age)]


def _priority_class(obj: Obj, age: Age) -> list[Any]:
    return [
        _name(obj),
        obj.get("value", 0),
        "true" if obj.get("globalDefault") else "false",
        _age(obj, age),
        obj.get("preemptionPolicy", ""),
    ]


def _created(obj: Obj, age: Age) -> list[Any]:
    del age
    return [_name(obj), obj["metadata"].get("creationTimestamp", "")]


def _subjects(obj: Obj, kind: str) -> str:
    found = []
    for subject in obj.get("subjects") or ():
        if subject.get("kind") == kind:
            where = f"{subject.get('namespace', '')}/" if kind == "ServiceAccount" else ""
            found.append(where + subject.get("name", ""))
    return ", ".join(found)


def _binding(obj: Obj, age: Age) -> list[Any]:
    reference = obj.get("roleRef") or {}
    kinds = ("User", "Group", "ServiceAccount")
    return [
        _name(obj),
        f"{reference.get('kind', '')}/{reference.get('name', '')}",
        _age(obj, age),
        *(_subjects(obj, kind) for kind in kinds),
    ]


def _budget(obj: Obj, age: Age) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    return [
        _name(obj),
        str(spec.get("minAvailable", "N/A")),
        str(spec.get("maxUnavailable", "N/A")),
        status.get("disruptionsAllowed", 0),
        _age(obj, age),
    ]


def _quota(obj: Obj, age: Age) -> list[Any]:
    hard = (obj.get("status") or {}).get("hard") or obj["spec"].get("hard") or {}
    used = (obj.get("status") or {}).get("used") or {}
    requests: list[str] = []
    limits: list[str] = []
    for name in sorted(hard):
        text = f"{name}: {used.get(name, '0')}/{hard[name]}"
        (limits if name.startswith("limits.") else requests).append(text)
    return [_name(obj), ", ".join(requests), ", ".join(limits), _age(obj, age)]


def _claim(obj: Obj, age: Age) -> list[Any]:
    spec, status = obj["spec"], obj.get("status") or {}
    bound = bool(spec.get("volumeName"))
    modes = {
        "ReadWriteOnce": "RWO",
        "ReadOnlyMany": "ROX",
        "ReadWriteMany": "RWX",
        "ReadWriteOncePod": "RWOP",
    }
    return [
        _name(obj),
        "Terminating" if obj["metadata"].get("deletionTimestamp") else status.get("phase", ""),
        spec.get("volumeName", ""),
        (status.get("capacity") or {}).get("storage", "") if bound else "",
        ",".join(modes.get(m, m) for m in status.get("accessModes") or ()) if bound else "",
        spec.get("storageClassName") or "",
        spec.get("volumeAttributesClassName") or "<unset>",
        _age(obj, age),
        spec.get("volumeMode", "<unset>"),
    ]


_TEMPLATE: Final = "+Containers,+Images"
_ROLE: Final = Printer(_columns("Created At:date"), _created)
_BINDING: Final = Printer(_columns("Role,Age,+Users,+Groups,+ServiceAccounts"), _binding)

PRINTERS: Final[Mapping[str, Printer]] = {
    "pods": Printer(
        _columns("Ready,Status,Restarts,Age,+IP,+Node,+Nominated Node,+Readiness Gates"),
        pod_cells,
    ),
    "nodes": Printer(
        _columns(
            "Status,Roles,Age,Version,+Internal-IP,+External-IP,+OS-Image,+Kernel-Version,"
            "+Container-Runtime"
        ),
        node_cells,
    ),
    "deployments.apps": Printer(
        _columns(f"Ready,Up-to-date,Available,Age,{_TEMPLATE},+Selector"), deployment_cells
    ),
    "replicasets.apps": Printer(
        _columns(f"Desired:integer,Current:integer,Ready:integer,Age,{_TEMPLATE},+Selector"),
        replica_set_cells,
    ),
    "replicationcontrollers": Printer(
        _columns(f"Desired:integer,Current:integer,Ready:integer,Age,{_TEMPLATE},+Selector"),
        replica_set_cells,
    ),
    "statefulsets.apps": Printer(_columns(f"Ready,Age,{_TEMPLATE}"), stateful_set_cells),
    "daemonsets.apps": Printer(
        _columns(
            "Desired:integer,Current:integer,Ready:integer,Up-to-date:integer,"
            f"Available:integer,Node Selector,Age,{_TEMPLATE},+Selector"
        ),
        daemon_set_cells,
    ),
    "jobs.batch": Printer(
        _columns(f"Status,Completions,Duration,Age,{_TEMPLATE},+Selector"), job_cells
    ),
    "cronjobs.batch": Printer(
        _columns(
            "Schedule,Timezone,Suspend:boolean,Active:integer,Last Schedule,Age,"
            f"{_TEMPLATE},+Selector"
        ),
        cron_job_cells,
    ),
    "namespaces": Printer(_columns("Status,Age"), _namespace),
    "configmaps": Printer(_columns("Data,Age"), _config_map),
    "secrets": Printer(_columns("Type,Data:integer,Age"), _secret),
    "serviceaccounts": Printer(_columns("Secrets,Age"), _service_account),
    "services": Printer(_columns("Type,Cluster-IP,External-IP,Port(s),Age,+Selector"), _service),
    "leases.coordination.k8s.io": Printer(_columns("Holder,Age"), _lease),
    "priorityclasses.scheduling.k8s.io": Printer(
        _columns("Value:integer,Global-Default:boolean,Age,PreemptionPolicy"), _priority_class
    ),
    "roles.rbac.authorization.k8s.io": _ROLE,
    "clusterroles.rbac.authorization.k8s.io": _ROLE,
    "rolebindings.rbac.authorization.k8s.io": _BINDING,
    "clusterrolebindings.rbac.authorization.k8s.io": _BINDING,
    "poddisruptionbudgets.policy": Printer(
        _columns("Min Available,Max Unavailable,Allowed Disruptions:integer,Age"), _budget
    ),
    "resourcequotas": Printer(_columns("Request,Limit,Age"), _quota),
    "persistentvolumeclaims": Printer(
        _columns(
            "Status,Volume,Capacity,Access Modes,StorageClass,VolumeAttributesClass,Age,+VolumeMode"
        ),
        _claim,
    ),
    "customresourcedefinitions.apiextensions.k8s.io": Printer(
        _columns("Created At:date"), _created
    ),
    "events": Printer(
        _columns("Type,Reason,Object,+Subobject,+Source,Message,+First Seen,+Count,+Name"), _event
    ),
}
