"""Groups of bindings: admitted all or none, in one cycle."""

from collections.abc import Iterable
from typing import NamedTuple

from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import offer_for, record, refuse
from global_sched.core.quota.entitlement import WITHIN
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Workload

GroupKey = tuple[str, str]


class Groups:
    """The pending members of every group, in the order in which they are tried."""

    def __init__(self, pending: Iterable[Workload]) -> None:
        self._members: dict[GroupKey, list[Workload]] = {}
        for one in pending:
            if one.group:
                self._members.setdefault((one.namespace, one.group), []).append(one)
        for members in self._members.values():
            members.sort(key=lambda one: (-one.priority, one.created, one.uid))

    def members(self, workload: Workload) -> list[Workload]:
        """The members of a workload's group that wait."""
        return self._members[workload.namespace, workload.group]

    def borrow_at(self, workload: Workload, statement: Statement) -> int:
        """At which depth a queue borrows with the minimums of its group, where all wait."""
        asked: dict[QueueName, list[Resources]] = {}
        for one in self.complete(workload) or ():
            asked.setdefault(one.queue, []).append(statement.standings.of(one).minimum_requests)
        crosses_at = statement.ledger.entitlements.crosses_at
        levels = (crosses_at(queue, Resources.total(those)) for queue, those in asked.items())
        return min(levels, default=WITHIN)

    def complete(self, workload: Workload) -> list[Workload] | None:
        """All members, when as many wait as the group has; None when some are not there."""
        members = self.members(workload)
        return members if len(members) >= workload.group_size else None


def consider_group(workload: Workload, groups: Groups, position: int, statement: Statement) -> None:
    """Admit all members of a workload's group or none; the rest of the group is decided with it.

    A member that was admitted with its group before and then withdrawn is no longer bound to it.
    """
    members = groups.complete(workload)
    if members is None and workload.decision is not None:
        members = [workload]
    if members is None:
        refuse(workload, position, _incomplete(workload), statement)
        return
    found = _admit_all(members, statement)
    if isinstance(found, MemberRefused) and any(
        map(_elastic, members[: members.index(found.member)])
    ):
        # Their surplus may be in the way of the others' minimums; what is left over comes later.
        surplus = statement.ledger.surplus
        with surplus.least_for(*(one.key for one in members)):
            found = _admit_all(members, statement)
    if isinstance(found, MemberRefused):
        _refuse_all(members, found, (workload, position), statement)
        return
    for member, offer in zip(members, found, strict=True):
        record(member, position if member is workload else 0, offer, statement)


class MemberRefused(NamedTuple):
    """The member that has no place, and why."""

    member: Workload
    refusal: Refusal


def _admit_all(members: list[Workload], statement: Statement) -> list[Offer] | MemberRefused:
    """Admit all of them, one after the other, or none."""
    mark = statement.mark()
    offers: list[Offer] = []
    for member in members:
        found = offer_for(member, statement)
        if isinstance(found, Refusal):
            statement.rollback(mark)
            return MemberRefused(member, found)
        statement.admit(member, found)
        offers.append(found)
    statement.commit()
    return offers


def _elastic(workload: Workload) -> bool:
    """Whether it wants more than it needs."""
    gang = workload.demand.gang
    return gang is not None and gang.all_amounts() != gang.minimum_amounts()


def _refuse_all(
    members: list[Workload],
    refused: MemberRefused,
    first: tuple[Workload, int],
    statement: Statement,
) -> None:
    """The one that has no place says why; the others name it."""
    failed, refusal = refused
    shared = Verdict(
        code=refusal.verdict.code,
        reason=Reason.GROUP_DOES_NOT_FIT,
        detail=f"group {failed.group} is admitted all or none, and its binding {failed.key} is "
        f"refused: {refusal.verdict.detail}",
        missing=refusal.verdict.missing,
    )
    for member in members:
        position = first[1] if member is first[0] else 0
        refuse(member, position, refusal if member is failed else Refusal(shared), statement)


def _incomplete(workload: Workload) -> Refusal:
    return Refusal(
        Verdict(
            code=Code.WAIT,
            reason=Reason.GROUP_INCOMPLETE,
            detail=f"group {workload.group} has {workload.group_size} bindings, and not all "
            "of them exist yet",
            missing=1,
        )
    )
