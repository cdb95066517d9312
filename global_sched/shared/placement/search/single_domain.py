"""A gang of one shape that one small domain takes whole: a linear scan instead of a search.

Problem: as in `select_domain`, for gangs that fit in a single domain without children, where the
sum over pairs is the same for every candidate of a tier.
Method: scan the at most 64 domains as plain lists, tier by tier, for the tightest; without a
constraint go down into the fullest child. Arrays would cost more than the scan.
Exact: the same place as the general way finds, which a property test shows; None where the gang
would be split, has surplus, or has more than 4,096 pods: then `solver` answers.
Cost: O(domains). docs/design/0003, "Algorithms".
"""

from collections.abc import Sequence

from global_sched.shared.model.gang import Amounts
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.shape_table import ShapeTable
from global_sched.shared.placement.request.compile import Limit, Task
from global_sched.shared.placement.result import Placed, Take
from global_sched.shared.placement.search.select_nodes import fill
from global_sched.shared.placement.tree.domain_index import TreeIndex

_FEW_DOMAINS = 64
"""In more domains vectors find the place faster."""
_MOST_PODS = 4096
"""For more the general way says whether the place is the closest."""


def is_small(rows: Rows) -> bool:
    """Whether gangs may be placed in this way here: in few domains, on nodes without names."""
    return not rows.baseline.named and rows.index.root <= _FEW_DOMAINS


def place_in_single_domain(rows: Rows, table: ShapeTable, task: Task) -> Placed | None:
    """Where it goes; None where no domain without others below it takes all of it."""
    unit, index = task.units[0], rows.index
    pods, (sums, device_free, slack) = unit.most, table.counts()
    if pods > min(sums[-1], _MOST_PODS):
        return None
    scatter = task.limit.scatter
    if scatter:
        at = _fullest(index, device_free if device_free[-1] >= pods else sums, slack, pods)
    else:
        at = _tightest(index, (sums, device_free, slack), pods, task.limit)
    if at is None:
        return None
    name, requests = unit.sets[0][0], unit.key[0].requests
    takes = tuple(
        [
            Take(row, name, nodes, each, requests)
            for row, nodes, each in fill(rows, table, at, pods, scatter=scatter)
        ]
    )
    amounts = Amounts(((name, pods),))
    if at == index.root:
        return Placed(amounts, None, None, "", takes)
    domain = index.domains[at]
    return Placed(amounts, domain.name, domain.tier, domain.tier_name, takes)


def _fullest(index: TreeIndex, sums: Sequence[int], slack: Sequence[int], pods: int) -> int | None:
    """Nodes outside any domain first, then down into the fullest one, as `choose` scatters."""
    at = index.root
    while True:
        below = index.children[at]
        direct = sums[at] - sum([sums[child] for child in below])
        if direct:
            return at if direct >= pods else None
        room, _, at = min([(sums[child], slack[child], child) for child in below if sums[child]])
        if room < pods:
            return None


def _tightest(
    index: TreeIndex,
    room: tuple[Sequence[int], Sequence[int], Sequence[int]],
    pods: int,
    limit: Limit,
) -> int | None:
    """The tightest domain of the lowest tier that holds them; None where it has others below."""
    sums, device_free, slack = room
    for tier, first, after in index.slices:
        if limit.tier is not None and tier > limit.tier:
            return None
        found = [at for at in range(first, after) if sums[at] >= pods]
        if not found:
            continue
        if any(index.children[at] for at in found):
            return None
        kept = [at for at in found if device_free[at] >= pods] or found
        return min([(sums[at], slack[at], at) for at in kept])[2]
    return None
