"""Properties of the restart of whole gangs, over random losses, restarts by others, and agents."""

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from member_agent.recovery.whole_gang import (
    GangRestart,
    gang_rules,
    look_at_gang,
    parse_gangs,
    render_gangs,
)
from tests.member_agent import member

POLICY = RecoveryPolicy()
NAMES = "abcd"
[POD] = member.member(member.pod("a", node="n1")).pods.values()
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("lose", "alone", "all", "wait")),
        st.sampled_from(NAMES),
        st.sampled_from((Cause.EXIT_CODE, Cause.NODE_GONE)),
        st.integers(1, 700),
    ),
    max_size=20,
)


def made(name, at):
    """A pod that is made at that instant, and Ready."""
    return replace(POD, uid=f"{name}{at}", name=name, created=at, ready=True)


@given(events=EVENTS, losses=st.integers(0, 4))
def test_bounded_at_rest_and_never_beside_the_controller(events, losses):
    """No pod is deleted that was made after the loss, nor any once the controller took others.

    Restarts are at most one per loss, those for failures of its own at most the budget, and a
    second look, by another agent too, takes no further step.
    """
    text = json.dumps({"scopes": ["job"], "budget": {"losses": losses, "window": "7d"}})
    rules, _ = gang_rules(text, POLICY, "PyTorchJob")
    state, now = GangRestart(), Instant(10**12)
    pods = {name: made(name, now) for name in NAMES}
    lost_at, taken, seen, restarts = now, False, 0, 0
    for what, name, cause, seconds in events:
        now = Instant(now + seconds * SECOND)
        lost = []
        if what == "lose" and name in pods:
            gone = replace(pods.pop(name), phase="Failed", cause=cause, ended_at=now, ready=False)
            lost, seen = [gone], seen + 1
            lost_at, taken = now, False
        elif what == "alone":
            pods |= {one: made(one, now) for one in NAMES if one not in pods}
        elif what == "all":
            pods, taken = {one: made(one, now) for one in NAMES}, True
        world = {"pods": list(pods.values()), "wanted": len(NAMES), "now": now}
        found = look_at_gang(rules, POLICY, state, lost=lost, **world)
        restarted = [reason for reason, _ in found.notes if reason == "RestartsGang"]
        restarts += len(restarted)
        assert all(pod.created < lost_at for pod in found.deletes)
        assert not (restarted and taken)
        again = look_at_gang(
            rules,
            POLICY,
            parse_gangs(render_gangs({"u": found.state})).get("u", GangRestart()),
            lost=(),
            **world,
        )
        assert (again.state, again.notes, again.deletes) == (found.state, (), found.deletes)
        for pod in found.deletes:
            pods.pop(pod.name, None)
        state = found.state
    assert restarts <= seen
