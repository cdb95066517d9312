"""Notices of a recovery annotation that is refused, or asks for what no policy allows."""

import json

import pytest

from global_sched.shared.api.names import CHECKPOINT_GRACE, RECOVERY
from tests.global_sched.cache.worlds import feed, state_of, workload_in
from tests.wire import binding, placement, vcjob

MOVES = {"scopes": ["job", "cluster"]}


def asking(rules):
    """A gang with these rules."""
    job = vcjob("train", gpus=8)
    text = rules if isinstance(rules, str) else json.dumps(rules)
    job["metadata"].setdefault("annotations", {})[RECOVERY] = text
    return job


def told(job, where=None):
    """The notices of its binding, by topic."""
    state = state_of(job, binding(job, where=where))
    state.settle()
    return {one.topic: one.text for one in state.notices.take()}


@pytest.mark.parametrize(
    ("rules", "why"),
    [
        pytest.param(
            MOVES | {"carry": [{"label": "volcano.sh/x", "jsonPath": "{.status.x}"}]},
            "recovery.carry[0].label: is 'volcano.sh/x', which is reserved; use another prefix",
            id="a reserved key of a label",
        ),
        pytest.param(
            {"scopes": ["cluster", "pod"]},
            "recovery.scopes[1]: pod is not wider than cluster; order the ladder as pod, "
            "partition, task, shrink, job, cluster, each at most once",
            id="a ladder that does not widen",
        ),
    ],
)
def test_a_refused_annotation(rules, why):
    """The field, the reason and the remedy, on the control plane where the job was submitted."""
    assert told(asking(rules)) == {"RecoveryRefused": why}


@pytest.mark.parametrize(
    ("job", "where", "want"),
    [
        pytest.param(asking(MOVES), placement("m1", "m2"), "", id="two clusters"),
        pytest.param(asking(MOVES), placement(), "", id="every cluster"),
        pytest.param(asking({"scopes": ["job"]}), placement("m1"), "", id="it asks for no move"),
        pytest.param(
            asking(MOVES),
            placement("m1"),
            "its recovery annotation has the scope cluster, and its policy selects no cluster but "
            "m1 (spec.placement): it never moves; select others, too, or leave the scope out",
            id="one cluster",
        ),
    ],
)
def test_a_policy_with_one_cluster(job, where, want):
    """A move that its policy never allows has a notice from the start."""
    assert told(job, where).get("NowhereToMove", "") == want


def test_it_ends_with_its_cause():
    """Each is said once; after the annotation is corrected nothing stands any more."""
    job = asking("no JSON")
    state = state_of(job, binding(job))
    state.settle()
    assert [one.topic for one in state.notices.take()] == ["RecoveryRefused"]
    state.settle()
    assert state.notices.take() == ()

    feed(state, asking(MOVES))
    state.settle()
    assert [one.topic for one in state.notices.standing()] == []


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        pytest.param("90s", 90, id="seconds"),
        pytest.param("5m", 300, id="minutes"),
        pytest.param("24h", 86_400, id="a day, which the Policy cuts"),
        pytest.param("25h", 0, id="more than a day"),
        pytest.param("0s", 0, id="nothing"),
        pytest.param("soon", 0, id="no duration"),
    ],
)
def test_the_time_for_a_checkpoint(text, seconds):
    """Of a refused annotation nothing counts, and a notice says the field and what to write."""
    job = vcjob("train", gpus=8)
    job["metadata"].setdefault("annotations", {})[CHECKPOINT_GRACE] = text
    state = state_of(job, binding(job))
    assert workload_in(state, "team-a/train-job").checkpoint_grace == seconds
    state.settle()
    why = {one.topic: one.text for one in state.notices.take()}
    assert why == (
        {}
        if seconds
        else {
            "CheckpointGraceRefused": "metadata.annotations[federation.global-sched.io/"
            f"checkpoint-grace]: is {text!r}; use a duration from 1s to 24h such as 90s or 5m: "
            "until then it leaves at once when it has to"
        }
    )


def test_another_time_counts_at_once():
    """Though the rest of the template is the same, and its binding as well."""
    job = vcjob("train", gpus=8)
    state = state_of(job, binding(job))
    state.settle()
    job["metadata"].setdefault("annotations", {})[CHECKPOINT_GRACE] = "60s"
    feed(state, job)
    assert workload_in(state, "team-a/train-job").checkpoint_grace == 60
