"""Pods that run beyond the admitted amount because another scheduler binds them.

Karmada passes an edited Volcano Job on as it is. The agent leaves pods above the admitted amount
unbound; where another scheduler binds (Volcano's own), nothing holds them back, and the binding
says so.
"""

from global_sched.dispatch.source import Source
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import DECISION
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.workload import Division, Workload


def not_held_back(binding: ResourceBinding, workload: Workload | None, source: Source) -> str:
    """How many pods are bound all the same, where and by whom; empty where that cannot be.

    A cluster's entry with replicas tells Karmada how many there may be.
    """
    if workload is None or workload.demand.division != Division.WHOLE:
        return ""
    try:
        decision = parse_decision(binding.metadata.annotation(DECISION))
    except DecisionError:
        return ""
    waiting = decision.pending.pods()
    if not waiting:
        return ""
    free = [one.name for one in binding.spec.clusters or () if one.replicas is None]
    found = []
    for grant in decision.grants:
        scheduler = workload.demand.scheduler_in(grant.cluster)
        if grant.cluster in free and scheduler is not None:
            binds = source.agent_binds(grant.cluster, scheduler)
            if binds is False:
                found.append(f"scheduler {scheduler} binds the pods in {grant.cluster}")
    if not found:
        return ""
    pods = "1 pod that is" if waiting == 1 else f"{waiting} pods that are"
    return f"{', '.join(found)}, so nothing there holds back {pods} not admitted"
