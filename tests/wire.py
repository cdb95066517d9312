"""Objects as API servers hold them: plain keyword functions that return dicts.

`decode(dict_, Kind)` turns one into a wire type; flows post the dicts themselves. Every object
gets a uid after its name, resourceVersion "1" and a creation time, so that a cache takes it as
it is; `stripped(obj)` is what a user would apply.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from global_sched.shared.model.instant import Instant, format_micro
from tests.wire_templates import (
    GPU,
    NOW,
    Object,
    batch_job,
    decode,
    deployment,
    leader_worker_set,
    meta,
    pod_template,
    pytorch_job,
    stripped,
    task,
    vcjob,
)

__all__ = [
    "GPU",
    "KINDS",
    "NOW",
    "Object",
    "batch_job",
    "binding",
    "cluster_object",
    "counted",
    "decode",
    "deployment",
    "leader_worker_set",
    "meta",
    "override_policy",
    "placement",
    "plaintext",
    "pod_template",
    "priority_class",
    "pytorch_job",
    "queue",
    "report",
    "stripped",
    "task",
    "tenant",
    "vcjob",
]

KINDS = (
    ("apps/v1", "Deployment"),
    ("apps/v1", "StatefulSet"),
    ("batch.volcano.sh/v1alpha1", "Job"),
    ("batch/v1", "Job"),
    ("kubeflow.org/v1", "PyTorchJob"),
    ("leaderworkerset.x-k8s.io/v1", "LeaderWorkerSet"),
    ("v1", "ConfigMap"),
)


def placement(
    *clusters: str, divided: bool | None = None, preference: str = "Aggregated", **more: Any
) -> Object:
    """A policy's placement on the named clusters (none: all)."""
    found: Object = {}
    if clusters:
        found["clusterAffinity"] = {"clusterNames": list(clusters)}
    if divided is not None:
        found["replicaScheduling"] = (
            {"replicaSchedulingType": "Divided", "replicaDivisionPreference": preference}
            if divided
            else {"replicaSchedulingType": "Duplicated"}
        )
    return found | more


def binding(
    template: Object,
    *,
    clusters: Sequence[str | tuple[str, int]] = (),
    where: Object | None = None,
    scheduler: str = "global-sched",
    replicas: int | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    spec: Mapping[str, Any] | None = None,
    status: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """The ResourceBinding that Karmada's detector makes of a template under a policy."""
    source = template["metadata"]
    name = f"{source['name']}-{template['kind']}".lower().replace(":", ".")
    reference = {
        "apiVersion": template["apiVersion"],
        "kind": template["kind"],
        "name": source["name"],
        "uid": source["uid"],
        "resourceVersion": source["resourceVersion"],
    }
    namespace = source.get("namespace", "")
    if namespace:
        reference["namespace"] = namespace
    scope = "" if namespace else "cluster"
    ids = {
        f"{scope}resourcebinding.karmada.io/permanent-id": f"id-{name}",
        f"{scope}propagationpolicy.karmada.io/permanent-id": "policy",
    }
    body: Object = {
        "resource": reference,
        "schedulerName": scheduler,
        "placement": placement() if where is None else where,
        "clusters": [
            {"name": one} if isinstance(one, str) else {"name": one[0], "replicas": one[1]}
            for one in clusters
        ],
    }
    if replicas is not None:
        body["replicas"] = replicas
    if not clusters:
        del body["clusters"]
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding" if namespace else "ClusterResourceBinding",
        "metadata": meta(
            name,
            namespace=namespace,
            labels=ids if labels is None else labels,
            annotations=annotations,
            **more,
        ),
        "spec": body | dict(spec or {}),
        "status": dict(status or {}),
    }


def cluster_object(
    name: str,
    *,
    ready: str = "True",
    kinds: Sequence[tuple[str, str]] | None = KINDS,
    labels: Mapping[str, str] | None = None,
    status: Mapping[str, Any] | None = None,
    deleted: bool = False,
    **spec: Any,
) -> Object:
    """A member cluster that serves all kinds of the tests."""
    found: Object = {"conditions": [{"type": "Ready", "status": ready, "reason": "ClusterReady"}]}
    if kinds is not None:
        found["apiEnablements"] = [
            {"groupVersion": group, "resources": [{"kind": kind, "name": f"{kind.lower()}s"}]}
            for group, kind in kinds
        ]
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": meta(name, labels=labels, deleted=deleted),
        "spec": {"syncMode": "Push"} | spec,
        "status": found | dict(status or {}),
    }


