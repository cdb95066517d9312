"""Clusters that a policy selects, the order of its groups, and spread constraints."""

import pytest

from global_sched.core import run_cycle
from global_sched.core.fit.affinity import AffinityTerm, choices
from global_sched.core.fit.spread import choose, maximum_clusters, minimum_clusters
from global_sched.shared.model.placement_rule import (
    AffinityGroup,
    ClusterField,
    ClusterSelector,
    PlacementRule,
    SpreadRule,
)
from global_sched.shared.model.pods import Operator, Requirement
from global_sched.shared.model.selection import selected, selected_by_any
from global_sched.shared.model.verdict import Verdict
from tests.builders import NOW, POLICY, cluster, snapshot, workload

EU = cluster("eu", region="eu", zones=["a", "b"], provider="x", labels=[("env", "prod")])
BARE = cluster("bare")


def by(key, operator, *values):
    return ClusterSelector(fields=(Requirement(key, operator, values),))


@pytest.mark.parametrize(
    ("selector", "member", "want"),
    [
        pytest.param(ClusterSelector(), EU, True, id="an empty selector selects all"),
        pytest.param(ClusterSelector(names=("eu",)), EU, True, id="by name"),
        pytest.param(ClusterSelector(names=("eu",)), BARE, False, id="not named"),
        pytest.param(
            ClusterSelector(names=("eu",), exclude=("eu",)), EU, False, id="exclusion wins"
        ),
        pytest.param(
            ClusterSelector(labels=(Requirement("env", Operator.IN, ("prod",)),)),
            EU,
            True,
            id="by label",
        ),
        pytest.param(
            ClusterSelector(labels=(Requirement("env", Operator.EXISTS),)),
            BARE,
            False,
            id="a label that is not there",
        ),
        pytest.param(by("region", Operator.IN, "eu"), EU, True, id="in the region"),
        pytest.param(by("region", Operator.IN, "us"), EU, False, id="in another region"),
        pytest.param(by("region", Operator.IN, "eu"), BARE, False, id="in no region"),
        pytest.param(by("region", Operator.NOT_IN, "eu"), BARE, True, id="no region is not it"),
        pytest.param(by("provider", Operator.NOT_IN, "x"), EU, False, id="provider excluded"),
        pytest.param(by("zone", Operator.IN, "a"), EU, False, id="all zones must be listed"),
        pytest.param(by("zone", Operator.IN, "a", "b", "c"), EU, True, id="all zones are listed"),
        pytest.param(by("zone", Operator.NOT_IN, "b"), EU, False, id="one zone is excluded"),
        pytest.param(by("zone", Operator.EXISTS), EU, True, id="it has zones"),
        pytest.param(by("zone", Operator.DOES_NOT_EXIST), EU, False, id="it has none"),
        pytest.param(by("zone", Operator.DOES_NOT_EXIST), BARE, True, id="none is there"),
        pytest.param(by("zone", Operator.GT, "1"), EU, False, id="fields are not numbers"),
        pytest.param(by("planet", Operator.NOT_IN, "x"), EU, False, id="an unknown field"),
    ],
)
def test_selected(selector, member, want):
    """All parts of a selector must hold."""
    assert selected(selector, member) is want


ONE, TWO, MORE = (ClusterSelector(names=(name,)) for name in ("c1", "c2", "c3"))
GROUPS = PlacementRule(
    affinities=(
        AffinityGroup(name="first", selector=ONE, overflow=(TWO,)),
        AffinityGroup(name="second", selector=MORE),
    )
)


@pytest.mark.parametrize(
    ("rule", "observed", "want"),
    [
        pytest.param(PlacementRule(), "", [("", 1)], id="no affinity is one choice of all"),
        pytest.param(
            GROUPS, "", [("first", 1), ("first", 2), ("second", 1)], id="overflow widens a group"
        ),
        pytest.param(
            GROUPS,
            "second",
            [("second", 1), ("first", 1), ("first", 2)],
            id="the group that was used comes first",
        ),
        pytest.param(
            GROUPS,
            "renamed",
            [("first", 1), ("first", 2), ("second", 1)],
            id="a group that is no longer there does not matter",
        ),
    ],
)
def test_choices(rule, observed, want):
    """Groups in order, each as it is and then wider by its overflow."""
    assert [(one.name, len(one.selectors)) for one in choices(rule, observed)] == want


def test_selects():
    """A choice holds what any of its selectors selects; a rule what any of its groups does."""
    wide = AffinityTerm(selectors=(ONE, TWO))

    assert [wide.selects(cluster(name)) for name in ("c1", "c2", "c3")] == [True, True, False]
    assert [selected_by_any(GROUPS, cluster(name)) for name in ("c2", "c3", "c4")] == [
        True,
        True,
        False,
    ]


