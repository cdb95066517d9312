"""The filters: whether a workload may use a cluster at all, before room is counted.

Each returns `PASS` or the refusal. `DEMAND_FILTERS` look only at the demand, so equal demands
share the answer for a whole cycle; `WORKLOAD_FILTERS` look at the one workload. A refusal is
`WAIT` where the answer may change by itself (a report arrives, a cluster gets Ready) and `NEVER`
where the spec, the policy or the cluster has to be changed.
"""

from global_sched.core.fit.spread import lacks_field
from global_sched.core.view import CycleView
from global_sched.shared.api.names import AGENT_SCHEDULER, DEFAULT_SCHEDULER
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.cluster import Capacity, Cluster, Readiness
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.pods import tolerated
from global_sched.shared.model.selection import selected_by_any
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Demand, Division, Workload
from global_sched.shared.placement import shared_gpus

PASS = Verdict(code=Code.FIT, reason=Reason.FITS)
"""The filter has nothing against it."""

VOLCANO_SCHEDULER = "volcano"


def _wait(reason: Reason, detail: str) -> Verdict:
    return Verdict(code=Code.WAIT, reason=reason, detail=detail, missing=1)


def _never(reason: Reason, detail: str) -> Verdict:
    return Verdict(code=Code.NEVER, reason=reason, detail=detail, missing=1)


