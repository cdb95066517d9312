"""The restart of a whole gang of another controller: when, once, and never beside its own."""

import json
from dataclasses import replace

import pytest

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import RecoveryPolicy, Scope
from member_agent.recovery.whole_gang import (
    GANGS,
    GangRestart,
    gang_rules,
    look_at_gang,
    parse_gangs,
    render_gangs,
)
from tests.member_agent import member

NOW = Instant(1_000_000 * SECOND)
POLICY = RecoveryPolicy()
RULES = {"scopes": ["job"]}


class Gang:
    """A gang of four whose controller makes single pods again, and the looks at it."""

    def __init__(self, rules=RULES):
        self.rules, self.refused = gang_rules(json.dumps(rules), POLICY, "PyTorchJob")
        self.state = GangRestart()
        self.at = NOW
        self.pods = {name: self.made(name, 1, NOW - 3600 * SECOND) for name in "abcd"}

    @staticmethod
    def made(name, attempt, created):
        [record] = member.member(member.pod(name, node="n1")).pods.values()
        uid, at = f"{name}{attempt}", Instant(created)
        return replace(record, uid=uid, name=name, created=at, ready=True)

    def wait(self, seconds):
        self.at = Instant(self.at + seconds * SECOND)
        return self

    def look(self, *lost):
        """One look, which a second one on the same world does not change."""
        world = {"pods": list(self.pods.values()), "wanted": 4, "now": self.at}
        found = look_at_gang(self.rules, POLICY, self.state, lost=lost, **world)
        again = look_at_gang(self.rules, POLICY, found.state, lost=(), **world)
        assert again.state == found.state
        self.state = parse_gangs(render_gangs({"uid": found.state})).get("uid", GangRestart())
        return found

    def fails(self, name, cause=Cause.EXIT_CODE, seconds=0):
        """A pod fails, and its controller makes it again so many seconds later."""
        gone = replace(
            self.pods.pop(name), phase="Failed", cause=cause, ended_at=self.at, ready=False
        )
        found = self.look(gone)
        if seconds:
            self.wait(seconds)
            self.replaced(name)
        return found

    def replaced(self, *names):
        """Pods that are made anew, and Ready."""
        for name in names:
            self.pods[name] = self.made(name, f"@{self.at}", self.at)

    def deleted(self, found):
        """The names of the pods that a look deletes, which are gone then."""
        names = sorted(pod.name for pod in found.deletes)
        for name in names:
            self.pods.pop(name)
        return names


def reasons(found):
    return [reason for reason, _ in found.notes]


def test_a_crash_restarts_the_rest_after_the_controllers_turn():
    """Ten seconds after it, once; the pod that its controller made in between stays."""
    gang = Gang()
    first = gang.fails("b", seconds=5)
    early = gang.wait(4).look()
    due = gang.wait(1).look()

    assert (first.deletes, early.deletes) == ((), ())
    assert first.wake == Instant(NOW + 10 * SECOND)
    assert reasons(due) == ["RestartsGang"]
    assert gang.deleted(due) == ["a", "c", "d"]
    assert gang.wait(1).look().deletes == ()
    gang.replaced("a", "c", "d")
    healed = gang.look()
    assert [fault.cause for fault in healed.healed] == [Cause.EXIT_CODE]
    assert healed.state.ladder.faults == ()


def test_a_controller_that_restarts_the_gang_itself_is_left_alone():
    """Other pods have gone since the loss: never both."""
    gang = Gang()
    gang.fails("b", seconds=3)
    gang.pods.clear()
    gang.replaced(*"abcd")
    due = gang.wait(7).look()

    assert (reasons(due), due.deletes) == (["LeftToController"], ())


def test_a_restart_that_was_seen_late_is_no_loss():
    """Every other pod was made after the one that failed had ended."""
    gang = Gang()
    gone = replace(
        gang.pods["b"], phase="Failed", cause=Cause.EXIT_CODE, ended_at=gang.at, ready=False
    )
    gang.pods.clear()
    gang.wait(1).replaced(*"abcd")

    assert gang.look(gone).state == GangRestart()


def test_a_replacement_that_is_quicker_than_the_look_stays():
    """It has the lost pod's name, and is none of those that stood there."""
    gang = Gang()
    gone = replace(
        gang.pods.pop("b"), phase="Failed", cause=Cause.EXIT_CODE, ended_at=gang.at, ready=False
    )
    gang.replaced("b")
    gang.look(gone)

    assert gang.deleted(gang.wait(10).look()) == ["a", "c", "d"]


