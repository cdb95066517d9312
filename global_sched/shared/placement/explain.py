"""Domain by domain why a gang is not placed: what keeps its nodes, and what would have to free."""

from collections.abc import Sequence

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.verdict import DomainVerdict
from global_sched.shared.placement.refusal import Holding
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table
from global_sched.shared.placement.takes import class_problem, class_takes, is_device
from global_sched.shared.placement.units import Task

_Short = tuple[tuple[int, ...], int, tuple[tuple[int, int], ...]]
"""(what lacks, weighed to compare; nodes; (position, amount) that has to free on each)."""


def domain_verdicts(rows: Rows, task: Task, tables: Sequence[Table]) -> tuple[DomainVerdict, ...]:
    """Every domain of the allowed tiers, nearest miss first, then by tier and name."""
    index = rows.index
    wants = task.least
    holding = Holding(rows, task, tables)
    result = []
    for at, domain in enumerate(index.domains):
        if task.limit.tier is not None and domain.tier > task.limit.tier:
            continue
        holds = holding.pods(at)
        detail = ""
        if holds < wants:
            detail = _why_not_more(rows, task, tables, at)
            freeing = _to_free(rows, task, tables, at)
            detail += f"; {freeing}" if freeing else ""
        result.append(
            DomainVerdict(
                domain=domain.name, tier=domain.tier, holds=holds, wants=wants, detail=detail
            )
        )
    return tuple(sorted(result, key=lambda v: (-v.holds, v.tier, v.domain)))


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


def _to_free(rows: Rows, task: Task, tables: Sequence[Table], domain: int) -> str:
    """The least that would have to free for the pods that each shape lacks, node by node.

    One more pod goes on a node where fewest devices, then least of all else, lacks for it.
    """
    texts: list[str] = []
    for unit, table in zip(task.units, tables, strict=True):
        lacking = unit.least - int(table.sums[domain])
        if lacking <= 0 or table.request is None:
            continue
        shorts = sorted(
            short
            for at in rows.index.subtree(domain)
            for _, row in rows.ordered(at)
            if (short := _short(rows, table, row)) is not None
        )
        amounts: dict[int, int] = {}
        nodes = 0
        for _, count, lacks in shorts:
            used = min(count, lacking - nodes)
            nodes += used
            for position, amount in lacks:
                amounts[position] = amounts.get(position, 0) + amount * used
            if nodes == lacking:
                break
        axis = rows.ground.topology.axis
        if not amounts:
            continue
        names = " and ".join(
            f"{format_quantity(amount, axis[at])} {axis[at]}"
            for at, amount in sorted(amounts.items())
        )
        sets = "+".join(str(name) for name, _, _ in unit.sets)
        where = "1 node" if nodes == 1 else f"{nodes} nodes"
        most = "" if nodes == lacking else f" ({lacking - nodes} have no node at all)"
        texts.append(f"to free for {lacking} more of {sets}: {names} on {where}{most}")
    return "; ".join(texts)


def _short(rows: Rows, table: Table, row: int) -> _Short | None:
    """What one more pod lacks on a node; None where it may not go."""
    kind = rows.ground.classes[rows.kind[row]]
    if not class_takes(kind, table.shape) or table.request is None:
        return None
    limit = table.shape.most_per_node()
    cap = table.cap(row)
    if limit and cap == 0 and all(rows.free[row][p] >= n for p, n in table.request):
        return None
    if limit and cap >= limit:
        return None
    free, axis = rows.free[row], rows.ground.topology.axis
    lacks = tuple((p, short) for p, n in table.request if (short := n * (cap + 1) - free[p]) > 0)
    devices = sum(amount for p, amount in lacks if is_device(axis[p]))
    share = sum(
        1000 * amount // max(1, n) for (p, amount) in lacks for q, n in table.request if p == q
    )
    return (devices, share), rows.count[row], lacks
