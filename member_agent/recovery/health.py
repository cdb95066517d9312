"""The health of nodes as placing and the report read it. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass

from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery import Cause
from member_agent.recovery.trouble import TroubleState, leaves_in_trouble, on_probation


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeHealth:
    """Nodes that take no new pods, and nodes that gangs use only where nothing else holds them."""

    closed: frozenset[str] = frozenset()
    probation: frozenset[str] = frozenset()
    leaves: frozenset[str] = frozenset()
    """The smallest HyperNodes in trouble."""
    last_resort: frozenset[str] = frozenset()
    """Those on probation, and the other nodes of leaves in trouble."""


def health_of(state: TroubleState, leaf_of: Mapping[str, str], now: Instant) -> NodeHealth:
    """What follows from the state of the nodes; `leaf_of` names every node that is there.

    A NoExecute taint closes its node by itself, to every pod that does not tolerate it.
    """
    closed = frozenset(
        name
        for name, one in state.nodes.items()
        if one.standing and one.cause is not Cause.NODE_TAINTED and name in leaf_of
    )
    probation = on_probation(state, leaf_of, now)
    leaves = leaves_in_trouble(state, now)
    near = frozenset(name for name, leaf in leaf_of.items() if leaf in leaves) if leaves else ()
    return NodeHealth(
        closed=closed,
        probation=probation,
        leaves=leaves,
        last_resort=(probation | frozenset(near)) - closed,
    )
