"""Nodes of last resort in a topology: sound ones that are used where nothing else holds a gang.

A capacity report marks them with a taint of its own. A gang is asked about without them first; the
same gang with a toleration of that taint counts them, too.
"""

from dataclasses import replace
from typing import Final

from global_sched.shared.api.names import LAST_RESORT
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.pods import Effect, Taint, Toleration
from global_sched.shared.model.topology import NodeClass, Topology

MARK: Final = Taint(key=LAST_RESORT, value="", effect=Effect.NO_SCHEDULE)
_TOLERATED: Final = Toleration(key=LAST_RESORT, exists=True)


def marked(kind: NodeClass) -> NodeClass:
    """The class of a node of last resort."""
    return replace(kind, taints=tuple(sorted({*kind.taints, MARK})))


def is_last_resort(kind: NodeClass) -> bool:
    """Whether nodes of this class are a last resort."""
    return any(taint.key == LAST_RESORT for taint in kind.taints)


def has_last_resort(topology: Topology) -> bool:
    """Whether a topology has such nodes."""
    return any(is_last_resort(leaf.node_class) for leaf in topology.leaves)


def counting_all(gang: Gang) -> Gang:
    """The gang as one that may use nodes of last resort."""
    return replace(
        gang,
        pod_sets=tuple(
            replace(one, shape=replace(one.shape, tolerations=(*one.shape.tolerations, _TOLERATED)))
            for one in gang.pod_sets
        ),
    )
