"""Workloads: what they lack, what was reached, whether they are settled."""

from dataclasses import replace

import pytest

from global_sched.shared.model.decision import Decision, decision_id
from global_sched.shared.model.explanation import Share
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant, answered_at
from global_sched.shared.model.plan import Admission, Plan
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.values import from_json, to_json
from global_sched.shared.model.workload import Division, Progress, Workload
from tests.builders import NOW, backoff, decision, demand, gang, grant, pod_set, workload


def test_scheduler_in():
    """The name after overrides, where one counts; Kubernetes' default when none is said."""
    asks = demand(gang(pod_set()), scheduler="", overrides=[("c1", "volcano"), ("c2", None)])

    assert [asks.scheduler_in(name) for name in ("c1", "c2", "c3")] == [
        "volcano",
        None,
        "default-scheduler",
    ]


def test_admitted():
    """It holds room while it has clusters and is not finished."""
    assert not workload("a").admitted()
    assert workload("a", on="c1").admitted()
    assert not workload("a", on="c1", finished=True).admitted()


DIVIDED = {"division": Division.DIVIDED}
DUPLICATED = {"division": Division.DUPLICATED}


def running(*amounts, pods=4, **fields):
    """A workload with so many pods in as many clusters."""
    names = [f"c{i}" for i in range(len(amounts))]
    one = workload("a", pods=pods, on=names, **fields)
    made = decision(
        *(grant(c, Amounts.of({"main": n})) for c, n in zip(names, amounts, strict=True))
    )
    return replace(one, decision=made)


@pytest.mark.parametrize(
    ("one", "lacks", "surplus"),
    [
        pytest.param(workload("a", pods=4), 0, False, id="nothing was decided"),
        pytest.param(workload("a", division=Division.COPIED, on="c1"), 0, False, id="a copy"),
        pytest.param(running(4), 0, False, id="all of it"),
        pytest.param(running(3), 1, False, id="one lacks"),
        pytest.param(running(5), 0, True, id="one too many"),
        pytest.param(running(1, 2, **DIVIDED), 1, False, id="parts add up"),
        pytest.param(running(3, 2, **DIVIDED), 0, True, id="parts add up to too many"),
        pytest.param(running(4, 4, **DUPLICATED), 0, False, id="each cluster on its own"),
        pytest.param(running(4, 1, **DUPLICATED), 3, False, id="the cluster that lacks most"),
        pytest.param(running(4, 5, **DUPLICATED), 0, True, id="one cluster with too many"),
        pytest.param(running(**DUPLICATED), 0, False, id="no cluster at all"),
    ],
)
def test_lacking_and_surplus(one, lacks, surplus):
    """What the template asks for against what the grants give."""
    assert one.lacking().pods() == lacks
    assert one.surplus() is surplus


def seen(one, **fields):
    """The workload with this report on it."""
    return replace(one, progress=(Progress(cluster="c0", **fields),))


@pytest.mark.parametrize(
    ("one", "want"),
    [
        pytest.param(replace(running(4), progress=()), False, id="no report on it"),
        pytest.param(
            seen(running(4), minimum_reached=True, decision="decision-"),
            True,
            id="reached under this decision",
        ),
        pytest.param(
            seen(running(4), minimum_reached=True, decision="older"),
            False,
            id="reached under another",
        ),
        pytest.param(seen(running(4), bound=Amounts.of({"main": 4})), True, id="all are bound"),
        pytest.param(seen(running(4), bound=Amounts.of({"main": 3})), False, id="one is not"),
        pytest.param(
            seen(running(2, **DIVIDED), bound=Amounts.of({"main": 1})),
            True,
            id="one bound replica is a part's minimum",
        ),
        pytest.param(
            seen(running(2), bound=Amounts.of({"main": 2})),
            True,
            id="never more than what was granted",
        ),
        pytest.param(
            workload("a", division=Division.COPIED, on="c0"), True, id="a copy has no minimum"
        ),
        pytest.param(replace(workload("a", on="c0"), decision=None), False, id="no decision"),
    ],
)
def test_minimum_reached(one, want):
    """Reached once under the present decision, or bound now."""
    given = running(4).decision.grants[0] if one.decision is None else one.decision.grants[0]

    assert one.minimum_reached(given) is want


