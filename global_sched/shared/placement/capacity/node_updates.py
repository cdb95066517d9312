"""Room of pods that run: what a node gets back without them, and how to shut nodes."""

from collections.abc import Collection, Mapping

from global_sched.shared.model.ids import MAIN, DomainId
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Occupant
from global_sched.shared.placement.capacity.allocations import Ledger
from global_sched.shared.placement.capacity.baseline import Ground
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.request.shape_on import Request
from global_sched.shared.placement.result import Take


def per_tenant(
    ground: Ground, freed: Mapping[tuple[Occupant, ...], Resources]
) -> dict[int, Request]:
    """What each node gets back, by the number of its occupants."""
    position = {name: at for at, name in enumerate(ground.topology.axis)}
    tenants = ground.tenants()
    return {
        tenants[occupants]: tuple(
            (position[name], amount) for name, amount in amounts if name in position
        )
        for occupants, amounts in freed.items()
        if occupants in tenants
    }


def all_free(
    rows: Rows,
    ledger: Ledger,
    occupants: Collection[tuple[Occupant, ...]],
    domain: DomainId | None,
    beyond: DomainId | None = None,
) -> tuple[Take, ...]:
    """Takes of everything free on nodes with these occupants, under a domain, and beyond one."""
    ground, index = rows.ground, rows.index
    known = ground.tenants()
    shut = {known[one] for one in occupants if one in known}
    under = index.position.get(domain) if domain is not None else None
    within = index.position.get(beyond) if beyond is not None else None
    takes = []
    for row, count in enumerate(rows.count):
        if not count or not any(rows.free[row]):
            continue
        chain = index.chain[rows.domain[row]]
        wanted = under in chain or (beyond is not None and within not in chain)
        if not wanted and rows.tenant[row] not in shut:
            continue
        free = Resources.of(dict(zip(ground.topology.axis, rows.free[row], strict=True)))
        if ground.named:
            takes += [Take(node, MAIN, 1, 1, free) for node in ledger.members(row)]
        else:
            takes.append(Take(row, MAIN, count, 1, free))
    return tuple(takes)
