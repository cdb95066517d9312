"""LeaderWorkerSets in a member: their groups as subgroups, and what makes the minimum. Pure.

All groups of a LeaderWorkerSet are one unit, also where its controller makes a PodGroup of each
group for Volcano: the minimum and the domain that were admitted are the whole set's.
"""

from typing import Final

from global_sched.shared.api.base import LabelSelector, LabelSelectorRequirement, Meta
from global_sched.shared.api.names import (
    LWS_GROUP_INDEX,
    LWS_WORKER_INDEX,
    TOPOLOGY_MODE,
    TOPOLOGY_TIER,
)
from global_sched.shared.api.volcano import NetworkTopology, SubGroupPolicy
from global_sched.shared.kinds import GroupsRecord
from global_sched.shared.kinds.leader_worker_set import pod_set_of
from global_sched.shared.kinds.parts.pod_labels import number
from global_sched.shared.model.gang import Amounts, Gang, PodSet
from global_sched.shared.model.ids import LEADERS, WORKERS, PodSetName
from member_agent.cache.records import PodRecord

TOGETHER: Final = f"{LEADERS},{WORKERS}"
_LEADER: Final = "0"


def in_group(meta: Meta) -> bool:
    """Whether a pod belongs to a group, whose place its labels tell."""
    return pod_set_of(meta) is not None


def policies_of(
    groups: GroupsRecord, gang: Gang | None, pods: list[PodRecord]
) -> tuple[SubGroupPolicy, ...]:
    """What a PodGroup would say of the groups: leaders and workers, group by group.

    Under `LeaderReady` no worker is there before its leader runs, so that leaders alone must be
    whole; the workers' room is kept by the reservation.
    """
    least = _least(groups, gang)
    topology = _topology(pods)
    found = [_policy(LEADERS, 1, least, topology)]
    if groups.size > 1:
        found.append(_policy(WORKERS, groups.size - 1, 0 if groups.late else least, topology))
    return tuple(found)


def _policy(
    name: PodSetName, size: int, least: int, topology: NetworkTopology | None
) -> SubGroupPolicy:
    operator = "In" if name == LEADERS else "NotIn"
    place = LabelSelectorRequirement(key=LWS_WORKER_INDEX, operator=operator, values=[_LEADER])
    return SubGroupPolicy(
        name=name,
        label_selector=LabelSelector(match_expressions=[place]),
        match_label_keys=[LWS_GROUP_INDEX],
        sub_group_size=size,
        min_sub_groups=least,
        network_topology=topology,
    )


def minimum_of(groups: GroupsRecord, gang: Gang | None) -> tuple[Amounts, int]:
    """Minimum per pod set, and in all."""
    least = _least(groups, gang)
    workers = 0 if groups.late else least * (groups.size - 1)
    amounts = Amounts.of({LEADERS: least, WORKERS: workers})
    return amounts, amounts.pods()


def _least(groups: GroupsRecord, gang: Gang | None) -> int:
    """How many groups must be whole: as it was admitted, else as the object says."""
    admitted = _leaders(gang) if gang is not None else None
    return groups.least if admitted is None else admitted.minimum


def _leaders(gang: Gang) -> PodSet | None:
    return next((one for one in gang.pod_sets if one.name == LEADERS), None)


def _topology(pods: list[PodRecord]) -> NetworkTopology | None:
    """The pods' topology annotations as a PodGroup would carry them.

    A tier that is no number is no tier: a hard constraint without one is refused.
    """
    for pod in pods:
        mode, tier = pod.annotation(TOPOLOGY_MODE), pod.annotation(TOPOLOGY_TIER)
        if mode or tier:
            return NetworkTopology(mode=mode, highest_tier_allowed=number(tier.strip()))
    return None
