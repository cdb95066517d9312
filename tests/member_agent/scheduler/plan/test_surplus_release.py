"""Surplus pods that leave because the Directive says so."""

import pytest

from member_agent.scheduler.plan.outcome import Situation
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, member, racks
from tests.member_agent.scheduler.rounds import nodes_of, reasons_of, round_of

ON_FOUR = ("r0-0", "r0-1", "r1-0", "r1-1")


def given_of(round_):
    """The names of the pods that leave, in the order in which they are deleted."""
    return [pod.name for giving in round_.given for pod in giving.pods]


@pytest.mark.parametrize(
    ("bound", "admitted", "give_up", "want"),
    [
        pytest.param(4, 2, 2, ["g-worker-2", "g-worker-3"], id="the highest indices leave"),
        pytest.param(3, 2, 2, ["g-worker-2"], id="one that has left already is not asked again"),
        pytest.param(2, 2, 2, [], id="what is admitted stays, however often it is said"),
        pytest.param(4, 2, 1, ["g-worker-3"], id="never more than were asked for"),
        pytest.param(4, 4, 0, [], id="without a word about it nothing leaves"),
    ],
)
def test_surplus_leaves(bound, admitted, give_up, want):
    """While more than admitted are bound, as many as said leave; it may be said again."""
    fields = {"giveUp": {"worker": give_up}} if give_up else {}
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=4, minimum=1, binding="b", nodes=ON_FOUR[:bound]),
        directive(entry("b", {"worker": admitted}, **fields)),
    )

    assert sorted(given_of(round_of(cache))) == want


def test_what_its_controller_makes_anew_stays_unbound():
    """Pods above the admitted amount wait: growth not admitted."""
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=4, minimum=1, binding="b", nodes=ON_FOUR[:2]),
        directive(entry("b", {"worker": 2}, giveUp={"worker": 2})),
    )

    round_ = round_of(cache)

    assert nodes_of(round_) == {}
    assert set(reasons_of(round_).values()) == {
        "growth not admitted: the Directive admits 2 pods of worker, which are placed already"
    }


def test_a_unit_that_backs_off_gives_up_later():
    """After a failed delete the unit is left alone for a while."""
    cache = member(
        racks(2, 2),
        gang_objects("g", pods=4, minimum=1, binding="b", nodes=ON_FOUR),
        directive(entry("b", {"worker": 2}, giveUp={"worker": 2})),
    )

    assert given_of(round_of(cache, Situation(paused=frozenset({"PodGroup/team/g-pg"})))) == []
