"""Whether a workload ended, from what Karmada collected of its copies."""

from collections.abc import Iterable

from global_sched.shared.api.base import JsonMap
from global_sched.shared.api.karmada import AggregatedStatusItem
from global_sched.shared.api.resource import BATCH_JOBS, PYTORCH_JOBS, VOLCANO_JOBS
from global_sched.shared.model.ids import ClusterName

_VOLCANO_ENDS = ("Completed", "Failed", "Terminated", "Aborted")
_BATCH_ENDS = ("Complete", "Failed")
_PYTORCH_ENDS = ("Succeeded", "Failed")


def is_finished(
    api_version: str,
    kind: str,
    items: list[AggregatedStatusItem] | None,
    clusters: Iterable[ClusterName],
) -> bool:
    """True when the copy in one of the binding's clusters reached an end.

    Copies in clusters that are being left do not count: they were withdrawn.
    """
    if not items:
        return False
    here = set(clusters)
    return any(
        item.cluster_name in here
        and item.status is not None
        and _ended(api_version, kind, item.status)
        for item in items
    )


def _ended(api_version: str, kind: str, status: JsonMap) -> bool:
    if (api_version, kind) == (VOLCANO_JOBS.api_version, VOLCANO_JOBS.kind):
        state = status.get("state")
        return isinstance(state, dict) and state.get("phase") in _VOLCANO_ENDS
    if (api_version, kind) == (BATCH_JOBS.api_version, BATCH_JOBS.kind):
        return _condition_true(status, _BATCH_ENDS)
    if (api_version, kind) == (PYTORCH_JOBS.api_version, PYTORCH_JOBS.kind):
        return _condition_true(status, _PYTORCH_ENDS)
    return False


def _condition_true(status: JsonMap, kinds: tuple[str, ...]) -> bool:
    conditions = status.get("conditions")
    if not isinstance(conditions, list):
        return False
    return any(
        isinstance(one, dict) and one.get("type") in kinds and one.get("status") == "True"
        for one in conditions
    )
