"""The ladder of recovery on a whole Job: what is restarted when, and what is left alone."""

import json
from dataclasses import replace
from typing import Any

import pytest

from global_sched.shared.api.names import RECOVERY
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import Scope
from member_agent.jobs.memory import Memory
from member_agent.jobs.outcome import Healed, JobOutcome
from tests.member_agent.jobs.job_world import Town, policy, task


def town(*tasks: dict[str, Any], rules: Any, **spec: Any) -> Town:
    """A running Job with these rules of recovery."""
    made = Town(*(tasks or (task(replicas=3),)), **spec)
    text = rules if isinstance(rules, str) else json.dumps(rules)
    made.job["metadata"]["annotations"] = {RECOVERY: text}
    return made.settle().run()


def fresh(one: Town) -> list[str]:
    """Names of the pods that were made since the last call."""
    made, one.created = one.created, []
    return [name.removeprefix("train-") for name in made]


def reasons(one: Town) -> list[str]:
    """Reasons of the notes so far, without repeats."""
    return list(dict.fromkeys(note.reason for note in one.notes))


def test_a_pod_that_crashes_is_restarted_alone():
    """At once the first time; the others keep running, and no retry is burnt."""
    one = town(rules={"scopes": ["pod", "job"]})
    fresh(one)

    one.end("train-worker-1", code=3)

    assert fresh(one) == ["worker-1"]
    assert one.run("train-worker-1").phase == "Running"
    assert (one.retries(), one.status.get("version", 0)) == (0, 0)


def test_a_deterministic_crash_backs_off_and_spends_the_budget():
    """0, 30, 60, 120 s; the failure after the budget ends the Job, with its cause."""
    rules = {"scopes": ["pod"], "budget": {"losses": 4, "window": "24h"}}
    one = town(rules=rules, maxRetry=1)
    waits = []
    for _ in range(4):
        fresh(one)
        one.end("train-worker-1", code=3)
        waited = 0
        while not (made := fresh(one)):
            one.wait(10)
            waited += 10
        assert made == ["worker-1"]
        waits.append(waited)
        one.run("train-worker-1")
    one.end("train-worker-1", code=3)

    assert waits == [0, 30, 60, 120]
    assert one.phase == "Failed"
    assert one.status["state"]["message"] == (
        "pod train-worker-1 failed with exit code 3; that is failure 5 within 86400 s, and "
        "recovery.budget allows 4"
    )


def test_a_lone_pod_waits_for_its_back_off():
    """Its Job has not failed though all of its pods have."""
    one = town(task(replicas=1), rules={"scopes": ["pod"]})
    one.end("train-worker-0", code=1).run()
    fresh(one)

    one.end("train-worker-0", code=1).wait(29)
    held = one.phase
    one.wait(1)

    assert (held, fresh(one)) == ("Running", ["worker-0"])


def test_twenty_crashes_at_one_instant_are_twenty_restarts_and_then_a_pause():
    """The second wave waits 30 s: each place counts for itself."""
    one = town(task(replicas=20), rules={"scopes": ["pod"]})
    fresh(one)
    one.end(code=1)
    first = fresh(one)
    one.run().end(code=1)
    second = fresh(one)
    one.wait(30)

    assert (len(first), second, len(fresh(one))) == (20, [], 20)


def test_pod_then_job_when_the_pod_stays_pending():
    """Volcano #3812: a replacement without room leads to the next scope after `step`, once."""
    one = town(rules={"scopes": ["pod", "job"]})
    fresh(one)
    one.evict("train-worker-2")
    again = fresh(one)
    one.wait(599)
    before = fresh(one)
    one.wait(1)
    all_of_them = fresh(one)
    one.wait(3600)

    assert (again, before) == (["worker-2"], [])
    assert all_of_them == ["worker-0", "worker-1", "worker-2"]
    assert (fresh(one), reasons(one)[-1]) == ([], "RecoveryWaits")


def test_an_agent_that_restarts_in_the_middle_of_a_timer():
    """Volcano #3967: the next agent takes the step at the instant at which the last one would."""
    one = town(rules={"scopes": ["pod", "job"]})
    one.evict("train-worker-2").wait(300)
    fresh(one)
    one.memory = Memory()
    one.settle().wait(299)
    before = fresh(one)
    one.memory = Memory()
    one.wait(1)

    assert (before, len(fresh(one))) == ([], 3)


@pytest.mark.parametrize("hours", [1, -1])
def test_the_next_agents_clock_may_be_an_hour_apart(hours):
    """Ahead: the step is taken at once. Behind: after its own time, and no hour later."""
    one = town(rules={"scopes": ["pod", "job"]})
    one.evict("train-worker-2").wait(300)
    one.deleted.clear()
    one.memory = Memory()
    one.wait(hours * 3600)
    early = len(one.deleted)
    one.wait(600)

    assert (early, len(one.deleted)) == (3 if hours > 0 else 0, 3)


