"""Whether a decision annotation may be believed, and what stands in for one that may not."""

from global_sched.shared.model.decision import Backoff, Decision, Grant, decision_id, is_whole
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.workload import Division, Target


def authentic(decision: Decision, binding: BindingId) -> bool:
    """Whether its id matches its content."""
    return is_whole(decision, binding)


def distrust(
    decision: Decision, binding: BindingId, targets: tuple[Target, ...], gang: Gang | None
) -> str:
    """Why a decision is not believed, empty when it is.

    Its id must match its content, its grants must name exactly the binding's clusters, and no
    amount may exceed the template. A template that shrank under entries with replicas is no
    forgery: the entries say the same as the decision until the next one.
    """
    if not authentic(decision, binding):
        return f"its id {decision.id[:40]} does not match its content"
    granted = sorted(grant.cluster for grant in decision.grants)
    there = sorted(target.cluster for target in targets)
    if granted != there:
        return (
            f"it grants {', '.join(granted) or 'nothing'}, spec.clusters names {', '.join(there)}"
        )
    replicas = {target.cluster: target.replicas for target in targets}
    for grant in decision.grants:
        said = replicas[grant.cluster] or 0  # Karmada leaves a zero out
        if grant.replicas is not None and grant.replicas != said:
            return f"it gives {grant.cluster} {grant.replicas} replicas, spec.clusters says {said}"
    if gang is None:
        return ""
    whole = gang.all_amounts()
    for grant in decision.grants:
        if replicas[grant.cluster] is not None and grant.amounts.pods() == replicas[grant.cluster]:
            continue
        for name, pods in grant.amounts.entries:
            if pods > whole.get(name):
                return f"it admits {pods} pods of {name}, the template has {whole.get(name)}"
    return ""


def recomputed(
    *,
    binding: BindingId,
    targets: tuple[Target, ...],
    gang: Gang | None,
    division: Division,
    at: Instant,
    backoffs: tuple[Backoff, ...] = (),
) -> Decision:
    """The decision that `spec.clusters` itself implies: its replicas, or the whole gang."""
    grants = tuple(
        Grant(
            cluster=target.cluster,
            amounts=_implied(target, gang, division),
            replicas=target.replicas,
        )
        for target in targets
        if target.replicas or not _counted(gang, division)
    )
    made = decision_id(binding, grants, at, 0)
    return Decision(id=made, epoch=0, at=at, order=0, grants=grants, backoffs=backoffs)


def _counted(gang: Gang | None, division: Division) -> bool:
    """Whether entries of `spec.clusters` say how many pods they hold; one without holds none."""
    return gang is not None and division == Division.DIVIDED and len(gang.pod_sets) == 1


def _implied(target: Target, gang: Gang | None, division: Division) -> Amounts:
    if gang is None:
        return Amounts()
    if target.replicas is None or (division == Division.WHOLE and len(gang.pod_sets) > 1):
        return gang.all_amounts()
    return Amounts.of({gang.pod_sets[0].name: min(target.replicas, 1_000_000)})