def affinity(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The policy selects the cluster, in any of its groups."""
    if selected_by_any(workload.demand.rule, cluster):
        return PASS
    return _never(Reason.CLUSTER_AFFINITY, "the policy does not select this cluster")


def terminating(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The cluster is not being removed."""
    if not cluster.terminating:
        return PASS
    return _never(Reason.CLUSTER_TERMINATING, "the cluster is being removed")


def ready(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The cluster is known to be Ready."""
    if cluster.readiness == Readiness.READY:
        return PASS
    return _wait(Reason.CLUSTER_NOT_READY, f"the cluster's Ready condition is {cluster.readiness}")


def taints(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The policy tolerates the cluster's taints; clusters in use are past this (Karmada's rule)."""
    taint = tolerated(cluster.taints, workload.demand.rule.tolerations)
    if taint is None:
        return PASS
    value = f"={taint.value}" if taint.value else ""
    return _never(
        Reason.CLUSTER_TAINT,
        f"the policy does not tolerate the cluster's taint {taint.key}{value}:{taint.effect}",
    )


def spread_field(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The cluster has a value for every field that the policy spreads by."""
    field = lacks_field(workload.demand.rule, cluster)
    if field is None:
        return PASS
    return _never(
        Reason.CLUSTER_SPREAD, f"the policy spreads by {field} and the cluster has no {field}"
    )


def kind_enabled(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The cluster serves the kind."""
    kind = f"{workload.demand.api_version}/{workload.demand.kind}"
    if cluster.kinds is None:
        return _wait(Reason.KIND_NOT_ENABLED, f"not known yet whether the cluster serves {kind}")
    if kind in cluster.kinds:
        return PASS
    return _never(Reason.KIND_NOT_ENABLED, f"the cluster does not serve {kind}")


def reported(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:
    """Its room is known: a fresh report, or the summary where the Policy takes that."""
    if cluster.capacity is None:
        return _summary(workload.demand, cluster, view)
    age = view.now - cluster.capacity.observed
    trust = trust_micros(cluster.capacity, view)
    if age <= trust:
        return PASS
    return _wait(
        Reason.REPORT_STALE,
        f"the capacity report is {age // SECOND} s old, more than {trust // SECOND} s",
    )


def trust_micros(capacity: Capacity, view: CycleView) -> int:
    """How old a report may be: the Policy's trust, or three periods if that is longer."""
    return max(view.policy.report_trust_seconds, 3 * capacity.period_seconds) * SECOND


def _summary(demand: Demand, cluster: Cluster, view: CycleView) -> Verdict:
    """Whether Karmada's resource summary stands in for the report that is not there."""
    problem = cluster.capacity_problem or "no agent reports its capacity"
    reason = Reason.REPORT_INVALID if cluster.capacity_problem else Reason.NO_REPORT
    if not view.policy.allow_summary or cluster.summary is None:
        return _wait(reason, problem)
    if demand.gang is not None and constrained(demand.gang):
        return _wait(reason, f"{problem}, and a summary cannot answer a topology constraint")
    return PASS


def binder(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """A scheduler in the cluster will bind the pods."""
    name = workload.demand.scheduler_in(cluster.name)
    if name is None:
        return _wait(
            Reason.SCHEDULER_UNKNOWN,
            "an override policy changes schedulerName there in a way that cannot be read",
        )
    if name == DEFAULT_SCHEDULER:
        return PASS
    capacity = cluster.capacity
    if capacity is None:
        return _wait(
            Reason.NO_REPORT,
            f"no report says whether a scheduler there binds pods with schedulerName {name}",
        )
    if name in capacity.scheduler_names:
        return PASS
    if name == VOLCANO_SCHEDULER and capacity.volcano_scheduler:
        return PASS
    return _never(
        Reason.NOBODY_BINDS,
        f"no scheduler there binds pods with schedulerName {name}{_by_the_agent(capacity)}",
    )


def _by_the_agent(capacity: Capacity) -> str:
    """What lets the agent bind the pods; empty for one that answers for no name."""
    names = capacity.scheduler_names
    if not names:
        return ""
    name = AGENT_SCHEDULER if AGENT_SCHEDULER in names else min(names)
    return f": set schedulerName: {name} in the pod template, or by an OverridePolicy"


def honoured(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The scheduler that binds the pods keeps to a hard topology constraint."""
    gang, capacity = workload.demand.gang, cluster.capacity
    if gang is None or capacity is None or not constrained(gang, Mode.HARD):
        return PASS
    name = workload.demand.scheduler_in(cluster.name)
    if name in capacity.scheduler_names:
        return PASS
    if name == VOLCANO_SCHEDULER and capacity.volcano_scheduler and capacity.volcano_topology:
        return PASS
    return _never(
        Reason.CONSTRAINT_NOT_HONOURED,
        f"scheduler {name} would ignore the hard topology constraint there"
        f"{_by_the_agent(capacity)}",
    )


def devices(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The scheduler that binds the pods hands out the shared GPUs that they ask for."""
    capacity = cluster.capacity
    resource = shared_gpu(workload.demand.gang)
    if not resource:
        return PASS
    name = workload.demand.scheduler_in(cluster.name)
    agents = capacity.scheduler_names if capacity is not None else ()
    if name == VOLCANO_SCHEDULER and name not in agents:
        return PASS
    return _never(
        Reason.DEVICES_NOT_HONOURED,
        f"scheduler {name} does not hand out {resource} there: only Volcano's scheduler does; use "
        "schedulerName volcano in a cluster where it runs, or request whole devices",
    )


def shared_gpu(gang: Gang | None) -> str:
    """The first resource of shared GPUs that the gang asks for; empty for none."""
    asked = () if gang is None else (shared_gpus(one.shape.requests) for one in gang.pod_sets)
    return next(filter(None, asked), "")


def constrained(gang: Gang, mode: Mode | None = None) -> bool:
    """Whether the gang or a partition of it has a topology constraint (of that mode)."""
    parts = [pod_set.partition for pod_set in gang.pod_sets if pod_set.partition is not None]
    found = [gang.constraint, *(part.constraint for part in parts)]
    return any(one is not None and mode in (None, one.mode) for one in found)


def leaving(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:  # noqa: ARG001 - a filter's signature
    """The workload is not being evicted from the cluster."""
    if cluster.name not in workload.leaving:
        return PASS
    return _wait(Reason.BEING_EVICTED, "the workload is still being removed from this cluster")


def backing_off(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:
    """The cluster did not fail to place this workload a short time ago."""
    if workload.decision is None:
        return PASS
    for backoff in workload.decision.backoffs:
        if backoff.cluster == cluster.name and backoff.until > view.now:
            seconds = -((view.now - backoff.until) // SECOND)
            why = f": {backoff.reason}" if backoff.reason else ""
            return _wait(
                Reason.BACKING_OFF,
                f"the cluster could not place the workload{why}; {seconds} s to go",
            )
    return PASS


def limited(workload: Workload, cluster: Cluster, view: CycleView) -> Verdict:
    """What it needs at least is within the limits that its queues have in this cluster.

    Where it is already, it asks for more and not for its minimum: what is cut then is cut later.
    """
    gang = workload.demand.gang
    if gang is None or any(target.cluster == cluster.name for target in workload.targets):
        return PASS
    least = gang.minimum_amounts()
    if workload.demand.division == Division.DUPLICATED:
        least = gang.all_amounts()
    elif workload.demand.division == Division.DIVIDED and len(gang.pod_sets) == 1:
        least = Amounts.of({gang.pod_sets[0].name: min(1, gang.pod_sets[0].count)})
    return view.refusal(workload, cluster.name, gang.requests(least)) or PASS
