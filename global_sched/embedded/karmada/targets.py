"""Target clusters of a binding's copies, and clusters where they are still allowed; pure."""

from typing import Final

from global_sched.propagation.fields import Obj, get

DIRECTLY: Final = frozenset({"Directly", "Immediately"})
"""Purge modes under which the old copy goes at once (the second is the older word)."""


def targets(binding: Obj) -> list[Obj]:
    """`spec.clusters`, and the clusters of what requires this binding, each once."""
    found: dict[str, Obj] = {}
    for target in get(binding, "spec", "clusters") or []:
        found.setdefault(target["name"], target)
    for snapshot in get(binding, "spec", "requiredBy") or []:
        for target in snapshot.get("clusters") or []:
            found.setdefault(target["name"], {"name": target["name"]})
    return list(found.values())


def eviction_tasks(binding: Obj) -> list[Obj]:
    """The clusters that are being left."""
    return get(binding, "spec", "gracefulEvictionTasks") or []


def allowed_clusters(binding: Obj) -> set[str]:
    """Clusters whose Works stay: targets, and clusters that are left gracefully."""
    names = {str(target["name"]) for target in targets(binding)}
    for task in eviction_tasks(binding):
        if task.get("purgeMode") not in DIRECTLY:
            names.add(str(task.get("fromCluster")))
    return names


def purged_clusters(binding: Obj) -> set[str]:
    """Clusters whose Work must be gone before a new one is made anywhere."""
    return {
        str(task.get("fromCluster"))
        for task in eviction_tasks(binding)
        if task.get("purgeMode") in DIRECTLY
    }


def injected_labels(binding: Obj, cluster: str) -> dict[str, str]:
    """What Karmada's gate StatefulFailoverInjection puts on the object in a new cluster.

    Only with one target, and by the last task, when the object goes at once and was not there.
    """
    tasks = eviction_tasks(binding)
    if not tasks or [str(one["name"]) for one in targets(binding)] != [cluster]:
        return {}
    last = tasks[-1]
    before = last.get("clustersBeforeFailover") or ()
    if last.get("purgeMode") not in DIRECTLY or cluster in before:
        return {}
    return dict(last.get("preservedLabelState") or {})


def is_suspended(binding: Obj, cluster: str) -> bool:
    """Whether nothing is to be written to a cluster for now."""
    suspension = get(binding, "spec", "suspension") or {}
    names = get(suspension, "dispatchingOnClusters", "clusterNames") or []
    return bool(suspension.get("dispatching")) or cluster in names
