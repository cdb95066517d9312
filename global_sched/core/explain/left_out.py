"""Clusters that a workload may not use: what stands against each, and a world in which it may."""

from dataclasses import replace

from global_sched.core.explain.worlds import exchanged
from global_sched.core.fit.plugins import DEMAND_FILTERS, WORKLOAD_FILTERS
from global_sched.core.view import CycleView
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.cluster import Cluster, Readiness
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterSelector,
    PlacementRule,
)
from global_sched.shared.model.pods import Toleration
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload


def obstacles(workload: Workload, cluster: Cluster, view: CycleView) -> list[Verdict]:
    """All that keeps the workload out of the cluster, but for the limits of its queues there."""
    chain = {**DEMAND_FILTERS, **WORKLOAD_FILTERS}
    del chain["limits"]
    answers = [asked(workload, cluster, view) for asked in chain.values()]
    return [one for one in answers if one.code != Code.FIT]


def permitted(
    workload: Workload, cluster: Cluster, reasons: list[Reason], snapshot: Snapshot, now: Instant
) -> Snapshot | None:
    """A world in which nothing of that keeps it out; None where one cannot tell what that is.

    The policy and the workload change for it alone; a cluster that is in order is so for all.
    """
    one, there = workload, cluster
    for reason in reasons:
        match reason:
            case Reason.CLUSTER_AFFINITY:
                one = _with_rule(one, _selecting(one.demand.rule, cluster))
            case Reason.CLUSTER_TAINT:
                one = _with_rule(one, _tolerating(one.demand.rule, cluster))
            case Reason.BEING_EVICTED:
                left = tuple(name for name in one.leaving if name != cluster.name)
                one = replace(one, leaving=left)
            case Reason.BACKING_OFF:
                assert one.decision is not None
                rest = tuple(b for b in one.decision.backoffs if b.cluster != cluster.name)
                one = replace(one, decision=replace(one.decision, backoffs=rest))
            case Reason.CLUSTER_NOT_READY:
                there = replace(there, readiness=Readiness.READY)
            case Reason.KIND_NOT_ENABLED:
                kind = f"{one.demand.api_version}/{one.demand.kind}"
                there = replace(there, kinds=(*(there.kinds or ()), kind))
            case Reason.REPORT_STALE:
                assert there.capacity is not None
                there = replace(there, capacity=replace(there.capacity, observed=now))
            case _:
                return None
    clusters = tuple(there if c.name == cluster.name else c for c in snapshot.clusters)
    return replace(exchanged(snapshot, workload, one), clusters=clusters)


def _with_rule(workload: Workload, rule: PlacementRule) -> Workload:
    return replace(workload, demand=replace(workload.demand, rule=rule))


def _selecting(rule: PlacementRule, cluster: Cluster) -> PlacementRule:
    """The cluster is one more group that the policy tries, behind all others."""
    group = AffinityGroup(name=cluster.name, selector=ClusterSelector(names=(cluster.name,)))
    return replace(rule, affinities=(*rule.affinities, group))


def _tolerating(rule: PlacementRule, cluster: Cluster) -> PlacementRule:
    more = tuple(
        Toleration(key=one.key, value=one.value, effect=one.effect) for one in cluster.taints
    )
    return replace(rule, tolerations=(*rule.tolerations, *more))
