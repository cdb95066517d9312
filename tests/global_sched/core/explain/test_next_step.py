"""The next step of a waiting job, from its verdict alone."""

import pytest

from global_sched.core import NEXT_STEPS, next_step
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.plan import Outcome
from global_sched.shared.model.verdict import Code, Verdict
from tests.builders import workload

WITHOUT = {
    Reason.ADMITTED,
    Reason.CHECKPOINT_CALLED,
    Reason.FITS,
    Reason.GAVE_UP_SURPLUS,
    Reason.GOES_ON_WITH_FEWER,
}
"""What no waiting job has as its reason."""


def outcome(reason, *, code=Code.NO_FIT, asks="", too_small=False):
    """How the job leaves the cycle."""
    return Outcome(
        workload=workload("train").key,
        queue=QueueName("research"),
        tenant=workload("train").tenant,
        verdict=Verdict(code=code, reason=reason, asks=asks, too_small=too_small),
        nearest=ClusterName("west"),
        position=3,
    )


def test_every_reason_to_wait_has_one():
    """A new reason cannot be without."""
    assert set(Reason) - NEXT_STEPS.keys() == WITHOUT


@pytest.mark.parametrize("reason", sorted(NEXT_STEPS))
def test_it_is_one_whole_sentence(reason):
    """It can follow "runs when", and no name in it is left out."""
    said = next_step(workload("train"), outcome(reason))

    assert said
    assert not {"{", "}", "\n"} & set(said)
    assert not said.endswith((".", " "))


@pytest.mark.parametrize(
    ("of", "want"),
    [
        pytest.param(
            outcome(Reason.TOPOLOGY_DOES_NOT_FIT, asks="a rack with room for 5 pods"),
            "a rack with room for 5 pods comes free",
            id="room in a rack",
        ),
        pytest.param(
            outcome(Reason.TOPOLOGY_DOES_NOT_FIT, asks="a rack with room for 5", too_small=True),
            "the policy selects a cluster that is large enough (spec.placement)",
            id="more than the clusters have that its policy selects",
        ),
        pytest.param(
            outcome(Reason.CAPACITY_DOES_NOT_FIT, code=Code.NEVER, asks="a cluster for 5 pods"),
            "the job is changed: no room of the federation is enough as it is",
            id="more than there is",
        ),
        pytest.param(
            outcome(Reason.QUEUE_CAPABILITY),
            "jobs of queue research end, or a capability above it is raised",
            id="a full queue",
        ),
        pytest.param(outcome(Reason.ADMITTED, code=Code.FIT), "", id="a job that runs"),
    ],
)
def test_what_lets_it_run(of, want):
    """The room, the queue or the field that the reason is about."""
    assert next_step(workload("train"), of) == want
