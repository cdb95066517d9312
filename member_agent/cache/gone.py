"""Withdrawals of the Directive that left nothing here: no object, and no pod in any phase."""

from collections.abc import Iterator
from typing import Final

from global_sched.shared.api.federation import LeftBinding
from member_agent.cache.pods import Kind, PodSource
from member_agent.cache.records import OwnerRef, PodRecord
from member_agent.cache.state import ClusterCache
from member_agent.cache.units import DEPTH, find_root

_BELONG: Final = (Kind.POD, Kind.POD_GROUP, Kind.OWNER)
"""Kinds of objects that belong to a workload."""


def gone(cache: ClusterCache, leave: frozenset[tuple[str, str]] = frozenset()) -> list[LeftBinding]:
    """The withdrawals of which nothing is here any more, by binding and time.

    A pod belongs to a binding by its permanent id, on the way up its owners or on its PodGroup. One
    whose owner is not known here belongs to any binding of its namespace: an object that was just
    deleted leaves such pods behind. Where an object that cannot be watched (`leave`) owns it, that
    object's kind and name tell. What cannot be read is taken for something that is left.

    Cost:  O(owners + groups + kinds of pods), only while the Directive asks.
    """
    asked = cache.asked_left()
    if not asked:
        return []
    here: set[str | None] = {one.binding for one in cache.owners.values()}
    here |= {one.binding for one in cache.groups.values()}
    spaces = {one.namespace for one in asked}
    unknown: set[str] = {key[0] for (kind, key) in cache.problems if kind in _BELONG}
    by_name: set[tuple[str, str, str]] = set()
    for source, pods in cache.sources.items():
        pod = next(iter(pods.values()))
        binding = _binding(cache, source, pod, leave)
        if binding is not None:
            here.add(binding)
        elif source.namespace in spaces and pod.owner is not None:
            if find_root(cache, pod.owner, leave).missing is not None:
                unknown.add(source.namespace)
            by_name.update((source.namespace, one.kind, one.name) for one in _chain(cache, pod))
    return sorted(
        (
            one
            for one in asked
            if one.binding not in here
            and one.namespace not in unknown
            and (one.namespace, one.kind, one.name) not in by_name
        ),
        key=lambda one: (one.binding, one.at),
    )


def _binding(
    cache: ClusterCache, source: PodSource, pod: PodRecord, leave: frozenset[tuple[str, str]]
) -> str | None:
    if pod.owner is None and pod.binding is not None:
        return pod.binding
    found = find_root(cache, pod.owner, leave).binding
    group = cache.groups.get((source.namespace, source.group)) if source.group else None
    if found is None and group is not None:
        found = group.binding or find_root(cache, group.owner, leave).binding
    return found


def _chain(cache: ClusterCache, pod: PodRecord) -> Iterator[OwnerRef]:
    """The owners of a pod, from the nearest up."""
    ref = pod.owner
    for _ in range(DEPTH):
        if ref is None:
            return
        yield ref
        known = cache.owners.get(ref.uid)
        ref = None if known is None else known.owner