def report(
    cluster: str,
    *,
    racks: int = 1,
    nodes: int = 1,
    gpus: int = 8,
    cpu: int = 64,
    generation: int = 1,
    at: int = NOW,
    workloads: Sequence[Mapping[str, Any]] = (),
    schedulers: Sequence[str] = ("member-agent", "volcano"),
    namespace: str | None = None,
    version: str = "1",
    **spec: Any,
) -> Object:
    """A CapacityReport: `racks` of tier 1 under a spine of tier 2, `nodes` equal nodes in each.

    Units:  whole GPUs and CPUs per node, all free.
    """
    names = [f"rack-{i}" for i in range(racks)]
    free = [cpu * 1000, gpus, 110]
    body: Object = {
        "cluster": cluster,
        "generation": generation,
        "observedAt": format_micro(Instant(at)),
        "schedulerNames": list(schedulers),
        "axis": ["cpu", GPU, "pods"],
        "tree": [
            *({"name": n, "tier": 1, "tierName": "rack", "parent": "spine"} for n in names),
            {"name": "spine", "tier": 2, "tierName": "spine"},
        ],
        "classes": [{}],
        "free": [free],
        "rows": [{"domain": n, "nodeClass": 0, "free": 0, "count": nodes} for n in names],
        "workloads": [dict(one) for one in workloads],
        "nodes": {
            "total": racks * nodes,
            "ready": racks * nodes,
            "schedulable": racks * nodes,
            "allocatable": {
                name: amount * racks * nodes
                for name, amount in zip(["cpu", GPU, "pods"], free, strict=True)
            },
        },
    }
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "CapacityReport",
        "metadata": meta(
            "capacity",
            namespace=f"karmada-es-{cluster}" if namespace is None else namespace,
            version=version,
        ),
        "spec": body | spec,
    }


def counted(
    binding_id: str, *, decision: str = "", reached: bool = True, reason: str = "", **bound: int
) -> Object:
    """What a report says of one workload: pods bound by pod set."""
    return {
        "binding": binding_id,
        "bound": dict(bound),
        "decision": decision,
        "minimumReached": reached,
        "reason": reason,
    }


def queue(name: str, *, state: str = "Open", **spec: Any) -> Object:
    """A Volcano Queue."""
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": meta(name),
        "spec": {"weight": 1} | spec,
        "status": {"state": state},
    }


def tenant(name: str, *namespaces: str, created: int = 0, **spec: Any) -> Object:
    """A Tenant."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "Tenant",
        "metadata": meta(name, created=created),
        "spec": {"weight": 1, "namespaces": list(namespaces)} | spec,
    }


def priority_class(name: str, value: int, *, default: bool = False) -> Object:
    """A PriorityClass."""
    return {
        "apiVersion": "scheduling.k8s.io/v1",
        "kind": "PriorityClass",
        "metadata": meta(name),
        "value": value,
        "globalDefault": default,
    }


def override_policy(
    name: str,
    *overriders: Mapping[str, Any],
    namespace: str = "team-a",
    select: Sequence[Mapping[str, Any]] = (),
    on: Mapping[str, Any] | None = None,
    fields: Sequence[Mapping[str, Any]] = (),
) -> Object:
    """An OverridePolicy (ClusterOverridePolicy when `namespace` is empty) with one rule."""
    rule: Object = {
        "overriders": {"plaintext": [dict(o) for o in overriders], "fieldOverrider": list(fields)}
    }
    if on is not None:
        rule["targetCluster"] = dict(on)
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "OverridePolicy" if namespace else "ClusterOverridePolicy",
        "metadata": meta(name, namespace=namespace),
        "spec": {"resourceSelectors": [dict(s) for s in select], "overrideRules": [rule]},
    }


def plaintext(path: str, value: Any = None, operator: str = "replace") -> Object:
    """One plaintext overrider."""
    return {"path": path, "operator": operator} | ({} if value is None else {"value": value})
