"""Conditions of pending workloads: when they are written."""

import pytest

from global_sched.dispatch.reasons import ReasonBook
from global_sched.shared.api.base import Condition
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.scheduled_text import (
    SUCCESS,
    karmada_reason,
    render_reason,
    reported_of,
)
from global_sched.shared.model.verdict import Code, Verdict
from global_sched.shared.model.workload import Reported

POLICY = Policy(reason_interval_seconds=60, reason_writes_per_cycle=3)


def outcome(
    detail="3 of 4",
    *,
    name="a",
    code=Code.NO_FIT,
    reason=Reason.TOPOLOGY_DOES_NOT_FIT,
    nearest="m1",
):
    return Outcome(
        workload=WorkloadKey(f"jobs/{name}"),
        queue=QueueName("q"),
        tenant=TenantName("t"),
        verdict=Verdict(code=code, reason=reason, detail=detail),
        nearest=ClusterName(nearest) if nearest else None,
    )


def told(message, status="False"):
    return reported_of(
        Condition(type="Scheduled", status=status, reason="Unschedulable", message=message)
    )


def keys(writes):
    return [write.workload for write in writes]


@pytest.mark.parametrize(
    ("one", "want"),
    [
        pytest.param(
            outcome(), "NO_FIT TopologyDoesNotFit, nearest m1: 3 of 4", id="with a nearest cluster"
        ),
        pytest.param(
            outcome("x", nearest=None, code=Code.WAIT, reason=Reason.QUEUE_CLOSED),
            "WAIT QueueClosed: x",
            id="without one",
        ),
        pytest.param(
            outcome("m1 is nearest: 3 of 4"),
            "NO_FIT TopologyDoesNotFit, nearest m1: 3 of 4",
            id="the cluster is named once",
        ),
        pytest.param(
            outcome("x" * 5000),
            "NO_FIT TopologyDoesNotFit, nearest m1: " + "x" * 984 + "…",
            id="at most 1,024 characters",
        ),
    ],
)
def test_message_round_trip(one, want):
    """Code, reason and nearest cluster can be read back from the condition alone."""
    message = render_reason(one)

    assert message == want
    assert len(message) <= 1024
    assert told(message) == Reported(
        code=one.verdict.code, reason=one.verdict.reason, nearest=one.nearest, message=message
    )


@pytest.mark.parametrize(
    ("condition", "want"),
    [
        pytest.param(None, Reported(), id="no condition"),
        pytest.param(
            Condition(type="Scheduled", status="True", message=SUCCESS),
            Reported(code=Code.FIT, reason=Reason.ADMITTED, message=SUCCESS),
            id="success",
        ),
        pytest.param(
            Condition(type="Scheduled", status="False", message="0/3 clusters are available"),
            Reported(message="0/3 clusters are available"),
            id="another scheduler's words",
        ),
        pytest.param(
            Condition(type="Scheduled", status="False", message="NO_FIT Invented: x"),
            Reported(message="NO_FIT Invented: x"),
            id="a reason that we do not have",
        ),
    ],
)
def test_conditions_that_are_not_refusals_of_ours(condition, want):
    """Whatever stands there, it can be compared."""
    assert reported_of(condition) == want


def test_karmada_reasons():
    """NoClusterFit only where nothing but a change of the spec helps."""
    assert karmada_reason(outcome(code=Code.NEVER)) == "NoClusterFit"
    assert karmada_reason(outcome(code=Code.NO_FIT)) == "Unschedulable"
    assert karmada_reason(outcome(code=Code.WAIT)) == "Unschedulable"


@pytest.mark.parametrize(
    ("before", "want_now"),
    [
        pytest.param(Reported(), True, id="nothing was written yet"),
        pytest.param(told(render_reason(outcome())), False, id="the same text"),
        pytest.param(told(render_reason(outcome(code=Code.WAIT))), True, id="another code"),
        pytest.param(told(render_reason(outcome(nearest="m2"))), True, id="another nearest"),
        pytest.param(told(render_reason(outcome("2 of 4"))), False, id="only other numbers"),
        pytest.param(told(SUCCESS, status="True"), True, id="it was scheduled before"),
    ],
)
def test_what_is_written_at_once(before, want_now):
    """Code and nearest cluster at once, text alone later."""
    chosen = ReasonBook().choose([(outcome(), before)], POLICY, 1000.0)

    assert bool(chosen) == want_now


@pytest.mark.parametrize(
    ("code", "want_now"),
    [
        pytest.param(Code.NEVER, True, id="NEVER: it stays until an object changes"),
        pytest.param(Code.NO_FIT, False, id="NO_FIT: it may come and go with every cycle"),
    ],
)
def test_another_reason_for_the_same_cluster(code, want_now):
    """A taint that is gone is not shown for a minute where something else is in the way."""
    before = told(render_reason(outcome(code=code, reason=Reason.CLUSTER_TAINT)))

    chosen = ReasonBook().choose([(outcome(code=code), before)], POLICY, 1000.0)

    assert bool(chosen) == want_now


def test_text_alone_is_written_once_an_interval():
    """After the interval the text is written, and then not before the next one."""
    book = ReasonBook()
    old = told(render_reason(outcome("2 of 4")))

    assert book.choose([(outcome(), old)], POLICY, 1000.0) == ()
    assert book.due == 1060.0
    assert book.choose([(outcome(), old)], POLICY, 1059.0) == ()
    [write] = book.choose([(outcome(), old)], POLICY, 1060.0)
    book.written(write.workload, 1061.0)
    assert book.choose([(outcome(), old)], POLICY, 1062.0) == ()
    assert book.due == 1121.0


def test_the_budget_of_a_cycle():
    """What is over the budget comes back a second later."""
    book = ReasonBook()
    many = [(outcome(name=str(i)), Reported()) for i in range(5)]

    assert keys(book.choose(many, POLICY, 10.0)) == ["jobs/0", "jobs/1", "jobs/2"]
    assert (book.deferred, book.due) == (2, 11.0)
    assert keys(book.choose(many[3:], POLICY, 11.0)) == ["jobs/3", "jobs/4"]
    assert (book.deferred, book.due) == (0, None)


def test_a_template_that_is_on_its_way_is_no_news():
    """The template usually arrives a moment after its binding."""
    book = ReasonBook()
    waiting = [(outcome(code=Code.WAIT, reason=Reason.TEMPLATE_NOT_SEEN, nearest=None), Reported())]

    assert book.choose(waiting, POLICY, 10.0) == ()
    assert book.due == 12.0
    assert keys(book.choose(waiting, POLICY, 12.0)) == ["jobs/a"]