def test_a_lost_node_costs_nothing_when_the_gang_is_whole_within_heal():
    """Only what is not Ready again after 60 s restarts the rest."""
    gang, slow = Gang(), Gang()
    gang.fails("b", Cause.NODE_GONE, seconds=30)
    healed = gang.look()
    slow.fails("b", Cause.NODE_GONE)

    assert (len(healed.healed), healed.state) == (1, GangRestart())
    assert slow.wait(59).look().deletes == ()
    assert slow.deleted(slow.wait(1).look()) == ["a", "c", "d"]


def test_pods_that_fail_with_the_first_one_are_the_same_failure():
    """A gang that breaks as one counts once, and so do pods that end badly while they go."""
    gang = Gang({"scopes": ["job"], "budget": {"losses": 1, "window": "1h"}})
    gang.fails("a")
    gang.fails("b")
    due = gang.wait(10).look()
    ends = replace(gang.pods["c"], cause=Cause.EXIT_CODE, phase="Failed", ended_at=gang.at)
    gang.deleted(due)
    after = gang.look(ends)

    assert sum(after.state.ladder.losses.values()) == 1
    assert (after.waits, after.deletes) == ("", ())
    assert gang.wait(600).look().waits.endswith("the ladder has no wider scope")


def test_crashes_in_a_row_wait_longer_until_the_budget_is_used_up():
    """10, 30, 60 s; then the gang is left to its controller, and that is said."""
    gang = Gang({"scopes": ["job"], "budget": {"losses": 3, "window": "1h"}})
    waits = []
    for _ in range(4):
        gang.wait(5)
        found = gang.fails("a")
        waits.append(0 if found.wake is None else (found.wake - gang.at) // SECOND)
        gang.wait(waits[-1])
        gang.deleted(gang.look())
        gang.wait(1).replaced(*"abcd")
        last = gang.look()

    assert waits == [10, 30, 60, 0]
    assert found.waits.endswith("failure 4 within 3600 s, and recovery.budget allows 3")
    assert last.deletes == ()


def test_scope_pod_leaves_the_loss_to_the_controller_first():
    """What it has not made whole within the step of the Policy is restarted as a whole."""
    gang = Gang({"scopes": ["pod", "job", "cluster"]})
    gang.fails("b")
    assert gang.wait(10).look().deletes == ()
    assert gang.wait(599).look().deletes == ()
    gang.wait(1)

    assert gang.deleted(gang.look()) == ["a", "c", "d"]
    gang.wait(600)
    assert gang.look().waits_at is Scope.CLUSTER


def test_an_agent_that_was_killed_midway_is_followed_by_one_that_goes_on():
    """Half of the pods were deleted: the next agent deletes the other half, and no new pod."""
    gang = Gang()
    gang.fails("b")
    assert len(gang.wait(10).look().deletes) == 3
    gang.pods.pop("a")
    gang.wait(5).replaced("a", "b")

    assert gang.deleted(gang.look()) == ["c", "d"]
    assert gang.look().state.going is False


@pytest.mark.parametrize(
    ("hours", "seconds"),
    [pytest.param(1, 0, id="ahead"), pytest.param(-1, 600, id="behind: the longest back-off")],
)
def test_another_agents_clock_an_hour_apart_delays_a_restart_by_minutes_at_most(hours, seconds):
    """No time in the state lies further ahead than it could by the present clock."""
    gang = Gang()
    gang.fails("b")
    gang.wait(hours * 3600)
    if seconds:
        assert gang.look().wake == Instant(gang.at + seconds * SECOND)

    assert gang.deleted(gang.wait(seconds).look()) == ["a", "c", "d"]


@pytest.mark.parametrize(
    ("rules", "problem"),
    [
        pytest.param({"scopes": ["task", "job"]}, "recovery.scopes: has task", id="scope"),
        pytest.param(
            {"scopes": ["job"], "exitCodes": {"fail": [2]}}, "recovery.exitCodes.fail", id="codes"
        ),
    ],
)
def test_what_only_a_volcano_job_can_ask_for_is_refused(rules, problem):
    """With the field, the reason and what would help; nothing is restarted then."""
    gang = Gang(rules)

    assert gang.refused.startswith(problem)
    assert "restarted by its own controller; use " in gang.refused
    assert gang.rules.scopes == ()


def test_without_the_scope_job_nothing_is_restarted():
    """An annotation for other purposes opts in to nothing."""
    assert Gang({"scopes": ["pod", "cluster"]}).rules.scopes == ()
    assert Gang({"exitCodes": {"node": [79]}}).rules.scopes == ()


def test_what_is_written_is_bounded():
    """Ten thousand gangs at once fit into the ConfigMap beside the nodes."""
    gang = Gang()
    state = gang.fails("b").state
    text = render_gangs({f"uid-{at:05}": state for at in range(10_000)})

    assert len(parse_gangs(text)) == GANGS
    assert len(text) < 200_000
    assert parse_gangs("[") == {}
