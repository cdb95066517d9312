"""From rows to answers: which of alike nodes are meant, in which domain, and what is free."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial
from itertools import pairwise

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import MAIN, PodSetName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.values import InvariantError
from global_sched.shared.placement.capacity.allocations import Allocations, Lift
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.result import Placed, Take
from global_sched.shared.placement.search.trial import Trial

Requests = Mapping[PodSetName, Resources]
_take = partial(tuple.__new__, Take)
"""Makes a Take of its fields without a call of Python's: there is one for every node."""


def placed_of(
    rows: Rows,
    allocations: Allocations,
    trial: Trial,
    gang: Gang,
    around: int | None,
    *,
    exact: bool,
) -> Placed:
    """A trial as an answer: its takes, and the smallest domain around them and `around`."""
    index = rows.index
    enclosing = around
    for at in {rows.domain[step.row] for step in trial.steps}:
        if enclosing is None or at == enclosing:
            enclosing = at
        elif enclosing not in index.chain[at]:
            enclosing = index.common(enclosing, at)
    moves: list[Lift] = []
    requests = {p.name: p.shape.requests for p in gang.pod_sets}
    takes = takes_of(rows, allocations, trial, requests, moves)
    if enclosing is None or enclosing == index.root:
        placed = Placed(trial.amounts(), None, None, "", takes, exact)
    else:
        domain = index.domains[enclosing]
        placed = Placed(trial.amounts(), domain.name, domain.tier, domain.tier_name, takes, exact)
    allocations.expect(placed, moves)
    return placed


def free_in(rows: Rows, *, changed: bool) -> Resources:
    """All free room, on nodes that take pods or not; `changed` since the start or not."""
    totals = list(rows.baseline.free_totals())
    if changed:
        totals = [0] * len(totals)
        for row, count in enumerate(rows.count):
            if count:
                for at, amount in enumerate(rows.free[row]):
                    totals[at] += amount * count
    return Resources.of(dict(zip(rows.baseline.topology.axis, totals, strict=True)))


def takes_of(
    rows: Rows, allocations: Allocations, trial: Trial, requests: Requests, moves: list[Lift]
) -> tuple[Take, ...]:
    """The takes of a trial: by name where nodes have names, else by row.

    One take per named node: of alike nodes those with the lowest names. `moves` are added for them.
    """
    base = rows.base
    if not rows.baseline.named:
        return tuple(
            [
                Take(base[s.row], s.pod_set, s.nodes, s.pods, requests[s.pod_set])
                for s in trial.steps
            ]
        )
    sources = {step.row for step in trial.steps}
    here: dict[int, list[int]] = {}
    takes: list[Take] = []
    order: list[tuple[int, int]] = []
    for unit, row, target, pod_set, count, pods in trial.steps:
        nodes = here.get(row)
        if nodes is None:
            nodes = [] if base[row] != row else allocations.members(row)
        chosen, here[row] = nodes[:count], nodes[count:]
        if target in sources:
            there = here.get(target)
            if there is None:
                there = [] if base[target] != target else allocations.members(target)
            here[target] = sorted((*there, *chosen), key=allocations.order())
        asked = requests[pod_set]
        moves.append((chosen, base[row], base[target], asked, pods))
        takes += [_take((node, pod_set, 1, pods, asked)) for node in chosen]
        order.append((unit, len(takes)))
    if any(after < before for (before, _), (after, _) in pairwise(order)):
        starts = [0, *(end for _, end in order)]
        by_unit = sorted(range(len(order)), key=lambda at: order[at][0])
        takes = [take for at in by_unit for take in takes[starts[at] : starts[at + 1]]]
    return tuple(takes)


def node_takes(rows: Rows, allocations: Allocations, nodes: Collection[str]) -> tuple[Take, ...]:
    """Everything that is free on these named nodes; nothing for names that are not there."""
    axis = rows.baseline.topology.axis
    found = []
    for at, leaf in enumerate(rows.baseline.topology.leaves):
        row = allocations.row_of(at) if leaf.node in nodes else None
        if row is not None and any(rows.free[row]):
            free = Resources.of(dict(zip(axis, rows.free[row], strict=True)))
            found.append(Take(at, MAIN, 1, 1, free))
    return tuple(found)


def assign(
    topology: Topology, placed: Placed, pods_by_pod_set: Mapping[PodSetName, Sequence[str]]
) -> Mapping[str, str]:
    """The node of every pod that was placed: pods in the order given, so lower indexes first.

    Pods beyond the placed amount get none. Groups of a partition are consecutive pods, and stay
    together because takes follow the tree.

    Raises:  InvariantError when a leaf has no name, or fewer pods are given than were placed.
    """
    waiting = {name: iter(pods) for name, pods in pods_by_pod_set.items()}
    nodes: dict[str, str] = {}
    for take in placed.takes:
        node = topology.leaves[take.leaf].node
        if not node:
            raise InvariantError(f"leaf {take.leaf} is no single named node")
        for _ in range(take.pods_per_node):
            pod = next(waiting.get(take.pod_set, iter(())), None)
            if pod is None:
                raise InvariantError(f"more pods of {take.pod_set} were placed than are given")
            nodes[pod] = node
    return nodes
