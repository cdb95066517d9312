"""Deployments, ReplicaSets, StatefulSets, DaemonSets, Jobs and CronJobs."""

from collections.abc import Callable
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.selectors import match_selector
from global_sched.embedded.apiserver.strategy.pod_defaults import default_template
from global_sched.embedded.apiserver.strategy.pod_validation import NEGATIVE, pod_spec_causes
from global_sched.embedded.apiserver.strategy.strategy import Strategy
from global_sched.embedded.apiserver.strategy.workload_defaults import (
    controller_defaults,
    cron_job_defaults,
    daemon_set_defaults,
    deployment_defaults,
    job_defaults,
    replica_set_defaults,
    stateful_set_defaults,
)
from global_sched.embedded.apiserver.validation.metadata import label_causes

Obj = dict[str, Any]

_IMMUTABLE: Final = "field is immutable"


def _fresh_status(_backend: Backend, obj: Obj) -> None:
    obj["status"] = {}


def _counted_status(_backend: Backend, obj: Obj) -> None:
    obj["status"] = {"replicas": 0}


def _stateful_status(_backend: Backend, obj: Obj) -> None:
    obj["status"] = {"replicas": 0, "availableReplicas": 0}


def _daemon_status(_backend: Backend, obj: Obj) -> None:
    kinds = (
        "currentNumberScheduled",
        "numberMisscheduled",
        "desiredNumberScheduled",
        "numberReady",
    )
    obj["status"] = dict.fromkeys(kinds, 0)
    obj["metadata"].setdefault("annotations", {}).setdefault(
        "deprecated.daemonset.template.generation", "1"
    )


def _job_prepare(_backend: Backend, obj: Obj) -> None:
    """Give a job a selector of its own pods, by its uid."""
    obj["status"] = {}
    spec, meta = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    uid, name = meta["uid"], meta["name"]
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    labels = template.setdefault("labels", {})
    for prefix in ("", "batch.kubernetes.io/"):
        labels[f"{prefix}controller-uid"] = uid
        labels[f"{prefix}job-name"] = name
    selector = spec.get("selector") or {}
    matched = {**(selector.get("matchLabels") or {}), "batch.kubernetes.io/controller-uid": uid}
    spec["selector"] = {**selector, "matchLabels": matched}
    if not meta.get("labels"):
        meta["labels"] = dict(labels)


# ---- validation ----------------------------------------------------------------------------


def _replicas_causes(spec: Obj) -> list[StatusCause]:
    found: list[StatusCause] = []
    for key in ("replicas", "minReadySeconds", "revisionHistoryLimit", "progressDeadlineSeconds"):
        value = spec.get(key)
        if value is not None and value < 0:
            found.append(field_errors.invalid(f"spec.{key}", value, NEGATIVE))
    deadline, ready = spec.get("progressDeadlineSeconds"), spec.get("minReadySeconds") or 0
    if deadline is not None and deadline <= ready:
        why = "must be greater than minReadySeconds"
        found.append(field_errors.invalid("spec.progressDeadlineSeconds", deadline, why))
    return found


def selector_causes(selector: Obj | None, field: str) -> list[StatusCause]:
    """What is wrong with a label selector."""
    if selector is None:
        return [field_errors.required(field)]
    found = label_causes(selector.get("matchLabels"), f"{field}.matchLabels")
    for index, item in enumerate(selector.get("matchExpressions") or ()):
        where = f"{field}.matchExpressions[{index}]"
        operator, values = item.get("operator"), item.get("values")
        if operator in {"In", "NotIn"} and not values:
            why = "must be specified when `operator` is 'In' or 'NotIn'"
            found.append(field_errors.required(f"{where}.values", why))
        elif operator in {"Exists", "DoesNotExist"} and values:
            why = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            found.append(field_errors.forbidden(f"{where}.values", why))
        elif operator not in {"In", "NotIn", "Exists", "DoesNotExist"}:
            why = "not a valid selector operator"
            found.append(field_errors.invalid(f"{where}.operator", operator, why))
    return found


def _template_causes(spec: Obj, field: str, restart: tuple[str, ...]) -> list[StatusCause]:
    template = spec.get("template") or {}
    found = label_causes((template.get("metadata") or {}).get("labels"), f"{field}.metadata.labels")
    pod = template.get("spec") or {}
    found += pod_spec_causes(pod, f"{field}.spec")
    policy = pod.get("restartPolicy")
    if policy not in restart and policy in {"Always", "OnFailure", "Never"}:
        where = f"{field}.spec.restartPolicy"
        if restart == ("Always",):
            found.append(field_errors.not_supported(where, policy, restart))
        else:
            found.append(field_errors.required(where, 'valid values: "OnFailure", "Never"'))
    return found


def _set_causes(obj: Obj) -> list[StatusCause]:
    """Replicated pods: a selector that matches the template."""
    spec = obj["spec"]
    found = _replicas_causes(spec)
    selector = spec.get("selector")
    found += selector_causes(selector, "spec.selector")
    if (
        selector is not None
        and not selector.get("matchLabels")
        and not selector.get("matchExpressions")
    ):
        why = "empty selector is invalid for deployment"
        found.append(field_errors.invalid("spec.selector", selector, why))
    elif selector is not None:
        labels = ((spec.get("template") or {}).get("metadata") or {}).get("labels") or {}
        if not match_selector(selector, labels):
            why = "`selector` does not match template `labels`"
            found.append(field_errors.invalid("spec.template.metadata.labels", labels, why))
    return found + _template_causes(spec, "spec.template", ("Always",))


