"""Refusals in words and numbers: what is unknown, what never fits, where it comes closest."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.topology import NodeClass, Topology
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.placement.capacity.baseline import Baseline
from global_sched.shared.placement.capacity.domain_room import DomainRoom, WholeGroups
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import NOWHERE, Task
from global_sched.shared.placement.request.node_match import node_class_problem
from global_sched.shared.placement.search.node_packing import Budget, Packer
from global_sched.shared.placement.search.select_domain import Scope, top_of
from global_sched.shared.placement.tree.domain_index import TreeIndex

_MOST_ADDITIONS = 20_000_000
"""What one refusal may spend on counting exactly."""
_PASSING = "node.kubernetes.io/"
"""Taints that Kubernetes sets and takes away itself never rule a node out for good."""


def static_refusal(baseline: Baseline, task: Task) -> Verdict | None:
    """What no change of free room can mend: an unreported label, or shapes that no node takes.

    Where nothing is required, one shape that some node takes is enough.
    """
    needed = [unit for unit in task.units if unit.least or task.any_number]
    found = [_static(baseline, unit.key[0]) for unit in needed]
    refused = [verdict for verdict in found if verdict is not None]
    if not refused or (task.any_number and len(refused) < len(found)):
        return None
    return next((one for one in refused if one.code == Code.WAIT), refused[0])


def _static(baseline: Baseline, shape: PodShape) -> Verdict | None:
    missing = unreported(baseline.topology, shape)
    if missing:
        return Verdict(
            code=Code.WAIT,
            reason=Reason.LABEL_NOT_REPORTED,
            detail=f"does not report label {missing} yet",
            missing=1,
        )
    problem = _never(baseline, shape)
    if not problem:
        return None
    return Verdict(code=Code.NEVER, reason=Reason.NO_NODE_MATCHES, detail=problem, missing=1)


def unreported(topology: Topology, shape: PodShape) -> str:
    """The first label key that a shape selects on and the topology does not tell; else empty."""
    if topology.label_keys is None:
        return ""
    known = set(topology.label_keys)
    return next((key for key in shape.label_keys() if key not in known), "")


def _never(baseline: Baseline, shape: PodShape) -> str:
    """Why no node of the cluster could ever take such a pod, where that is certain."""
    topology = baseline.topology
    if not topology.leaves:
        return ""
    for name, amount in shape.requests:
        if name not in topology.axis and amount:
            return f"no node has {name}"
    problems: dict[str, int] = {}
    for kind in baseline.classes:
        problem = node_class_problem(_lasting(kind), shape)
        if not problem:
            return ""
        problems[problem] = problems.get(problem, 0) + 1
    return "no node matches: " + "; ".join(sorted(problems)[:3])


def _lasting(kind: NodeClass) -> NodeClass:
    return replace(kind, taints=tuple(t for t in kind.taints if not t.key.startswith(_PASSING)))


def not_now(
    rows: Rows, task: Task, tables: Sequence[ShapeTable], scope: Scope, *, proven: bool
) -> Verdict:
    """No room now: how many of the minimum the nearest domain holds."""
    index = rows.index
    wants = task.least or 1
    grouped = any(unit.tier is not None for unit in task.units)
    holding = ClosestFit(rows, task, tables)
    hard = task.limit.tier is not None
    if hard:
        nearest, holds = _nearest(rows, task, holding, scope)
        detail = _hard_text(index, task, scope, nearest, holds)
    else:
        nearest = None
        within = index.root if scope.around is None else (top_of(index, scope.around, scope.limit))
        holds = holding.pods(index.root if within is None else within)
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
        proven=proven,
    )


def too_little(index: TreeIndex, task: Task, nearest: DomainId | None, holds: int) -> Verdict:
    """What `not_now` says of a task of one shape, from how many pods the nearest domain holds."""
    hard, wants = task.limit.tier is not None, task.least or 1
    anywhere = Scope(limit=task.limit, within=index.root)
    return Verdict(
        code=Code.NO_FIT,
        reason=Reason.TOPOLOGY_DOES_NOT_FIT if hard else Reason.CAPACITY_DOES_NOT_FIT,
        detail=_hard_text(index, task, anywhere, nearest, holds)
        if hard
        else f"the cluster holds {holds} of {wants}",
        missing=max(1, wants - holds),
        holds=holds,
        wants=wants,
        nearest=nearest,
    )


def _hard_text(
    index: TreeIndex, task: Task, scope: Scope, nearest: DomainId | None, holds: int
) -> str:
    """What the nearest domain holds, and HyperNodes whose nodes no domain has for a fault."""
    return _nearest_text(index, task, scope, nearest, holds) + index.faults


def _nearest_text(
    index: TreeIndex, task: Task, scope: Scope, nearest: DomainId | None, holds: int
) -> str:
    wants = task.least or 1
    if scope.around is not None:
        if nearest is None:
            return f"pods already run in no common domain of tier {task.limit.tier} or below"
        return f"pods already run in {nearest}, which holds {holds} of {wants} more"
    if nearest is None or holds == 0:
        return (
            f"no domain of tier {task.limit.tier} or below holds any of {wants}{_in_groups(task)}"
        )
    tier = index.tier[index.position[nearest]]
    return f"largest free tier-{tier} domain {nearest} holds {holds} of {wants}{_in_groups(task)}"


def _in_groups(task: Task) -> str:
    """In which steps pods count, where some only count together."""
    sizes = sorted({unit.size for unit in task.units if unit.tier is not None and unit.size > 1})
    return f" in whole groups of {' and '.join(map(str, sizes))}" if sizes else ""


def _nearest(
    rows: Rows, task: Task, holding: "ClosestFit", scope: Scope
) -> tuple[DomainId | None, int]:
    """The allowed domain that holds most of the minimum; the lowest tier, then the name."""
    index = rows.index
    if scope.around is not None:
        top = top_of(index, scope.around, scope.limit)
        if top is None:
            return None, 0
        return index.domains[top].name, holding.pods(top)
    after = max((a for t, _, a in index.slices if t <= (task.limit.tier or 0)), default=0)
    if not after:
        return None, 0
    bound = holding.upper[:after]
    if scope.within != index.root:
        bound = np.where(index.under(scope.within)[:after], bound, -1)
    order = np.argsort(-bound, kind="stable").tolist()
    best, most = order[0], -1
    for at in order:
        if int(bound[at]) < most or most == int(bound[order[0]]):
            break
        holds = holding.pods(at)
        if holds > most or (holds == most and at < best):
            best, most = at, holds
    return index.domains[best].name, most


class ClosestFit:
    """How many pods of the minimum domains hold, exactly as far as a budget goes."""

    def __init__(self, rows: Rows, task: Task, tables: Sequence[ShapeTable]) -> None:
        self._least = tuple(unit.least for unit in task.units)
        self.upper = np.zeros(rows.index.root + 1, dtype=np.int64)
        """At most so many per domain: shape by shape, in whole groups."""
        for unit, table in zip(task.units, tables, strict=True):
            room: DomainRoom = table
            if unit.tier is not None:
                anchor = None if unit.anchor in (None, NOWHERE) else unit.anchor
                room = WholeGroups(rows.index, table, tier=unit.tier, size=unit.size, anchor=anchor)
            self.upper += np.minimum(room.sums, unit.least)
        self._packer: Packer | None = None
        if len(task.units) > 1:
            budget = Budget(_MOST_ADDITIONS)
            self._packer = Packer(rows, task.units, tables, self._least, budget)

    def pods(self, domain: int) -> int:
        """Pods of the minimum that a domain holds together."""
        holds = self._packer.holds(domain) if self._packer is not None else None
        return int(self.upper[domain]) if holds is None else holds
