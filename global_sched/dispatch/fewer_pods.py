"""The text of the condition of a gang that goes on with fewer pods than it asks for. Pure."""

from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.workload import Workload


def shrunk_text(workload: Workload | None) -> str:
    """Which attempt, from how many pods to how many, where, since when, why, and what comes next.

    Empty for a gang that lacks nothing. Made from the decision, so that another leader says the
    same.
    """
    decision = None if workload is None else workload.decision
    if workload is None or decision is None or decision.recovering is None:
        return ""
    gang = workload.demand.gang
    if gang is None or not decision.pending.entries or not decision.grants:
        return ""
    [grant, *_] = decision.grants
    progress = workload.progress_in(grant.cluster)
    losses = () if progress is None else progress.losses[-1:]
    why = "".join(f"; {one.pod} was lost: {one.cause}" for one in losses)
    backoffs = [one for one in decision.backoffs if one.cluster == grant.cluster]
    attempt = max((one.failures for one in backoffs), default=1)
    until = max((one.until for one in backoffs), default=decision.at)
    return (
        f"attempt {attempt}: from {gang.pods()} to {counted(grant.amounts.pods(), 'pod')} in "
        f"{grant.cluster}, which has had no seat for the others since "
        f"{format_instant(decision.recovering)}{why}; next: it grows back when there is room, not "
        f"within its cooldown, nor before {format_instant(until)}"
    )