@pytest.mark.parametrize(
    ("free", "observed", "want"),
    [
        pytest.param({"c1": 4, "c2": 8, "c3": 8}, "", ("c1", "first"), id="the first group fits"),
        pytest.param({"c1": 1, "c2": 4, "c3": 8}, "", ("c2", "first"), id="its overflow fits"),
        pytest.param({"c1": 1, "c2": 1, "c3": 4}, "", ("c3", "second"), id="the second group fits"),
        pytest.param(
            {"c1": 4, "c2": 4, "c3": 4}, "second", ("c3", "second"), id="it stays in its group"
        ),
        pytest.param(
            {"c1": 4, "c2": 4, "c3": 1}, "second", ("c1", "first"), id="and leaves it if it must"
        ),
    ],
)
def test_groups_in_the_cycle(free, observed, want):
    """A later choice is taken only when no cluster of the earlier ones has room."""
    world = snapshot(
        [cluster(name, gpus=gpus) for name, gpus in free.items()],
        pending=[workload("a", gpus=4, placement=GROUPS, observed_affinity=observed)],
    )

    admission = run_cycle(world, POLICY, NOW).admissions[0]

    assert (admission.targets[0].cluster, admission.affinity) == want


def test_refused_by_all_groups():
    """Every cluster of every group says why; those outside say that."""
    world = snapshot(
        [cluster(name, gpus=1) for name in ("c1", "c2", "c3", "c4")],
        pending=[workload("a", gpus=4, placement=GROUPS)],
    )

    outcome = run_cycle(world, POLICY, NOW).outcomes[0]

    assert [c.verdict.reason.value for c in outcome.clusters] == [
        "CapacityDoesNotFit",
        "CapacityDoesNotFit",
        "CapacityDoesNotFit",
        "ClusterAffinity",
    ]


def spread(*rules):
    return PlacementRule(spread=rules)


def at_most(field, most, least=1):
    return SpreadRule(by=field, minimum=least, maximum=most)


MEMBERS = [
    cluster("c1", region="eu"),
    cluster("c2", region="eu"),
    cluster("c3", region="us"),
    cluster("c4", region="us"),
]


@pytest.mark.parametrize(
    ("rule", "kept", "want"),
    [
        pytest.param(spread(), 0, ["c1", "c2", "c3", "c4"], id="no constraint takes all"),
        pytest.param(
            spread(at_most(ClusterField.CLUSTER, 2)), 0, ["c1", "c2"], id="the two best clusters"
        ),
        pytest.param(
            spread(at_most(ClusterField.REGION, 1)), 0, ["c1", "c2"], id="the best region only"
        ),
        pytest.param(
            spread(at_most(ClusterField.REGION, 2, 2), at_most(ClusterField.CLUSTER, 2)),
            0,
            ["c1", "c3"],
            id="two regions with two clusters: the best of each",
        ),
        pytest.param(
            spread(at_most(ClusterField.REGION, 0, 2)),
            0,
            ["c1", "c3", "c2", "c4"],
            id="without a maximum all are taken, new regions first",
        ),
        pytest.param(
            spread(at_most(ClusterField.CLUSTER, 1)),
            2,
            ["c1", "c2"],
            id="clusters in use stay, and use the maximum up",
        ),
        pytest.param(
            spread(at_most(ClusterField.CLUSTER, 0, 5)),
            0,
            "the policy's spreadConstraints want 5 different clusters, and 4 can take it",
            id="fewer clusters than the minimum",
        ),
        pytest.param(
            spread(at_most(ClusterField.REGION, 0, 3)),
            0,
            "the policy's spreadConstraints want 3 different regions, and 2 can take it",
            id="fewer regions than the minimum",
        ),
    ],
)
def test_spread(rule, kept, want):
    """Different values up to the maximum, best first, and at least the minimum."""
    found = choose(rule, [(member, None) for member in MEMBERS], kept=kept)

    if isinstance(found, Verdict):
        assert found.detail == want
    else:
        assert [member.name for member, _ in found] == want


def test_spread_limits():
    """The largest minimum counts, and the smallest maximum of clusters."""
    rule = spread(at_most(ClusterField.REGION, 2, 2), at_most(ClusterField.CLUSTER, 3))

    assert (minimum_clusters(rule), maximum_clusters(rule)) == (2, 3)
    assert (minimum_clusters(PlacementRule()), maximum_clusters(PlacementRule())) == (1, 0)


def test_a_gang_cannot_be_spread():
    """A policy that wants two clusters can never take a gang, which runs whole in one."""
    rule = spread(at_most(ClusterField.CLUSTER, 2, 2))
    world = snapshot(MEMBERS, pending=[workload("a", placement=rule)])

    verdict = run_cycle(world, POLICY, NOW).outcomes[0].verdict

    assert (verdict.code.value, verdict.detail) == (
        "NEVER",
        "the policy's spreadConstraints want at least 2 clusters, and a gang runs whole in one",
    )
