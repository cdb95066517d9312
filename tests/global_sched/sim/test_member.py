"""A member binds as the agents do, and reports what is left with occupants."""

from global_sched.shared.model.ids import MAIN, BindingId, DomainId
from global_sched.shared.model.topology import Domain, Leaf, NodeClass, Topology
from global_sched.sim.gates import nodes
from global_sched.sim.jobs import GPU, Gangs, Job
from global_sched.sim.member import Member

GANGS = Gangs()
ONE, TWO, KEPT = BindingId("one"), BindingId("two"), BindingId("kept")


def gang(pods, gpus, minimum=0):
    """A gang of equal pods."""
    job = Job(number=0, name="j", submit=0, duration=1, pods=pods, gpus=gpus, minimum=minimum)
    return GANGS.of(job)


def leaves(member):
    """(free GPUs, nodes, occupants) of each row of the report."""
    return [
        (leaf.free[0], leaf.count, [(one.binding, one.pods, one.surplus) for one in leaf.occupants])
        for leaf in member.report().leaves
    ]


def test_a_small_gang_goes_to_the_fullest_node_that_holds_it():
    """So that whole nodes stay free."""
    member = Member("east", nodes(3, 8))
    member.bind(ONE, gang(1, 6))

    member.bind(TWO, gang(1, 2))

    assert member.free_of_node == [0, 8, 8]
    assert leaves(member) == [(0, 1, [(ONE, 1, ()), (TWO, 1, ())]), (8, 2, [])]


def test_a_gang_is_bound_whole_or_not_at_all():
    """Two nodes of eight hold no gang of three."""
    member = Member("east", nodes(2, 8))

    assert not member.fits(gang(3, 8))
    assert not member.bind(ONE, gang(3, 8))
    assert member.free == 16


def test_what_did_not_fit_fits_once_something_ended():
    """A refusal is remembered only until then."""
    member = Member("east", nodes(1, 8))
    member.bind(ONE, gang(1, 8))
    assert not member.fits(gang(1, 4))

    member.release(ONE)

    assert member.fits(gang(1, 4))
    assert leaves(member) == [(8, 1, [])]


def test_the_last_pods_of_an_elastic_gang_leave_first():
    """The report says in which turn; shrinking follows it."""
    member = Member("east", nodes(3, 8))
    member.bind(ONE, gang(3, 8, minimum=1))
    assert leaves(member) == [
        (0, 1, [(ONE, 1, ())]),
        (0, 1, [(ONE, 1, (1,))]),
        (0, 1, [(ONE, 1, (2,))]),
    ]

    member.shrink(ONE, 2)

    assert member.pods(ONE) == 2
    assert member.free_of_node == [0, 0, 8]


def test_growth_changes_the_turns_of_pods_that_run():
    """The last bound goes first, wherever it is."""
    member = Member("east", nodes(3, 8))
    member.bind(ONE, gang(3, 8, minimum=1), pods=2)
    assert [turns for _, _, [(_, _, turns)] in leaves(member)[:2]] == [(), (1,)]

    member.bind(ONE, gang(3, 8, minimum=1), pods=1)

    assert [turns for _, _, [(_, _, turns)] in leaves(member)] == [(), (1,), (2,)]


def test_an_elastic_gang_grows_by_more_pods():
    """They go where room is, beside those that run."""
    member = Member("east", nodes(2, 8))
    member.bind(ONE, gang(4, 4, minimum=1), pods=1)

    member.bind(ONE, gang(4, 4, minimum=1), pods=2)

    assert member.pods(ONE) == 3
    assert member.free == 4


def test_what_is_kept_for_a_claim_goes_to_nobody_else():
    """Other gangs are bound beside it, and it is free once it is let go."""
    member = Member("east", nodes(2, 8))
    member.keep(TWO, gang(2, 6), 2, None, drains=False)

    for name in ("a", "b", "c"):
        assert member.bind(BindingId(name), gang(1, 1))
    member.let_go(TWO)

    assert sorted(member.free_of_node) == [6, 7]
    assert member.bind(TWO, gang(2, 6))


def test_what_is_admitted_goes_before_what_is_kept():
    """Where it finds no room beside that."""
    member = Member("east", nodes(2, 8))
    member.keep(TWO, gang(2, 6), 2, None, drains=False)

    assert member.bind(ONE, gang(1, 8))
    member.let_go(TWO)

    assert sorted(member.free_of_node) == [0, 8]


def test_what_is_admitted_takes_no_more_of_that_than_it_needs():
    """What was kept last is lost first."""
    member = Member("east", nodes(3, 8))
    member.keep(TWO, gang(1, 8), 1, None, drains=False)
    member.keep(KEPT, gang(1, 8), 1, None, drains=False)

    assert member.bind(ONE, gang(2, 8))

    assert not member.fits(gang(1, 8))
    member.let_go(TWO)
    assert member.bind(TWO, gang(1, 8))


def test_a_domain_that_drains_takes_nothing():
    """All of its free room is kept, however little the claim needs."""
    leaves = tuple(
        Leaf(domain=rack, node_class=NodeClass(), free=(8, 110), count=1, node=f"n{rack}")
        for rack in ("r0", "r1")
    )
    racks = tuple(Domain(name=DomainId(name), tier=1) for name in ("r0", "r1"))
    member = Member("east", Topology(axis=(GPU, "pods"), domains=racks, leaves=leaves))
    member.keep(TWO, gang(1, 1), 1, DomainId("r0"), drains=True)

    member.bind(ONE, gang(1, 2))

    assert member.free_of_node == [8, 6]


def test_free_gpus_that_no_pod_can_use_are_counted():
    """Of pods of 1 and 8 GPUs, half each, the half cannot use what is left of a node."""
    member = Member("east", nodes(2, 8), ((1, 0.5), (8, 0.5)))
    assert member.useless == 0

    member.bind(ONE, gang(1, 1))

    assert member.useless == 7 * 0.5


def test_the_room_is_the_same_after_its_history_is_dropped():
    """A member that runs for a year does not remember each pod of it."""
    member = Member("east", nodes(2, 8))
    member.bind(TWO, gang(1, 3))
    member.keep(KEPT, gang(1, 8), 1, None, drains=False)
    for _ in range(10_001):
        member.bind(ONE, gang(1, 2))
        member.release(ONE)
    assert member.bind(ONE, gang(1, 2))
    member.release(ONE)
    member.let_go(KEPT)

    assert member.free_of_node == [5, 8]
    assert member.report().leaves[0].occupants[0].pod_set == MAIN
