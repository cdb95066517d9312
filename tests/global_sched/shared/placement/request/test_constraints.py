"""Topology constraints as users write them."""

import pytest

from global_sched.shared.api.names import TOPOLOGY_MODE, TOPOLOGY_TIER
from global_sched.shared.api.volcano import NetworkTopology
from global_sched.shared.placement import SpecError, annotations_constraint, constraint_of
from tests.global_sched.shared.placement.worlds import SOFT, hard


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(None, None, id="none"),
        pytest.param(NetworkTopology(), hard(), id="empty is hard without a tier"),
        pytest.param(NetworkTopology(highest_tier_allowed=2), hard(2), id="hard by default"),
        pytest.param(NetworkTopology(mode="hard", highest_tier_name="rack"), hard(name="rack"),
                     id="by tier name"),
        pytest.param(NetworkTopology(mode="soft", highest_tier_allowed=2), SOFT,
                     id="soft needs no tier"),
        pytest.param(NetworkTopology(highest_tier_allowed=0), hard(0), id="tier 0 is a tier"),
    ],
)  # fmt: skip
def test_constraint_of(given, want):
    """A hard constraint never turns into none."""
    assert constraint_of(given) == want


@pytest.mark.parametrize(
    ("given", "want"),
    [
        pytest.param(NetworkTopology(mode="strict"), "none of hard, soft", id="unknown mode"),
        pytest.param(NetworkTopology(highest_tier_allowed=1, highest_tier_name="rack"),
                     "exclude each other", id="both tier fields"),
        pytest.param(NetworkTopology(highest_tier_allowed=-1), "is not a tier", id="negative"),
        pytest.param(NetworkTopology(highest_tier_allowed=2**40), "is not a tier", id="absurd"),
        pytest.param(NetworkTopology(highest_tier_name="x" * 300), "253", id="a long name"),
    ],
)  # fmt: skip
def test_bad_constraints(given, want):
    """What cannot be read is refused."""
    with pytest.raises(SpecError, match=want):
        constraint_of(given)


@pytest.mark.parametrize(
    ("annotations", "want"),
    [
        pytest.param(None, None, id="no annotations"),
        pytest.param({"other": "1"}, None, id="none of ours"),
        pytest.param({TOPOLOGY_MODE: "soft"}, SOFT, id="soft"),
        pytest.param({TOPOLOGY_MODE: "hard", TOPOLOGY_TIER: " 2 "}, hard(2), id="hard"),
        pytest.param({TOPOLOGY_TIER: "1"}, hard(1), id="a tier alone is hard"),
        pytest.param({TOPOLOGY_MODE: "hard"}, hard(), id="hard without a tier"),
    ],
)
def test_annotations(annotations, want):
    """Kinds without a field carry the constraint in the pod template's annotations."""
    assert annotations_constraint(annotations) == want


@pytest.mark.parametrize("tier", ["x", "-1", "1.5", "²", "9" * 12])
def test_bad_annotations(tier):
    """A tier that is no number is refused, naming the annotation."""
    with pytest.raises(SpecError, match=TOPOLOGY_TIER):
        annotations_constraint({TOPOLOGY_TIER: tier})
