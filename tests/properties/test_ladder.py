"""Properties of the ladder of recovery, over random worlds of losses, cures and restarts."""

import json

from hypothesis import given
from hypothesis import strategies as st

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import RecoveryPolicy, Scope, parse_recovery
from member_agent.jobs.ladder import (
    LadderState,
    Loss,
    absorbed,
    climb,
    parse_ladder,
    render_ladder,
)

PLACES = tuple(("worker", at) for at in range(6))
POLICY = RecoveryPolicy()
LADDERS = (["pod"], ["job"], ["pod", "job"], ["pod", "partition", "task", "job"], ["task", "job"])
CAUSES = (Cause.EXIT_CODE, Cause.OOM_KILLED, Cause.NODE_GONE, Cause.EVICTED)
EVENTS = st.lists(
    st.tuples(
        st.sampled_from(("lose", "cure", "wait", "restart")),
        st.sampled_from(PLACES),
        st.sampled_from(CAUSES),
        st.integers(0, 700),
    ),
    max_size=25,
)


@given(events=EVENTS, scopes=st.sampled_from(LADDERS), losses=st.integers(0, 8))
def test_bounded_and_at_rest(events, scopes, losses):
    """Never wider than the ladder, never over the budget, and a second look does nothing.

    All steps together are bounded: one per failure of the job's own, and one per scope and loss.
    """
    spec = parse_recovery(
        json.dumps({"scopes": scopes, "budget": {"losses": losses, "window": "7d"}}), POLICY
    )
    state, now, serial = LadderState(), Instant(10**12), 0
    standing: dict[tuple[str, int], Loss] = {}
    whole = dict.fromkeys(PLACES, True)
    own = lost = acts = 0
    for what, place, cause, seconds in events:
        new = []
        if what == "lose" and whole[place]:
            serial += 1
            own += cause in (Cause.EXIT_CODE, Cause.OOM_KILLED)
            lost += 1
            loss = Loss(place=place, uid=f"u{serial}", cause=cause, about="it was lost")
            new = [loss]
            whole[place] = False
            if cause in (Cause.EXIT_CODE, Cause.OOM_KILLED):
                standing[place] = loss
        elif what == "cure" and place not in standing:
            whole[place] = True
        elif what == "wait":
            now = Instant(now + seconds * SECOND)
        elif what == "restart":
            state = parse_ladder(render_ladder(state))
        seen = {*new, *standing.values()}
        found = climb(spec, POLICY, state, losses=sorted(seen, key=str), whole=whole, now=now)
        if found.failed:
            assert own > losses
            return
        assert own <= losses
        assert {act.scope for act in found.acts} <= {Scope(scope) for scope in scopes}
        acts += len(found.acts)
        state = found.state
        if found.acts:
            places = {act.fault.place for act in found.acts}
            state = absorbed(state, found.acts, places)
            for one in places:
                standing.pop(one, None)
                whole[one] = False
        again = climb(spec, POLICY, state, losses=list(standing.values()), whole=whole, now=now)
        assert (again.state, again.acts) == (state, ())
    assert acts <= own + lost * len(scopes)
