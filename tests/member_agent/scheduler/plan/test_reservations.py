"""Room that is kept for workloads which are not admitted yet."""

import pytest

from global_sched.shared.api import names
from global_sched.shared.model.ids import BindingId, DecisionId
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.cache import PodUid
from member_agent.scheduler.gang.bind_plan import BindPlan, render_plan
from member_agent.scheduler.plan.outcome import Situation
from tests.builders import gang, hard
from tests.builders import pod_set as model_pod_set
from tests.member_agent.directives import directive, entry, hold
from tests.member_agent.member import gang_objects, member, pod, racks
from tests.member_agent.scheduler.rounds import nodes_of, round_of
from tests.wire import NOW


def workers(pods, *, tier=None):
    """The gang of `gang_objects`, as the leader knows it."""
    constraint = hard(tier) if tier is not None else None
    return gang(model_pod_set("worker", pods=pods, gpus=8, cpu=1), constraint=constraint)


def at(seconds, **fields):
    """The situation so many seconds after NOW."""
    return Situation(now=Instant(NOW + seconds * SECOND), **fields)


def test_free_places_are_kept_for_a_claim():
    """Nothing starts on the places of a claim; what is beside them is free for all."""
    cache = member(
        racks(2, 2),
        pod("a", gpus=8),
        pod("b", gpus=8),
        pod("c", gpus=8),
        directive(hold("claim", {"worker": 2}, gang=workers(2), domain="r0", leaving=["victim"])),
    )

    assert nodes_of(round_of(cache, at(0))) == {"a": "r1-0", "b": "r1-1"}


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        pytest.param(599, {"a": "r1-0", "b": "r1-1"}, id="before it ends"),
        pytest.param(600, {"a": "r0-0", "b": "r0-1"}, id="from its end on the places are free"),
    ],
)
def test_a_hold_ends_by_the_agents_own_clock(seconds, want):
    """`heldUntil` ends it even when no Directive can say so."""
    cache = member(
        racks(2, 2),
        pod("a", gpus=8),
        pod("b", gpus=8),
        directive(hold("claim", {"worker": 2}, gang=workers(2), domain="r0", leaving=["victim"])),
    )

    assert nodes_of(round_of(cache, at(seconds))) == want


def test_a_node_with_a_leaving_pod_takes_nobody():
    """Room that a victim leaves piece by piece goes to no other job before the claim has it."""
    cache = member(
        racks(1, 2, gpus=8),
        gang_objects("v", pods=1, gpus=4, binding="victim", nodes=["r0-0"]),
        pod("small", gpus=1),
        pod("large", gpus=8),
        directive(hold("claim", {"worker": 2}, gang=workers(2), domain="r0", leaving=["victim"])),
    )

    assert nodes_of(round_of(cache, at(0))) == {}


def test_what_the_nodes_of_victims_will_hold_is_kept_nowhere_else():
    """The leader gives the room beside them to others at once, and so does the agent."""
    cache = member(
        racks(1, 2, gpus=8),
        gang_objects("v", pods=1, gpus=4, binding="victim", nodes=["r0-0"]),
        pod("small", gpus=1),
        pod("large", gpus=8),
        directive(hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"])),
    )

    assert nodes_of(round_of(cache, at(0))) == {"large": "r0-1"}


def test_what_victims_leave_outside_of_the_claims_domain_is_for_all():
    """Only nodes of the domain that the claimant gets are closed."""
    cache = member(
        racks(2, 1, gpus=8),
        gang_objects("v", pods=2, gpus=4, binding="victim", nodes=["r0-0", "r1-0"]),
        pod("small", gpus=1),
        directive(hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"])),
    )

    assert nodes_of(round_of(cache, at(0))) == {"small": "r1-0"}


@pytest.mark.parametrize(
    ("seconds", "reached", "want"),
    [
        pytest.param(-1, {}, {"g-worker-0": "r0-0"}, id="admitted before, it was counted there"),
        pytest.param(1, {}, {}, id="admitted after, it was counted elsewhere"),
        pytest.param(
            -1, {"g": "decision-g"}, {}, id="a pod that starts again takes no room of a claim"
        ),
    ],
)
def test_who_may_go_where_a_victim_leaves(seconds, reached, want):
    """What is free beside a leaving pod belongs to those that the leader counted there."""
    cache = member(
        racks(1, 1, gpus=8),
        gang_objects("v", pods=1, gpus=4, binding="victim", nodes=["r0-0"]),
        gang_objects("g", pods=1, gpus=4, binding="g"),
        directive(
            entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=seconds),
            hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"]),
        ),
    )

    assert nodes_of(round_of(cache, at(2, reached=reached))) == want


@pytest.mark.parametrize(
    ("pods", "want"),
    [
        pytest.param(2, {"r0-0"}, id="a pod that its controller makes anew after a crash"),
        pytest.param(3, {"r0-0", "r0-1"}, id="surplus that was admitted"),
    ],
)
def test_pods_of_a_gang_that_runs_do_not_start_on_kept_places(pods, want):
    """Its minimum runs beside the kept rack; what it lacks waits for the claim to end."""
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=pods, minimum=1, binding="g", nodes=["r1-0"]),
        pod("busy", gpus=8, node="r1-1", scheduler="default-scheduler"),
        directive(
            entry("g", {"worker": pods}, gang=workers(pods), at=-9),
            hold("claim", {"worker": 2}, gang=workers(2), domain="r0", leaving=["victim"]),
        ),
    )

    ran = {"g": "decision-g"}
    assert nodes_of(round_of(cache, at(599, reached=ran))) == {}
    assert set(nodes_of(round_of(cache, at(600, reached=ran))).values()) == want


