"""Room that is kept for workloads which are not admitted yet, and whose turn is before whose."""

from global_sched.shared.model.instant import SECOND, Instant
from member_agent.scheduler.plan.outcome import Situation
from tests.builders import gang
from tests.builders import pod_set as model_pod_set
from tests.member_agent.directives import directive, entry, hold
from tests.member_agent.member import gang_objects, member, pod, racks
from tests.member_agent.scheduler.rounds import nodes_of, round_of
from tests.wire import NOW


def workers(pods, gpus=8):
    """The gang of `gang_objects`, as the leader knows it."""
    return gang(model_pod_set("worker", pods=pods, gpus=gpus, cpu=1))


def at(seconds, **fields):
    """The situation so many seconds after NOW."""
    return Situation(now=Instant(NOW + seconds * SECOND), **fields)


def kept(round_):
    """The nodes that are kept, by binding."""
    return {name: [slot.node for slot in one.slots] for name, one in round_.reservations.items()}


def busy(node, gpus=8):
    return pod(f"busy-{node}", gpus=gpus, node=node, scheduler="default-scheduler")


def test_the_narrower_domain_is_held_first():
    """Who may have its places anywhere leaves those in the rack to whom only the rack helps."""
    cache = member(
        racks(2, 1),
        pod("small", gpus=1),
        directive(
            hold("anywhere", {"worker": 1}, gang=workers(1), leaving=["gone"], at=-2),
            hold("in-r0", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-1),
        ),
    )

    round_ = round_of(cache, at(0))

    assert kept(round_) == {"anywhere": ["r1-0"], "in-r0": ["r0-0"]}
    assert nodes_of(round_) == {}


def test_larger_pods_are_held_first():
    """The node that one of them needs whole is not for two small ones."""
    cache = member(
        racks(1, 2),
        busy("r0-1", gpus=4),
        directive(
            hold("small", {"worker": 2}, gang=workers(2, 4), domain="r0", leaving=["gone"], at=-2),
            hold("large", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-1),
        ),
    )

    assert kept(round_of(cache, at(0))) == {"large": ["r0-0"], "small": ["r0-1"]}


def test_a_domain_that_drains_has_what_is_left_by_an_earlier_claim():
    """No victim left for it, however few places it may have its room in."""
    claim = hold("claim", {"worker": 2}, gang=workers(2), leaving=["gone"], at=-2)
    drains = hold("drains", {"worker": 1}, gang=workers(1), domain="r0", at=-1)
    world = racks(2, 1)

    first = round_of(member(world, directive(claim, drains)), at(0))

    assert kept(first) == {"claim": ["r0-0", "r1-0"]}
    admitted = entry("claim", {"worker": 2}, gang=workers(2), at=1)
    runs = gang_objects("g", pods=2, binding="claim")
    second = round_of(
        member(world, runs, directive(admitted, drains)), at(1, reservations=first.reservations)
    )
    assert nodes_of(second) == {"g-worker-0": "r0-0", "g-worker-1": "r1-0"}


def test_what_others_leave_is_not_for_an_earlier_reservation():
    """One without a domain has whatever else comes free."""
    holds = [
        hold("any", {"worker": 1}, gang=workers(1), at=-2),
        hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-1),
    ]

    assert kept(round_of(member(racks(1, 1), directive(*holds)), at(0))) == {"claim": ["r0-0"]}


def test_a_reservation_that_is_admitted_comes_before_all_of_its_cycle():
    """It has what was kept for it when the cycle began; the claim is made behind it."""
    first = round_of(
        member(racks(1, 2), directive(hold("any", {"worker": 2}, gang=workers(2), at=-2))), at(0)
    )
    assert kept(first) == {"any": ["r0-0", "r0-1"]}
    cache = member(
        *racks(1, 2),
        *[one for one in racks(2, 3) if "r1" in one["metadata"]["name"]],
        gang_objects("early", pods=1, binding="early"),
        gang_objects("g", pods=2, tier=1, binding="any"),
        directive(
            entry("early", {"worker": 1}, gang=workers(1), at=1),
            entry("any", {"worker": 2}, gang=workers(2), domain="r0", at=1, order=1),
            hold("claim", {"worker": 3}, gang=workers(3), leaving=["gone"], at=1, order=2),
        ),
    )

    round_ = round_of(cache, at(1, reservations=first.reservations))

    assert nodes_of(round_) == {
        "early-worker-0": "r1-0",
        "g-worker-0": "r0-0",
        "g-worker-1": "r0-1",
    }
    assert kept(round_)["claim"] == ["r1-1", "r1-2"]


def test_what_runs_waits_for_the_room_of_who_was_admitted_since():
    """Its new pod goes where no victim left."""
    claims = [
        hold(f"c{n}", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=n - 3)
        for n in range(2)
    ]
    first = round_of(member(racks(1, 2), directive(*claims)), at(0))
    assert kept(first) == {"c0": ["r0-0"], "c1": ["r0-1"]}
    cache = member(
        racks(1, 2),
        gang_objects("old", pods=1, binding="old"),
        gang_objects("g", pods=1, binding="c1"),
        directive(
            entry("old", {"worker": 1}, gang=workers(1), domain="r0", at=-9),
            claims[0],
            entry("c1", {"worker": 1}, gang=workers(1), domain="r0", at=1),
        ),
    )
    then = at(1, reservations=first.reservations, reached={"old": "decision-old"})

    assert nodes_of(round_of(cache, then)) == {"g-worker-0": "r0-1"}


