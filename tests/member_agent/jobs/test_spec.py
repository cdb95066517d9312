"""Specs: what is filled in, and what is refused with which words."""

import msgspec
import pytest

from member_agent.jobs.spec import (
    JobRefusedError,
    format_duration,
    parse_duration,
    read_spec,
)
from member_agent.jobs.state import step
from member_agent.jobs.wire import RunJob
from tests.member_agent.jobs.job_world import NOW, Town, job, policy, task


def test_defaults():
    """What Volcano's webhook would fill in."""
    spec = read_spec(job(task("a", 2), task("b", 3, minAvailable=1), task("", 1)))

    assert [(t.name, t.minimum, t.max_retry) for t in spec.tasks] == [
        ("a", 2, 3),
        ("b", 1, 3),
        ("default2", 1, 3),
    ]
    assert (spec.minimum, spec.max_retry, spec.queue, spec.ttl) == (4, 3, "default", None)


@pytest.mark.parametrize(
    ("tasks", "fields", "want"),
    [
        pytest.param([task(replicas=-1)], {}, "spec.tasks[0].replicas: is -1", id="negative"),
        pytest.param([task(replicas=10**9)], {}, "add up to 1000000000 pods", id="absurd"),
        pytest.param([task("a"), task("a")], {}, "two tasks of one name", id="same name"),
        pytest.param([task(minAvailable=3)], {}, "is 3 of 2 replicas", id="task minimum"),
        pytest.param([task()], {"minAvailable": 3}, "the tasks have 2 pods", id="job minimum"),
        pytest.param(
            [task("a", dependsOn={"name": ["b"]}), task("b", dependsOn={"name": ["a"]})],
            {},
            "goes in a circle: ",
            id="circle",
        ),
        pytest.param([task(dependsOn={"name": ["x"]})], {}, "names 'x'", id="unknown task"),
        pytest.param(
            [task(partitionPolicy={"totalPartitions": 3, "partitionSize": 1})],
            {},
            "do not make 2 replicas",
            id="partitions",
        ),
        pytest.param([task(template={})], {}, "template.spec: is missing", id="no pod"),
        pytest.param(
            [task(template={"spec": {"containers": "x"}})], {}, "is no list", id="no containers"
        ),
        pytest.param([task()], {"plugins": {"mpi": []}}, "spec.plugins.mpi: is not", id="plugin"),
        pytest.param(
            [task()], {"policies": [policy("Explode", "PodFailed")]}, "'Explode'", id="action"
        ),
        pytest.param(
            [task()], {"policies": [policy("AbortJob", "PodLost")]}, "'PodLost'", id="event"
        ),
        pytest.param([task()], {"policies": [policy("AbortJob")]}, "either events", id="no event"),
        pytest.param(
            [task()], {"policies": [policy("AbortJob", exitCode=0)]}, "no failure", id="exit code"
        ),
        pytest.param(
            [task()],
            {"policies": [policy("AbortJob", "PodPending")]},
            "PodPending needs one",
            id="PodPending without a timeout",
        ),
        pytest.param(
            [task()],
            {"policies": [policy("AbortJob", "*"), policy("RestartJob", "PodFailed")]},
            "an event twice, or others beside",
            id="any beside another",
        ),
        pytest.param(
            [task()],
            {"policies": [policy("AbortJob", "PodFailed", timeout="soon")]},
            "'soon'",
            id="timeout",
        ),
        pytest.param(
            [task()], {"volumes": [{"mountPath": "/x"}]}, "no volumeClaimName", id="volume"
        ),
        pytest.param(
            [task(template={"spec": {"containers": [{"resources": {"requests": {"cpu": "-1"}}}]}})],
            {},
            "'-1' is negative",
            id="quantity",
        ),
    ],
)
def test_a_job_that_cannot_run_says_why(tasks, fields, want):
    """Nothing is made for it; its status names field, reason and what would help, once."""
    town = Town(*tasks, **fields).settle()

    assert want in town.status["state"]["message"]
    assert town.status["state"]["reason"] == "InvalidSpec"
    assert not town.pods
    assert town.group is None
    assert [note.reason for note in town.notes] == ["InvalidSpec"]


def test_a_job_without_tasks_is_refused():
    """An empty spec is an error of its own."""
    empty = msgspec.convert({"metadata": {"name": "x", "uid": "u"}}, RunJob)
    with pytest.raises(JobRefusedError, match=r"spec\.tasks: is empty"):
        read_spec(empty)

    assert step(Town().view(), NOW).status is not None


def test_a_corrected_job_runs():
    """The refusal goes when the spec is right."""
    town = Town(task(replicas=-1)).settle().edit(tasks=[task()])

    assert "reason" not in town.status["state"]
    assert len(town.pods) == 2


@pytest.mark.parametrize(
    ("text", "want"),
    [("90s", 90_000_000), ("1h30m", 5_400_000_000), ("1.5s", 1_500_000), ("250ms", 250_000)],
)
def test_durations(text, want):
    """As Go writes them."""
    assert parse_duration(text, "f") == want


@pytest.mark.parametrize(("seconds", "want"), [(2, "2s"), (65, "1m5s"), (3600, "1h0m0s")])
def test_durations_are_written_as_go_does(seconds, want):
    """Whole seconds, larger units only when there are any."""
    assert format_duration(seconds * 1_000_000) == want
