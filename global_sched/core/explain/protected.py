"""Gangs that would have to leave for a workload if nothing protected them, and what does.

Asked by `explain` only, for a workload without victims. What protects is lifted for a
moment: what is asked then are the rights that decide.
"""

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from copy import copy
from dataclasses import replace

import numpy as np

from global_sched.core.make_room.claims import Claims
from global_sched.core.make_room.leaving import EvictionUnit
from global_sched.core.make_room.occupancy import Holder, may_ever_leave
from global_sched.core.make_room.rights import Rights
from global_sched.core.statement import Statement
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload

_UNSEEN = "no report locates its pods yet"


def protected(workload: Workload, amount: Resources, claims: Claims, statement: Statement) -> str:
    """`1 gang of queue a is protected (preemptable: false)`; empty for none.

    `amount` is what the workload asks for.
    """
    rights = Rights(workload, amount, statement)
    found: Counter[tuple[QueueName, str]] = Counter()
    for unit in _without_protection(rights, claims, statement):
        why = _why(unit, rights, statement)
        if why:
            found[unit.holder.workload.queue, why] += 1
    unseen = _unseen(workload, claims, statement)
    if unseen:
        found[workload.queue, _UNSEEN] = unseen
    return ", ".join(
        f"{counted(number, 'gang')} of queue {queue} {'is' if number == 1 else 'are'} protected "
        f"({why})"
        for (queue, why), number in sorted(found.items())
    )


def _without_protection(rights: Rights, claims: Claims, statement: Statement) -> list[EvictionUnit]:
    """Those that would have to leave, each asked alone."""
    field, gone = claims.whole()
    bare = copy(field)
    bare.may_leave = np.ones_like(field.may_leave)
    with _lifted(statement):
        could = rights.holders(bare, gone).nonzero()[0].tolist()
        units = [_unit(at, field.holders[at], rights) for at in could]
        return [unit for unit in units if rights.permits(unit)]


def _unit(at: int, holder: Holder, rights: Rights) -> EvictionUnit:
    return EvictionUnit(at=at, holder=holder, amount=holder.amount, reclaim=rights.reclaims(holder))


def _why(unit: EvictionUnit, rights: Rights, statement: Statement) -> str:
    """What protects it; empty where nothing does."""
    one = unit.holder.workload
    if not one.preemptable:
        return "preemptable: false"
    if not may_ever_leave(one):
        return "system-critical"
    if not unit.reclaim or rights.permits(unit):
        return ""
    own = set(statement.ledger.node(rights.claimant.queue).path)
    above = [node for node in statement.ledger.node(one.queue).path if node not in own]
    if all(node.queue.reclaimable for node in above):
        return "guarantee"
    return "reclaimable: false"


@contextmanager
def _lifted(statement: Statement) -> Iterator[None]:
    """Every queue is reclaimable, and guarantees nothing; what each deserves stays as it is."""
    tree = statement.ledger.tree
    statement.ledger.entitlements.deserved_of(tree.root)  # divided while guarantees count
    before = [(node, node.queue, node.guarantee) for node in tree.order]
    for node in tree.order:
        node.queue, node.guarantee = replace(node.queue, reclaimable=True), {}
    try:
        yield
    finally:
        for node, queue, guarantee in before:
            node.queue, node.guarantee = queue, guarantee


def _unseen(workload: Workload, claims: Claims, statement: Statement) -> int:
    """How many of lower priority in its queue have pods that no report locates."""
    seen = {one.workload.key for one in claims.whole()[0].holders}
    return len(
        {
            one.key
            for running in statement.snapshot.running
            for one in running.workloads
            if one.queue == workload.queue
            and one.key not in seen
            and one.key != workload.key
            and one.priority < workload.priority
        }
    )
