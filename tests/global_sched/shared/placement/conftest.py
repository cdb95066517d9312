"""Worlds that several placement tests share."""

import pytest

from global_sched.shared.model.pods import Effect, Taint
from global_sched.shared.model.topology import NodeClass
from tests.global_sched.shared.placement.worlds import free, leaf, topology, tree


@pytest.fixture
def kinds():
    """Nodes of several classes in one rack; a cordoned one is the tightest."""
    taint = Taint("reserved", "yes", Effect.NO_SCHEDULE)
    return topology(
        tree(r=(1, None)),
        [
            leaf("r", free(1), node="cordoned", kind=NodeClass(schedulable=False)),
            leaf("r", free(2), node="na", kind=NodeClass(labels=(("kind", "a"),))),
            leaf("r", free(3), node="nb", kind=NodeClass(labels=(("kind", "b"),))),
            leaf("r", free(1), node="nt", kind=NodeClass(labels=(("kind", "t"),), taints=(taint,))),
        ],
    )
