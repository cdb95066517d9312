"""Shapes on an axis of resources, worked out once for clusters alike."""

from unittest.mock import patch

import pytest

from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.request import node_match as module
from global_sched.shared.placement.request.node_match import ShapesOnAxis, shape_on
from global_sched.shared.placement.tree.domain_index import tree_index
from tests.global_sched.shared.placement.worlds import AXIS, PLAIN, domain, shape

CPU, GPU, MEMORY, PODS = range(4)
CORDONED = NodeClass(schedulable=False)


def test_what_it_asks_for():
    """Amounts by position; devices are asked first, and slack is not measured in pods."""
    found = shape_on(AXIS, (PLAIN, CORDONED), shape(cpu=4, gpu=2))
    assert sorted(found.asking) == [(CPU, 4), (GPU, 2), (PODS, 1)]
    assert found.scarce_first[0] == (GPU, 2)
    assert found.scarce == ((GPU, 2),)
    assert sorted(found.weighed) == [(CPU, 4), (GPU, 2)]
    assert (found.cpu_at, found.cpu_asked, found.devices) == (CPU, 4, ())
    assert found.takes == (True, False)


def test_without_devices():
    """Those of a node would lie idle, and its CPU need not suit any."""
    found = shape_on(AXIS, (PLAIN,), shape(cpu=4))
    assert (found.cpu_at, found.cpu_asked, found.devices) == (None, 0, (GPU,))


def test_what_no_node_has():
    """There is no request on such an axis."""
    assert shape_on(("cpu", "pods"), (PLAIN,), shape(cpu=1, gpu=1)).request is None


def test_each_is_worked_out_once():
    """Equal shapes share it, and the oldest goes where there are too many."""
    with patch.object(module, "_MOST_SHAPES", 1):
        shapes = ShapesOnAxis(AXIS, (PLAIN,))
    first = shapes.of(shape(cpu=1))
    assert shapes.of(shape(cpu=1)) is first
    shapes.of(shape(cpu=2))
    assert shapes.of(shape(cpu=1)) == first
    assert shapes.of(shape(cpu=1)) is not first


@pytest.mark.parametrize(("tier", "after"), [(0, 0), (1, 2), (2, 2), (3, 3), (9, 3)])
def test_how_far_a_tier_reaches(tier, after):
    """Up to the last domain of it or below, whether it has any itself or not."""
    index = tree_index([domain("top", 3), domain("a", 1, "top"), domain("b", 1, "top")])
    assert index.up_to(tier) == after
