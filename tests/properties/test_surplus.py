"""Surplus that a queue deserves comes to it, from others' surplus only, and then all is quiet."""

from dataclasses import replace

from hypothesis import event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import run_cycle
from global_sched.core.quota.ledger import Ledger
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from tests.builders import workload
from tests.deep import examples
from tests.properties.test_reclaim import COMMON, LEAVES, POLICY, shown, trees
from tests.towns import Member, Town

CPU = 1000


@st.composite
def crowds(draw):
    """Elastic gangs of equal pods in one cluster, that came one after the other.

    Nothing is guaranteed: what a queue deserves may be kept for a brother under one capability.
    """
    queues = [replace(one, reclaimable=True, guarantee=()) for one in draw(trees())]
    town = Town([Member("m", draw(st.lists(st.integers(1, 4), min_size=1, max_size=3)))], queues)
    for at in range(draw(st.integers(2, 5))):
        pods = draw(st.integers(1, 6))
        name, queue = f"job{at}", draw(st.sampled_from(LEAVES))
        least = draw(st.integers(1, min(2, pods)))
        town.add(workload(name, cpu=1, pods=pods, minimum=least, queue=queue, created=at))
        if draw(st.booleans()):
            _rest(town)
    return town


def _rest(town):
    """Cycles until nothing is left to do; the plans on the way."""
    plans = []
    for turn in range(40):
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        note(f"{turn}: {shown(plan)}")
        plans.append(plan)
        town.execute(plan, linger=True)
        town.leave()
        town.now = Instant(town.now + SECOND)
        if plan.empty():
            return plans
    raise AssertionError("it never ends")


@settings(COMMON, max_examples=examples(40))
@given(crowds())
def test_surplus_that_is_deserved(town):
    """At rest no queue lacks surplus that it deserves while another holds surplus over its own.

    A workload that waited when others left for a claimant leaves it alone for `hold_seconds`, so
    the rest is looked at when these are over.
    """
    for looks in range(10):
        plans = _rest(town)
        town.now = Instant(town.now + POLICY.hold_seconds * SECOND)
        if looks and len(plans) == 1:
            break
    event(f"at rest after {looks} looks")
    assert len(plans) == 1, "each look does something"
    entitlements = Ledger(town.snapshot(), POLICY).entitlements
    for name in LEAVES:
        if _lacks(town, name, entitlements):
            others = [other for other in LEAVES if other != name]
            givers = [other for other in others if _spare(town, other, name, entitlements)]
            assert not givers, f"{name} lacks what {givers} hold as surplus over theirs"


def _lacks(town, name, entitlements):
    """Whether one more pod of a running gang stays within what a queue and its parents deserve."""
    running = [one for one in town.workloads.values() if one.targets and one.queue == name]
    lacks = any(one.lacking().entries for one in running)
    return lacks and all(
        _deserved(queue, entitlements) >= entitlements.allocated(queue).get("cpu", 0) + CPU
        for queue in entitlements.path(QueueName(name))[:-1]
    )


def _spare(town, other, name, entitlements):
    """Whether a queue has a surplus pod and is over what it deserves, up to where the two part."""
    surplus = any(
        one.targets
        and one.queue == other
        and one.decision.grants[0].amounts.pods() > one.demand.gang.minimum
        for one in town.workloads.values()
    )
    above = set(entitlements.path(QueueName(name)))
    path = [queue for queue in entitlements.path(QueueName(other)) if queue not in above]
    return surplus and all(
        entitlements.allocated(queue).get("cpu", 0) > _deserved(queue, entitlements)
        for queue in path
    )


def _deserved(queue, entitlements):
    return entitlements.deserved(queue).get("cpu", 0)