def test_a_loss_that_heals_costs_nothing():
    """Ready within `heal`: the whole Job, which is the first scope, is left alone."""
    one = town(rules={"scopes": ["job"]})
    fresh(one)
    one.evict("train-worker-2")
    made = fresh(one)
    one.wait(59).run("train-worker-2").wait(3600)

    assert (made, fresh(one)) == (["worker-2"], [])


def test_a_loss_that_does_not_heal_is_answered_after_heal():
    """By the first scope."""
    one = town(rules={"scopes": ["job"]})
    one.evict("train-worker-2")
    fresh(one)
    one.wait(59)
    before = fresh(one)
    one.wait(1)

    assert (before, fresh(one)) == ([], ["worker-0", "worker-1", "worker-2"])


def test_a_partition_is_restarted_without_the_others():
    """Then the task, then the job, each after `step`."""
    parts = task(replicas=4, partitionPolicy={"totalPartitions": 2, "partitionSize": 2})
    one = town(
        parts, task("driver", 1), rules={"scopes": ["partition", "task", "job"]}, minAvailable=5
    )
    fresh(one)
    one.end("train-worker-3", code=1)
    partition = fresh(one)
    one.wait(600)
    whole_task = fresh(one)
    one.wait(600)

    assert partition == ["worker-2", "worker-3"]
    assert whole_task == ["worker-0", "worker-1", "worker-2", "worker-3"]
    assert len(fresh(one)) == 5


def test_faults_weeks_apart_end_no_job():
    """What left the window counts no more; without rules the third one would end the Job."""
    one = town(rules={"scopes": ["pod"], "budget": {"losses": 2, "window": "24h"}})
    for _ in range(6):
        one.end("train-worker-1", code=1).run("train-worker-1").wait(20 * 86400)

    assert one.phase == "Running"


def test_a_budget_counts_retries_of_policies_within_its_window():
    """A Job without a ladder keeps its policies; maxRetry no longer counts for ever."""
    rules = {"budget": {"losses": 2, "window": "24h"}}
    rule = policy("RestartPod", "PodFailed")
    one = town(rules=rules, policies=[rule], maxRetry=3)
    for _ in range(6):
        one.end("train-worker-1", code=1).run("train-worker-1").wait(20 * 86400)
    long_run = one.phase
    for _ in range(3):
        one.end("train-worker-1", code=1)
        if one.phase != "Failed":
            one.run("train-worker-1")

    assert (long_run, one.phase) == ("Running", "Failed")


def test_an_exit_code_ends_the_job_at_once():
    """What fails so fails again."""
    one = town(rules={"scopes": ["pod"], "exitCodes": {"fail": [2]}})

    one.end("train-worker-0", code=2)

    assert one.phase == "Failed"
    assert one.status["state"]["message"] == (
        "pod train-worker-0 failed with exit code 2, which ends the job (recovery.exitCodes.fail)"
    )


def test_a_scope_of_another_program_waits_with_that_reason():
    """`cluster` is a step of the leader."""
    one = town(rules={"scopes": ["pod", "cluster"]})
    one.evict("train-worker-2").wait(600)

    assert one.notes[-1].message == (
        "pod train-worker-2 was evicted: scope cluster is a step of the leader"
    )


def test_policies_of_losses_are_silent_beside_a_ladder():
    """Both would restart the same pods; those for completed tasks go on."""
    rules = [policy("AbortJob", "PodFailed"), policy("CompleteJob", "TaskCompleted")]
    one = town(rules={"scopes": ["pod"]}, policies=rules)
    one.end("train-worker-1", code=1)
    after = one.phase
    one.run().end()

    assert after != "Aborting"
    assert one.phase == "Completed"


def test_refused_rules_are_said_once_and_the_defaults_count():
    """The Job's own policies answer, as without rules."""
    one = town(rules={"scopes": ["job", "pod"]}, policies=[policy("RestartJob", "PodFailed")])
    one.end("train-worker-1", code=1).run()

    said = [note.message for note in one.notes if note.reason == "RecoveryRefused"]
    ladder = "pod, partition, task, shrink, job, cluster, each at most once"
    why = f"recovery.scopes[1]: pod is not wider than job; order the ladder as {ladder}"
    assert said == [f"{why}; until then the defaults count"]
    assert one.status["version"] == 1


@pytest.mark.parametrize("rules", [{"scopes": ["pod", "job"]}, {"scopes": ["task"]}])
def test_without_a_fault_nothing_is_written(rules):
    """A day of a sound Job."""
    one = town(rules=rules)
    before = dict(one.status)
    fresh(one)
    one.wait(86400)

    assert (one.status, fresh(one), one.deleted) == (before, [], [])


def recovering(one: Town) -> dict[str, Any]:
    """The condition Recovering of the Job's PodGroup."""
    assert one.group is not None
    found: dict[str, Any] = next(
        c for c in one.group["status"]["conditions"] if c["type"] == "Recovering"
    )
    return found


