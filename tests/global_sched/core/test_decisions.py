"""Since when the hold of a workload protects it."""

from dataclasses import replace

import pytest

from global_sched.core.decisions import new_decision, reduced
from global_sched.shared.model.decision import Claim, ClaimPart, Decision, Leaver
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DecisionId
from global_sched.shared.model.instant import SECOND, Instant
from tests.builders import NOW, grant, workload

TWO = Amounts.of({"main": 2})
GRANTS = (grant("m", TWO),)
VICTIM = Leaver(binding=BindingId("id-v"), amounts=TWO)


def at(seconds):
    """So many seconds after NOW."""
    return Instant(NOW + seconds * SECOND)


def claim(*victims):
    """A claim that was made 5 s after NOW."""
    return Claim(
        parts=(ClaimPart(cluster=ClusterName("m"), amounts=TWO),),
        victims=victims,
        since=at(5),
        until=at(305),
    )


def before(grants=(), **fields):
    """What was decided at NOW."""
    return Decision(id=DecisionId("d"), epoch=1, at=NOW, order=0, grants=grants, **fields)


@pytest.mark.parametrize(
    ("old", "want"),
    [
        pytest.param(None, None, id="it came where there was room"),
        pytest.param(before(), None, id="it waited with a back-off"),
        pytest.param(before(claim=claim(VICTIM)), at(9), id="others were told to leave for it"),
        pytest.param(before(claim=claim()), None, id="a domain drained for it, and nobody left"),
        pytest.param(before(evicted=at(3)), at(9), id="it comes back after it had to leave"),
        pytest.param(before(claimed=at(4)), None, id="its place is gone, and so is what it meant"),
        pytest.param(before(GRANTS, claimed=at(4)), at(4), id="it gets more later"),
        pytest.param(
            before(GRANTS, claimed=at(4), evicted=at(6)),
            at(9),
            id="it had to leave a cluster since",
        ),
        pytest.param(
            before(GRANTS, claim=claim(VICTIM)), None, id="surplus left for its surplus only"
        ),
    ],
)
def test_claimed(old, want):
    """Of a new decision; one without grants says nothing."""
    one = replace(workload("w", pods=2), decision=old)

    found = new_decision(one, GRANTS, (at(9), 1), epoch=1, pending=Amounts(), backoffs=())
    gone = new_decision(one, (), (at(9), 1), epoch=1, pending=Amounts(), backoffs=())

    assert (found.claimed, gone.claimed) == (want, None)


def test_claimed_for_a_raised_minimum():
    """What others left for is a part of what it needs to run."""
    one = replace(workload("w", pods=4), decision=before(GRANTS, claim=claim(VICTIM)))

    found = new_decision(one, GRANTS, (at(9), 1), epoch=1, pending=Amounts(), backoffs=())

    assert found.claimed == at(9)


def test_a_smaller_grant_is_the_same_decision_for_the_order():
    """It keeps its place, and since when it is left alone; a claim for growth ends."""
    old = before(GRANTS, claimed=at(4), claim=claim(VICTIM))
    one = replace(workload("w", pods=2), decision=old)

    found = reduced(one, (grant("m", Amounts.of({"main": 1})),), 7)

    assert (found.at, found.order, found.claimed, found.claim) == (NOW, 0, at(4), None)
    assert (found.epoch, found.pending) == (7, Amounts.of({"main": 1}))
    assert found.id != old.id
