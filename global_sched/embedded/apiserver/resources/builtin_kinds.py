"""The built-in resources: one row each, as discovery of a real server lists them."""

from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

from global_sched.embedded.apiserver.codec.go_types import shape_of
from global_sched.embedded.apiserver.resources.resource_info import (
    ALL_VERBS,
    ResourceInfo,
    ScalePaths,
    Subresource,
)

Obj = dict[str, Any]

_STATUS_VERBS: Final = ("get", "patch", "update")

_ROWS: Final = """
core/v1 configmaps ConfigMap cm
core/v1 endpoints Endpoints ep
core/v1 events Event ev
core/v1 limitranges LimitRange limits
-core/v1 namespaces Namespace ns status finalize
-core/v1 nodes Node no status proxy
core/v1 persistentvolumeclaims PersistentVolumeClaim pvc status
-core/v1 persistentvolumes PersistentVolume pv status
core/v1 pods Pod po status g @all attach binding eviction ephemeralcontainers exec log portforward podproxy resize
core/v1 podtemplates PodTemplate g
core/v1 replicationcontrollers ReplicationController rc status scale g @all
core/v1 resourcequotas ResourceQuota quota status
core/v1 secrets Secret
core/v1 serviceaccounts ServiceAccount sa token
core/v1 services Service svc status @all
apps/v1 controllerrevisions ControllerRevision
apps/v1 daemonsets DaemonSet ds status g @all
apps/v1 deployments Deployment deploy scale status g @all
apps/v1 replicasets ReplicaSet rs scale status g @all
apps/v1 statefulsets StatefulSet sts scale status g @all
autoscaling/v2 horizontalpodautoscalers HorizontalPodAutoscaler hpa status @all
batch/v1 cronjobs CronJob cj status g @all
batch/v1 jobs Job status g @all
coordination.k8s.io/v1 leases Lease
discovery.k8s.io/v1 endpointslices EndpointSlice g
events.k8s.io/v1 events Event ev
networking.k8s.io/v1 ingresses Ingress ing status g
-networking.k8s.io/v1 ingressclasses IngressClass g
networking.k8s.io/v1 networkpolicies NetworkPolicy netpol g
-node.k8s.io/v1 runtimeclasses RuntimeClass
policy/v1 poddisruptionbudgets PodDisruptionBudget pdb status g
-rbac.authorization.k8s.io/v1 clusterrolebindings ClusterRoleBinding
-rbac.authorization.k8s.io/v1 clusterroles ClusterRole
rbac.authorization.k8s.io/v1 rolebindings RoleBinding
rbac.authorization.k8s.io/v1 roles Role
-scheduling.k8s.io/v1 priorityclasses PriorityClass pc g
-storage.k8s.io/v1 storageclasses StorageClass sc
-storage.k8s.io/v1 csidrivers CSIDriver
-storage.k8s.io/v1 csinodes CSINode
-storage.k8s.io/v1 volumeattachments VolumeAttachment status
storage.k8s.io/v1 csistoragecapacities CSIStorageCapacity
-admissionregistration.k8s.io/v1 mutatingwebhookconfigurations MutatingWebhookConfiguration g
-admissionregistration.k8s.io/v1 validatingwebhookconfigurations ValidatingWebhookConfiguration g
-admissionregistration.k8s.io/v1 validatingadmissionpolicies ValidatingAdmissionPolicy status g
-admissionregistration.k8s.io/v1 validatingadmissionpolicybindings ValidatingAdmissionPolicyBinding g
-apiregistration.k8s.io/v1 apiservices APIService status
-apiextensions.k8s.io/v1 customresourcedefinitions CustomResourceDefinition crd,crds status g
+authentication.k8s.io/v1 selfsubjectreviews SelfSubjectReview
+authentication.k8s.io/v1 tokenreviews TokenReview
!authorization.k8s.io/v1 localsubjectaccessreviews LocalSubjectAccessReview
+authorization.k8s.io/v1 selfsubjectaccessreviews SelfSubjectAccessReview
+authorization.k8s.io/v1 selfsubjectrulesreviews SelfSubjectRulesReview
+authorization.k8s.io/v1 subjectaccessreviews SubjectAccessReview
!core/v1 bindings Binding
"""  # noqa: E501 - one row per kind reads best
"""`-` is cluster-scoped; `+` and `!` can only be created (cluster-scoped, namespaced)."""

_STRUCT_GROUPS: Final = {
    "rbac.authorization.k8s.io": "rbac",
    "admissionregistration.k8s.io": "admissionregistration",
}

_SUBS: Final = {
    "binding": Subresource(name="binding", kind="Binding", verbs=("create",)),
    "eviction": Subresource(
        name="eviction", kind="Eviction", verbs=("create",), group="policy", version="v1"
    ),
    "scale": Subresource(
        name="scale", kind="Scale", verbs=_STATUS_VERBS, group="autoscaling", version="v1"
    ),
    "token": Subresource(
        name="token",
        kind="TokenRequest",
        verbs=("create",),
        group="authentication.k8s.io",
        version="v1",
    ),
    "log": Subresource(name="log", kind="Pod", verbs=("get",)),
    "finalize": Subresource(name="finalize", kind="Namespace", verbs=("update",)),
    "proxy": Subresource(
        name="proxy",
        kind="NodeProxyOptions",
        verbs=("create", "delete", "get", "patch", "update"),
    ),
    "attach": Subresource(name="attach", kind="PodAttachOptions", verbs=("create", "get")),
    "exec": Subresource(name="exec", kind="PodExecOptions", verbs=("create", "get")),
    "portforward": Subresource(
        name="portforward", kind="PodPortForwardOptions", verbs=("create", "get")
    ),
    "podproxy": Subresource(
        name="proxy",
        kind="PodProxyOptions",
        verbs=("create", "delete", "get", "patch", "update"),
    ),
    "ephemeralcontainers": Subresource(name="ephemeralcontainers", kind="Pod", verbs=_STATUS_VERBS),
    "resize": Subresource(name="resize", kind="Pod", verbs=_STATUS_VERBS),
}
SCALE: Final = ScalePaths(
    spec=".spec.replicas", status=".status.replicas", selector=".status.selector"
)


