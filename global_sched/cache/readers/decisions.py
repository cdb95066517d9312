"""Validation of decision annotations, and what stands in for one that is not believed."""

from dataclasses import replace
from typing import Final

from global_sched.shared.model.decision import Backoff, Decision, Grant, decision_id, is_whole
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Division, Target

LONGEST_BACKOFF: Final = 7 * 24 * 3600 * SECOND
"""Beyond any Policy's `backoff_limit_seconds` that makes sense."""


def authentic(decision: Decision, binding: BindingId) -> bool:
    """Whether its id matches its content."""
    return is_whole(decision, binding)


def distrust(decision: Decision, targets: tuple[Target, ...]) -> str:
    """Why a decision whose id matches its content is not believed, empty when it is.

    Its grants must name exactly the binding's clusters and replicas. What its amounts may count is
    `within_template`'s to say.
    """
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
    return ""


def within_time(decision: Decision, now: Instant) -> Decision:
    """The decision with no instant that cannot be yet; the same object when there is none.

    `now` is when the annotation reached us. What was decided, claimed or evicted was so by then,
    and no back-off lasts longer than `LONGEST_BACKOFF`.
    """
    ends = now + LONGEST_BACKOFF
    claim = decision.claim
    instants = (
        decision.at,
        decision.claimed,
        decision.evicted,
        decision.started,
        decision.moved,
        decision.called,
        None if claim is None else claim.since,
    )
    if all(one is None or one <= now for one in instants) and all(
        one.until <= ends for one in decision.backoffs
    ):
        return decision
    return replace(
        decision,
        at=min(decision.at, now),
        claimed=None if decision.claimed is None else min(decision.claimed, now),
        evicted=None if decision.evicted is None else min(decision.evicted, now),
        started=None if decision.started is None else min(decision.started, now),
        moved=None if decision.moved is None else min(decision.moved, now),
        called=None if decision.called is None else min(decision.called, now),
        claim=None if claim is None else replace(claim, since=min(claim.since, now)),
        backoffs=tuple(
            replace(one, until=Instant(min(one.until, ends))) for one in decision.backoffs
        ),
    )


def within_template(decision: Decision, division: Division, gang: Gang | None) -> Decision:
    """The decision with no more pods than the template has; the same object when that is all.

    A template below its decision shrank: what is admitted is the smaller of both, in the same
    domain, and the decision keeps its id and its place until the next one. The id is a plain
    checksum, so amounts above the template are cut and never counted. A divided workload's entries
    of `spec.clusters` say themselves how many pods the members run; the next cycle divides them.
    """
    if gang is None or division == Division.DIVIDED:
        return decision
    whole = gang.all_amounts()
    if all(whole.covers(grant.amounts) for grant in decision.grants):
        return decision
    grants = tuple(replace(one, amounts=one.amounts.within(whole)) for one in decision.grants)
    return replace(decision, grants=grants)


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
