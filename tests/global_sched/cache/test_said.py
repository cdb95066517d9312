"""Our own statuses are no news; what a member refuses of the object itself is a reason."""

import pytest

from global_sched.cache import State
from global_sched.shared.api.names import BINDING_ID
from tests.global_sched.cache.worlds import feed
from tests.wire import NOW, binding, cluster_object, counted, queue, report, vcjob


def scheduled(generation):
    """A status as step two of a placement leaves it."""
    return {
        "schedulerObservedGeneration": generation,
        "lastScheduledTime": "2026-01-01T00:00:00Z",
        "conditions": [
            {
                "type": "Scheduled",
                "status": "True",
                "reason": "Success",
                "message": "ok",
                "lastTransitionTime": "2026-01-01T00:00:00Z",
            }
        ],
    }


def versions(job, *statuses, generation=1):
    """The versions of one binding with these statuses."""
    for number, status in enumerate(statuses):
        made = binding(job, clusters=["m1"], status=status)
        made["metadata"] |= {"resourceVersion": str(10 + number), "generation": generation}
        yield made


@pytest.mark.parametrize(
    ("status", "news"),
    [
        pytest.param(scheduled(3), False, id="it says all there is to say"),
        pytest.param(scheduled(2), True, id="it says it of an older generation"),
        pytest.param(
            {**scheduled(3), "aggregatedStatus": [{"clusterName": "m1", "applied": True}]},
            False,
            id="and Karmada has collected a status",
        ),
    ],
)
def test_a_status_that_was_written_is_no_news(status, news):
    """A cycle has nothing to do about a binding whose status is complete."""
    state, job = State(frozenset({"global-sched"})), vcjob("train")
    before, after = versions(job, {}, status, generation=3)
    feed(state, queue("default"), job, before)
    state.snapshot()

    assert feed(state, after) is news


def test_what_the_member_refuses_is_the_reason():
    """Karmada's words on a copy that could not be applied stand for `not made yet`."""
    state, job = State(frozenset({"global-sched"})), vcjob("train")
    message = "Failed to apply all manifests (0/1): spec.tasks: Invalid value"
    [made] = versions(
        job,
        scheduled(1)
        | {
            "aggregatedStatus": [
                {"clusterName": "m1", "applied": False, "appliedMessage": message},
                {"clusterName": "m2", "applied": False, "appliedMessage": "elsewhere"},
            ]
        },
    )
    permanent = made["metadata"]["labels"][BINDING_ID]
    waiting = counted(permanent, reached=False, reason="its pods have not been made yet")
    feed(state, queue("default"), cluster_object("m1"), report("m1", workloads=[waiting]), job)
    feed(state, made, now=NOW)
    state.snapshot()

    [one] = state.workloads()
    [progress] = one.progress
    assert progress.reason == f"the member refuses it: {message}"
