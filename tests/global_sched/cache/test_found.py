"""A gang that a member reports though nothing stored ever placed it: its binding was restored."""

import pytest

from global_sched.shared.api.names import DECISION
from global_sched.shared.model.decision import Backoff, Decision, Left, sealed
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Target
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import NOW, binding, cluster_object, counted, report, vcjob

JOB = vcjob("train", replicas=4, gpus=8)
KEY = "team-a/train-job"


def reported(cluster="m1", generation=2, **bound):
    """A report with so many pods of it."""
    return report(
        cluster, nodes=4, generation=generation, workloads=[counted("id-train-job", **bound)]
    )


def restored(*more, decision=None, **fields):
    """A binding as it was before it was placed, with what members say today."""
    notes = {} if decision is None else {DECISION: render_decision(decision)}
    wire = binding(JOB, annotations=notes, **fields)
    return state_of(cluster_object("m1"), cluster_object("m2"), JOB, wire, *more)


def waiting(**fields):
    """The decision of a workload that has no place."""
    content = {"id": "", "epoch": 1, "at": NOW, "order": 0} | fields
    return sealed(Decision(**content), "id-train-job")


def test_it_stays_where_it_runs_and_is_counted_there():
    """As many pods as are bound, in need of a decision that says so, and named as strange."""
    state = restored(reported(worker=4))
    found = workload_in(state, KEY)

    assert found.targets == (Target(cluster="m1"),)
    assert [(one.cluster, one.amounts) for one in found.decision.grants] == [
        ("m1", Amounts.of({"worker": 4}))
    ]
    assert found.forged == "m1 reports that it runs there, and no decision has placed it: it stays"
    snapshot = state.snapshot()
    assert [one.key for one in snapshot.unsettled] == [KEY]
    assert snapshot.pending == ()
    assert [(one.cluster, one.amount.get("nvidia.com/gpu")) for one in snapshot.usage] == [
        ("m1", 32)
    ]


def test_a_claim_does_not_say_that_it_had_a_place():
    """A decision without grants, from when it waited."""
    assert workload_in(restored(reported(worker=4), decision=waiting()), KEY).targets


@pytest.mark.parametrize(
    ("reports", "fields"),
    [
        pytest.param([reported(worker=3)], {}, id="less than its minimum"),
        pytest.param([reported()], {}, id="no pod"),
        pytest.param([reported(worker=4), reported("m2", worker=4)], {}, id="in two members"),
        pytest.param(
            [reported(worker=4)],
            {"decision": waiting(left=(Left(cluster="m1", at=NOW, held=Resources()),))},
            id="withdrawn, and still there",
        ),
        pytest.param(
            [reported(worker=4)],
            {"decision": waiting(backoffs=(Backoff(cluster="m1", until=NOW, failures=1),))},
            id="withdrawn before",
        ),
        pytest.param([reported(worker=4)], {"decision": waiting(evictions=1)}, id="evicted before"),
    ],
)
def test_what_was_ever_placed_and_left_is_not_found(reports, fields):
    """Nor what runs twice or in part: a report alone brings nothing back."""
    assert workload_in(restored(*reports, **fields), KEY).targets == ()


def test_it_waits_again_when_the_report_takes_it_back():
    """Until a decision is written, the newest report counts."""
    state = restored(reported(worker=4))
    feed(state, reported(generation=3, worker=0))
    assert workload_in(state, KEY).targets == ()

    feed(state, reported(generation=4, worker=4))
    assert workload_in(state, KEY).targets
    state.delete_report("karmada-es-m1", "capacity")
    state.take_dirty()
    assert workload_in(state, KEY).targets == ()
