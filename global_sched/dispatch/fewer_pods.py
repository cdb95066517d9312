"""The text of the condition of a gang that goes on with fewer pods than it asks for. Pure."""

from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.workload import Workload


def shrunk_text(workload: Workload | None) -> str:
    """With how many pods, where, since when and why; empty for a gang that lacks nothing.

    Made from the decision, so that another leader says the same.
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
    return (
        f"{grant.amounts.pods()} of {counted(gang.pods(), 'pod')} in {grant.cluster} since "
        f"{format_instant(decision.recovering)}, which had no seat for more{why}; it grows back "
        "when there is room"
    )
