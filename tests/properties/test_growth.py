"""What holds for growth that makes others leave, on random trees of queues and random clusters."""

from collections import Counter
from dataclasses import replace

from hypothesis import event, given, note
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.model.instant import SECOND, Instant
from tests.properties.test_reclaim import COMMON, POLICY, check_victims, shown, towns


def edited(one, more):
    """Its template asks for so many more pods, all of them needed."""
    (old,) = one.demand.gang.pod_sets
    pods = old.count + more
    grown = replace(old, count=pods, minimum=pods)
    asked = replace(one.demand.gang, pod_sets=(grown,), minimum=pods)
    return replace(one, demand=replace(one.demand, gang=asked))


@COMMON
@given(towns(), st.data())
def test_growth(town, data):
    """Growth takes from whom it may, keeps what it has, comes whole, and then all is quiet."""
    running = sorted(key for key, one in town.workloads.items() if one.targets)
    if not running:
        return
    grows = data.draw(st.sets(st.sampled_from(running), min_size=1, max_size=2))
    for key in sorted(grows):
        grown = edited(town.workloads[key], data.draw(st.integers(1, 2)))
        priority = data.draw(st.sampled_from((grown.priority, 30, 30)))
        town.workloads[key] = replace(grown, priority=priority)
    kept_for, leavings, taken_by = set(), Counter(), {}
    for turn in range(20):
        if turn % 2:
            town.leave()
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        if plan.empty() and turn % 2:
            break
        check_victims(town.snapshot(), plan, dict(town.workloads))
        for one in plan.claims:
            before = town.workloads[one.workload].decision
            if before is not None and before.grants:
                assert one.decision.grants == before.grants
                assert one.decision.id == before.id
                if one.decision.claim is not None:
                    kept_for.add(one.workload)
        for one in plan.withdrawals:
            if one.makes_room_for is not None:
                assert taken_by.get(one.makes_room_for) != one.workload, "taken back"
                taken_by[one.workload] = one.makes_room_for
                leavings[one.workload] += 1
        town.execute(plan, linger=True)
        town.now = Instant(town.now + SECOND)
    event("others left for growth" if kept_for else "nobody left")
    assert plan.empty()
    assert max(leavings.values(), default=0) <= 2
    for key in kept_for:
        one = town.workloads[key]
        whole = one.targets and not one.lacking().entries
        assert whole or leavings[key], f"{key} did not get what others left for"
