"""Groups of bindings: admitted all or none, in one cycle."""

from collections.abc import Iterable

from global_sched.core.admission import offer_for, record, refuse
from global_sched.core.offer import Offer, Refusal
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
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
    mark = statement.mark()
    offers: list[tuple[Workload, Offer]] = []
    for member in members:
        found = offer_for(member, statement)
        if isinstance(found, Refusal):
            statement.rollback(mark)
            _refuse_all(members, member, found, (workload, position), statement)
            return
        statement.admit(member, found)
        offers.append((member, found))
    statement.commit()
    for member, offer in offers:
        record(member, position if member is workload else 0, offer, statement)


def _refuse_all(
    members: list[Workload],
    failed: Workload,
    refusal: Refusal,
    first: tuple[Workload, int],
    statement: Statement,
) -> None:
    """The one that has no place says why; the others name it."""
    shared = Verdict(
        code=refusal.verdict.code,
        reason=Reason.GROUP_DOES_NOT_FIT,
        detail=f"{failed.key} of group {failed.group} has no place: {refusal.verdict.detail}",
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
            detail=f"not all {workload.group_size} bindings of group {workload.group} are there",
            missing=1,
        )
    )
