"""Invariants of calls for a checkpoint, on random trees of queues and random clusters."""

from dataclasses import replace

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Division
from tests.deep import examples
from tests.properties.test_moves import NO_SHRINKING, over
from tests.properties.test_reclaim import COMMON, POLICY, shown, towns

GRACE = 3
LEAVING = (Reason.PREEMPTED, Reason.RECLAIMED)


@settings(COMMON, max_examples=examples(20), phases=NO_SHRINKING)
@given(towns(), st.data())
def test_calls(town, data):
    """No gang that asks leaves before its time, no queue is over, and in the end all is quiet."""
    running = sorted(key for key, one in town.workloads.items() if one.targets)
    for key, one in sorted(town.workloads.items()):
        if running and not one.targets:
            queue = town.workloads[data.draw(st.sampled_from(running))].queue
            town.workloads[key] = replace(one, queue=queue, priority=30)
    asking = {key for key in sorted(town.workloads) if data.draw(st.booleans())}
    for key in asking:
        town.workloads[key] = replace(town.workloads[key], checkpoint_grace=GRACE)
    were_over, quiet, calls = over(town), 0, 0
    for turn in range(80):
        if turn % 2:
            town.leave()
        before = dict(town.workloads)
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        quiet = quiet + 1 if plan.empty() else 0
        if quiet > 2 * GRACE:
            break
        calls += sum(one.decision.called is not None for one in plan.claims)
        for one in plan.withdrawals:
            old = before[one.workload]
            if one.workload in asking and old.demand.division == Division.WHOLE:
                called = old.decision.called
                assert one.reason not in LEAVING or called is not None, one.workload
                assert called is None or town.now - called >= GRACE * SECOND
        town.execute(plan, linger=True)
        assert over(town) <= were_over
        town.now = Instant(town.now + SECOND)
    event(f"{calls} called")
    assert quiet
    assert all(
        one.decision is None or one.decision.called is None for one in town.workloads.values()
    ), "nothing wants it any more"
