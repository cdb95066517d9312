"""Cells of the workload kinds."""

from collections.abc import Callable
from typing import Any

from global_sched.embedded.apiserver.kubectl.printers.durations import between
from global_sched.embedded.apiserver.storage.selectors import selector_text

Obj = dict[str, Any]
Age = Callable[[str | None], str]


def _name(obj: Obj) -> str:
    return str(obj["metadata"].get("name", ""))


def _age(obj: Obj, age: Age) -> str:
    return age(obj["metadata"].get("creationTimestamp"))


def _images(template: Obj) -> tuple[str, str]:
    containers = (template.get("spec") or {}).get("containers") or ()
    names = ",".join(container.get("name", "") for container in containers)
    return names, ",".join(container.get("image", "") for container in containers)


def deployment_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    names, images = _images(spec.get("template") or {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [
        _name(obj),
        ready,
        status.get("updatedReplicas", 0),
        status.get("availableReplicas", 0),
        _age(obj, age),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def replica_set_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    names, images = _images(spec.get("template") or {})
    return [
        _name(obj),
        spec.get("replicas", 0),
        status.get("replicas", 0),
        status.get("readyReplicas", 0),
        _age(obj, age),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def stateful_set_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    names, images = _images(spec.get("template") or {})
    ready = f"{status.get('readyReplicas', 0)}/{spec.get('replicas', 0)}"
    return [_name(obj), ready, _age(obj, age), names, images]


def daemon_set_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    template = spec.get("template") or {}
    names, images = _images(template)
    nodes = (template.get("spec") or {}).get("nodeSelector") or {}
    keys = ("desiredNumberScheduled", "currentNumberScheduled", "numberReady")
    return [
        _name(obj),
        *(status.get(key, 0) for key in keys),
        status.get("updatedNumberScheduled", 0),
        status.get("numberAvailable", 0),
        ",".join(f"{key}={value}" for key, value in sorted(nodes.items())) or "<none>",
        _age(obj, age),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def _job_status(status: Obj, obj: Obj) -> str:
    kinds = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
    for kind, text in (
        ("Complete", "Complete"),
        ("Failed", "Failed"),
        ("Suspended", "Suspended"),
        ("FailureTarget", "FailureTarget"),
        ("SuccessCriteriaMet", "SuccessCriteriaMet"),
    ):
        if kind in kinds:
            return text
    return "Terminating" if obj["metadata"].get("deletionTimestamp") else "Running"


def job_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    done = status.get("succeeded", 0)
    if spec.get("completions") is not None:
        completions = f"{done}/{spec['completions']}"
    elif (spec.get("parallelism") or 0) > 1:
        completions = f"{done}/1 of {spec['parallelism']}"
    else:
        completions = f"{done}/1"
    names, images = _images(spec.get("template") or {})
    started = status.get("startTime")
    duration = age(started) if started and not status.get("completionTime") else ""
    if started and status.get("completionTime"):
        duration = between(started, status["completionTime"])
    return [
        _name(obj),
        _job_status(status, obj),
        completions,
        duration,
        _age(obj, age),
        names,
        images,
        selector_text(spec.get("selector")),
    ]


def cron_job_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of one."""
    spec, status = obj["spec"], obj.get("status") or {}
    inner = (spec.get("jobTemplate") or {}).get("spec") or {}
    names, images = _images(inner.get("template") or {})
    last = status.get("lastScheduleTime")
    return [
        _name(obj),
        spec.get("schedule", ""),
        spec.get("timeZone") or "<none>",
        str(bool(spec.get("suspend"))),
        len(status.get("active") or ()),
        age(last) if last else "<none>",
        _age(obj, age),
        names,
        images,
        selector_text(inner.get("selector")) or "<none>",
    ]