@pytest.mark.parametrize(
    ("old", "want"),
    [
        pytest.param("r0-1", {"g-worker-1": "r0-1"}, id="the node that its own pod had is its own"),
        pytest.param("r1-0", {}, id="any other one is kept for the claim"),
    ],
)
def test_a_pod_that_is_made_anew_has_the_place_of_the_old_one(old, want):
    """While victims leave its rack for a claim, a gang that lost a pod there goes on."""
    gang_of_g = gang_objects("g", pods=2, minimum=1, binding="g", nodes=["r0-0"])
    plan = BindPlan(decision=DecisionId("decision-g"), nodes={PodUid("uid-old"): old})
    gang_of_g[1]["metadata"].setdefault("annotations", {})[names.PLAN] = render_plan(plan)
    cache = member(
        racks(2, 4),
        gang_of_g,
        gang_objects("v", pods=2, binding="victim", nodes=["r0-2", "r0-3"]),
        [pod(f"busy-{n}", gpus=8, node=f"r1-{n}", scheduler="default-scheduler") for n in range(4)],
        directive(
            entry("g", {"worker": 2}, gang=workers(2), at=-9),
            hold("claim", {"worker": 3}, gang=workers(3), domain="r0", leaving=["victim"]),
        ),
    )

    assert nodes_of(round_of(cache, at(0, reached={"g": "decision-g"}))) == want


def test_a_gang_that_is_made_anew_and_lost_a_node_is_placed_anew():
    """Its old nodes are kept while a claim waits only where they make up its minimum."""
    gang_of_g = gang_objects("g", pods=2, tier=1, binding="g")
    old = {PodUid("uid-old-0"): "r0-0", PodUid("uid-old-1"): "r0-1"}
    plan = BindPlan(decision=DecisionId("decision-g"), nodes=old)
    gang_of_g[1]["metadata"].setdefault("annotations", {})[names.PLAN] = render_plan(plan)
    cache = member(
        racks(3, 2),
        gang_of_g,
        pod("busy", gpus=8, node="r0-1", scheduler="default-scheduler"),
        directive(
            entry("g", {"worker": 2}, gang=workers(2, tier=1), domain="r0", at=-9),
            hold("claim", {"worker": 2}, gang=workers(2), domain="r1", leaving=["victim"]),
        ),
    )

    round_ = round_of(cache, at(0, reached={BindingId("g"): DecisionId("decision-g")}))

    assert set(nodes_of(round_).values()) == {"r2-0", "r2-1"}


def test_only_the_leaving_pods_of_an_elastic_gang_close_their_nodes():
    """A gang that gives up surplus keeps the nodes of its other pods open."""
    cache = member(
        racks(1, 3),
        gang_objects(
            "v", pods=3, gpus=4, minimum=1, binding="victim", nodes=["r0-0", "r0-1", "r0-2"]
        ),
        [pod(f"small-{n}", gpus=4) for n in range(3)],
        directive(
            entry("victim", {"worker": 2}, giveUp={"worker": 1}),
            hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"]),
        ),
    )

    assert nodes_of(round_of(cache, at(0))) == {"small-0": "r0-0", "small-1": "r0-1"}


def test_kept_places_become_those_of_the_admitted_gang():
    """With the admission the claim's places are its own, whatever was admitted in between."""
    claim = hold("claim", {"worker": 2}, gang=workers(2, tier=1), domain="r0", leaving=["victim"])
    cache = member(racks(2, 2), directive(claim))
    first = round_of(cache, at(0))
    cache = member(
        racks(2, 2),
        gang_objects("late", pods=2, tier=1, binding="late"),
        gang_objects("g", pods=2, tier=1, binding="claim"),
        directive(
            entry("late", {"worker": 2}, gang=workers(2, tier=1), at=1),
            entry("claim", {"worker": 2}, gang=workers(2, tier=1), domain="r0", at=2),
        ),
    )

    assert nodes_of(round_of(cache, at(2, reservations=first.reservations))) == {
        "g-worker-0": "r0-0",
        "g-worker-1": "r0-1",
        "late-worker-0": "r1-0",
        "late-worker-1": "r1-1",
    }