def test_the_pod_group_says_what_recovers():
    """Cause, step and what follows; and that it is over, once."""
    one = town(rules={"scopes": ["pod", "job"]})
    one.end("train-worker-1", code=3)
    during = recovering(one)
    one.run("train-worker-1").wait(60)
    after = recovering(one)

    assert during == {
        "type": "Recovering",
        "status": "True",
        "reason": "ExitCode",
        "message": (
            "pod train-worker-1 failed with exit code 3: scope pod, step 1 of 2, since "
            "2026-01-31T12:00:00Z, next job at 2026-01-31T12:10:00Z"
        ),
        "lastTransitionTime": "2026-01-31T12:00:00Z",
    }
    assert (after["status"], after["reason"]) == ("False", "Whole")


def test_a_step_says_what_it_took_and_how_many_it_disturbed():
    """The widest scope and its cause once it is over; running pods that were restarted for it."""
    one = town(rules={"scopes": ["pod", "job"]})
    one.evict("train-worker-2").wait(600)
    disturbed = one.disturbed
    one.wait(30).run()

    assert disturbed == 2
    assert one.healed == [Healed(scope="job", cause=Cause.UNKNOWN, took=630 * SECOND)]


class Killed(Exception):  # noqa: N818 - it is no error
    """The agent is gone."""


class Mortal(Town):
    """A Job whose agent is killed before its write number `fatal`, once; another one follows."""

    fatal = -1
    writes = 0

    def _write(self) -> None:
        self.writes += 1
        if self.writes == self.fatal:
            raise Killed

    def _carry_out(self, outcome: Any) -> bool:
        parts = [
            replace(outcome, deletes=(), creates=(), create_group=None, group_status=None),
            *(JobOutcome(memory=outcome.memory, deletes=(pod,)) for pod in outcome.deletes),
            JobOutcome(
                memory=outcome.memory,
                create_group=outcome.create_group,
                group_status=outcome.group_status,
            ),
            *(JobOutcome(memory=outcome.memory, creates=(pod,)) for pod in outcome.creates),
        ]
        acts = False
        for at, part in enumerate(parts):
            if at or outcome.status is not None:
                self._write()
            acts = super()._carry_out(part) or acts
        return acts

    def settle(self) -> "Town":
        """Go on with a new agent when the old one was killed."""
        try:
            return super().settle()
        except Killed:
            self.memory = Memory()
            return super().settle()


def crash_and_recover(fatal: int) -> tuple[Any, ...]:
    """A pod crashes twice, the gang of its task is restarted: how that ends, and the writes."""
    one = Mortal(task(replicas=3))
    rules = {"scopes": ["pod", "task"], "budget": {"losses": 5, "window": "24h"}}
    one.job["metadata"]["annotations"] = {RECOVERY: json.dumps(rules)}
    one.settle().run()
    one.writes, one.fatal = 0, fatal
    one.end("train-worker-1", code=3).run("train-worker-1")
    one.end("train-worker-1", code=3).wait(30)
    one.wait(600).run().wait(3600)
    record = one.status.get("controlledResources", {})
    ladder = json.loads(record.get("recovery", "{}"))
    failures = sum(count for _, count in ladder.get("losses", []))
    return one.phase, sorted(one.pods), failures, ladder.get("faults", []), one.writes


def test_an_agent_killed_at_every_write_ends_alike():
    """The same phase, pods and budget, whichever write was the last one of the first agent."""
    *end, writes = crash_and_recover(-1)

    assert end == ["Running", ["train-worker-0", "train-worker-1", "train-worker-2"], 2, []]
    for fatal in range(1, writes + 1):
        *other, _ = crash_and_recover(fatal)
        assert other == end, f"killed before write {fatal} of {writes}"


def test_what_a_job_goes_on_without_is_no_loss():
    """The leader admits one pod fewer: the ladder is at its end, and the others are left alone."""
    one = town(rules={"scopes": ["pod", "shrink", "job"]}, minAvailable=2)
    one.admitted = Amounts.of({PodSetName("worker"): 3})
    one.evict("train-worker-1")
    one.wait(30)
    assert recovering(one)["status"] == "True"

    one.admitted = Amounts.of({PodSetName("worker"): 2})
    one.wait(30)
    assert recovering(one)["status"] == "False"
    one.wait(3600)
    assert one.status.get("version", 0) == 0


def test_shrink_is_not_the_end_of_a_ladder():
    """Where it does not make the rest whole within its time, the whole job is restarted."""
    one = town(rules={"scopes": ["pod", "shrink", "job"]}, minAvailable=3)
    one.evict("train-worker-1")
    one.wait(600)
    assert (one.memory.waits_at, one.status.get("version", 0)) == (Scope.SHRINK, 0)

    one.wait(600)
    assert one.status["version"] == 1


def test_a_pod_that_fails_at_shrink_is_restarted_as_before_it():
    """By the scope below, after its back-off."""
    one = town(rules={"scopes": ["pod", "shrink", "job"]}, minAvailable=3)
    one.evict("train-worker-1")
    one.wait(600)
    fresh(one)
    one.run("train-worker-1")
    one.end("train-worker-1", code=3)
    one.wait(60)

    assert fresh(one) == ["worker-1"]
    assert one.status.get("version", 0) == 0
