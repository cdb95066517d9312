"""Tasks of a Volcano Job whose partitions lie together, as the annotation says."""

import pytest

from global_sched.shared.api.names import PARTITIONS_TOGETHER
from global_sched.shared.kinds import KINDS
from tests.wire import decode, task, vcjob

READER = KINDS[("batch.volcano.sh/v1alpha1", "Job")]


def read(text, *tasks):
    job = vcjob("j", *tasks)
    job["metadata"]["annotations"] = {PARTITIONS_TOGETHER: text}
    return READER.reading(decode(job, READER.wire))


def parts(name, size, total):
    policy = {"partitionSize": size, "totalPartitions": total}
    return task(name, size * total, partitionPolicy=policy)


TASKS = (parts("prefill", 1, 4), parts("decode", 3, 4), parts("router", 1, 2), task("log", 1))


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", {}, id="none"),
        pytest.param(
            "prefill,decode",
            {"prefill": "decode+prefill", "decode": "decode+prefill"},
            id="a prefill with its decode workers",
        ),
        pytest.param(
            " decode , prefill ;",
            {"prefill": "decode+prefill", "decode": "decode+prefill"},
            id="in any order, with spaces",
        ),
        pytest.param("router", {}, id="one task alone says nothing"),
    ],
)
def test_tasks_that_share_their_partitions(text, want):
    """Every named task's partition carries the name of its set."""
    reading = read(text, *TASKS)

    named = {p.name: p.partition.together for p in reading.pod_sets if p.partition}
    assert {name: together for name, together in named.items() if together} == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("prefill,log", "'log' is no task with a partitionPolicy", id="no partitions"),
        pytest.param("prefill,gone", "'gone' is no task with a partitionPolicy", id="no task"),
        pytest.param("prefill,router", "differ in totalPartitions", id="unequal numbers"),
        pytest.param("prefill,decode;decode,prefill", "is in two sets", id="twice"),
    ],
)
def test_what_cannot_be_together(text, want):
    """A set that cannot be is a refusal that names the annotation."""
    problem = read(text, *TASKS).problem

    assert problem is not None
    assert PARTITIONS_TOGETHER in problem.detail
    assert want in problem.detail
