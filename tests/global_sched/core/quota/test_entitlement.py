"""Entitlement: what every queue deserves, and who gives to whom."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from global_sched.core.quota.reclaim import Reclaim
from global_sched.core.quota.tree import QueueTree
from global_sched.shared.model.queue import Queue, Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from tests.deep import examples

CPU, MEMORY = "cpu", "memory"


def q(name, parent="root", *, weight=1, **amounts):
    """A queue; an amount is of cpu, a pair of cpu and memory."""
    named = {}
    for field, value in amounts.items():
        pair = value if isinstance(value, tuple) else (value,)
        named[field] = tuple(zip((CPU, MEMORY), pair, strict=False))
    return Queue(name=name, parent=parent, weight=weight, **named)


def amount(*values):
    """So much cpu and memory."""
    return Resources.of(dict(zip((CPU, MEMORY), values, strict=False)))


class World:
    """Queues with what they run, in a federation with so much."""

    def __init__(self, queues, running, total=(9,)):
        self.tree = QueueTree(queues)
        usage = tuple(
            Usage(queue=name, tenant="t", cluster="m", amount=one)
            for name, sizes in running.items()
            for one in sizes
        )
        self.view = Reclaim(Snapshot(usage=usage), self.tree, amount(*total))
        for one in usage:
            self.charge(one.queue, one.amount)

    def charge(self, name, size, times=1):
        """The queue holds that much more."""
        self.tree.charge(self.tree.node(name), "m", size, times)

    def free(self):
        """What is not held."""
        return self.view.totals[CPU] - self.tree.root.held.get(CPU, 0)


def takes(world, claimant, asked, victims):
    """Who has to go, tried in this order until it fits; None when it does not."""
    if not world.view.may_reclaim(claimant, asked):
        return None
    gone, left = [], list(victims)
    for rule in (world.view.keeps_more, world.view.gives):
        for name, size in tuple(left):
            if world.free() >= asked.get(CPU):
                break
            mine = (name, size, claimant, asked)
            if world.view.gives(*mine) and rule(*mine):
                world.charge(name, size, -1)
                gone.append((name, size))
                left.remove((name, size))
    if world.free() < asked.get(CPU) or not world.view.stands(gone, claimant, asked):
        return None
    return [(name, size.get(CPU)) for name, size in gone]


ABC = [q("a", deserved=30), q("b", deserved=30), q("c", deserved=30)]


@pytest.mark.parametrize(
    ("queues", "running", "claimant", "asked", "want"),
    [
        pytest.param(ABC, {"a": [30], "b": [10] * 5, "c": [10]}, "c", 10, [("b", 10)], id="S14"),
        pytest.param(ABC, {"a": [30], "b": [10] * 5, "c": [10]}, "a", 10, [("b", 10)], id="S15"),
        pytest.param(ABC, {"a": [30], "b": [30], "c": [30]}, "c", 10, None, id="S16 all nominal"),
        pytest.param(ABC, {"a": [30], "b": [10] * 5}, "a", 20, None, id="S17 it would only switch"),
        pytest.param(ABC, {"b": [90]}, "a", 20, [("b", 90)], id="S22 huge, and no other option"),
        pytest.param(
            ABC, {"b": [20, 10, 20], "c": [10]}, "a", 35, [("b", 10)], id="S24 the small one first"
        ),
        pytest.param(ABC, {"b": [30, 30], "c": [30]}, "a", 40, None, id="S26 b stays at nominal"),
        pytest.param(
            [q("a", deserved=30, weight=2), *ABC[1:]],
            {"a": [30], "b": [10] * 6},
            "a",
            20,
            [("b", 10), ("b", 10)],
            id="S28 a weight of 2 halves the excess",
        ),
        pytest.param(
            [*ABC[:2], q("z", deserved=0)],
            {"a": [30], "b": [30], "z": [10] * 3},
            "a",
            20,
            None,
            id="S30 without a deserved it gives one, which is not enough",
        ),
    ],
)
def test_kueue_tables(queues, running, claimant, asked, want):
    """Kueue's fair preemption with its nominal quota as deserved, in tenths of its CPUs."""
    sized = {name: [amount(one) for one in sizes] for name, sizes in running.items()}
    world = World(queues, sized, total=(90,))
    victims = [(name, one) for name, sizes in sized.items() for one in sizes if name != claimant]

    assert takes(world, claimant, amount(asked), victims) == want


