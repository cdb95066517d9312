"""A member cluster's network as decisions see it: domains, and nodes counted by kind.

A *leaf* is a class of identical nodes with a count, in the smallest domain that holds them. The
global side has leaves from a capacity report; the agent has one leaf per node, with its name.
"""

from dataclasses import dataclass, field

from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from global_sched.shared.model.lifetime import KeepsAnswers
from global_sched.shared.model.pods import PodShape, Taint


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Domain:
    """A HyperNode. A parent's tier is above its children's; smaller means closer."""

    name: DomainId
    tier: int
    tier_name: str = ""
    parent: DomainId | None = None


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class NodeClass:
    """What decides whether a pod may go to a node, apart from room.

    `labels` holds the values of the topology's reported keys only, sorted; taints are sorted.
    """

    labels: tuple[tuple[str, str], ...] = ()
    taints: tuple[Taint, ...] = ()
    schedulable: bool = True
    ports: tuple[str, ...] = ()
    """Host ports that are taken there, as far as some pod waits for them; only the agent knows."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Occupant:
    """Pods of one pod set of a gang that sit on each node of a leaf.

    `surplus` are the turns of those that may leave without breaking the gang, ascending: 1 is the
    pod of its pod set that goes first.
    """

    binding: BindingId
    pod_set: PodSetName
    pods: int
    surplus: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Leaf:
    """`count` nodes that are alike: same domain, class, free vector and occupants.

    `free` is on the topology's axis. `domain` None: the nodes are in no HyperNode.
    `node` is the name where the leaf is one known node (the agent), else empty.
    """

    domain: DomainId | None
    node_class: NodeClass
    free: tuple[int, ...]
    count: int
    occupants: tuple[Occupant, ...] = ()
    node: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """A shape that pods of a cluster have, running or waiting, and about how many have it."""

    shape: PodShape
    pods: int


@dataclass(frozen=True, slots=True, weakref_slot=True, kw_only=True)
class Topology(KeepsAnswers):
    """Everything that placement looks at in one cluster.

    `axis` names the positions of every free vector. `label_keys` are the node label keys whose
    values the classes hold; None means all of them (the agent sees whole nodes). A key that is
    not among them is unknown, which is neither present nor absent.
    """

    axis: tuple[str, ...]
    domains: tuple[Domain, ...] = ()
    leaves: tuple[Leaf, ...] = ()
    label_keys: tuple[str, ...] | None = None
    problems: tuple[str, ...] = field(default=())
    """Subtrees that were set aside, each with the reason, for people to read."""
    demand: tuple[Wanted, ...] = ()
    """What pods here ask for, most frequent first: nodes that few can do without are left to those.
    Empty when it is unknown."""
