"""Builders of member clusters and their topologies."""

from collections.abc import Sequence

from global_sched.shared.model.cluster import Capacity, Cluster, Readiness
from global_sched.shared.model.ids import ClusterName, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.pods import Taint
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from tests.gangs import AXIS, GIB, KINDS, NOW


def topology(
    *,
    racks: int = 1,
    nodes: int | Sequence[int] = 1,
    gpus: int = 0,
    cpu: int = 64,
    memory: int = 256,
    pods: int = 110,
    labels: Sequence[tuple[str, str]] = (),
    taints: Sequence[Taint] = (),
    label_keys: Sequence[str] | None = (),
    flat: bool = False,
) -> Topology:
    """Racks (tier 1) of equal nodes under one spine (tier 2); `flat` has no tree at all."""
    sizes = [nodes] * racks if isinstance(nodes, int) else list(nodes)
    free = (cpu * 1000, memory * GIB, gpus, pods)
    kind = NodeClass(labels=tuple(sorted(labels)), taints=tuple(sorted(taints)))
    if flat:
        return Topology(
            axis=AXIS,
            leaves=(Leaf(domain=None, node_class=kind, free=free, count=sum(sizes)),),
            label_keys=None if label_keys is None else tuple(label_keys),
        )
    spine = DomainId("spine")
    names = [DomainId(f"rack-{i}") for i in range(len(sizes))]
    return Topology(
        axis=AXIS,
        domains=(
            *(Domain(name=n, tier=1, tier_name="rack", parent=spine) for n in names),
            Domain(name=spine, tier=2, tier_name="spine"),
        ),
        leaves=tuple(
            Leaf(domain=n, node_class=kind, free=free, count=count)
            for n, count in zip(names, sizes, strict=True)
            if count
        ),
        label_keys=None if label_keys is None else tuple(label_keys),
    )


def cluster(
    name: str,
    *,
    racks: int = 1,
    nodes: int | Sequence[int] = 1,
    gpus: int = 0,
    cpu: int = 64,
    memory: int = 256,
    pods: int = 110,
    flat: bool = False,
    tree: Topology | None = None,
    report_age: int = 1,
    period: int = 10,
    schedulers: Sequence[str] = ("member-agent", "volcano"),
    volcano: tuple[bool, bool] = (False, False),
    agent: bool = True,
    labels: Sequence[tuple[str, str]] = (),
    taints: Sequence[Taint] = (),
    kinds: Sequence[str] | None = KINDS,
    region: str = "",
    zones: Sequence[str] = (),
    provider: str = "",
    readiness: Readiness = Readiness.READY,
    **fields: object,
) -> Cluster:
    """A member with a fresh report; `agent=False` has none. `volcano` = (scheduler, plugin)."""
    shape = tree or topology(
        racks=racks, nodes=nodes, gpus=gpus, cpu=cpu, memory=memory, pods=pods, flat=flat
    )
    capacity = Capacity(
        topology=shape,
        total=total_of(shape),
        observed=Instant(NOW - report_age * SECOND),
        generation=1,
        period_seconds=period,
        scheduler_names=tuple(schedulers),
        volcano_scheduler=volcano[0],
        volcano_topology=volcano[1],
    )
    base: dict[str, object] = {
        "name": ClusterName(name),
        "uid": f"uid-{name}",
        "readiness": readiness,
        "labels": tuple(sorted(labels)),
        "taints": tuple(taints),
        "kinds": None if kinds is None else tuple(sorted(kinds)),
        "region": region,
        "zones": tuple(zones),
        "provider": provider,
        "capacity": capacity if agent else None,
        "capacity_problem": "" if agent else "no CapacityReport",
    }
    return Cluster(**(base | fields))  # type: ignore[arg-type]


def total_of(tree: Topology) -> Resources:
    """What the nodes of a tree hold, all free."""
    return Resources.total(
        Resources.of(dict(zip(tree.axis, leaf.free, strict=True))).times(leaf.count)
        for leaf in tree.leaves
    )
