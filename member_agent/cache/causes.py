"""The cause of a pod's loss, as far as the pod itself says it. Pure."""

from typing import Final

from global_sched.shared.api.base import condition
from global_sched.shared.api.core import Pod
from global_sched.shared.model.recovery import Cause
from member_agent.cache.records import REJECTIONS

_TEXT: Final = 100
"""Characters of a reason: pods' statuses come from others."""
_BY: Final = {
    "PreemptionByScheduler": Cause.PREEMPTED,
    "DeletionByTaintManager": Cause.NODE_TAINTED,
    "DeletionByPodGC": Cause.NODE_GONE,
}
"""Causes by the reason of DisruptionTarget; any other one is an eviction."""
_BY_KUBELET: Final = {
    "Preempting": Cause.PREEMPTED,
    "Evicted": Cause.EVICTED,
    "NodeLost": Cause.NODE_NOT_READY,
    "NodeShutdown": Cause.EVICTED,
    "Shutdown": Cause.EVICTED,
    "Terminated": Cause.EVICTED,
}


def exit_codes(pod: Pod) -> tuple[int, ...]:
    """The exit codes other than 0 of a failed pod's containers, ascending, each once."""
    if pod.status.phase != "Failed":
        return ()
    found = {
        one.state.terminated.exit_code
        for one in pod.status.container_statuses or ()
        if one.state.terminated is not None
    }
    return tuple(sorted(found - {0}))


def cause_of(pod: Pod) -> tuple[Cause | None, str]:
    """The cause and a detail; None for a pod that is well, or that only was asked to go.

    A pod that was never bound is no loss.
    """
    status = pod.status
    if not pod.spec.node_name:
        return None, ""
    ended = status.phase == "Failed"
    target = condition(status.conditions, "DisruptionTarget")
    if target is not None and target.status == "True":
        going = ended or pod.metadata.deletion_timestamp is not None
        by = target.reason[:_TEXT]
        return (_BY.get(target.reason, Cause.EVICTED), by) if going else (None, "")
    if not ended:
        return None, ""
    reason = status.reason[:_TEXT]
    if status.reason.startswith("OutOf") or status.reason in REJECTIONS:
        return Cause.REFUSED, reason
    if status.reason in _BY_KUBELET:
        return _BY_KUBELET[status.reason], reason
    ends = [
        one.state.terminated
        for one in status.container_statuses or ()
        if one.state.terminated is not None and one.state.terminated.exit_code
    ]
    if any(one.reason == "OOMKilled" for one in ends):
        return Cause.OOM_KILLED, ""
    if ends:
        return Cause.EXIT_CODE, str(ends[0].exit_code)
    return Cause.UNKNOWN, reason
