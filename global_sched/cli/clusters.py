"""`gsched clusters`."""

from collections.abc import Iterator

from global_sched.cli.output import Column, Row, amounts, duration, show_rows
from global_sched.cli.view import View, live
from global_sched.cli.where import Where
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.topology import Topology


def _report(row: Row) -> str:
    """The report's age, or why there is none."""
    age = row["report_age_seconds"]
    return row["problem"] or "no agent" if age is None else f"{duration(age)} ago"


def _devices_first(free: dict[str, str] | None) -> dict[str, str]:
    """What people look for first where a line is cut: GPUs, then CPUs and memory."""
    return dict(sorted((free or {}).items(), key=lambda entry: ("/" not in entry[0], entry[0])))


COLUMNS = (
    Column(head="NAME", field="name"),
    Column(head="READY", field="ready"),
    Column(head="REPORT", text=_report),
    Column(head="NODES", field="nodes", right=True),
    Column(head="DOMAINS", field="domains", right=True, leaves=1),
    Column(head="JOBS", field="jobs", right=True),
    Column(head="FREE", text=lambda row: amounts(_devices_first(row["free"])), sentences=True),
    Column(head="TOTAL", text=lambda row: amounts(row["total"] or {}), wide=True),
    Column(head="BINDS FOR", field="schedulers", wide=True),
    Column(head="TAINTS", field="taints", wide=True),
)


def show(where: Where, *, output: str, headers: bool = True) -> None:
    """Print every member cluster."""
    rows = list(rows_of(live(where)))
    show_rows(rows, COLUMNS, output, nothing="No member clusters found.", headers=headers)


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
