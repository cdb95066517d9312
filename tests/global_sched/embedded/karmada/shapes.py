"""Builders of raw objects for the tests of the embedded Karmada."""

from typing import Any

Obj = dict[str, Any]
NAMESPACE: Obj = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team-a"}}


def deployment(
    name: str = "web", *, replicas: int = 4, pod: Obj | None = None, **labels: str
) -> Obj:
    """An apps/v1 Deployment."""
    spec = {
        "replicas": replicas,
        "selector": {"matchLabels": {"app": name}},
        "template": {
            "metadata": {"labels": {"app": name}},
            "spec": {"containers": [{"name": "c", "image": "registry.example/web:1"}]}
            | (pod or {}),
        },
    }
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": "team-a", "labels": labels},
        "spec": spec,
    }


def batch_job(name: str = "sweep", *, parallelism: int = 3, completions: int | None = 3) -> Obj:
    """A batch/v1 Job."""
    spec: Obj = {
        "parallelism": parallelism,
        "template": {
            "spec": {"restartPolicy": "Never", "containers": [{"name": "c", "image": "i:1"}]}
        },
    }
    if completions is not None:
        spec["completions"] = completions
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": spec,
    }


def config_map(name: str, **data: str) -> Obj:
    """A v1 ConfigMap."""
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "namespace": "team-a"},
        "data": data,
    }


def policy(name: str = "all", *, selectors: list[Obj] | None = None, **spec: Any) -> Obj:
    """A PropagationPolicy for Deployments, unless other selectors are given."""
    chosen = selectors or [{"apiVersion": "apps/v1", "kind": "Deployment"}]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": "team-a"},
        "spec": {"schedulerName": "global-sched", "resourceSelectors": chosen, "placement": {}}
        | spec,
    }


def cluster_policy(name: str = "wide", *, selectors: list[Obj] | None = None, **spec: Any) -> Obj:
    """A ClusterPropagationPolicy for Deployments, unless other selectors are given."""
    made = policy(name, selectors=selectors, **spec)
    return made | {"kind": "ClusterPropagationPolicy", "metadata": {"name": name}}


def override(
    name: str, *rules: Obj, kind: str = "OverridePolicy", selectors: list[Obj] | None = None
) -> Obj:
    """An OverridePolicy or a ClusterOverridePolicy."""
    meta: Obj = {"name": name} | ({"namespace": "team-a"} if kind == "OverridePolicy" else {})
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": kind,
        "metadata": meta,
        "spec": {"overrideRules": list(rules)}
        | ({"resourceSelectors": selectors} if selectors is not None else {}),
    }


def plaintext(path: str, value: Any, operator: str = "replace", **rule: Any) -> Obj:
    """A rule with one plaintext overrider."""
    item = {"path": path, "operator": operator, "value": value}
    return {"overriders": {"plaintext": [item]}} | rule
