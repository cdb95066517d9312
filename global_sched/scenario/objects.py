"""Clusters, queues and tenants of a scenario as the objects that the control plane would hold."""

from global_sched.scenario.members import taint
from global_sched.scenario.world import Amount, ClusterSpec, QueueSpec, TenantSpec
from global_sched.shared.api.resource import (
    CONFIGMAPS,
    PRIORITY_CLASSES,
    QUEUES,
)
from global_sched.shared.kinds import KINDS

Manifest = dict[str, object]

CREATED = "2026-01-01T00:00:00Z"
_KINDS = tuple(
    f"{resource.api_version}/{resource.kind}"
    for resource in (
        *(one.resource for one in KINDS.values()),
        CONFIGMAPS,
        PRIORITY_CLASSES,
        QUEUES,
    )
)


def cluster_object(cluster: ClusterSpec) -> Manifest:
    """The Karmada Cluster."""
    spec: Manifest = {"id": cluster.name, "syncMode": "Push"}
    for name in ("provider", "region", "zones"):
        if value := getattr(cluster, name):
            spec[name] = value
    if cluster.taints:
        spec["taints"] = [taint(text, f"cluster {cluster.name}") for text in cluster.taints]
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {
            "name": cluster.name,
            "uid": f"cluster-{cluster.name}",
            "labels": cluster.labels,
            "creationTimestamp": CREATED,
        },
        "spec": spec,
        "status": {
            "conditions": [
                {"type": "Ready", "status": "True" if cluster.ready else "False"},
                {"type": "CompleteAPIEnablements", "status": "True"},
            ],
            "apiEnablements": _enablements(_KINDS if cluster.kinds is None else cluster.kinds),
        },
    }


def _enablements(kinds: "tuple[str, ...] | list[str]") -> list[Manifest]:
    """`apiVersion/Kind`s by group version."""
    found: dict[str, list[Manifest]] = {}
    for text in kinds:
        group_version, _, kind = text.rpartition("/")
        found.setdefault(group_version, []).append({"name": kind.lower() + "s", "kind": kind})
    return [{"groupVersion": name, "resources": kinds} for name, kinds in found.items()]


def queue_object(queue: QueueSpec) -> Manifest:
    """The Volcano Queue."""
    spec: Manifest = {"weight": queue.weight, "priority": queue.priority}
    if queue.capability:
        spec["capability"] = _quantities(queue.capability)
    if queue.parent:
        spec["parent"] = queue.parent
    if queue.deserved:
        spec["deserved"] = _quantities(queue.deserved)
    if queue.guarantee:
        spec["guarantee"] = {"resource": _quantities(queue.guarantee)}
    if queue.reclaimable is not None:
        spec["reclaimable"] = queue.reclaimable
    if queue.cluster_capability:
        spec["extendClusters"] = [
            {"name": name, "capacity": _quantities(limit)}
            for name, limit in queue.cluster_capability.items()
        ]
    metadata: Manifest = {"name": queue.name, "creationTimestamp": CREATED}
    if queue.annotations:
        metadata["annotations"] = queue.annotations
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": metadata,
        "spec": spec | queue.spec,
        "status": {"state": queue.state},
    }


def _quantities(amount: Amount) -> dict[str, str]:
    return {name: str(value) for name, value in amount.items()}


def tenant_object(tenant: TenantSpec) -> Manifest:
    """The Tenant."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "Tenant",
        "metadata": {
            "name": tenant.name,
            "uid": f"tenant-{tenant.name}",
            "creationTimestamp": CREATED,
        },
        "spec": {
            "weight": tenant.weight,
            "namespaces": tenant.namespaces,
            "queues": tenant.queues,
            "priorityClasses": tenant.priority_classes,
        }
        | tenant.spec,
    }


def priority_object(name: str, value: int) -> Manifest:
    """The PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": {"name": name, "creationTimestamp": CREATED},
        "value": value,
    }
