"""Growth: what an admitted gang lacks of the minimum that its edited template asks for."""

from typing import Final

from global_sched.shared.model.decision import Decision
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.workload import Division, Workload

SUFFIX: Final = "/growth"
"""Makes a binding's id the name of the room that is kept for its growth."""


def needs_more(workload: Workload) -> Amounts:
    """Pods of its minimum that no grant gives; none where it is not a gang whole in one cluster.

    Groups of pods (partitions) grow where there is room only.
    """
    gang, decision = workload.demand.gang, workload.decision
    if gang is None or decision is None or not may_claim(workload):
        return Amounts()
    return gang.minimum_amounts().minus(decision.grants[0].amounts)


def may_claim(workload: Workload) -> bool:
    """Whether others may leave for its growth: a gang without partitions, in one cluster."""
    gang, decision = workload.demand.gang, workload.decision
    if gang is None or decision is None or len(decision.grants) != 1:
        return False
    if workload.demand.division != Division.WHOLE:
        return False
    return all(pod_set.partition is None for pod_set in gang.pod_sets)


def growth_gang(workload: Workload, amounts: Amounts | None = None) -> Gang:
    """Those pods (or `amounts`) as a gang of their own, under the same constraint."""
    gang = workload.demand.gang
    assert gang is not None
    lacks = needs_more(workload) if amounts is None else amounts
    return gang.only(lacks)


def growth_of(binding: BindingId) -> BindingId:
    """The name of the room for the growth of a binding's gang."""
    return BindingId(f"{binding}{SUFFIX}")


def cooldown_ends(workload: Workload, policy: Policy) -> Instant | None:
    """Until when an elastic gang gets and gives no surplus after its last resize; None: never.

    No cooldown counts for longer than the Policy's limit.
    """
    gang, decision = workload.demand.gang, workload.decision
    if gang is None or gang.elastic is None or decision is None:
        return None
    seconds = min(gang.elastic.cooldown, policy.elastic_cooldown_limit_seconds)
    return Instant(decision.resized + seconds * SECOND)


def shrinks_at(decision: Decision, short: Instant, policy: Policy) -> Instant:
    """When a gang that is short since then goes on with fewer.

    A decision has its time to be carried out first: pods of a large gang are not made at once.
    """
    placed = decision.at + policy.placement_timeout_seconds * SECOND
    return Instant(max(short + policy.recovery_heal_seconds * SECOND, placed))
