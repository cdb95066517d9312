"""Outcomes: the ways in which workloads leave a cycle."""

from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.verdict import ClusterVerdict, Verdict
from global_sched.shared.model.workload import Workload


def outcome_of(
    workload: Workload,
    verdict: Verdict,
    *,
    nearest: ClusterName | None = None,
    clusters: tuple[ClusterVerdict, ...] = (),
    position: int = 0,
) -> Outcome:
    """How a workload leaves the cycle."""
    return Outcome(
        workload=workload.key,
        queue=workload.queue,
        tenant=workload.tenant,
        verdict=verdict,
        nearest=nearest,
        clusters=clusters,
        position=position,
    )
