"""Refusals in words and numbers: what is unknown, what never fits, where it comes closest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import NodeClass, Topology
from global_sched.shared.model.verdict import Code, DomainVerdict, Verdict
from global_sched.shared.placement.choose import Scope, top_of
from global_sched.shared.placement.ground import Ground
from global_sched.shared.placement.index import TreeIndex
from global_sched.shared.placement.pack import Packer
from global_sched.shared.placement.rows import Rows
from global_sched.shared.placement.table import Table, class_problem
from global_sched.shared.placement.units import Task

_PASSING = "node.kubernetes.io/"
"""Taints that Kubernetes sets and takes away itself never rule a node out for good."""


def static_refusal(ground: Ground, task: Task) -> Verdict | None:
    """What no change of free room can mend: an unreported label, or shapes that no node takes."""
    for unit in task.units:
        if unit.least == 0 and not task.any_number:
            continue
        shape = unit.key[0]
        missing = unreported(ground.topology, shape)
        if missing:
            return Verdict(
                code=Code.WAIT,
                reason=Reason.LABEL_NOT_REPORTED,
                detail=f"does not report label {missing} yet",
                missing=1,
            )
    for unit in task.units:
        if unit.least == 0 and not task.any_number:
            continue
        problem = _never(ground, unit.key[0])
        if problem:
            return Verdict(
                code=Code.NEVER, reason=Reason.NO_NODE_MATCHES, detail=problem, missing=1
            )
    return None


def unreported(topology: Topology, shape: PodShape) -> str:
    """The first label key that a shape selects on and the topology does not tell; else empty."""
    if topology.label_keys is None:
        return ""
    known = set(topology.label_keys)
    return next((key for key in shape.label_keys() if key not in known), "")


def _never(ground: Ground, shape: PodShape) -> str:
    """Why no node of the cluster could ever take such a pod, where that is certain."""
    topology = ground.topology
    if not topology.leaves:
        return ""
    for name, amount in shape.requests:
        if name not in topology.axis and amount:
            return f"no node has {name}"
    problems: dict[str, int] = {}
    for kind in ground.classes:
        problem = class_problem(_lasting(kind), shape)
        if not problem:
            return ""
        problems[problem] = problems.get(problem, 0) + 1
    return "no node matches: " + "; ".join(sorted(problems)[:3])


def _lasting(kind: NodeClass) -> NodeClass:
    return replace(kind, taints=tuple(t for t in kind.taints if not t.key.startswith(_PASSING)))


def not_now(
    rows: Rows, task: Task, tables: Sequence[Table], scope: Scope, *, proven: bool
) -> Verdict:
    """No room now: how many of the minimum the nearest domain holds."""
    index = rows.index
    wants = task.least or 1
    grouped = any(unit.tier is not None for unit in task.units)
    hard = task.limit.tier is not None
    if hard:
        nearest, holds = _nearest(rows, task, tables, scope)
        detail = _hard_text(index, task, scope, nearest, holds)
    else:
        nearest = None
        within = index.root if scope.around is None else (top_of(index, scope.around, scope.limit))
        holds = _holds(rows, task, tables, index.root if within is None else within)
        groups = " in whole partitions" if grouped else ""
        detail = f"the cluster holds {holds} of {wants}{groups}"
    if not proven:
        detail += "; not every way of placing these shapes was tried"
    return Verdict(
        code=Code.NO_FIT if proven else Code.WAIT,
        reason=(Reason.TOPOLOGY_DOES_NOT_FIT if hard or grouped else Reason.CAPACITY_DOES_NOT_FIT),
        detail=detail,
        missing=max(1, wants - holds),
        holds=holds,
        wants=wants,
        nearest=nearest,
    )


def _hard_text(
    index: TreeIndex, task: Task, scope: Scope, nearest: DomainId | None, holds: int
) -> str:
    wants = task.least or 1
    if scope.around is not None:
        if nearest is None:
            return f"pods already run in no common domain of tier {task.limit.tier} or below"
        return f"pods already run in {nearest}, which holds {holds} of {wants} more"
    if nearest is None or holds == 0:
        return f"no domain of tier {task.limit.tier} or below holds any of {wants}"
    tier = index.tier[index.position[nearest]]
    return f"largest free tier-{tier} domain {nearest} holds {holds} of {wants}"


def _nearest(
    rows: Rows, task: Task, tables: Sequence[Table], scope: Scope
) -> tuple[DomainId | None, int]:
    """The allowed domain that holds most of the minimum; the lowest tier, then the name."""
    index = rows.index
    if scope.around is not None:
        top = top_of(index, scope.around, scope.limit)
        if top is None:
            return None, 0
        return index.domains[top].name, _holds(rows, task, tables, top)
    after = max((a for t, _, a in index.slices if t <= (task.limit.tier or 0)), default=0)
    if not after:
        return None, 0
    bound = _upper(task, tables)[:after]
    order = np.argsort(-bound, kind="stable").tolist()
    if _simple(task):
        return index.domains[order[0]].name, int(bound[order[0]])
    best, most = order[0], -1
    for at in order:
        if int(bound[at]) < most or most == int(bound[order[0]]):
            break
        holds = _holds(rows, task, tables, at)
        if holds > most or (holds == most and at < best):
            best, most = at, holds
    return index.domains[best].name, most


def _simple(task: Task) -> bool:
    return len(task.units) == 1 and task.units[0].tier is None


def _upper(task: Task, tables: Sequence[Table]) -> "np.ndarray[tuple[int], np.dtype[np.int64]]":
    """At most so many pods of the minimum in every domain."""
    total = np.zeros_like(tables[0].sums)
    for unit, table in zip(task.units, tables, strict=True):
        total += np.minimum(table.sums, unit.least)
    return total


def _holds(rows: Rows, task: Task, tables: Sequence[Table], domain: int) -> int:
    """Pods of the minimum that a domain holds together; shape by shape where that is too much."""
    least = [unit.least for unit in task.units]
    if not _simple(task):
        packer = Packer(rows, task.units, tables, tuple(least))
        if packer.affordable(domain, rows.ground.nodes(domain)):
            return packer.holds(domain)
    return sum(min(n, int(table.sums[domain])) for n, table in zip(least, tables, strict=True))


def domain_verdicts(rows: Rows, task: Task, tables: Sequence[Table]) -> tuple[DomainVerdict, ...]:
    """Every domain of the allowed tiers, nearest miss first, then by tier and name."""
    index = rows.index
    wants = task.least
    result = []
    for at, domain in enumerate(index.domains):
        if task.limit.tier is not None and domain.tier > task.limit.tier:
            continue
        holds = _holds(rows, task, tables, at)
        detail = "" if holds >= wants else _why_not_more(rows, task, tables, at)
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
    if cap == 0 and shape.anti_affine:
        fits = all(rows.free[row][p] >= amount for p, amount in table.request)
        if fits:
            return "already has a pod of this pod set"
    short = min(
        ((rows.free[row][p] // amount, axis[p]) for p, amount in table.request if amount),
        default=(0, "room"),
    )
    pods = "pod" if cap == 1 else "pods"
    return f"too little {short[1]}" if cap == 0 else f"{short[1]} for {cap} {pods}"