def test_what_others_take_of_a_victims_node_is_kept_elsewhere():
    """Half of the node goes to who was admitted before: with the other half the claim has none."""
    claim = hold("claim", {"worker": 1}, gang=workers(1), domain="r0", leaving=["victim"])
    cache = member(
        racks(1, 2, gpus=8),
        gang_objects("v", pods=1, gpus=4, binding="victim", nodes=["r0-0"]),
        gang_objects("g", pods=1, gpus=4, binding="g"),
        pod("large", gpus=8),
        directive(entry("g", {"worker": 1}, gang=workers(1, 4), domain="r0", at=-1), claim),
    )

    round_ = round_of(cache, at(0))

    assert nodes_of(round_) == {"g-worker-0": "r0-0"}
    assert [slot.node for slot in round_.reservations["claim"].slots] == ["r0-1"]


def test_all_that_was_held_is_kept_until_the_admitted_gangs_turn():
    """Also what was to come where a victim was, from one that was admitted in between."""
    claim = hold("g", {"worker": 2}, gang=workers(2), domain="r0", leaving=["v"])
    victim = gang_objects("v", pods=1, binding="v", nodes=["r0-0"])
    tree = [*racks(1, 2), *[one for one in racks(2, 1) if "r1" in one["metadata"]["name"]]]
    first = round_of(member(tree, victim, directive(claim)), at(0))
    assert [slot.node for slot in first.reservations["g"].slots] == ["r0-1"]
    cache = member(
        tree,
        gang_objects("late", pods=1, binding="late"),
        gang_objects("g", pods=2, tier=1, binding="g"),
        directive(
            entry("late", {"worker": 1}, gang=workers(1), at=1),
            entry("g", {"worker": 2}, gang=workers(2), domain="r0", at=2),
        ),
    )

    assert nodes_of(round_of(cache, at(2, reservations=first.reservations))) == {
        "late-worker-0": "r1-0",
        "g-worker-0": "r0-0",
        "g-worker-1": "r0-1",
    }


def test_room_is_kept_in_the_order_in_which_it_was_held():
    """Not in that of the admissions, nor after claims that came later and still wait."""
    waits = hold("waits", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-1)
    first = round_of(
        member(
            racks(2, 2),
            directive(
                hold("in-r0", {"worker": 2}, gang=workers(2), domain="r0", at=-3),
                hold("in-r1", {"worker": 1}, gang=workers(1), domain="r1", leaving=["gone"], at=-2),
                waits,
            ),
        ),
        at(0),
    )
    assert kept(first) == {"in-r0": ["r0-0", "r0-1"], "in-r1": ["r1-0"]}
    cache = member(
        racks(2, 2),
        gang_objects("a", pods=2, binding="in-r0"),
        gang_objects("b", pods=2, tier=1, binding="in-r1"),
        directive(
            entry("in-r1", {"worker": 2}, gang=workers(2), domain="r1", at=1),
            entry("in-r0", {"worker": 2}, gang=workers(2), domain="r0", at=1, order=1),
            waits,
        ),
    )

    assert nodes_of(round_of(cache, at(1, reservations=first.reservations))) == {
        "a-worker-0": "r0-0",
        "a-worker-1": "r0-1",
        "b-worker-0": "r1-0",
        "b-worker-1": "r1-1",
    }


def test_admitted_together_the_narrower_domain_is_kept_first():
    """As the leader held both when it admitted them; then each is placed in its turn."""
    holds = [
        hold("anywhere", {"worker": 1}, gang=workers(1), leaving=["gone"], at=-2),
        hold("in-r0", {"worker": 1}, gang=workers(1), domain="r0", leaving=["gone"], at=-1),
    ]
    first = round_of(member(racks(2, 1), directive(*holds)), at(0))
    cache = member(
        racks(2, 1),
        gang_objects("a", pods=1, binding="anywhere"),
        gang_objects("b", pods=1, binding="in-r0"),
        directive(
            entry("anywhere", {"worker": 1}, gang=workers(1), at=1),
            entry("in-r0", {"worker": 1}, gang=workers(1), domain="r0", at=1, order=1),
        ),
    )

    assert nodes_of(round_of(cache, at(1, reservations=first.reservations))) == {
        "a-worker-0": "r1-0",
        "b-worker-0": "r0-0",
    }


def test_a_victim_that_leaves_for_the_next_claim_frees_nothing_for_the_last_one():
    """Its surplus left for a gang that is admitted now; the rest of it leaves for another."""
    small = workers(1, 4)
    rest = gang_objects("v", pods=1, gpus=4, binding="v", nodes=["r0-0"])
    held = hold("g", {"worker": 1}, gang=small, domain="r0", leaving=["v"])
    first = round_of(member(racks(1, 1), rest, directive(entry("v", {"worker": 1}), held)), at(0))
    cache = member(
        racks(1, 1),
        rest,
        gang_objects("g", pods=1, gpus=4, binding="g"),
        directive(
            hold("next", {"worker": 1}, gang=small, domain="r0", leaving=["v"], at=1),
            entry("g", {"worker": 1}, gang=small, domain="r0", at=2),
        ),
    )

    assert nodes_of(round_of(cache, at(2, reservations=first.reservations))) == {
        "g-worker-0": "r0-0"
    }
