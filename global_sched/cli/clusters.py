"""`gsched clusters`."""

from collections.abc import Iterator
from pathlib import Path

from global_sched.cli.output import Column, Row, duration, show_rows
from global_sched.cli.view import View, live
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.resources import PODS, Resources

COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="READY", field="ready"),
    Column(head="REPORT", field="report"),
    Column(head="NODES", field="nodes", right=True),
    Column(head="DOMAINS", field="domains", right=True),
    Column(head="JOBS", field="jobs", right=True),
    Column(head="FREE", field="free"),
    Column(head="TOTAL", field="total", wide=True),
    Column(head="BINDS FOR", field="schedulers", wide=True),
    Column(head="TAINTS", field="taints", wide=True),
)


def show(kubeconfig: Path | None, context: str | None, *, output: str) -> None:
    """Print every member cluster."""
    show_rows(list(rows_of(live(kubeconfig, context))), COLUMNS, output)


def rows_of(view: View) -> Iterator[Row]:
    """One row per cluster."""
    for cluster in view.snapshot.clusters:
        capacity = cluster.capacity
        topology = capacity.topology if capacity is not None else None
        held = [one for one in view.state.workloads() if one.admitted()]
        yield {
            "name": cluster.name,
            "ready": "Terminating" if cluster.terminating else str(cluster.readiness),
            "report": _report(cluster, view),
            "nodes": sum(leaf.count for leaf in topology.leaves) if topology else None,
            "domains": len(topology.domains) if topology else None,
            "jobs": sum(any(t.cluster == cluster.name for t in one.targets) for one in held),
            "free": free_of(cluster).text() if topology else None,
            "total": capacity.total.text() if capacity else None,
            "schedulers": list(capacity.scheduler_names) if capacity else None,
            "taints": [f"{t.key}={t.value}:{t.effect}" for t in cluster.taints],
        }


def free_of(cluster: Cluster) -> Resources:
    """What is free on all nodes together: for people, never for decisions."""
    assert cluster.capacity is not None
    topology = cluster.capacity.topology
    amounts = dict.fromkeys(topology.axis, 0)
    for leaf in topology.leaves:
        if leaf.node_class.schedulable:
            for name, value in zip(topology.axis, leaf.free, strict=True):
                amounts[name] += value * leaf.count
    amounts.pop(PODS, None)
    return Resources.of(amounts)


def _report(cluster: Cluster, view: View) -> str:
    if cluster.capacity is None:
        return cluster.capacity_problem or "no agent"
    return duration((view.now - cluster.capacity.observed) / SECOND) + " ago"
