"""Rows of member clusters."""

from collections.abc import Iterator

from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.topology import Topology
from global_sched.view.look import View
from global_sched.view.text import Row


def rows_of(view: View) -> Iterator[Row]:
    """One row per cluster."""
    jobs = [one for one in view.state.workloads() if one.demand.gang and one.admitted()]
    for cluster in view.snapshot.clusters:
        capacity = cluster.capacity
        topology = capacity.topology if capacity is not None else None
        yield {
            "object": f"cluster.cluster.karmada.io/{cluster.name}",
            "name": cluster.name,
            "ready": "Terminating" if cluster.terminating else str(cluster.readiness),
            "report_age_seconds": _age(cluster, view),
            "problem": cluster.capacity_problem if capacity is None else "",
            "nodes": sum(leaf.count for leaf in topology.leaves) if topology else None,
            "domains": len(topology.domains) if topology else None,
            "jobs": sum(any(t.cluster == cluster.name for t in one.targets) for one in jobs),
            "free": free_of(topology) if topology else None,
            "total": quantities(capacity.total) if capacity else None,
            "schedulers": list(capacity.scheduler_names) if capacity else None,
            "taints": [f"{t.key}={t.value}:{t.effect}" for t in cluster.taints],
        }


def free_of(topology: Topology) -> dict[str, str]:
    """What is free on all nodes together, zeros too: for people, never for decisions."""
    free = dict.fromkeys(topology.axis, 0)
    for leaf in topology.leaves:
        if leaf.node_class.schedulable:
            for name, value in zip(topology.axis, leaf.free, strict=True):
                free[name] += value * leaf.count
    return {name: format_quantity(free[name], name) for name in sorted(free) if name != PODS}


def quantities(total: Resources) -> dict[str, str]:
    """Amounts by resource, the pod count left out."""
    return {name: format_quantity(value, name) for name, value in total if name != PODS}


def _age(cluster: Cluster, view: View) -> int | None:
    """Seconds since the agent looked."""
    if cluster.capacity is None:
        return None
    return max(0, (view.now - cluster.capacity.observed) // SECOND)