def _at(*path: str) -> Callable[[Obj], str]:
    def read(obj: Obj) -> str:
        value: Any = obj
        for part in path:
            if not isinstance(value, dict):
                return ""
            value = value.get(part)
        if isinstance(value, bool):
            return "true" if value else "false"
        return "" if value is None else str(value)

    return read


def _pod_ip(obj: Obj) -> str:
    return str((obj.get("status") or {}).get("podIP") or "")


def _node_unschedulable(obj: Obj) -> str:
    return "true" if (obj.get("spec") or {}).get("unschedulable") else "false"


def _host_network(obj: Obj) -> str:
    return "true" if (obj.get("spec") or {}).get("hostNetwork") else "false"


_EVENT_FIELDS: Final = {
    **{
        f"involvedObject.{part}": _at("involvedObject", part)
        for part in (
            "kind",
            "namespace",
            "name",
            "uid",
            "apiVersion",
            "resourceVersion",
            "fieldPath",
        )
    },
    "reason": _at("reason"),
    "reportingComponent": _at("reportingComponent"),
    "source": _at("source", "component"),
    "type": _at("type"),
}
_EVENTS_GROUP_FIELDS: Final = {
    **{
        name.replace("involvedObject", "regarding"): read
        for name, read in _EVENT_FIELDS.items()
        if name.startswith("involvedObject")
    },
    "reason": _at("reason"),
    "reportingController": _at("reportingComponent"),
    "type": _at("type"),
}
SELECTABLE: Final[Mapping[str, Mapping[str, Callable[[Obj], str]]]] = {
    "pods": {
        "spec.nodeName": _at("spec", "nodeName"),
        "spec.restartPolicy": _at("spec", "restartPolicy"),
        "spec.schedulerName": _at("spec", "schedulerName"),
        "spec.serviceAccountName": _at("spec", "serviceAccountName"),
        "spec.hostNetwork": _host_network,
        "status.phase": _at("status", "phase"),
        "status.podIP": _pod_ip,
        "status.podIPs": _pod_ip,
        "status.nominatedNodeName": _at("status", "nominatedNodeName"),
    },
    "nodes": {"spec.unschedulable": _node_unschedulable},
    "namespaces": {"status.phase": _at("status", "phase"), "name": _at("metadata", "name")},
    "secrets": {"type": _at("type")},
    "services": {"spec.clusterIP": _at("spec", "clusterIP"), "spec.type": _at("spec", "type")},
    "replicasets": {"status.replicas": _at("status", "replicas")},
    "replicationcontrollers": {"status.replicas": _at("status", "replicas")},
    "jobs": {"status.successful": _at("status", "succeeded")},
    "priorityclasses": {"globalDefault": _at("globalDefault")},
    "events": {**_EVENT_FIELDS, **_EVENTS_GROUP_FIELDS},
}


def _package(group: str, version: str) -> str:
    short = _STRUCT_GROUPS.get(group) or group.removesuffix(".k8s.io")
    return f"{short}/{version}"


def _row(line: str) -> ResourceInfo:
    mark = line[0] if line[0] in "-+!" else ""
    where, plural, kind, *words = line.lstrip("-+!").split()
    group, version = where.split("/")
    package = _package(group, version)
    group = "" if group == "core" else group
    struct = f"{package}.{kind}"
    shorts: tuple[str, ...] = ()
    if words and words[0] not in {*_SUBS, "status", "g"} and not words[0].startswith("@"):
        shorts = tuple(words.pop(0).split(","))
    names = [word for word in words if word in _SUBS or word == "status"]
    subs = tuple(
        Subresource(name="status", kind=kind, verbs=_STATUS_VERBS)
        if name == "status"
        else _SUBS[name]
        for name in sorted(names)
    )
    verbs: tuple[str, ...] = ("create",) if mark in {"+", "!"} else ALL_VERBS
    if kind == "Namespace":
        verbs = tuple(verb for verb in verbs if verb != "deletecollection")
    return ResourceInfo(
        group=group,
        version=version,
        plural=plural,
        singular=kind.lower(),
        kind=kind,
        namespaced=mark in {"", "!"},
        list_kind=kind + "List",
        short_names=shorts,
        categories=tuple(word[1:] for word in words if word.startswith("@")),
        verbs=verbs,
        subresources=subs,
        struct=struct,
        shape=shape_of(struct),
        scale=SCALE if "scale" in names else None,
        generation="g" in words,
        has_status="status" in names,
        selectable=SELECTABLE.get(plural, {}),
        stored_as="events" if plural == "events" else "",
    )


def builtin_resources() -> Iterator[ResourceInfo]:
    """Every built-in resource."""
    for line in _ROWS.strip().splitlines():
        yield _row(line)
