"""Answers of a division for one workload: the room it would take, or why there is none."""

from dataclasses import dataclass, replace
from typing import NamedTuple

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import ClusterVerdict, Code, Verdict
from global_sched.shared.model.words import in_ranges, listed
from global_sched.shared.model.workload import Demand, Target
from global_sched.shared.placement import Placed


class OfferPart(NamedTuple):
    """Room in one cluster (by position); `placed` None where no pods are asked for."""

    at: int
    cluster: ClusterName
    placed: Placed | None
    score: int | None = None

    def amounts(self) -> Amounts:
        """The pods that it adds."""
        return Amounts() if self.placed is None else self.placed.amounts


class Offer(NamedTuple):
    """`grants` is all that the workload would have then, `parts` what is new of it."""

    grants: tuple[Grant, ...]
    parts: tuple[OfferPart, ...]
    affinity: str = ""


@dataclass(frozen=True, slots=True)
class Refusal:
    """Why there is no offer, with every cluster's own answer where clusters were asked."""

    verdict: Verdict
    nearest: ClusterName | None = None
    clusters: tuple[ClusterVerdict, ...] = ()


def grant_of(demand: Demand, part: OfferPart, before: Grant | None = None) -> Grant:
    """The grant for a new part, on top of what was granted in the cluster before."""
    amounts = part.amounts() if before is None else before.amounts.plus(part.amounts())
    placed = part.placed
    carries = demand.carries_replicas and demand.gang is not None
    return Grant(
        cluster=part.cluster,
        amounts=amounts,
        replicas=amounts.pods() if carries else None,
        domain=None if placed is None else placed.domain,
        tier=None if placed is None else placed.tier,
        tier_name="" if placed is None else placed.tier_name,
    )


def targets_of(grants: tuple[Grant, ...]) -> tuple[Target, ...]:
    """The entries of `spec.clusters` for these grants."""
    return tuple([Target(cluster=grant.cluster, replicas=grant.replicas) for grant in grants])


_FURTHEST = {
    reason: rank
    for rank, reason in enumerate(
        (
            Reason.CLUSTER_AFFINITY,
            Reason.CLUSTER_TERMINATING,
            Reason.CLUSTER_NOT_READY,
            Reason.CLUSTER_TAINT,
            Reason.CLUSTER_SPREAD,
            Reason.KIND_NOT_ENABLED,
            Reason.BEING_EVICTED,
            Reason.BACKING_OFF,
            Reason.NO_REPORT,
            Reason.REPORT_INVALID,
            Reason.REPORT_STALE,
            Reason.SCHEDULER_UNKNOWN,
            Reason.NOBODY_BINDS,
            Reason.CONSTRAINT_NOT_HONOURED,
            Reason.DEVICES_NOT_HONOURED,
            Reason.LABEL_NOT_REPORTED,
            Reason.NO_NODE_MATCHES,
            Reason.TIER_UNKNOWN,
            Reason.CAPACITY_DOES_NOT_FIT,
            Reason.TOPOLOGY_DOES_NOT_FIT,
        )
    )
}
"""Refusals in the order in which they are met: a later one means that more was in order."""

_CODES = (Code.NO_FIT, Code.WAIT, Code.NEVER)


def refusal_of(clusters: tuple[ClusterVerdict, ...]) -> Refusal:
    """One verdict for the workload: its best cluster's code, and which cluster came nearest.

    `NO_FIT` anywhere: freeing room helps. Else `WAIT` anywhere: time may. Else `NEVER`. Where one
    answer is not proven, it may fit as it is: `WAIT`, whatever the others say.
    """
    codes = {one.verdict.code for one in clusters}
    code = next((one for one in _CODES if one in codes), None)
    if code is None:
        none = "the federation has no cluster"
        return Refusal(Verdict(code=Code.WAIT, reason=Reason.NO_CLUSTER, detail=none))
    nearest = min((one for one in clusters if one.verdict.code == code), key=_distance)
    verdict = nearest.verdict
    found = f"{nearest.cluster} is nearest: {verdict.detail}"
    if verdict.asks:
        found = _room_text(verdict, clusters) + verdict.note
    unsure = sorted(one.cluster for one in clusters if not one.verdict.proven)
    if unsure:
        found += (
            f"; it may fit in {unsure[0]}: the search there ended at the Policy's "
            "placement_search_limit"
        )
    return Refusal(
        replace(verdict, code=Code.WAIT if unsure else code, detail=found, proven=not unsure),
        nearest.cluster,
        clusters,
    )


_SIZES, _PLACES, _CLUSTERS = 2, 2, 6
"""So many sizes of room are said, so many places of each, or so many whole clusters."""


def _room_text(verdict: Verdict, clusters: tuple[ClusterVerdict, ...]) -> str:
    """What it waits for, and the most that there is of it, over all clusters."""
    kind = verdict.within
    there = f"no {kind or 'cluster'} has room for "
    if not verdict.holds:
        there += "it now" if verdict.wants == 1 else "any of them now"
        return f"waits for {verdict.asks}; {there}"
    places: dict[int, list[ClusterVerdict]] = {}
    for one in clusters:
        if one.verdict.asks and one.verdict.holds:
            places.setdefault(one.verdict.holds, []).append(one)
    sizes = sorted(places, reverse=True)[:_SIZES]
    most = [f"{size} ({_places(places[size], kind)})" for size in sizes]
    one_only = len(sizes) == 1 and len(places[sizes[0]]) == 1 and not verdict.ties
    return f"waits for {verdict.asks}; the largest {'has' if one_only else 'have'} room for " + (
        listed(most)
    )


def _places(found: list[ClusterVerdict], kind: str) -> str:
    """A few of the places: domains with their cluster, or clusters."""
    if kind:
        names = [_domains(one) for one in found[:_PLACES]]
        more = len(found) - len(names)
        return ", ".join(names) + (f" and {counted(more, 'more cluster')}" if more else "")
    if len(found) <= _CLUSTERS:
        return in_ranges([one.cluster for one in found])
    some = ", ".join(one.cluster for one in found[:_CLUSTERS])
    return f"{some} and {len(found) - _CLUSTERS} more"


def _domains(one: ClusterVerdict) -> str:
    nearest = one.verdict.nearest
    if nearest is None:
        return one.cluster
    return f"{in_ranges([nearest, *one.verdict.ties])} in {one.cluster}"


def _distance(one: ClusterVerdict) -> tuple[int, int, int, str]:
    """How far a cluster is from taking it: less is nearer, ties end in the name."""
    verdict = one.verdict
    if verdict.holds is not None:
        return (-len(_FURTHEST), verdict.missing, -verdict.holds, one.cluster)
    return (-_FURTHEST.get(verdict.reason, 0), verdict.missing, 0, one.cluster)