@pytest.mark.parametrize(
    ("queues", "running", "want"),
    [
        pytest.param(
            [q("a"), q("b", weight=2)], {"a": [90], "b": [90]}, {"a": 30, "b": 60}, id="weights"
        ),
        pytest.param(
            [q("a"), q("b")], {"a": [5], "b": [90]}, {"a": 5, "b": 85}, id="asks for less"
        ),
        pytest.param(
            [q("a", deserved=50), q("b"), q("c")],
            {"a": [5], "b": [90], "c": [90]},
            {"a": 50, "b": 20, "c": 20},
            id="what is said, and the rest by weight",
        ),
        pytest.param(
            [q("a", guarantee=40), q("b")], {"b": [90]}, {"a": 40, "b": 50}, id="a guarantee"
        ),
        pytest.param(
            [q("o"), q("a", "o", deserved=70), q("p"), q("b", "p")],
            {"a": [5], "b": [90]},
            {"o": 70, "a": 70, "p": 20, "b": 20},
            id="what children say, their parent has at least",
        ),
        pytest.param(
            [q("o", capability=30), q("a", "o"), q("b", "o"), q("c")],
            {"a": [90], "b": [5], "c": [10]},
            {"o": 30, "a": 25, "b": 5, "c": 10},
            id="a capability above is divided",
        ),
        pytest.param(
            [q("a", deserved=50, capability=20)], {}, {"a": 20}, id="never over its limit"
        ),
        pytest.param(
            [q("a", deserved=10, guarantee=30), q("b")],
            {"b": [90]},
            {"a": 30, "b": 60},
            id="at least its guarantee",
        ),
        pytest.param(
            [q("a", "gone"), q("b")], {"a": [20], "b": [90]}, {"a": 20, "b": 70}, id="frozen"
        ),
    ],
)
def test_deserved(queues, running, want):
    """Level by level: what is said, else by weight, from the guarantee to what is asked."""
    sized = {name: [amount(one) for one in sizes] for name, sizes in running.items()}
    world = World(queues, sized, total=(90,))

    assert {name: world.view.deserved(name).get(CPU, 0) for name in want} == want


@pytest.mark.parametrize(
    ("queues", "running", "claim", "victim", "want"),
    [
        pytest.param(
            [q("a", deserved=(5, 9)), q("b", deserved=(9, 5))],
            {"a": [(4, 0)], "b": [(0, 9)]},
            ("a", (1, 1)),
            ("b", (0, 9)),
            True,
            id="over in memory, of which the claimant asks some",
        ),
        pytest.param(
            [q("a", deserved=(5, 9)), q("b", deserved=(9, 5))],
            {"a": [(4, 0)], "b": [(0, 9)]},
            ("a", (1, 0)),
            ("b", (0, 9)),
            False,
            id="over in memory, of which the claimant asks none",
        ),
        pytest.param(
            [q("a", deserved=5), q("b", deserved=5)],
            {"b": [(0, 9)]},
            ("a", (1, 9)),
            ("b", (0, 9)),
            True,
            id="nothing in common with its queue's deserved: it goes at once",
        ),
        pytest.param(
            [q("a", deserved=9), q("b", deserved=1, guarantee=4)],
            {"b": [(5, 0)]},
            ("a", (1, 0)),
            ("b", (2, 0)),
            False,
            id="never below its guarantee",
        ),
        pytest.param(
            [q("o", deserved=9), q("a", "o"), q("p"), q("b", "p"), q("c", "p", deserved=3)],
            {"b": [(3, 0)], "c": [(3, 0)]},
            ("a", (1, 0)),
            ("c", (1, 0)),
            False,
            id="above it all are over, it is not",
        ),
    ],
)
def test_gives(queues, running, claim, victim, want):
    """Over its deserved in something that both have, up to where the two part."""
    sized = {name: [amount(*one) for one in sizes] for name, sizes in running.items()}
    world = World(queues, sized, total=(9, 9))

    found = world.view.gives(victim[0], amount(*victim[1]), claim[0], amount(*claim[1]))

    assert found is want


def test_who_gives_nothing():
    """A queue that is not reclaimable, one that is frozen, and the claimant's own."""
    shut = Queue(name="shut", reclaimable=False)
    world = World(
        [q("a", deserved=9), shut, q("b", "gone")], {"shut": [amount(9)], "b": [amount(9)]}
    )

    assert [world.view.gives(name, amount(1), "a", amount(1)) for name in ("shut", "b", "a")] == [
        False
    ] * 3


