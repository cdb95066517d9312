"""From rows to answers: which of alike nodes are meant, in which domain, and what is free."""

from collections.abc import Collection, Mapping, Sequence

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import MAIN, PodSetName
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement.draft import Draft
from global_sched.shared.placement.ledger import Ledger
from global_sched.shared.placement.placed import Placed, Take
from global_sched.shared.placement.rows import Rows

Requests = Mapping[PodSetName, Resources]


def placed_of(
    rows: Rows, ledger: Ledger, draft: Draft, gang: Gang, around: int | None, *, exact: bool
) -> Placed:
    """A draft as an answer: its takes, and the smallest domain around them and `around`."""
    index = rows.index
    enclosing = around
    for at in {rows.domain[step.row] for step in draft.steps}:
        enclosing = at if enclosing is None else index.common(enclosing, at)
    takes = takes_of(rows, ledger, draft, {p.name: p.shape.requests for p in gang.pod_sets})
    if enclosing is None or enclosing == index.root:
        return Placed(draft.amounts(), None, None, "", takes, exact)
    domain = index.domains[enclosing]
    return Placed(draft.amounts(), domain.name, domain.tier, domain.tier_name, takes, exact)


def free_in(rows: Rows, *, changed: bool) -> Resources:
    """All free room, on nodes that take pods or not; `changed` since the start or not."""
    totals = list(rows.ground.free_totals())
    if changed:
        totals = [0] * len(totals)
        for row, count in enumerate(rows.count):
            if count:
                for at, amount in enumerate(rows.free[row]):
                    totals[at] += amount * count
    return Resources.of(dict(zip(rows.ground.topology.axis, totals, strict=True)))


def share_used(free: Resources, total: Resources, names: Sequence[str] | None) -> int:
    """How full the fullest resource is, 0 to 10,000: of those that are named, or of all."""
    shares = [
        10_000 * max(0, amount - free.get(name)) // amount
        for name, amount in total
        if amount and (names is None or name in names)
    ]
    return max(shares, default=0)


def takes_of(rows: Rows, ledger: Ledger, draft: Draft, requests: Requests) -> tuple[Take, ...]:
    """The takes of a draft: by name where nodes have names, else by row."""
    if rows.ground.named:
        return _named(rows, ledger, draft, requests)
    base = rows.base
    return tuple(
        Take(base[s.row], s.pod_set, s.nodes, s.pods, requests[s.pod_set]) for s in draft.steps
    )


def _named(rows: Rows, ledger: Ledger, draft: Draft, requests: Requests) -> tuple[Take, ...]:
    """One take per node: of alike nodes those with the lowest names."""
    order = ledger.order()
    here: dict[int, list[int]] = {}
    takes: list[tuple[int, Take]] = []
    for step in draft.steps:
        nodes = here.get(step.row)
        if nodes is None:
            marked = rows.base[step.row] != step.row
            nodes = [] if marked else list(ledger.members(step.row))
        chosen, here[step.row] = nodes[: step.nodes], nodes[step.nodes :]
        there = here.get(step.target)
        if there is None:
            marked = rows.base[step.target] != step.target
            there = [] if marked else ledger.members(step.target)
        here[step.target] = sorted((*there, *chosen), key=order)
        asked = requests[step.pod_set]
        takes.extend((step.unit, Take(node, step.pod_set, 1, step.pods, asked)) for node in chosen)
    takes.sort(key=lambda item: item[0])
    return tuple(take for _, take in takes)


def node_takes(rows: Rows, ledger: Ledger, nodes: Collection[str]) -> tuple[Take, ...]:
    """Everything that is free on these named nodes; nothing for names that are not there."""
    axis = rows.ground.topology.axis
    found = []
    for at, leaf in enumerate(rows.ground.topology.leaves):
        row = ledger.row_of(at) if leaf.node in nodes else None
        if row is not None and any(rows.free[row]):
            free = Resources.of(dict(zip(axis, rows.free[row], strict=True)))
            found.append(Take(at, MAIN, 1, 1, free))
    return tuple(found)
