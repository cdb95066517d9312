"""What of a member's status is collected into the Work."""

from collections.abc import Callable
from typing import Final

from global_sched.propagation.fields import Obj, annotations, generation_of, get, kind_of
from global_sched.shared.api.names import TEMPLATE_GENERATION

_DEPLOYMENT: Final = (
    "observedGeneration",
    "replicas",
    "updatedReplicas",
    "readyReplicas",
    "availableReplicas",
    "unavailableReplicas",
)
_STATEFUL_SET: Final = ("currentReplicas", "readyReplicas", "updatedReplicas")
_STATEFUL_SET_ALWAYS: Final = ("availableReplicas", "replicas")
_BATCH_JOB: Final = ("active", "succeeded", "failed", "conditions", "startTime", "completionTime")
_VOLCANO_JOB: Final = (
    "state",
    "minAvailable",
    "pending",
    "running",
    "succeeded",
    "failed",
    "terminating",
    "unknown",
    "version",
    "retryCount",
    "runningDuration",
    "taskStatusCount",
    "controlledResources",
    "conditions",
)


def reflect(obj: Obj) -> Obj | None:
    """The part of the status that goes back to the control plane; None when there is none."""
    status = obj.get("status")
    if not isinstance(status, dict):
        return None
    hook = _REFLECTORS.get(kind_of(obj))
    return dict(status) if hook is None else hook(obj, status)


def _some(status: Obj, names: tuple[str, ...]) -> Obj:
    """The named fields that say something: zeros, empty lists and maps are left out."""
    return {name: status[name] for name in names if status.get(name) not in (None, 0, "", [], {})}


def _generations(obj: Obj) -> Obj:
    """Which generation the member has, and of which generation of the template it is the copy."""
    template = annotations(obj).get(TEMPLATE_GENERATION, "")
    numbers = {
        "generation": generation_of(obj),
        "resourceTemplateGeneration": int(template) if template.isdecimal() else 0,
    }
    return {name: number for name, number in numbers.items() if number}


def _deployment(obj: Obj, status: Obj) -> Obj:
    return _generations(obj) | _some(status, _DEPLOYMENT)


def _stateful_set(obj: Obj, status: Obj) -> Obj:
    always = {name: status.get(name) or 0 for name in _STATEFUL_SET_ALWAYS}
    return _generations(obj) | always | _some(status, _STATEFUL_SET)


def _batch_job(_obj: Obj, status: Obj) -> Obj:
    return _some(status, _BATCH_JOB)


def _volcano_job(_obj: Obj, status: Obj) -> Obj:
    return _some(status, _VOLCANO_JOB)


def _service(_obj: Obj, status: Obj) -> Obj:
    return {"loadBalancer": get(status, "loadBalancer") or {}}


_REFLECTORS: Final[dict[tuple[str, str], Callable[[Obj, Obj], Obj]]] = {
    ("apps/v1", "Deployment"): _deployment,
    ("apps/v1", "StatefulSet"): _stateful_set,
    ("batch/v1", "Job"): _batch_job,
    ("batch.volcano.sh/v1alpha1", "Job"): _volcano_job,
    ("v1", "Service"): _service,
}
