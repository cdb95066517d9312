"""Annotations of a Queue, read to values."""

import pytest

from global_sched.core import queue_views
from global_sched.shared.model.ids import QueueName
from tests.global_sched.cache.worlds import state_of
from tests.wire import queue

RECLAIM = "federation.global-sched.io/min-runtime-before-reclaim"
PREEMPTION = "federation.global-sched.io/min-runtime-before-preemption"


def read(**annotations):
    """The queue as decisions have it, and what is reported as wrong with it."""
    made = queue("a")
    made["metadata"]["annotations"] = annotations
    found = state_of(made).snapshot()
    (one,) = (one for one in found.queues if one.name == QueueName("a"))
    (view,) = (view for view in queue_views(found) if view.queue.name == one.name)
    return one, view


@pytest.mark.parametrize(
    ("text", "seconds"),
    [("0", 0), ("45", 45), ("90s", 90), ("90m", 5400), ("2h", 7200), ("7d", 604_800)],
)
def test_min_runtime(text, seconds):
    """A duration as in run-time-limit; each kind stands for itself."""
    one, view = read(**{RECLAIM: text})
    other, _ = read(**{PREEMPTION: text})

    assert (one.min_runtime_before_reclaim, one.min_runtime_before_preemption) == (seconds, None)
    assert other.min_runtime_before_preemption == seconds
    assert not view.problem


@pytest.mark.parametrize("text", ["1.5h", "-5m", "8d", "604801", "soon", "5 m", "9" * 12])
def test_a_bad_min_runtime_is_told_and_says_nothing(text):
    """The queue goes on without it; field, value and remedy are reported."""
    one, view = read(**{RECLAIM: text, PREEMPTION: "5m"})

    assert (one.min_runtime_before_reclaim, one.min_runtime_before_preemption) == (None, 300)
    assert view.frozen == ""
    assert view.problem == (
        f"metadata.annotations[{RECLAIM}]: is {text!r}; use a duration from 0 to 7d such as 90m, "
        "2h or 3600s (until then what is said above it holds)"
    )
