"""Domain by domain why a gang is not placed: what keeps its nodes, and what would have to free."""

from collections.abc import Sequence

from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.verdict import DomainVerdict
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.explain.refusals import ClosestFit
from global_sched.shared.placement.explain.shortfall import Shortfall
from global_sched.shared.placement.request.compile import Task
from global_sched.shared.placement.request.node_match import node_class_problem


def domain_verdicts(
    rows: Rows, task: Task, tables: Sequence[ShapeTable]
) -> tuple[DomainVerdict, ...]:
    """Every domain of the allowed tiers, nearest miss first, then by tier and name.

    Where there is no tree, the cluster itself, without a name.
    """
    index, wants = rows.index, task.least
    holding, freeing = ClosestFit(rows, task, tables), Shortfall(rows, task, tables)
    ceiling = task.limit.tier
    allowed = [at for at, d in enumerate(index.domains) if ceiling is None or d.tier <= ceiling]
    found = [
        (-holding.pods(at), index.domains[at].tier, index.domains[at].name, at) for at in allowed
    ]
    if not index.domains and ceiling is None:
        found = [(-holding.pods(index.root), 0, DomainId(""), index.root)]
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


def _why_not_more(rows: Rows, task: Task, tables: Sequence[ShapeTable], domain: int) -> str:
    """What keeps the nodes of a domain from taking more pods, by how many nodes."""
    scarcest = min(
        range(len(task.units)),
        key=lambda at: (int(tables[at].sums[domain]) - task.units[at].least, at),
    )
    shape = task.units[scarcest].key[0]
    reasons: dict[str, int] = {}
    most: dict[str, tuple[int, int, str]] = {}
    for at in rows.index.subtree(domain):
        for _, row in rows.ordered(at):
            why, short = _why_row(rows, tables[scarcest], row, shape)
            reasons[why] = reasons.get(why, 0) + rows.count[row]
            if short is not None:
                most[why] = max(most.get(why, short), short)
    if not reasons:
        return "no usable nodes"
    ranked = sorted(reasons.items(), key=lambda item: (-item[1], item[0]))
    return "; ".join(
        f"{nodes} {'node' if nodes == 1 else 'nodes'}: {why}{_at_most(most.get(why))}"
        for why, nodes in ranked
    )


def _at_most(short: tuple[int, int, str] | None) -> str:
    """The most that any of the nodes has free of what they have too little of."""
    if short is None:
        return ""
    free, amount, name = short
    shown = [format_quantity(value, name) for value in (max(free, 0), amount)]
    return f" (at most {shown[0]} of {shown[1]} free)"


def _why_row(
    rows: Rows, table: ShapeTable, row: int, shape: PodShape
) -> tuple[str, tuple[int, int, str] | None]:
    """Why a node takes no more pods; of what it has too little: free, asked, and the name."""
    kind = rows.baseline.classes[rows.kind[row]]
    problem = node_class_problem(kind, shape)
    if problem:
        return problem, None
    if not kind.schedulable:
        return "cordoned", None
    cap = table.cap(row)
    axis = rows.baseline.topology.axis
    if table.request is None:
        lacking = next(name for name, _ in shape.requests if name not in axis)
        return f"has no {lacking}", None
    if cap == 0 and shape.most_per_node():
        fits = all(rows.free[row][p] >= amount for p, amount in table.request)
        if fits:
            return "already has a pod of this pod set", None
    _, name, free, asked = min(
        (
            (rows.free[row][p] // amount, axis[p], rows.free[row][p], amount)
            for p, amount in table.request
            if amount
        ),
        default=(0, "room", 0, 0),
    )
    if cap == 0 and name == PODS:
        return "no more pods allowed on it", None
    if cap == 0:
        return f"too little {name}", (free, asked, name) if asked > free else None
    return f"{name if name != PODS else 'room'} for {counted(cap, 'pod')}", None
