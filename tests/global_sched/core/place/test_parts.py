"""A request of two parts: what places it is a stand-in, all else is as it is.

No gang is split over clusters today. What would split one is an entry of `OFFERS`; the ledger,
decisions, claims and rooms take its parts as they take one.
"""

from dataclasses import replace

import pytest

from global_sched.core import run_cycle
from global_sched.core.make_room.evictions import parts_of
from global_sched.core.make_room.holds import give_back, hold
from global_sched.core.offer import Offer, OfferPart, Refusal, grant_of
from global_sched.core.place import admission
from global_sched.core.statement import Statement
from global_sched.shared.model.decision import Claim, ClaimPart, Leaver
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Division
from global_sched.shared.placement import Placed
from tests.builders import NOW, POLICY, cluster, queue, snapshot, workload

CLUSTERS = (cluster("a", nodes=3, gpus=1), cluster("b", nodes=2, gpus=1))


def offer_in_parts(one, statement):
    """Fill one cluster after the other until all pods have a place."""
    gang, left = one.demand.gang, one.demand.gang.minimum_amounts()
    parts, grants = [], []
    for at, room in enumerate(statement.rooms.rooms):
        least = Amounts.of({"main": 1})
        if not left.entries or not room.space.holds(gang.only(least), None):
            continue
        placed = room.space.place(gang, amounts=left, minimum=least)
        if isinstance(placed, Placed):
            parts.append(OfferPart(at, room.cluster.name, placed))
            grants.append(grant_of(one.demand, parts[-1]))
            left = left.minus(placed.amounts)
    if left.entries:
        return Refusal(Verdict(code=Code.NO_FIT, reason="InsufficientCapacity", missing=1))
    return Offer(tuple(grants), tuple(parts))


@pytest.fixture
def in_parts(monkeypatch):
    """The stand-in, for gangs."""
    offers = {**admission.OFFERS, Division.WHOLE: offer_in_parts}
    monkeypatch.setattr(admission, "OFFERS", offers)


def held_by(statement, name):
    """GPUs of a queue in each cluster, as the ledger has them."""
    node = statement.ledger.node(QueueName(name))
    return {
        at: amounts.get("nvidia.com/gpu")
        for at, amounts in node.cluster_held.items()
        if amounts.get("nvidia.com/gpu")
    }


def test_a_request_of_two_parts_is_admitted(in_parts):
    """Five pods lie in two clusters: two grants, two targets, and no room for a sixth."""
    five, sixth = workload("five", pods=5, gpus=1, created=1), workload("six", gpus=1, created=2)

    plan = run_cycle(snapshot(CLUSTERS, pending=[five, sixth]), POLICY, NOW)

    (made,) = plan.admissions
    assert [(one.cluster, one.replicas) for one in made.targets] == [("a", 3), ("b", 2)]
    assert [one.amounts.pods() for one in made.decision.grants] == [3, 2]
    assert {one.workload: one.verdict.code for one in plan.outcomes} == {
        "jobs/five": Code.FIT,
        "jobs/six": Code.NO_FIT,
    }


def test_limits_count_in_the_cluster_of_each_part(in_parts):
    """A queue's limit in one cluster counts what the part there takes."""
    limited = replace(
        queue("q"), cluster_capability=((ClusterName("b"), (("nvidia.com/gpu", 9),)),)
    )
    five = workload("five", pods=5, gpus=1, queue="q")
    statement = Statement(snapshot(CLUSTERS, [limited], pending=[five]), POLICY, NOW)

    statement.admit(five, admission.offer_for(five, statement))

    assert held_by(statement, "q") == {"b": 2}
    assert statement.ledger.node(QueueName("q")).held["nvidia.com/gpu"] == 5


def test_a_claim_of_two_parts_keeps_room_in_both(in_parts):
    """What a search would offer is kept part by part, and given back as it was."""
    five, late = workload("five", pods=5, gpus=1), workload("late", gpus=1, created=2)
    statement = Statement(snapshot(CLUSTERS, pending=[five, late]), POLICY, NOW)
    offer = admission.offer_for(five, statement)
    claim = Claim(
        parts=parts_of(offer, five.demand.gang.minimum_amounts()),
        victims=(Leaver(binding=late.binding_id, amounts=Amounts.of({"main": 1})),),
        since=NOW,
        until=Instant(NOW + 60 * SECOND),
    )

    held = hold(five, claim, statement)
    meanwhile = admission.offer_for(late, statement)
    give_back(held, statement)

    assert [(one.cluster, one.amounts.pods()) for one in claim.parts] == [("a", 3), ("b", 2)]
    assert held.amount.get("nvidia.com/gpu") == 5
    assert isinstance(meanwhile, Refusal)
    assert admission.offer_for(five, statement) == offer
    assert statement.ledger.node(five.queue).held.get("nvidia.com/gpu", 0) == 0


@pytest.mark.parametrize(
    ("amounts", "want"),
    [(5, [("a", 3), ("b", 2)]), (4, [("a", 3), ("b", 1)]), (3, [("a", 3)])],
)
def test_a_claim_keeps_no_more_than_is_claimed(in_parts, amounts, want):
    """Surplus in the offer is not kept; the first parts come first."""
    five = workload("five", pods=5, gpus=1)
    offer = admission.offer_for(five, Statement(snapshot(CLUSTERS, pending=[five]), POLICY, NOW))

    found = parts_of(offer, Amounts.of({"main": amounts}))

    assert [(one.cluster, one.amounts.pods()) for one in found] == want
    assert all(isinstance(one, ClaimPart) for one in found)