def _job_causes(obj: Obj) -> list[StatusCause]:
    spec = obj["spec"]
    found: list[StatusCause] = []
    for key in (
        "parallelism",
        "completions",
        "backoffLimit",
        "activeDeadlineSeconds",
        "ttlSecondsAfterFinished",
    ):
        value = spec.get(key)
        if value is not None and value < 0:
            found.append(field_errors.invalid(f"spec.{key}", value, NEGATIVE))
    if spec.get("completionMode") not in {"Indexed", "NonIndexed"}:
        known = ["Indexed", "NonIndexed"]
        found.append(
            field_errors.not_supported("spec.completionMode", spec.get("completionMode"), known)
        )
    if spec.get("completionMode") == "Indexed" and spec.get("completions") is None:
        why = "when completion mode is Indexed"
        found.append(field_errors.required("spec.completions", why))
    return found + _template_causes(spec, "spec.template", ("OnFailure", "Never"))


def _cron_job_causes(obj: Obj) -> list[StatusCause]:
    spec = obj["spec"]
    found: list[StatusCause] = []
    if not spec.get("schedule"):
        found.append(field_errors.required("spec.schedule"))
    inner = spec["jobTemplate"]["spec"]
    restart = ("OnFailure", "Never")
    return found + _template_causes(inner, "spec.jobTemplate.spec.template", restart)


def _selector_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    selector = obj["spec"].get("selector")
    if selector == old["spec"].get("selector"):
        return []
    return [field_errors.invalid("spec.selector", selector, _IMMUTABLE)]


_STATEFUL_MAY: Final = frozenset(
    {
        "replicas",
        "ordinals",
        "template",
        "updateStrategy",
        "revisionHistoryLimit",
        "persistentVolumeClaimRetentionPolicy",
        "minReadySeconds",
    }
)


def _stateful_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    one = {k: v for k, v in obj["spec"].items() if k not in _STATEFUL_MAY}
    two = {k: v for k, v in old["spec"].items() if k not in _STATEFUL_MAY}
    if one == two:
        return []
    why = (
        "updates to statefulset spec for fields other than 'replicas', 'ordinals', 'template',"
        " 'updateStrategy', 'revisionHistoryLimit', 'persistentVolumeClaimRetentionPolicy' and"
        " 'minReadySeconds' are forbidden"
    )
    return [field_errors.forbidden("spec", why)]


def _job_fixed(obj: Obj, old: Obj) -> list[StatusCause]:
    found = _selector_fixed(obj, old)
    spec, before = obj["spec"], old["spec"]
    for key in ("completions", "completionMode", "podFailurePolicy", "backoffLimitPerIndex"):
        if spec.get(key) == before.get(key):
            continue
        elastic = (
            key == "completions"
            and spec.get("completionMode") == "Indexed"
            and spec.get("completions") == spec.get("parallelism")
            and before.get("completions") == before.get("parallelism")
        )
        if not elastic:
            found.append(field_errors.invalid(f"spec.{key}", spec.get(key), _IMMUTABLE))
    if spec.get("template") != before.get("template") and not _suspended_change(spec, before, old):
        found.append(field_errors.invalid("spec.template", spec.get("template"), _IMMUTABLE))
    return found


def _suspended_change(spec: Obj, before: Obj, old: Obj) -> bool:
    """A job that is suspended and never ran may get other scheduling directives."""
    if not before.get("suspend") or (old.get("status") or {}).get("startTime"):
        return False

    def rest(template: Obj) -> Obj:
        pod = {
            k: v
            for k, v in (template.get("spec") or {}).items()
            if k not in {"nodeSelector", "affinity", "tolerations", "schedulingGates"}
        }
        return {**template, "metadata": None, "spec": pod}

    return rest(spec["template"]) == rest(before["template"])


def _workload(
    defaults: Callable[[Obj], None],
    prepare: Callable[[Backend, Obj], None],
    validate: Callable[[Obj], list[StatusCause]],
    fixed: Callable[[Obj, Obj], list[StatusCause]] | None = None,
) -> Strategy:
    if fixed is None:
        return Strategy(defaults=defaults, prepare=prepare, validate=validate)
    return Strategy(defaults=defaults, prepare=prepare, validate=validate, validate_update=fixed)


WORKLOAD_RULES: Final = {
    "deployments.apps": _workload(deployment_defaults, _fresh_status, _set_causes, _selector_fixed),
    "replicasets.apps": _workload(
        replica_set_defaults, _counted_status, _set_causes, _selector_fixed
    ),
    "statefulsets.apps": _workload(
        stateful_set_defaults, _stateful_status, _set_causes, _stateful_fixed
    ),
    "daemonsets.apps": _workload(daemon_set_defaults, _daemon_status, _set_causes, _selector_fixed),
    "jobs.batch": _workload(job_defaults, _job_prepare, _job_causes, _job_fixed),
    "cronjobs.batch": _workload(cron_job_defaults, _fresh_status, _cron_job_causes),
    "replicationcontrollers": _workload(controller_defaults, _counted_status, lambda _obj: []),
    "podtemplates": Strategy(defaults=lambda obj: default_template(obj.get("template"))),
}
