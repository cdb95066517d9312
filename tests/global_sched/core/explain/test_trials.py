"""Trials: room that is made, used and given back as if nothing had been."""

import pytest

from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import offer_for
from global_sched.core.statement import Statement
from global_sched.shared.model.values import InvariantError
from tests.builders import NOW, POLICY, cluster, snapshot, workload

FIRST = workload("first", cpu=8)
SECOND = workload("second", cpu=6, created=1)
WORLD = snapshot([cluster("a", cpu=10)], pending=[FIRST, SECOND])


@pytest.fixture
def statement():
    """The first one is admitted, so that the second has no room."""
    found = Statement(WORLD, POLICY, NOW)
    offer = offer_for(FIRST, found)
    assert isinstance(offer, Offer)
    found.admit(FIRST, offer)
    found.placed = offer.parts[0].placed
    return found


def evict_first(statement):
    """Make the room that the first one took."""
    amount = FIRST.demand.gang.requests(statement.placed.amounts)
    statement.make_room(0, lambda space: space.give_back(statement.placed), amount)
    statement.release(FIRST, "a", amount)


def state(statement):
    """What a trial must leave as it was."""
    ledger, room = statement.ledger, statement.rooms.rooms[0]
    return (
        dict(ledger.queue_held(FIRST.queue)),
        dict(ledger.tenant_held(FIRST.tenant)),
        dict(room.free),
        room.space.remaining(),
        list(statement.admissions),
        set(statement.decided),
    )


def test_a_trial_that_is_undone(statement):
    """Who was refused for good gets an offer in the trial, and the same refusal after it."""
    refusal = offer_for(SECOND, statement)
    assert isinstance(refusal, Refusal)
    before = state(statement)

    mark = statement.mark()
    evict_first(statement)
    offer = offer_for(SECOND, statement)
    assert isinstance(offer, Offer)
    statement.admit(SECOND, offer)
    statement.rollback(mark)

    assert state(statement) == before
    assert offer_for(SECOND, statement) is refusal


def test_a_trial_that_is_kept(statement):
    """What is committed stays."""
    assert isinstance(offer_for(SECOND, statement), Refusal)

    statement.mark()
    evict_first(statement)
    statement.commit()

    offer = offer_for(SECOND, statement)
    assert isinstance(offer, Offer)
    assert statement.rooms.rooms[0].free["cpu"] == 10_000


def test_marks_nest(statement):
    """The outer mark undoes what an inner one kept, and what an inner one left open."""
    before = state(statement)
    for keep in (True, False):
        outer = statement.mark()
        evict_first(statement)
        inner = statement.mark()
        offer = offer_for(SECOND, statement)
        assert isinstance(offer, Offer)
        statement.admit(SECOND, offer)
        if keep:
            statement.commit()
        else:
            assert inner is not outer
        statement.rollback(outer)

        assert state(statement) == before
        assert isinstance(offer_for(SECOND, statement), Refusal)


def test_a_mark_ends_once(statement):
    """Going back to a mark a second time is a mistake of the caller."""
    mark = statement.mark()
    statement.rollback(mark)

    with pytest.raises(InvariantError):
        statement.rollback(mark)
