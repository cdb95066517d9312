"""Answers of placement: the nodes that were chosen, or why there are none."""

from dataclasses import dataclass
from typing import NamedTuple

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import DomainId, PodSetName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Verdict


class Take(NamedTuple):
    """`pods_per_node` pods of a pod set on each of `nodes` alike nodes.

    `leaf` is the leaf's position in the Space's topology where leaves are named nodes. Where they
    are counted it is a row of the Space: the topology's leaves keep their position, and what takes
    split off follows. Takes apply in order: a later one may use what an earlier one left on a node.
    """

    leaf: int
    pod_set: PodSetName
    nodes: int
    pods_per_node: int
    requests: Resources = Resources()
    """What one of these pods asks for."""


@dataclass(frozen=True, slots=True)
class Join:
    """A group of a partition of which some pods run already: `missing` pods have to join them.

    `domains` are where its running pods are. Where the partition's constraint is hard, the whole
    group stays under one domain that it allows.
    """

    pod_set: PodSetName
    domains: tuple[DomainId | None, ...]
    missing: int


@dataclass(frozen=True, slots=True)
class Placed:
    """Room for a gang. `domain` is the smallest HyperNode around it; None when there is none.

    Pods of a pod set follow its takes in order, so that groups of a partition stay together: first
    those that join a group, then whole groups, then what is left.
    """

    amounts: Amounts
    domain: DomainId | None
    tier: int | None
    tier_name: str
    takes: tuple[Take, ...]
    exact: bool = True
    """Whether nothing closer exists; False when the search limit came first."""


@dataclass(frozen=True, slots=True)
class Glance:
    """Whether a gang of one shape fits, and how closely, without saying on which nodes.

    `tier` is the lowest that holds the minimum (None: only the whole cluster, or no constraint),
    `holds` how many pods the tightest domain of that tier has room for.
    """

    fits: bool
    tier: int | None = None
    holds: int = 0


@dataclass(frozen=True, slots=True)
class NotPlaced:
    """Why the minimum is not placed."""

    verdict: Verdict
    proven: bool = True
    """Whether it is certain; False when the search limit came first. The verdict is WAIT then."""
