"""Cells of pods and nodes: the status word that sums a pod up."""

from collections.abc import Callable
from typing import Any, Final

Obj = dict[str, Any]
Age = Callable[[str | None], str]

_ROLE: Final = "node-role.kubernetes.io/"


def _init_word(status: Obj, spec: Obj) -> str | None:
    """How far initialisation is; None when it is done."""
    total = len(spec.get("initContainers") or ())
    for index, container in enumerate(status.get("initContainerStatuses") or ()):
        state = container.get("state") or {}
        ended, waiting = state.get("terminated"), state.get("waiting")
        if ended is not None and ended.get("exitCode", 0) == 0:
            continue
        if ended is not None:
            reason = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
            return f"Init:{reason}"
        if waiting and waiting.get("reason") not in {None, "", "PodInitializing"}:
            return f"Init:{waiting['reason']}"
        return f"Init:{index}/{total}"
    return None


def status_word(obj: Obj) -> str:
    """The word in the STATUS column."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    word = status.get("reason") or status.get("phase") or "Unknown"
    for condition in status.get("conditions") or ():
        if condition.get("type") == "PodScheduled" and condition.get("reason") == "SchedulingGated":
            word = "SchedulingGated"
    init = _init_word(status, spec)
    word = init if init is not None else _container_word(status, word)
    if obj["metadata"].get("deletionTimestamp"):
        if status.get("reason") == "NodeLost":
            return "Unknown"
        if status.get("phase") not in {"Succeeded", "Failed"}:
            return "Terminating"
    return str(word)


def _container_word(status: Obj, word: str) -> str:
    running = False
    for container in reversed(status.get("containerStatuses") or ()):
        state = container.get("state") or {}
        waiting, ended = state.get("waiting"), state.get("terminated")
        if waiting and waiting.get("reason"):
            word = waiting["reason"]
        elif ended is not None:
            word = ended.get("reason") or f"ExitCode:{ended.get('exitCode', 0)}"
        elif container.get("ready") and state.get("running") is not None:
            running = True
    if word == "Completed" and running:
        return "Running" if _is_ready(status) else "NotReady"
    return word


def _is_ready(status: Obj) -> bool:
    return any(
        condition.get("type") == "Ready" and condition.get("status") == "True"
        for condition in status.get("conditions") or ()
    )


def pod_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of a pod."""
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    containers = status.get("containerStatuses") or ()
    ready = sum(bool(container.get("ready")) for container in containers)
    restarts = sum(container.get("restartCount", 0) for container in containers)
    last = max(
        (
            ((container.get("lastState") or {}).get("terminated") or {}).get("finishedAt") or ""
            for container in containers
        ),
        default="",
    )
    gates = spec.get("readinessGates") or ()
    return [
        obj["metadata"].get("name", ""),
        f"{ready}/{len(spec.get('containers') or ())}",
        status_word(obj),
        f"{restarts} ({age(last)} ago)" if restarts and last else str(restarts),
        age(obj["metadata"].get("creationTimestamp")),
        status.get("podIP") or "<none>",
        spec.get("nodeName") or "<none>",
        status.get("nominatedNodeName") or "<none>",
        _gates(gates, status) if gates else "<none>",
    ]


def _gates(gates: Any, status: Obj) -> str:
    true = {c.get("type") for c in status.get("conditions") or () if c.get("status") == "True"}
    return f"{sum(gate.get('conditionType') in true for gate in gates)}/{len(gates)}"


def node_cells(obj: Obj, age: Age) -> list[Any]:
    """The row of a node."""
    spec, status, meta = obj.get("spec") or {}, obj.get("status") or {}, obj["metadata"]
    words = [
        "Ready" if condition.get("status") == "True" else "NotReady"
        for condition in status.get("conditions") or ()
        if condition.get("type") == "Ready"
    ]
    if not words:
        words.append("Unknown")
    if spec.get("unschedulable"):
        words.append("SchedulingDisabled")
    roles = sorted(
        key.removeprefix(_ROLE) for key in meta.get("labels") or () if key.startswith(_ROLE)
    )
    addresses = {a.get("type"): a.get("address") for a in status.get("addresses") or ()}
    info = status.get("nodeInfo") or {}
    return [
        meta.get("name", ""),
        ",".join(words),
        ",".join(role for role in roles if role) or "<none>",
        age(meta.get("creationTimestamp")),
        info.get("kubeletVersion", ""),
        addresses.get("InternalIP") or "<none>",
        addresses.get("ExternalIP") or "<none>",
        info.get("osImage") or "<unknown>",
        info.get("kernelVersion") or "<unknown>",
        info.get("containerRuntimeVersion") or "<unknown>",
    ]
