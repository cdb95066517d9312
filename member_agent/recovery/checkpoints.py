"""Calls for checkpoints: an annotation on the pods of a gang that has to leave. Pure.

The leader says in the Directive which gangs are called; the program of a gang reads the call from
its pod (downward API), and answers with an annotation of its own on any pod of it. What stands
where is compared with what should: nothing is remembered.
"""

from collections.abc import Iterable, Iterator, Mapping

from global_sched.shared.model.ids import BindingId
from member_agent.cache import ManagedWorkload, PodRecord, PodUnit

Entries = Mapping[BindingId, ManagedWorkload]


def calls_due(entries: Entries, units: Iterable[PodUnit]) -> Iterator[tuple[PodRecord, str]]:
    """The pods on which another call should stand than does, and that call; empty for none.

    Pods of a gang that the Directive does not name are ending: they keep theirs.
    """
    for unit in units:
        entry = None if unit.binding is None else entries.get(unit.binding)
        if entry is not None:
            yield from ((pod, entry.call) for pod in unit.staying() if pod.call != entry.call)


def answered(entry: ManagedWorkload | None, units: Iterable[PodUnit]) -> str:
    """The gang's call, where a pod of it has answered that one; else nothing."""
    if entry is None or not entry.call:
        return ""
    pods = (pod for unit in units for pod in unit.placed)
    return entry.call if any(pod.answered == entry.call for pod in pods) else ""