@pytest.mark.parametrize(
    ("entries", "want"),
    [
        pytest.param([], {}, id="nothing that came from elsewhere starts in a draining domain"),
        pytest.param(
            [entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-1)],
            {"g-worker-0": "r0-0"},
            id="what was admitted before it began to drain may start there",
        ),
        pytest.param(
            [entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=1)],
            {"g-worker-0": "r0-0"},
            id="what the leader sends into it is meant",
        ),
        pytest.param(
            [entry("g", {"worker": 1}, gang=workers(1), domain="r1", at=1)],
            {},
            id="what was sent elsewhere does not move into it",
        ),
    ],
)
def test_a_draining_domain(entries, want):
    """A hold without victims reserves its whole domain: it fills with what is meant for it only."""
    objects = gang_objects("g", pods=1, gpus=4, binding="g") if entries else []
    cache = member(
        racks(2, 1, gpus=8),
        pod("busy", gpus=8, node="r1-0", scheduler="default-scheduler"),
        pod("held", gpus=4, node="r0-0", scheduler="default-scheduler"),
        objects,
        [] if entries else pod("free", gpus=1),
        directive(hold("large", {"worker": 1}, gang=workers(1), domain="r0"), *entries),
    )

    assert nodes_of(round_of(cache, at(0))) == want


@pytest.mark.parametrize("restarted", [False, True])
def test_a_claim_for_growth_is_followed_by_what_it_says(restarted):
    """Its decision's id is that of the gang and stays: places move with the entry's content.

    An agent that was restarted in between keeps the same places, from the entry alone.
    """
    runs = gang_objects("g", pods=2, gpus=8, minimum=1, binding="g", nodes=["r0-0"])
    admitted = entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-9)
    others = [pod("a", gpus=8), pod("b", gpus=8)]

    def keeps(domain):
        claim = hold("g/growth", {"worker": 1}, gang=workers(1), domain=domain, leaving=["victim"])
        world = racks(2, 2)
        return member(world, runs, *others, directive(admitted, claim | {"decision": "decision-g"}))

    first = round_of(keeps("r0"), at(0))
    before = at(1) if restarted else at(1, reservations=first.reservations)

    assert nodes_of(first) == {"a": "r1-0", "b": "r1-1"}
    assert nodes_of(round_of(keeps("r0"), before)) == nodes_of(first)
    assert nodes_of(round_of(keeps("r1"), before)) == {"a": "r0-1", "b": "r1-1"}


def test_room_for_growth():
    """Places that are kept for more of a gang that runs are its own with the admission."""
    runs = gang_objects("g", pods=2, gpus=8, minimum=1, binding="g", nodes=["r0-0"])
    admitted = entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-9)
    keeps = hold("g/growth", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"])
    rival = pod("rival", gpus=8)
    before = member(racks(1, 2), runs, rival, directive(admitted, keeps))

    first = round_of(before, at(0))

    assert nodes_of(first) == {}, "neither the rival nor the pod that is not admitted yet"
    grown = entry("g", {"worker": 2}, gang=workers(2), domain="r0", at=5)
    late = gang_objects("late", pods=1, binding="late")
    sooner = entry("late", {"worker": 1}, gang=workers(1), at=1)
    after = member(racks(1, 2), runs, rival, late, directive(grown, sooner))
    second = round_of(after, at(6, reservations=first.reservations))
    assert nodes_of(second) == {"g-worker-1": "r0-1"}


def test_places_for_growth_that_is_withdrawn_are_no_places_of_the_gang():
    """Its pod that starts again stays in the gang's domain."""
    admitted = entry("g", {"worker": 1}, gang=workers(1), domain="r0", at=-9)
    claim = hold("g/growth", {"worker": 1}, gang=workers(1), domain="r1", leaving=["victim"])
    runs = gang_objects("g", pods=2, gpus=8, minimum=1, binding="g", nodes=["r0-0"])
    claimed = directive(admitted, claim | {"decision": "decision-g"})
    first = round_of(member(racks(2, 1), runs, claimed), at(0))
    assert [slot.node for slot in first.reservations["g/growth"].slots] == ["r1-0"]

    waits = gang_objects("g", pods=1, gpus=8, binding="g")
    cache = member(racks(2, 1), waits, directive(admitted))

    assert nodes_of(round_of(cache, at(1, reservations=first.reservations))) == {
        "g-worker-0": "r0-0"
    }
