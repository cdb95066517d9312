"""Room that is kept from a job: how much, for which gang, and why it may not pass by."""

import pytest

from global_sched.core import explain_workload, run_cycle
from tests.builders import POLICY, queue, workload
from tests.played import explained
from tests.towns import Member, Town


def world(limit="", own="", asks=1):
    """A gang of four waits for a rack of four, in which two run; the job comes after that."""

    def note(text):
        return (
            f"annotations: {{federation.global-sched.io/run-time-limit: {text}}}, " if text else ""
        )

    return f"""\
world:
  policy: {{patience_seconds: 10}}
  clusters:
  - name: m
    domains: {{r: {{tier: 1}}}}
    nodes: [{{domain: r, count: 4, allocatable: {{cpu: 1}}}}]
  queues: [{{name: a}}]
  jobs:
  - {{name: run, queue: a, created: 0, {note(limit)}running: {{cluster: m, domain: r}},
     tasks: [{{replicas: 2, requests: {{cpu: 1}}}}]}}
  - {{name: big, queue: a, created: 1, topology: {{highestTierAllowed: 1}},
     tasks: [{{replicas: 4, requests: {{cpu: 1}}}}]}}
steps:
- waitSeconds: 20
  submit: [{{name: j, queue: a, {note(own)}tasks: [{{replicas: {asks}, requests: {{cpu: 1}}}}]}}]
"""


DRAINS = "m r drains for a gang of queue a (4 pods), which waited longer than its patience; "
STARTS = "that starts at 2026-01-01T01:00:00Z at the latest, and "


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(
            world(own="5m"),
            "no other job may be placed there before it, since not all that runs there has a "
            "run-time limit",
            id="when the gang starts is not known",
        ),
        pytest.param(
            world(limit="1h"),
            f"{STARTS}this job has no run-time limit",
            id="the job has no limit",
        ),
        pytest.param(
            world(limit="1h", own="2h"),
            f"{STARTS}this job may run until 2026-01-01T02:00:20Z",
            id="the job may run longer than that",
        ),
        pytest.param(
            world(limit="1h", own="5m", asks=3),
            f"{STARTS}there is no room for this job before that either",
            id="the job is too large for what is free",
        ),
    ],
)
def test_a_domain_that_drains(text, want):
    """Of a reservation it is said when the gang can start, and what the job lacks to pass by."""
    assert explained(text, "j").kept == (DRAINS + want,)


def test_nothing_is_kept_from_the_gang_itself():
    """Nor from one that waits for something else than room."""
    assert explained(world(), "big").kept == ()
    shut = world().replace("{name: a}", "{name: a}, {name: b, state: Closed}")
    assert explained(shut.replace("name: j, queue: a", "name: j, queue: b"), "j").kept == ()


def test_room_for_which_others_had_to_leave():
    """The room of a claim is named as such."""
    town = Town([Member("m", (1,))], [queue("a")])
    town.run(workload("low", cpu=1, queue="a"), policy=POLICY)
    town.add(workload("high", cpu=1, queue="a", priority=5))
    town.execute(run_cycle(town.snapshot(), POLICY, town.now), linger=True)
    town.add(workload("j", cpu=1, queue="a"))

    assert explain_workload(town.snapshot(), POLICY, town.now, "jobs/j").kept == (
        "room in m r0 for a gang of queue a (1 pod), for which victims were evicted",
    )