def test_what_a_queue_above_does_not_give_back():
    """Nothing below it leaves for those outside; brothers inside take what is their own."""
    org = Queue(name="org", reclaimable=False)
    world = World([org, q("x", "org"), q("y", "org"), q("a", deserved=9)], {"x": [amount(9)]})

    gives = [world.view.gives("x", amount(1), name, amount(1)) for name in ("a", "y")]
    could = [list(world.view.could_give("x", name, amount(1))) for name in ("a", "y")]

    assert gives == [False, True]
    assert could == [[], ["x"]]


def test_distance_and_path():
    """Nearest relatives part lowest."""
    world = World([q("o"), q("a", "o"), q("b", "o"), q("p"), q("c", "p")], {})

    assert world.view.path("a") == ("a", "o", "root")
    assert [world.view.distance(name, "a") for name in "abc"] == [0, 1, 2]


names = st.sampled_from(["a", "b", "c", "d", "e", "f"])
sizes = st.tuples(st.integers(0, 4), st.integers(0, 4)).map(lambda one: amount(*one))


@st.composite
def worlds(draw):
    """Six leaves under three queues, some with a deserved, and what they run."""
    queues = []
    for name, parent in zip(
        ("x", "y", "z", "a", "b", "c", "d", "e", "f"),
        ("root", "root", "x", "x", "z", "z", "y", "y", "root"),
        strict=True,
    ):
        said = draw(st.sampled_from(["none", "cpu", "both"]))
        fields = {}
        if said == "cpu":
            fields["deserved"] = draw(st.integers(0, 8))
        elif said == "both":
            fields["deserved"] = (draw(st.integers(0, 8)), draw(st.integers(0, 8)))
        queues.append(q(name, parent, weight=draw(st.integers(1, 3)), **fields))
    running = draw(st.lists(st.tuples(names, sizes), max_size=9))
    held = {}
    for name, one in running:
        held.setdefault(name, []).append(one)
    return queues, held, running


@settings(max_examples=examples(100), deadline=None)
@given(worlds(), names, sizes, st.randoms(use_true_random=False))
def test_no_flap_and_a_potential_that_falls(made, claimant, asked, order):
    """On trees: a victim takes nothing back at once, and the potential falls."""
    queues, held, running = made
    world = World(queues, held, total=(12, 12))
    before = {name: world.view.potential(claimant, name) for name, _ in running}
    gone, order = [], [*running] if order.shuffle(running) is None else []
    for name, one in order:
        if name != claimant and one and world.view.gives(name, one, claimant, asked):
            world.charge(name, one, -1)
            gone.append((name, one))
    if not gone or not world.view.stands(gone, claimant, asked):
        return
    world.charge(claimant, asked)
    for name, one in gone:
        above = world.view.path(claimant)
        brother = [one for one in world.view.path(name) if one not in above][-1]
        if any(world.view.counts(world.tree.node(brother), resource) for resource, _ in one):
            assert world.view.potential(claimant, name) < before[name]
        assert not world.view.gives(claimant, asked, name, one)


@settings(max_examples=examples(60), deadline=None)
@given(worlds(), names, names, sizes, sizes)
def test_a_queue_that_deserves_all_of_it_gives_none(made, name, claimant, held, asked):
    """On trees, whatever is asked for."""
    queues, running, _ = made
    world = World(queues, running, total=(12, 12))
    deserves = world.view.deserves_all(name, held)

    world.charge(name, held)

    assert not (deserves and world.view.gives(name, held, claimant, asked))


@pytest.mark.parametrize(
    ("held", "more", "want"),
    [
        pytest.param([(2, 0)], (3, 0), True, id="up to its deserved"),
        pytest.param([(2, 0)], (4, 0), False, id="beyond it"),
        pytest.param([(6, 0)], (0, 1), False, id="its deserved does not speak of it"),
        pytest.param([], (5, 9), True, id="in what its deserved speaks of"),
    ],
)
def test_what_a_queue_deserves_all_of(held, more, want):
    """Counted with what it holds."""
    world = World([q("a", deserved=5), q("b")], {"a": [amount(*one) for one in held]}, (9, 9))

    assert world.view.deserves_all("a", amount(*more)) is want