@pytest.mark.parametrize(
    ("changes", "want"),
    [
        pytest.param({}, True, id="nothing to do"),
        pytest.param({"decision": None}, False, id="no decision"),
        pytest.param({"forged": "its id"}, False, id="a decision that was not believed"),
        pytest.param({"scheduled": False}, False, id="the condition is behind"),
        pytest.param({"placement_applied": False}, False, id="the policy changed"),
        pytest.param({"last_scheduled": None}, False, id="never scheduled"),
        pytest.param({"generation": 2}, False, id="the generation moved on"),
        pytest.param({"reschedule_at": Instant(NOW)}, False, id="a reschedule is due"),
        pytest.param(
            {"reschedule_at": Instant(NOW), "last_scheduled": Instant(NOW)},
            False,
            id="a reschedule of the very second",
        ),
        pytest.param(
            {"reschedule_at": Instant(NOW), "last_scheduled": answered_at(NOW, Instant(NOW))},
            True,
            id="it was answered",
        ),
        pytest.param(
            {"reschedule_at": Instant(NOW - 3600 * SECOND)}, True, id="a reschedule was done"
        ),
        pytest.param({"progress": ()}, False, id="the minimum is not reached yet"),
        pytest.param(
            {"decision": decision(grant("c1", Amounts.of({"main": 1})), name="a")},
            False,
            id="it lacks pods",
        ),
    ],
)
def test_settled(changes, want):
    """An admitted workload that a cycle need not look at."""
    assert replace(workload("a", pods=2, on="c1"), **changes).settled() is want


def test_never_settled():
    """Copies and duplicates may get any new cluster; pending growth is looked at each cycle."""
    pending = replace(decision(name="a"), pending=Amounts.of({"main": 1}))

    assert not workload("a", division=Division.COPIED, on="c1").settled()
    assert not workload("a", division=Division.DUPLICATED, on="c1").settled()
    assert not replace(workload("a", pods=0, on="c1"), decision=pending).settled()


def test_progress_in():
    """The report of one cluster."""
    one = workload("a", on=["c1", "c2"])

    assert one.progress_in("c2") == one.progress[1]
    assert one.progress_in("c3") is None


def test_grant():
    """The grant in one cluster."""
    made = decision(grant("c1", Amounts()), grant("c2", Amounts()))

    assert made.grant("c2") == made.grants[1]
    assert made.grant("c3") is None


def test_decision_id():
    """The id follows from binding, grants, instant and order, and from nothing else."""
    grants = (grant("c1", Amounts.of({"main": 1})),)
    base = decision_id("b", grants, Instant(1), 0)

    assert base == decision_id("b", grants, Instant(1), 0)
    others = {
        decision_id("c", grants, Instant(1), 0),
        decision_id("b", (), Instant(1), 0),
        decision_id("b", grants, Instant(2), 0),
        decision_id("b", grants, Instant(1), 1),
    }
    assert len(others | {base}) == 5


def test_empty_plan():
    """A plan is empty when it has nothing to write but reasons."""
    made = decision(name="a")
    admission = Admission(
        workload="jobs/a", uid="u", resource_version="1", decision=made, targets=()
    )

    assert Plan().empty()
    assert not Plan(admissions=(admission,)).empty()


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        pytest.param(workload("a", pods=2, tier=1, on="c1"), Workload, id="a workload"),
        pytest.param(
            decision(grant("c1", Amounts.of({"b": 1})), backoffs=[backoff("c1")]),
            Decision,
            id="a decision",
        ),
        pytest.param(Policy(report_trust_seconds=7), Policy, id="a policy"),
    ],
)
def test_codec(value, kind):
    """Values survive JSON exactly, and equal values are equal bytes."""
    data = to_json(value)

    assert from_json(data, kind) == value
    assert to_json(from_json(data, kind)) == data


def test_share():
    """A share is a fraction; nothing is divided by 0, and no weight has no value."""
    share = Share(held=3, total=4, weight=2)

    assert (share.numerator, share.denominator) == (3, 8)
    assert Share(held=3, total=0).denominator == 1
    assert Share(held=3, total=4, weight=0).denominator == 0
