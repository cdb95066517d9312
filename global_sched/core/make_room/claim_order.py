"""The order in which the claims of a cycle hold their room."""

from collections.abc import Iterable, Iterator
from itertools import groupby

from global_sched.shared.model.decision import Claim
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import NO_TIER, scarcity_key


def claims_in_order(found: Iterable[tuple[Workload, Claim]]) -> Iterator[tuple[Workload, Claim]]:
    """In the order of the decisions; of waves in a row those first that fewest places can serve.

    What victims have left is free to all in a wider domain, and others need it there. And where
    smaller pods go there may be no node that is whole. A reservation has what was left when it was
    made; without a domain what comes free, but not for a claim.
    """
    turns = sorted(found, key=_turn)
    for waves, row in groupby(turns, key=lambda one: bool(one[1].victims)):
        there = list(row)
        yield from sorted(there, key=_choice) if waves else there


def _turn(found: tuple[Workload, Claim]) -> tuple[bool, Instant, int, BindingId]:
    workload, claim = found
    anywhere = claim.first.domain is None and not claim.victims
    return anywhere, claim.since, claim.order, workload.binding_id


def _choice(found: tuple[Workload, Claim]) -> tuple[int, int, int, int]:
    workload, claim = found
    gang = workload.demand.gang
    assert gang is not None
    return scarcity_key(
        NO_TIER if claim.first.tier is None else claim.first.tier, gang, claim.amounts
    )
