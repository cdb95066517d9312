"""Defaults of workload kinds."""

from typing import Any, Final

from global_sched.embedded.apiserver.strategy.pod_defaults import default_template

Obj = dict[str, Any]

_INT32_MAX: Final = 2**31 - 1
_HISTORY: Final = 10


def deployment_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    spec.setdefault("progressDeadlineSeconds", 600)
    strategy = spec["strategy"]
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", "25%")
        rolling.setdefault("maxSurge", "25%")
    default_template(spec.get("template"))


def replica_set_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    obj["spec"].setdefault("replicas", 1)
    default_template(obj["spec"].get("template"))


def controller_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    spec.setdefault("replicas", 1)
    default_template(spec.get("template"))
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels:
        spec.setdefault("selector", dict(labels))
        obj["metadata"].setdefault("labels", dict(labels))


def stateful_set_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    spec.setdefault("podManagementPolicy", "OrderedReady")
    strategy = spec["updateStrategy"]
    if not strategy.get("type"):
        strategy["type"] = "RollingUpdate"
        strategy.setdefault("rollingUpdate", {})
    if strategy["type"] == "RollingUpdate" and "rollingUpdate" in strategy:
        strategy["rollingUpdate"].setdefault("partition", 0)
    retention = spec.setdefault("persistentVolumeClaimRetentionPolicy", {})
    retention.setdefault("whenDeleted", "Retain")
    retention.setdefault("whenScaled", "Retain")
    spec.setdefault("replicas", 1)
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    claims = spec.get("volumeClaimTemplates")
    if claims:
        spec["volumeClaimTemplates"] = [
            {"kind": "PersistentVolumeClaim", "apiVersion": "v1", **_claim(claim)}
            for claim in claims
        ]
    default_template(spec.get("template"))


def _claim(claim: Obj) -> Obj:
    claim["spec"].setdefault("volumeMode", "Filesystem")
    claim["status"].setdefault("phase", "Pending")
    return claim


def daemon_set_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    strategy = spec["updateStrategy"]
    strategy.setdefault("type", "RollingUpdate")
    if strategy["type"] == "RollingUpdate":
        rolling = strategy.setdefault("rollingUpdate", {})
        rolling.setdefault("maxUnavailable", 1)
        rolling.setdefault("maxSurge", 0)
    spec.setdefault("revisionHistoryLimit", _HISTORY)
    default_template(spec.get("template"))


def job_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    if "completions" not in spec and "parallelism" not in spec:
        spec["completions"] = 1
    spec.setdefault("parallelism", 1)
    spec.setdefault("backoffLimit", _INT32_MAX if "backoffLimitPerIndex" in spec else 6)
    labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels")
    if labels and not obj["metadata"].get("labels"):
        obj["metadata"]["labels"] = dict(labels)
    spec.setdefault("completionMode", "NonIndexed")
    spec.setdefault("suspend", False)
    replaced = "Failed" if "podFailurePolicy" in spec else "TerminatingOrFailed"
    spec.setdefault("podReplacementPolicy", replaced)
    spec.setdefault("manualSelector", False)
    default_template(spec.get("template"))


def cron_job_defaults(obj: Obj) -> None:
    """Fill one, in place."""
    spec = obj["spec"]
    spec.setdefault("concurrencyPolicy", "Allow")
    spec.setdefault("suspend", False)
    spec.setdefault("successfulJobsHistoryLimit", 3)
    spec.setdefault("failedJobsHistoryLimit", 1)
    default_template(spec["jobTemplate"]["spec"].get("template"))
