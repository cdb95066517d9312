"""Pods that belong beside running ones of their subgroup: by themselves, or with all others."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Final

from global_sched.shared.model.gang import Gang, Mode, Partition, PodSet, TopologyConstraint
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.topology import Domain
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.placement import Join, Space
from member_agent.scheduler.gang.demand import RemainingDemand, ShapeDemand

_ANY_TIER: Final = 2**31
_MOST_AT_ONCE: Final = 64
"""Pods beside others that are placed in one search with the rest."""

DomainsOf = Callable[[Iterable[str]], tuple[DomainId | None, ...]]
"""The domains of nodes, by name."""


def gang_beside(
    space: Space, part: ShapeDemand, pods: int, outer: TopologyConstraint | None
) -> Gang:
    """So many equal pods under the narrower of its subgroup's and its gang's constraint.

    Domains around running pods are nested, so the one of the lower tier is within the other.
    """
    one = PodSet(name=part.name, count=pods, minimum=0, shape=part.shape)
    inner = part.partition.constraint if part.partition else None
    found: list[tuple[int, Gang]] = []
    for constraint in (inner, outer):
        gang = Gang(pod_sets=(one,), minimum=0, constraint=constraint)
        task = space.task(gang)
        if isinstance(task, Verdict):
            return gang  # the refusal follows when it is placed
        tier = task.limit.tier
        found.append((_ANY_TIER if tier is None else tier, gang))
    best = min(tier for tier, _ in found)
    narrow = [gang for tier, gang in found if tier == best and gang.constraint is not None]
    return (narrow or [found[0][1]])[0]


def all_at_once(
    demand: RemainingDemand, nodes_of: Callable[[ShapeDemand], Iterable[str]], domains_of: DomainsOf
) -> tuple[Gang, tuple[Join, ...]] | None:
    """The whole demand as one gang, whose pods beside others join these; None for too many."""
    joining = [part for part in demand.parts if part.mates]
    if sum(part.count for part in joining) > _MOST_AT_ONCE:
        return None
    sets, joins = [], list[Join]()
    for part in demand.parts:
        partition = part.partition
        if part.mates:
            limit = partition.constraint if partition else None
            partition = Partition(size=1, total=part.count, constraint=limit)
            there = domains_of(nodes_of(part))
            joins += [Join(part.name, there, 1) for _ in range(part.count)]
        least = demand.least.get(part.name)
        sets.append(
            PodSet(
                name=part.name,
                count=part.count,
                minimum=least,
                shape=part.shape,
                partition=partition,
            )
        )
    gang = replace(demand.gang(), pod_sets=tuple(sets))
    return gang, tuple(joins)


def near_enough(part: ShapeDemand, domain: DomainId | None, domains: Iterable[Domain]) -> bool:
    """Whether a part's constraint holds for pods whose smallest common domain this is.

    A tier name is as low as the lowest domain that carries it: in doubt the answer is no.
    """
    limit = part.partition.constraint if part.partition else None
    if limit is None or limit.mode is Mode.SOFT:
        return True
    highest, tier = limit.highest_tier, None
    named: list[int] = []
    for one in domains:
        if one.name == domain:
            tier = one.tier
        if limit.highest_tier_name and one.tier_name == limit.highest_tier_name:
            named.append(one.tier)
    highest = min(named, default=None) if highest is None else highest
    return tier is not None and highest is not None and tier <= highest
