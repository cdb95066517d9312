"""The ends of jobs, as the statuses of their copies say."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, Final

from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.ids import WorkloadKey, workload_key
from global_sched.shared.model.instant import Instant, InstantError, parse_instant

_ENDS: Final = ("completionTime", "endTime", "jobEndTime")
_LAST: Final = frozenset({"Complete", "Completed", "Succeeded", "Failed"})


def ends_of(bindings: Iterable[ResourceBinding]) -> dict[WorkloadKey, Instant]:
    """When each binding's job ended, as the statuses of its copies say."""
    found = {}
    for binding in bindings:
        meta = binding.metadata
        ends = [
            end
            for item in binding.status.aggregated_status or ()
            for end in _ends(item.status or {})
        ]
        if ends:
            found[workload_key(meta.namespace or "", meta.name)] = max(ends)
    return found


def _ends(status: Mapping[str, Any]) -> Iterator[Instant]:
    """Times in a status that say when the job ended."""
    texts = [status.get(name) for name in _ENDS]
    state = status.get("state")
    if isinstance(state, Mapping):  # a Volcano Job
        texts.append(state.get("lastTransitionTime"))
    texts += [
        one.get("lastTransitionTime")
        for one in status.get("conditions") or ()
        if one.get("type") in _LAST and one.get("status") == "True"
    ]
    for text in texts:
        try:
            yield parse_instant(str(text or ""))
        except InstantError:
            continue
