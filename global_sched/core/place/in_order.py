"""Whether what is given at the end of a cycle fits in the order of the decisions.

Members and the next cycle place what was admitted one after the other, each into the domain that
was chosen. More pods for one may take the nodes of those after it, so all are placed anew here, as
the clusters were at the beginning of the cycle.
"""

from collections.abc import Iterable, Mapping, Sequence

from global_sched.core.place.left_over import LeftOver
from global_sched.core.place.units import units
from global_sched.core.quota.limits import cut
from global_sched.core.statement import Statement
from global_sched.core.waiting import claimants
from global_sched.shared.model.decision import Claim
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, WorkloadKey
from global_sched.shared.model.plan import Admission
from global_sched.shared.model.workload import Division, Workload
from global_sched.shared.placement import Placed, Space


def settles(more: Sequence[LeftOver], statement: Statement) -> bool:
    """Whether nobody who was held back could have more than that, wherever it were."""
    given = {one.admission.workload: one.admission for one in more}
    for admission in statement.admissions:
        one = statement.ledger.surplus.held_back.get(admission.workload)
        lacks = given.get(admission.workload, admission).decision.pending
        if one is None or one.demand.gang is None or not lacks.entries:
            continue
        bounds = statement.ledger.bounds(one.queue, one.tenant)
        wanted = cut(bounds, one.demand.gang, Amounts(), lacks)
        for unit, _ in units(one.demand.gang, wanted):
            ask = statement.rooms.ask(one.demand.gang.only(unit), unit, unit)
            if ask.fitting(statement.standings.case(one).allowed).any():
                return False
    return True


def holds(more: Sequence[LeftOver], statement: Statement) -> tuple[bool, bool]:
    """Whether everybody still has a place with it; and whether nobody could have more beside that.

    Not known, so False, in clusters where room is kept for those who wait, or without a report.
    """
    given = {one.admission.workload: one.admission for one in more}
    final = sorted((given.get(one.workload, one) for one in statement.admissions), key=_turn)
    clusters = {name for one in more for name in one.clusters}
    if clusters & {name for one in _claims(statement) for name in one.clusters}:
        return False, False
    decided = statement.decided
    workloads = {one.key: one for one in claimants(statement.snapshot) if one.key in decided}
    full = True
    for name in sorted(clusters):
        space = _placed(name, final, workloads, statement)
        if space is None:
            return False, False
        full = full and not any(
            _fits_more(admission, workloads[admission.workload], name, space, statement)
            for admission in final
            if admission.workload in workloads and admission.decision.pending.entries
        )
    return True, full


def _fits_more(
    admission: Admission,
    workload: Workload,
    name: ClusterName,
    space: Space,
    statement: Statement,
) -> bool:
    """Whether a cluster has room for any pod that one lacks, where it may be."""
    grant, gang = admission.decision.grant(name), workload.demand.gang
    if gang is None or (grant is None and workload.demand.division != Division.DIVIDED):
        return False
    allowed = statement.standings.case(workload).allowed
    if grant is None and not allowed[statement.rooms.position[name]]:
        return False
    bounds = statement.ledger.bounds(workload.queue, workload.tenant, name)
    wanted = cut(bounds, gang, Amounts(), admission.decision.pending)
    if not wanted.entries:
        return False
    bound = () if grant is None else (grant.domain,)
    placed = space.place(gang, amounts=wanted, minimum=Amounts(), bound=bound)
    return isinstance(placed, Placed) and bool(placed.amounts.entries)


def _turn(admission: Admission) -> tuple[int, int]:
    return admission.decision.at, admission.decision.order


def _claims(statement: Statement) -> Iterable[Claim]:
    """Those at the beginning of the cycle and those that it made."""
    found = [one.decision for one in claimants(statement.snapshot) if one.decision is not None]
    found += [one.decision for one in statement.claims]
    return [one.claim for one in found if one.claim is not None]


def _placed(
    name: ClusterName,
    admissions: Iterable[Admission],
    workloads: Mapping[WorkloadKey, Workload],
    statement: Statement,
) -> Space | None:
    """One cluster with all that was given since the beginning of the cycle; None: too much."""
    capacity = statement.rooms.rooms[statement.rooms.position[name]].cluster.capacity
    if capacity is None:
        return None
    space = Space(capacity.topology)
    for admission in admissions:
        grant, one = admission.decision.grant(name), workloads.get(admission.workload)
        if grant is None or one is None or one.demand.gang is None:
            continue
        old = None if one.decision is None else one.decision.grant(name)
        new = grant.amounts if old is None else grant.amounts.minus(old.amounts)
        if not new.entries:
            continue
        placed = space.place(
            one.demand.gang,
            amounts=new,
            minimum=new,
            prefer=grant.domain,
            bound=() if old is None else (old.domain,),
            binding=one.binding_id,
        )
        if not isinstance(placed, Placed) or placed.amounts != new:
            return None
        if one.demand.gang.constraint is not None and placed.domain != grant.domain:
            return None
        space.take(placed)
    return space
