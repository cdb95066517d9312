"""Writes calls for checkpoints on pods, as `checkpoints` says what is due."""

from collections.abc import Sequence
from typing import Final

from global_sched.shared.api.names import CHECKPOINT_CALL
from global_sched.shared.api.resource import PODS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.telemetry.logs import get_logger
from member_agent.cache import PodUnit
from member_agent.recovery.checkpoints import Entries, calls_due

AT_ONCE: Final = 500
"""Pods that are written in one look: the next one is a few seconds later."""

log = get_logger(__name__)


async def write_calls(client: Client, entries: Entries, units: Sequence[PodUnit]) -> bool:
    """Write what is due; whether anything is left for another look."""
    due = list(calls_due(entries, units))
    failed = 0
    for pod, call in due[:AT_ONCE]:
        body = {"metadata": {"uid": pod.uid, "annotations": {CHECKPOINT_CALL: call or None}}}
        try:
            await client.patch(PODS, pod.name, body, namespace=pod.namespace)
        except (NotFound, Conflict):
            continue  # gone, or another pod has its name by now
        except ApiError as error:
            failed += 1
            log.warning("checkpoint_call_not_written", pod=pod.name, error=str(error))
            break
    return bool(failed) or len(due) > AT_ONCE
