"""Job lists: which jobs they show, and in what order."""

import click
import pytest

from global_sched.view.job_query import SORT_FIELDS, STATES, JobQuery
from global_sched.view.jobs import rows_of
from tests.global_sched.cli.worlds import scenario_view


def row(name, state="Pending", wait=0, **fields):
    """A row of `gsched jobs`."""
    base = {
        "namespace": "team",
        "name": name,
        "binding": f"{name}-job",
        "api_version": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "queue": "q",
        "priority": 0,
        "state": state,
        "wait_seconds": wait,
        "clusters": [],
        "reason": None,
        "tenant": "t",
    }
    return base | fields


def names(query, *rows):
    """What the query chooses, in its order."""
    return [one["name"] for one in query.chosen(rows)]


def test_what_needs_a_person_comes_first_and_what_is_over_last():
    """States in their order; of equal ones the longest wait is on top, then the name decides."""
    rows = [row(state, state) for state in reversed(STATES)]
    waiting = [row("short", wait=5), row("b", wait=60), row("a", wait=60)]

    assert names(JobQuery(), *rows) == list(STATES)
    assert names(JobQuery(), *waiting) == ["a", "b", "short"]


@pytest.mark.parametrize(
    ("query", "want"),
    [
        pytest.param({"namespace": "other"}, ["c"], id="a namespace"),
        pytest.param({"queue": "gold"}, ["b"], id="a queue"),
        pytest.param({"states": ("Running",)}, ["c"], id="a state"),
        pytest.param({"states": ("Running", "Pending")}, ["a", "b", "c"], id="any of two states"),
        pytest.param({"names": ("b", "a-job")}, ["a", "b"], id="names of jobs and of bindings"),
        pytest.param({"queue": "gold", "states": ("Running",)}, [], id="all that is asked"),
        pytest.param(
            {"labelled": {("batch.volcano.sh/v1alpha1", "Job", "other", "c")}},
            ["c"],
            id="what the label selector selected",
        ),
        pytest.param({"labelled": set()}, [], id="a selector that selects nothing"),
        pytest.param({"sort_by": "priority"}, ["c", "a", "b"], id="by a number"),
        pytest.param({"sort_by": "reason"}, ["b", "c", "a"], id="rows without the field last"),
    ],
)
def test_what_is_asked_for(query, want):
    """Every option leaves rows out or orders them."""
    rows = [
        row("a", priority=2),
        row("b", queue="gold", priority=3, reason="QueueCapability"),
        row("c", "Running", namespace="other", priority=1),
    ]

    assert names(JobQuery(**query), *rows) == want


def test_a_name_that_no_job_has():
    """It is refused with the names that are like it."""
    with pytest.raises(click.ClickException) as error:
        JobQuery(names=("trian",), namespace="team").chosen([row("train")])

    assert error.value.message == "no job 'trian' in namespace team; did you mean train?"


def test_every_sort_field_is_a_field_of_a_row():
    """A live row can be sorted by each of them."""
    rows = list(rows_of(scenario_view()))

    for field in SORT_FIELDS:
        assert len(JobQuery(sort_by=field).chosen(rows)) == len(rows)
