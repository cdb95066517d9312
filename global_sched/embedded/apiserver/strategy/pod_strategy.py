"""Pods: priority and tolerations on admission, and what an update may change."""

from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.strategy.pod_defaults import (
    add_tolerations,
    default_pod,
    qos_class,
)
from global_sched.embedded.apiserver.strategy.pod_validation import pod_spec_causes
from global_sched.embedded.apiserver.strategy.strategy import Strategy

Obj = dict[str, Any]

PRIORITY_CLASSES: Final = "priorityclasses.scheduling.k8s.io"


def resolve_priority(backend: Backend, obj: Obj) -> None:
    """Set priority and preemption policy from the pod's class, or from the default one.

    Raises:  StatusError (403) when the class is not there.
    """
    spec = obj["spec"]
    name = spec.get("priorityClassName") or ""
    priority, policy = 0, "PreemptLowerPriority"
    if name:
        record = backend.get(PRIORITY_CLASSES, name)
        if record is None:
            raise status_error.forbidden(
                "pods",
                "",
                obj["metadata"].get("name", ""),
                f"no PriorityClass with name {name} was found",
            )
        found = record.load()
        priority = found.get("value", 0)
        policy = found.get("preemptionPolicy") or policy
    else:
        default = _default_class(backend)
        if default is not None:
            spec["priorityClassName"] = default["metadata"]["name"]
            priority = default.get("value", 0)
            policy = default.get("preemptionPolicy") or policy
    given = spec.get("priority")
    if given is not None and given != priority:
        raise status_error.forbidden(
            "pods",
            "",
            obj["metadata"].get("name", ""),
            "the integer value of priority must not be provided in pod spec; priority admission"
            f" controller computed {priority} from the given PriorityClass name",
        )
    wanted = spec.get("preemptionPolicy")
    if wanted is not None and wanted != policy:
        raise status_error.forbidden(
            "pods",
            "",
            obj["metadata"].get("name", ""),
            "the string value of PreemptionPolicy must not be provided in pod spec; priority"
            f" admission controller computed {policy} from the given PriorityClass name",
        )
    spec["priority"], spec["preemptionPolicy"] = priority, policy


def _default_class(backend: Backend) -> Obj | None:
    """The default class; of several, the one of the lowest value."""
    found: Obj | None = None
    for record in backend.store.collection(PRIORITY_CLASSES).select():
        if record.fields.get("globalDefault") == "true":
            obj = record.load()
            if found is None or obj.get("value", 0) < found.get("value", 0):
                found = obj
    return found


def _admit(backend: Backend, obj: Obj) -> None:
    resolve_priority(backend, obj)
    add_tolerations(obj["spec"])


def _prepare(_backend: Backend, obj: Obj) -> None:
    obj["status"] = {"phase": "Pending", "qosClass": qos_class(obj["spec"])}
    if obj["spec"].get("schedulingGates"):
        obj["status"]["conditions"] = [
            {
                "type": "PodScheduled",
                "status": "False",
                "lastProbeTime": None,
                "lastTransitionTime": None,
                "reason": "SchedulingGated",
                "message": "Scheduling is blocked due to non-empty scheduling gates",
            }
        ]


def _prepare_update(_backend: Backend, obj: Obj, old: Obj) -> None:
    status, before = obj.get("status") or {}, old.get("status") or {}
    if "qosClass" in before:
        status["qosClass"] = before["qosClass"]
    obj["status"] = status


def _validate(pod: Obj) -> list[StatusCause]:
    return pod_spec_causes(pod["spec"], "spec")


_IMMUTABLE: Final = (
    "pod updates may not change fields other than `spec.containers[*].image`,"
    "`spec.initContainers[*].image`,`spec.activeDeadlineSeconds`,`spec.tolerations` (only"
    " additions to existing tolerations),`spec.terminationGracePeriodSeconds` (allow it to be set"
    " to 1 if it was previously negative)"
)


def _fixed_part(spec: Obj) -> Obj:
    """What no update may change in a pod's spec."""
    left = {
        key: value
        for key, value in spec.items()
        if key not in {"activeDeadlineSeconds", "tolerations", "containers", "initContainers"}
    }
    for kind in ("containers", "initContainers"):
        left[kind] = [
            {key: value for key, value in container.items() if key != "image"}
            for container in spec.get(kind) or ()
        ]
    return left


def _validate_update(pod: Obj, old: Obj) -> list[StatusCause]:
    spec, before = pod["spec"], old["spec"]
    if spec == before:
        return []
    found: list[StatusCause] = []
    kept = before.get("tolerations") or []
    if any(toleration not in (spec.get("tolerations") or []) for toleration in kept):
        why = "existing toleration can not be modified except its tolerationSeconds"
        if not _same_but_seconds(spec.get("tolerations") or [], kept):
            found.append(field_errors.forbidden("spec.tolerations", why))
    one, two = _fixed_part(spec), _fixed_part(before)
    if before.get("schedulingGates"):
        gates = [gate["name"] for gate in before["schedulingGates"]]
        for index, gate in enumerate(spec.get("schedulingGates") or ()):
            if gate.get("name") not in gates:
                why = (
                    f"only deletion is allowed, but found new scheduling gate '{gate.get('name')}'"
                )
                found.append(field_errors.forbidden(f"spec.schedulingGates[{index}].name", why))
        for part in (one, two):
            for key in ("schedulingGates", "nodeSelector", "affinity"):
                part.pop(key, None)
    if one != two:
        found.append(field_errors.forbidden("spec", _IMMUTABLE))
    return found


def _same_but_seconds(new: list[Obj], old: list[Obj]) -> bool:
    def bare(toleration: Obj) -> Obj:
        return {k: v for k, v in toleration.items() if k != "tolerationSeconds"}

    have = [bare(toleration) for toleration in new]
    return all(bare(toleration) in have for toleration in old)


def _validate_status(pod: Obj, old: Obj) -> list[StatusCause]:
    node = (old["spec"] or {}).get("nodeName")
    if node and pod["spec"].get("nodeName") != node:
        return [field_errors.forbidden("status.nodeName", "may not be changed directly")]
    return []


POD_RULES: Final = Strategy(
    defaults=default_pod,
    admit=_admit,
    prepare=_prepare,
    prepare_update=_prepare_update,
    validate=_validate,
    validate_update=_validate_update,
    validate_status=_validate_status,
)
