"""Refusals in words and numbers: what is unknown, what never fits, where it comes closest."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.pods import Operator, PodShape
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.topology import NodeClass, Topology
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.words import did_you_mean, in_ranges
from global_sched.shared.placement.capacity.baseline import Baseline
from global_sched.shared.placement.capacity.domain_room import DomainRoom, WholeGroups
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import NOWHERE, Task
from global_sched.shared.placement.request.node_match import (
    AFFINITY_PROBLEM,
    label_problem,
    node_class_problem,
)
from global_sched.shared.placement.search.node_packing import Packer, SearchBudget
from global_sched.shared.placement.search.select_domain import SearchScope, top_of
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
            detail=f"the report of this cluster does not hold node label {missing} yet"
            f"{did_you_mean(missing, baseline.topology.label_keys or ())}",
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
            return f"no node of this cluster has {name}{did_you_mean(name, topology.axis)}"
    problems: dict[str, int] = {}
    for kind in baseline.classes:
        problem = node_class_problem(_lasting(kind), shape)
        if not problem:
            return ""
        problems[problem] = problems.get(problem, 0) + 1
    return "no node of this cluster can take the pod: " + "; ".join(
        problem + _label_meant(problem, shape, baseline.classes) for problem in sorted(problems)[:3]
    )


def _label_meant(problem: str, shape: PodShape, classes: Sequence[NodeClass]) -> str:
    """The label of some node that is nearest to the one that a selector or node affinity names."""
    there = {f"{name}={has}" for kind in classes for name, has in kind.labels}
    for key, value in shape.selector:
        if problem == label_problem(key, value):
            return did_you_mean(f"{key}={value}", sorted(there))
    if problem != AFFINITY_PROBLEM:
        return ""
    named = [
        f"{one.key}={value}"
        for term in shape.affinity
        for one in term
        if one.operator == Operator.IN
        for value in one.values
    ]
    unknown = (did_you_mean(one, sorted(there)) for one in named if one not in there)
    return next(filter(None, unknown), "")


def _lasting(kind: NodeClass) -> NodeClass:
    return replace(kind, taints=tuple(t for t in kind.taints if not t.key.startswith(_PASSING)))


def not_now(
    rows: Rows, task: Task, tables: Sequence[ShapeTable], scope: SearchScope, *, proven: bool
) -> Verdict:
    """No room now: how many of the minimum the nearest domain holds."""
    index = rows.index
    grouped = any(unit.tier is not None for unit in task.units)
    holding = ClosestFit(rows, task, tables)
    hard = task.limit.tier is not None
    ties: tuple[DomainId, ...] = ()
    if hard:
        nearest, holds, ties = _nearest(rows, task, holding, scope)
    else:
        nearest = None
        within = index.root if scope.around is None else (top_of(index, scope.around, scope.limit))
        holds = holding.pods(index.root if within is None else within)
    verdict = _verdict(index, task, scope, nearest, holds, ties)
    reason = Reason.TOPOLOGY_DOES_NOT_FIT if hard or grouped else Reason.CAPACITY_DOES_NOT_FIT
    if proven:
        return replace(verdict, reason=reason)
    return replace(
        verdict, code=Code.WAIT, reason=reason, detail=verdict.detail + UNPROVEN, proven=False
    )


UNPROVEN: Final = "; it may fit: the search ended at the Policy's placement_search_limit"


def too_little(
    index: TreeIndex,
    task: Task,
    nearest: DomainId | None,
    holds: int,
    ties: tuple[DomainId, ...] = (),
) -> Verdict:
    """What `not_now` says of a task of one shape, from how many pods the nearest domain holds."""
    anywhere = SearchScope(limit=task.limit, within=index.root)
    return _verdict(index, task, anywhere, nearest, holds, ties)


def _verdict(
    index: TreeIndex,
    task: Task,
    scope: SearchScope,
    nearest: DomainId | None,
    holds: int,
    ties: tuple[DomainId, ...],
) -> Verdict:
    """A refusal for lack of room, with HyperNodes whose nodes no domain has for a fault."""
    hard, wants = task.limit.tier is not None, task.least or 1
    kind = index.kind_of(task.limit.tier) if hard else ""
    groups = _in_groups(task) if hard else _in_partitions(task)
    some = f"{holds} of {counted(wants, 'pod')}{groups}" if holds else f"{_any_of(wants)}{groups}"
    names = in_ranges([nearest, *ties]) if nearest is not None else ""
    asks = f"{a(kind or 'cluster')} with room for {counted(wants, 'pod')}{groups}"
    if not hard:
        text = f"the cluster has {'' if holds else 'no '}room for {some}"
    elif scope.around is not None:
        asks, kind = "", ""
        more = "more pod" if wants == 1 else "more pods"
        text = f"its running pods lie in {nearest}, which has room for {holds} of {wants} {more}"
        if nearest is None:
            text = f"its running pods lie in no common {index.kind_of(task.limit.tier)}"
    elif holds:
        text = f"the largest {kind} has room for {some} ({names})"
    else:
        text = f"no {kind} has room for {some}"
    return Verdict(
        code=Code.NO_FIT,
        reason=Reason.TOPOLOGY_DOES_NOT_FIT if hard else Reason.CAPACITY_DOES_NOT_FIT,
        detail=text + (index.faults if hard else ""),
        missing=max(1, wants - holds),
        holds=holds,
        wants=wants,
        nearest=nearest,
        asks=asks,
        within=kind,
        ties=ties if holds else (),
        note=index.faults if hard else "",
    )


def _any_of(wants: int) -> str:
    return "the pod" if wants == 1 else f"any of {wants} pods"


def a(word: str) -> str:
    """`a rack`, `an island`."""
    return f"{'an' if word[:1] in 'aeiouAEIOU' else 'a'} {word}"


def _in_partitions(task: Task) -> str:
    """Whether some pods only count in whole groups."""
    return " in whole partitions" if any(unit.tier is not None for unit in task.units) else ""


def _in_groups(task: Task) -> str:
    """In which steps pods count, where some only count together."""
    sizes = sorted({unit.size for unit in task.units if unit.tier is not None and unit.size > 1})
    return f" in whole groups of {' and '.join(map(str, sizes))}" if sizes else ""


def _nearest(
    rows: Rows, task: Task, holding: "ClosestFit", scope: SearchScope
) -> tuple[DomainId | None, int, tuple[DomainId, ...]]:
    """The allowed domain that holds most of the minimum; the lowest tier, then the name.

    And of one shape those that hold as many.
    """
    index = rows.index
    if scope.around is not None:
        top = top_of(index, scope.around, scope.limit)
        if top is None:
            return None, 0, ()
        return index.domains[top].name, holding.pods(top), ()
    after = max((a for t, _, a in index.slices if t <= (task.limit.tier or 0)), default=0)
    if not after:
        return None, 0, ()
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
    ties: tuple[DomainId, ...] = ()
    if holding.exact:
        ties = tied(index, [int(one) for one in bound], best)
    return index.domains[best].name, most, ties


_TIES: Final = 8


def tied(index: TreeIndex, holds: Sequence[int], best: int) -> tuple[DomainId, ...]:
    """Further domains of the tier of the best one that hold as many, by position; a few of many."""
    found: list[DomainId] = []
    at, tier = best, index.domains[best].tier
    while len(found) < _TIES:
        try:
            at = holds.index(holds[best], at + 1)
        except ValueError:
            break
        if index.domains[at].tier != tier:
            break
        found.append(index.domains[at].name)
    return tuple(found)


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
        self.exact = len(task.units) == 1
        self._packer: Packer | None = None
        if len(task.units) > 1:
            budget = SearchBudget(_MOST_ADDITIONS)
            self._packer = Packer(rows, task.units, tables, self._least, budget)

    def pods(self, domain: int) -> int:
        """Pods of the minimum that a domain holds together."""
        holds = self._packer.holds(domain) if self._packer is not None else None
        return int(self.upper[domain]) if holds is None else holds
