"""Values of the pages: which jobs and in what order, bars of queues, a job's life."""

from dataclasses import replace

import pytest

from global_sched.core import queue_views
from global_sched.shared.model.decision import Claim, ClaimPart
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import SECOND, format_instant
from global_sched.shared.model.workload import PodLoss
from global_sched.view.jobs import rows_of
from global_sched.web import waiting
from global_sched.web.bars import WIDTH, bars_of, resources_of
from global_sched.web.timeline import Moment, moments
from global_sched.web.waiting import Filter, jobs_of
from tests.global_sched.cli.worlds import scenario_view


@pytest.mark.parametrize(
    ("query", "want"),
    [
        pytest.param({}, ["too-wide"], id="what waits, where nothing is asked for"),
        pytest.param({"state": "all"}, ["too-wide", "rack"], id="all, what waits first"),
        pytest.param({"state": "Running"}, ["rack"], id="one state"),
        pytest.param({"state": "nonsense"}, ["too-wide"], id="a state that does not exist"),
        pytest.param({"state": "all", "text": "RACK"}, ["rack"], id="text in any case"),
        pytest.param({"state": "Running", "text": "b-1"}, ["rack"], id="the domain"),
        pytest.param({"text": "topologydoes"}, ["too-wide"], id="the reason"),
        pytest.param({"queue": "other"}, [], id="a queue without jobs"),
        pytest.param({"page": "2"}, [], id="a page behind the last one"),
    ],
)
def test_filters(query, want):
    """Each part of an address narrows the list; what is said wrongly counts as not said."""
    view = scenario_view()

    found = jobs_of(list(rows_of(view)), Filter.of(query), view)

    assert [row["name"] for row in found.rows] == want


def test_pages_and_what_helps(monkeypatch):
    """A page has so many rows; one that waits says what would help, one that runs does not."""
    monkeypatch.setattr(waiting, "SHOWN", 1)
    view = scenario_view()

    found = jobs_of(list(rows_of(view)), Filter.of({"state": "all", "page": "2"}), view)
    first = jobs_of(list(rows_of(view)), Filter.of({"state": "all"}), view)

    assert (found.count, found.pages) == (2, 2)
    assert [(row["name"], row["helps"]) for row in (*first.rows, *found.rows)] == [
        ("too-wide", "a HyperNode of tier 1 with room for 5 pods comes free"),
        ("rack", ""),
    ]


QUEUES = """
scenario: one queue borrows, one waits
world:
  queues:
  - {name: lender, deserved: {cpu: 6}}
  - {name: borrower, deserved: {cpu: 2}}
  clusters:
  - name: a
    nodes: [{count: 8, allocatable: {cpu: 1}}]
  jobs:
  - {name: b, queue: borrower, tasks: [{replicas: 4, requests: {cpu: 1}}], created: 1}
  - {name: big, queue: lender, tasks: [{replicas: 9, requests: {cpu: 1}}], created: 2}
"""


def test_bars_share_one_scale():
    """Lengths are parts of the largest amount below the root; the label has the numbers."""
    views = queue_views(scenario_view(QUEUES).snapshot)

    bars = {one.name: one for one in bars_of(views, "cpu")}

    assert resources_of(views) == ["nvidia.com/gpu", "cpu", "memory"]
    borrower, lender = bars["borrower"], bars["lender"]
    assert (borrower.held, borrower.borrowed, borrower.deserved) == (89, 89, 89)
    assert (lender.held, lender.waiting, lender.deserved) == (0, WIDTH, 267)
    assert borrower.label == ("holds 4, 2 of it borrowed; deserves 2, guaranteed 0; waits for 0")


def test_a_life_with_losses_and_an_eviction():
    """What was lost, what runs again, what had to leave, what room is being made for, the end."""
    view = scenario_view()
    job = next(one for one in view.state.workloads() if one.name == "rack")
    assert job.decision is not None
    at = job.decision.at
    (progress,) = job.progress
    lost = format_instant(at + 60 * SECOND)
    loss = PodLoss(at=lost, pod="w-0", node="n1", cause="NodeDown", detail="")
    part = ClaimPart(cluster=ClusterName("a"), amounts=job.decision.grants[0].amounts)
    claim = Claim(parts=(part,), since=at + 90 * SECOND, until=at + 150 * SECOND)
    decision = replace(job.decision, claim=claim, evicted=at - 30 * SECOND)
    whole = replace(job, decision=decision, progress=(replace(progress, losses=(loss,)),))
    short = replace(progress, losses=(loss,), bound=Amounts())
    lacking = replace(whole, progress=(short,))
    over = replace(whole, finished=True)

    assert [(one.what, one.text) for one in moments(whole, (), None)] == [
        ("submitted", ""),
        ("evicted", "its room went to a job that was owed it"),
        ("placed", "b b-1 (tier 1)"),
        ("lost", "w-0 on n1 in b: NodeDown"),
        ("room is being made", f"in a, kept until {format_instant(claim.until)}"),
        ("recovered", "4 of 4 pods in b"),
    ]
    assert moments(lacking, (), None)[-1].what == "recovering"
    assert moments(over, (), at + 900 * SECOND)[-1] == Moment(
        at=format_instant(at + 900 * SECOND), what="finished"
    )


def test_a_life_in_its_order():
    """Submission, place and pods of one that runs; submission and reason of one that waits."""
    view = scenario_view()
    jobs = {one.name: one for one in view.state.workloads()}

    ran = moments(jobs["rack"], (), None)
    waits = moments(jobs["too-wide"], (), None)

    assert [(one.what, one.text) for one in ran] == [
        ("submitted", ""),
        ("placed", "b b-1 (tier 1)"),
        ("bound", "4 of 4 pods in b"),
    ]
    assert [one.what for one in waits] == ["submitted"]
