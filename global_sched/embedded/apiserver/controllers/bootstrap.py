"""Objects of a fresh server: the system's namespaces, priority classes and roles."""

from typing import Any, Final

from global_sched.embedded.apiserver.codec.normalizing import normalize
from global_sched.embedded.apiserver.storage.backend import Backend, key_of
from global_sched.embedded.apiserver.storage.store import Record

Obj = dict[str, Any]

_RBAC: Final = "rbac.authorization.k8s.io"
_READ: Final = ["get", "list", "watch"]
_WRITE: Final = ["create", "delete", "deletecollection", "patch", "update"]
_DISCOVERY_PATHS: Final = [
    "/api",
    "/api/*",
    "/apis",
    "/apis/*",
    "/healthz",
    "/livez",
    "/openapi",
    "/openapi/*",
    "/readyz",
    "/version",
    "/version/",
]
_HEALTH_PATHS: Final = ["/healthz", "/livez", "/readyz", "/version", "/version/"]
_CORE_NAMESPACED: Final = [
    "configmaps",
    "endpoints",
    "events",
    "persistentvolumeclaims",
    "pods",
    "pods/log",
    "pods/status",
    "replicationcontrollers",
    "replicationcontrollers/scale",
    "replicationcontrollers/status",
    "resourcequotas",
    "resourcequotas/status",
    "limitranges",
    "serviceaccounts",
    "services",
    "services/status",
]
_WORKLOADS: Final = {
    "apps": [
        "controllerrevisions",
        "daemonsets",
        "daemonsets/status",
        "deployments",
        "deployments/scale",
        "deployments/status",
        "replicasets",
        "replicasets/scale",
        "replicasets/status",
        "statefulsets",
        "statefulsets/scale",
        "statefulsets/status",
    ],
    "autoscaling": ["horizontalpodautoscalers", "horizontalpodautoscalers/status"],
    "batch": ["cronjobs", "cronjobs/status", "jobs", "jobs/status"],
    "discovery.k8s.io": ["endpointslices"],
    "networking.k8s.io": ["ingresses", "ingresses/status", "networkpolicies"],
    "policy": ["poddisruptionbudgets", "poddisruptionbudgets/status"],
    "events.k8s.io": ["events"],
}


def _rule(groups: list[str], resources: list[str], verbs: list[str]) -> Obj:
    return {"apiGroups": groups, "resources": resources, "verbs": verbs}


def _view_rules() -> list[Obj]:
    return [
        _rule([""], [*_CORE_NAMESPACED, "namespaces", "namespaces/status"], _READ),
        *(_rule([group], names, _READ) for group, names in _WORKLOADS.items()),
    ]


def _edit_rules() -> list[Obj]:
    return [
        *_view_rules(),
        _rule([""], ["secrets"], [*_READ, *_WRITE]),
        _rule([""], [n for n in _CORE_NAMESPACED if "/" not in n], _WRITE),
        _rule([""], ["pods/eviction"], ["create"]),
        _rule([""], ["serviceaccounts/token"], ["create"]),
        *(
            _rule([group], [n for n in names if not n.endswith("/status")], _WRITE)
            for group, names in _WORKLOADS.items()
        ),
        _rule(["coordination.k8s.io"], ["leases"], [*_READ, *_WRITE]),
    ]


def _admin_rules() -> list[Obj]:
    return [
        *_edit_rules(),
        _rule(["authorization.k8s.io"], ["localsubjectaccessreviews"], ["create"]),
        _rule([_RBAC], ["rolebindings", "roles"], [*_READ, *_WRITE]),
    ]


def _cluster_roles() -> dict[str, list[Obj]]:
    return {
        "cluster-admin": [
            _rule(["*"], ["*"], ["*"]),
            {"nonResourceURLs": ["*"], "verbs": ["*"]},
        ],
        "admin": _admin_rules(),
        "edit": _edit_rules(),
        "view": _view_rules(),
        "system:discovery": [{"nonResourceURLs": _DISCOVERY_PATHS, "verbs": ["get"]}],
        "system:public-info-viewer": [{"nonResourceURLs": _HEALTH_PATHS, "verbs": ["get"]}],
        "system:basic-user": [
            _rule(
                ["authorization.k8s.io"],
                ["selfsubjectaccessreviews", "selfsubjectrulesreviews"],
                ["create"],
            ),
            _rule(["authentication.k8s.io"], ["selfsubjectreviews"], ["create"]),
        ],
    }


_CLUSTER_BINDINGS: Final = {
    "cluster-admin": ["system:masters"],
    "system:discovery": ["system:authenticated"],
    "system:basic-user": ["system:authenticated"],
    "system:public-info-viewer": ["system:authenticated", "system:unauthenticated"],
}
_BOOT_LABELS: Final = {"kubernetes.io/bootstrapping": "rbac-defaults"}


_CLASSES: Final = (
    (
        "system-cluster-critical",
        2000000000,
        (
            "Used for system critical pods that must run in the cluster, but can be moved to"
            " another node if necessary."
        ),
    ),
    (
        "system-node-critical",
        2000001000,
        "Used for system critical pods that must not be moved from their current node.",
    ),
)


def bootstrap(backend: Backend) -> None:
    """Create what is missing of the system's own objects."""
    for name in ("default", "kube-node-lease", "kube-public", "kube-system"):
        _create(
            backend,
            ("", "v1", "namespaces"),
            {
                "metadata": {"name": name, "labels": {"kubernetes.io/metadata.name": name}},
                "spec": {"finalizers": ["kubernetes"]},
                "status": {"phase": "Active"},
            },
        )
    for name, value, why in _CLASSES:
        _create(
            backend,
            ("scheduling.k8s.io", "v1", "priorityclasses"),
            {
                "metadata": {"name": name, "generation": 1},
                "value": value,
                "description": why,
                "preemptionPolicy": "PreemptLowerPriority",
            },
        )
    for name, rules in _cluster_roles().items():
        meta = {"name": name, "labels": dict(_BOOT_LABELS)}
        _create(backend, (_RBAC, "v1", "clusterroles"), {"metadata": meta, "rules": rules})
    for name, groups in _CLUSTER_BINDINGS.items():
        subjects = [{"kind": "Group", "apiGroup": _RBAC, "name": group} for group in groups]
        role = {"apiGroup": _RBAC, "kind": "ClusterRole", "name": name}
        meta = {"name": name, "labels": dict(_BOOT_LABELS)}
        body = {"metadata": meta, "roleRef": role, "subjects": subjects}
        _create(backend, (_RBAC, "v1", "clusterrolebindings"), body)


def _create(backend: Backend, where: tuple[str, str, str], body: Obj) -> Record | None:
    served = backend.registry.find(*where)
    assert served is not None, where
    meta = body["metadata"]
    key = key_of(meta.get("namespace", ""), meta["name"])
    if backend.get(served.collection, key) is not None:
        return None
    obj = normalize(served.struct, body)[0]
    obj["metadata"]["uid"] = backend.uid()
    obj["metadata"]["creationTimestamp"] = backend.now_text()
    return backend.commit(
        served, key, {"kind": served.kind, "apiVersion": served.api_version, **obj}
    )
