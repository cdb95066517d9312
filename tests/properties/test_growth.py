"""Invariants of growth that makes others leave, on random trees of queues and clusters."""

from collections import Counter
from dataclasses import replace

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.workload import Division
from tests.deep import examples
from tests.properties.test_reclaim import COMMON, POLICY, check_victims, shown, towns


def edited(one, more):
    """Its template asks for so many more pods, of a gang all of them needed."""
    (old,) = one.demand.gang.pod_sets
    pods = old.count + more
    least = old.minimum if one.demand.division == Division.DIVIDED else pods
    grown = replace(old, count=pods, minimum=least)
    asked = replace(one.demand.gang, pod_sets=(grown,), minimum=least)
    return replace(one, demand=replace(one.demand, gang=asked))


def has(town, key, amounts):
    """Whether a workload runs with so many pods."""
    one = town.workloads[key]
    return bool(one.targets) and one.decision.grants[0].amounts.covers(amounts)


@settings(COMMON, max_examples=examples(40))
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
    kept_for, eviction_tasks, taken_by = {}, Counter(), {}
    claimed = False
    for turn in range(20):
        if turn % 2:
            town.leave()
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        if plan.empty() and turn % 2:
            break
        check_victims(town.snapshot(), plan, dict(town.workloads))
        claimed |= bool(plan.claims)
        for one in plan.claims:
            before = town.workloads[one.workload].decision
            if before is not None and before.grants:
                assert one.decision.grants == before.grants
                assert one.decision.id == before.id
                if one.decision.claim is not None:
                    amounts = before.grants[0].amounts.plus(one.decision.claim.amounts)
                    kept_for[one.workload] = amounts
        for one in plan.withdrawals:
            if one.makes_room_for is not None:
                assert taken_by.get(one.makes_room_for) != one.workload, "taken back"
                taken_by[one.workload] = one.makes_room_for
                eviction_tasks[one.workload] += 1
        town.execute(plan, linger=True)
        kept_for = {key: asked for key, asked in kept_for.items() if not has(town, key, asked)}
        town.now = Instant(town.now + SECOND)
    event("others left for growth" if claimed else "nobody left")
    assert plan.empty()
    assert max(eviction_tasks.values(), default=0) <= 2
    for key in kept_for:
        assert eviction_tasks[key], f"{key} did not get what others left for"
