"""Karmada's Cluster object as decisions see it."""

from sys import intern

from global_sched.cache.readers.selectors import SelectorError, taints_of
from global_sched.shared.api.base import Quantity, condition
from global_sched.shared.api.karmada import Cluster as WireCluster
from global_sched.shared.api.karmada import ResourceSummary
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.model.cluster import Cluster, Readiness
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.resources import Resources


def read_cluster(wire: WireCluster) -> tuple[Cluster, str]:
    """The cluster without capacity, and what is wrong with its object (empty: nothing).

    A cluster whose taints cannot be read is not ready: it might be one that wants no work.
    """
    meta, spec, status = wire.metadata, wire.spec, wire.status
    problem = ""
    readiness = _readiness(wire)
    try:
        taints = taints_of(spec.taints, f"Cluster {meta.name}: spec.taints")
    except SelectorError as error:
        taints, problem, readiness = (), f"{error}; correct the taint", Readiness.UNKNOWN
    zones = spec.zones or ([spec.zone] if spec.zone else [])
    cluster = Cluster(
        name=ClusterName(intern(meta.name)),
        uid=meta.uid,
        readiness=readiness,
        terminating=meta.deletion_timestamp is not None,
        labels=tuple(sorted((meta.labels or {}).items())),
        provider=spec.provider,
        region=spec.region,
        zones=tuple(sorted(set(zones))),
        taints=taints,
        kinds=_kinds(wire),
        summary=_summary(status.resource_summary),
    )
    return cluster, problem


def _readiness(wire: WireCluster) -> Readiness:
    ready = condition(wire.status.conditions, ConditionType.READY)
    match ready.status if ready is not None else "":
        case "True":
            return Readiness.READY
        case "False":
            return Readiness.NOT_READY
        case _:
            return Readiness.UNKNOWN


def _kinds(wire: WireCluster) -> tuple[str, ...] | None:
    if wire.status.api_enablements is None:
        return None
    return tuple(
        sorted(
            {
                intern(f"{group.group_version}/{one.kind}")
                for group in wire.status.api_enablements
                for one in group.resources or ()
            }
        )
    )


def _summary(summary: ResourceSummary | None) -> Resources | None:
    """What is neither allocated nor waiting for a node; None when it is not known."""
    if summary is None or not summary.allocatable:
        return None
    try:
        free = _amounts(summary.allocatable)
        for used in (summary.allocated, summary.allocating):
            for name, amount in _amounts(used or {}).items():
                free[name] = max(0, free.get(name, 0) - amount)
    except QuantityError:
        return None
    return Resources.of(free)


def _amounts(quantities: dict[str, Quantity]) -> dict[str, int]:
    return {name: parse_quantity(str(value), name) for name, value in quantities.items()}
