"""Workloads refused together with the one before them, and those asked alone."""

from dataclasses import replace
from unittest.mock import patch

import pytest

from global_sched.core import run_cycle
from global_sched.core.order.queue_order import QueueOrder
from global_sched.core.place.alike import EarlierTurns
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.decision import Backoff, Decision
from global_sched.shared.model.ids import ClusterName, DecisionId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Reported
from tests.builders import NOW, POLICY, cluster, snapshot, tenant, workload

BROKEN = Verdict(code=Code.NEVER, reason=Reason.QUEUE_MISSING)

AVOIDS = Decision(
    id=DecisionId("d1"),
    epoch=1,
    at=NOW,
    order=0,
    backoffs=(Backoff(cluster=ClusterName("c1"), until=Instant(NOW + 60 * SECOND), failures=1),),
)
"""That of one which did not start in the only cluster."""


def together(first, *others, limit=None):
    """The same for copies of the first."""
    same = [replace(one, demand=first.demand) for one in others]
    return refused_with(first, *same, limit=limit)


def refused_with(first, *others, limit=None):
    """How many of those behind the first, for which there is no room, are not asked themselves."""
    taken, take = [], QueueOrder.take_while

    def counted(line, wanted):
        found = take(line, wanted)
        taken.extend(found)
        return found

    world = snapshot(
        [cluster("c1", cpu=1)],
        tenants=[replace(tenant("team"), pending_limit=limit), tenant("t2")],
        pending=[first, *others],
    )
    with patch.object(QueueOrder, "take_while", counted):
        plan = run_cycle(world, POLICY, NOW)
    assert [one.position for one in plan.outcomes] == list(range(1, len(others) + 2))
    return len(taken)


def job(name, **fields):
    """One that does not fit."""
    return replace(workload(name, cpu=64, created=int(name[1:])), **fields)


def test_copies_are_refused_together():
    """Three copies behind the first are not asked."""
    assert together(job("w0"), job("w1"), job("w2"), job("w3")) == 3


def test_copies_with_others_between_them_end_as_the_first():
    """Of four that stand by turns, two of each kind, the last two are not asked."""
    one, two = job("w0"), replace(job("w1"), demand=workload("w1", cpu=65).demand)
    pending = [
        one,
        two,
        replace(job("w2"), demand=one.demand),
        replace(job("w3"), demand=two.demand),
    ]
    levels, again = [], EarlierTurns.again

    def noted(turns, *words):
        levels.append(again(turns, *words))
        return levels[-1]

    with patch.object(EarlierTurns, "again", noted):
        plan = run_cycle(snapshot([cluster("c1", cpu=1)], pending=pending), POLICY, NOW)

    assert [level is not None for level in levels] == [False, False, True, True]
    details = [one.verdict.detail for one in plan.outcomes]
    assert [one.position for one in plan.outcomes] == [1, 2, 3, 4]
    assert details == [details[0], details[1]] * 2


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"priority": -1}, id="of less priority"),
        pytest.param({"tenant": "t2"}, id="of another tenant"),
        pytest.param({"priority_class": "low"}, id="of another class"),
        pytest.param({"observed_affinity": "second"}, id="that was with another affinity group"),
        pytest.param({"reported": Reported(reason=Reason.SEARCH_DEFERRED)}, id="told otherwise"),
        pytest.param({"problem": BROKEN}, id="that cannot be read"),
        pytest.param({"run_limit": 60}, id="that might fill a gap"),
        pytest.param({"group": "g", "group_size": 2}, id="of a group"),
        pytest.param({"leaving": ("c1",)}, id="that leaves a cluster"),
        pytest.param({"decision": AVOIDS}, id="that was decided about before"),
    ],
)
def test_who_is_asked_alone(fields):
    """A copy with a reason of its own, and those behind a first one of that kind."""
    assert together(job("w0"), job("w1", **fields)) == 0
    if "priority" not in fields:
        assert together(job("w0", **fields), job("w1")) == 0


def test_what_asks_for_something_else_is_asked_alone():
    """It could fit."""
    other = replace(job("w1"), demand=workload("w1", cpu=65).demand)
    assert refused_with(job("w0"), other) == 0


def test_those_beyond_the_limit_of_what_may_wait_are_told_so():
    """They are not refused for lack of room."""
    assert together(job("w0"), job("w1"), job("w2"), limit=2) == 1


def test_full_clusters_are_said_once():
    """Demands of one size get the same answer of the same cluster: it is one object."""
    world = snapshot(
        [cluster("c1", cpu=1), cluster("c2", cpu=1)],
        pending=[workload("j1", cpu=64), workload("j2", cpu=65)],
    )
    one, two = run_cycle(world, POLICY, NOW).outcomes
    assert [verdict.cluster for verdict in one.clusters] == ["c1", "c2"]
    assert one.clusters is two.clusters
