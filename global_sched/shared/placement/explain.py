"""Domain by domain why a gang is not placed: what keeps its nodes, and what would have to free."""

from collections.abc import Sequence

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.verdict import DomainVerdict
from global_sched.shared.placement.freeing import Freeing
from global_sched.shared.placement.refusal import Holding
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table
from global_sched.shared.placement.takes import class_problem
from global_sched.shared.placement.units import Task


def domain_verdicts(rows: Rows, task: Task, tables: Sequence[Table]) -> tuple[DomainVerdict, ...]:
    """Every domain of the allowed tiers, nearest miss first, then by tier and name."""
    index, wants = rows.index, task.least
    holding, freeing = Holding(rows, task, tables), Freeing(rows, task, tables)
    ceiling = task.limit.tier
    allowed = [at for at, d in enumerate(index.domains) if ceiling is None or d.tier <= ceiling]
    found = [
        (-holding.pods(at), index.domains[at].tier, index.domains[at].name, at) for at in allowed
    ]
    result = []
    for missed, tier, name, at in sorted(found):
        detail = ""
        if -missed < wants:
            to_free = freeing.text(at)
            detail = _why_not_more(rows, task, tables, at) + (f"; {to_free}" if to_free else "")
        result.append(
            DomainVerdict(domain=name, tier=tier, holds=-missed, wants=wants, detail=detail)
        )
    return tuple(result)


def _why_not_more(rows: Rows, task: Task, tables: Sequence[Table], domain: int) -> str:
    """What keeps the nodes of a domain from taking more pods, by how many nodes."""
    scarcest = min(
        range(len(task.units)),
        key=lambda at: (int(tables[at].sums[domain]) - task.units[at].least, at),
    )
    shape = task.units[scarcest].key[0]
    reasons: dict[str, int] = {}
    for at in rows.index.subtree(domain):
        for _, row in rows.ordered(at):
            why = _why_row(rows, tables[scarcest], row, shape)
            reasons[why] = reasons.get(why, 0) + rows.count[row]
    if not reasons:
        return "no usable nodes"
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(f"{nodes} {'node' if nodes == 1 else 'nodes'}: {why}" for why, nodes in ranked)


def _why_row(rows: Rows, table: Table, row: int, shape: PodShape) -> str:
    kind = rows.ground.classes[rows.kind[row]]
    problem = class_problem(kind, shape)
    if problem:
        return problem
    if not kind.schedulable:
        return "cordoned"
    cap = table.cap(row)
    axis = rows.ground.topology.axis
    if table.request is None:
        lacking = next(name for name, _ in shape.requests if name not in axis)
        return f"has no {lacking}"
    if cap == 0 and shape.most_per_node():
        fits = all(rows.free[row][p] >= amount for p, amount in table.request)
        if fits:
            return "already has a pod of this pod set"
    short = min(
        ((rows.free[row][p] // amount, axis[p]) for p, amount in table.request if amount),
        default=(0, "room"),
    )
    pods = "pod" if cap == 1 else "pods"
    return f"too little {short[1]}" if cap == 0 else f"{short[1]} for {cap} {pods}"
