"""Invariants of every world, every plan and every order of input."""

import os
import random
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, event, given, note, settings
from hypothesis import strategies as st

from global_sched.core import explain_workload, run_cycle
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Mode
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Plan
from global_sched.shared.model.snapshot import Bucket, Snapshot
from global_sched.shared.model.values import from_json, to_json
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload
from tests.builders import NOW, POLICY
from tests.deep import examples
from tests.strategies import disturbances, worlds
from tests.worlds import World, after

ROOT = Path(__file__).parents[2]
COMMON = settings(
    deadline=None,
    max_examples=examples(60),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)


def _check(before: World, plan: Plan) -> World:
    """The invariants of one plan; the world after it, which itself proves that all of it fits."""
    world = after(before, plan)
    listed = Counter(outcome.workload for outcome in plan.outcomes)
    considered = {one.key for bucket in before.pending for one in bucket.workloads}
    considered |= {one.key for one in before.unsettled}
    assert listed == Counter(considered)
    written = [a.workload for a in (*plan.admissions, *plan.withdrawals, *plan.confirmations)]
    assert len(written) == len(set(written))
    for admission in plan.admissions:
        one = before.workload(admission.workload.partition("/")[2])
        _check_grants(one, admission.decision.grants)
        assert tuple(t.cluster for t in admission.targets) == tuple(
            g.cluster for g in admission.decision.grants
        )
    _check_quota(before, world)
    return world


def _check_grants(one, grants):
    gang = one.demand.gang
    if gang is None:
        assert all(not grant.amounts.entries for grant in grants)
        return
    wanted = gang.all_amounts()
    for grant in grants:
        assert wanted.covers(grant.amounts)
        limit = gang.constraint
        if limit is not None and limit.mode == Mode.HARD and grant.amounts.entries:
            assert grant.tier is not None
            assert grant.tier <= limit.highest_tier
    match one.demand.division:
        case Division.WHOLE:
            assert len(grants) == 1
            if not one.targets:
                assert grants[0].amounts.covers(gang.minimum_amounts())
        case Division.DUPLICATED if not one.targets:
            assert all(grant.amounts == wanted for grant in grants)
        case Division.DIVIDED:
            assert sum(grant.amounts.pods() for grant in grants) <= wanted.pods()


def _check_quota(before: World, world: World):
    for queue in world.queues:
        for name, limit in queue.capability:
            held = [
                sum(u.amount.get(name) for u in w.usage if u.queue == queue.name)
                for w in (before, world)
            ]
            assert held[1] <= max(limit, held[0])


@COMMON
@given(worlds(), st.randoms(use_true_random=False))
def test_what_holds_for_a_plan(world, rng):
    """One world is planned for once, and every rule below looks at that plan."""
    plan = run_cycle(world, POLICY, NOW)
    check_fresh_world(world, plan)
    check_order_of_input(world, plan, rng)
    check_json(world, plan)
    check_explain_agrees(world, plan)


def check_fresh_world(world, plan):
    """Gangs are whole or absent, within room, quota and tier; a second cycle has nothing to do.

    But for surplus that is left over and could not be given at once without costing a queue
    anything: that comes as growth.
    """
    later = _check(world, plan)

    again = run_cycle(later, POLICY, NOW)
    note(f"{plan}\n{again}")
    event("surplus that comes later" if again.admissions else "at rest at once")
    if again.admissions:
        again = _after_growth(later, plan)
    assert again.empty()


def _after_growth(world: World, plan: Plan) -> Plan:
    """What is left to do once those whom the plan admitted have got surplus, and nothing else."""
    for seconds in range(1, 4):
        now = Instant(NOW + seconds * SECOND)
        again = run_cycle(world, POLICY, now)
        if again.empty():
            break
        assert not again.withdrawals
        assert not again.confirmations
        assert not again.claims
        before = {one.workload: one.decision.grants for one in plan.admissions}
        for one in again.admissions:
            assert _elastic(world.workload(one.workload.partition("/")[2]))
            assert _covers(one.decision.grants, before[one.workload])
        world = _check(world, again)
    return again


def _elastic(one: Workload) -> bool:
    gang = one.demand.gang
    return gang is not None and gang.all_amounts() != gang.minimum_amounts()


def _covers(grants: tuple[Grant, ...], others: tuple[Grant, ...]) -> bool:
    """Whether every one of the others has its pods still, where it had them."""
    amounts = {grant.cluster: grant.amounts for grant in grants}
    return all(amounts[one.cluster].covers(one.amounts) for one in others)


@COMMON
@given(st.data())
def test_disturbed_world(data):
    """After any change the invariants hold again, and the cycles come to rest without ping-pong."""
    world = data.draw(worlds(most=6))
    plan = run_cycle(world, POLICY, NOW)
    world = data.draw(disturbances(after(world, plan, bound=data.draw(st.booleans()))))
    now = Instant(NOW + data.draw(st.sampled_from((1, 15, 200))) * SECOND)

    moves = Counter()
    for _ in range(6):
        plan = run_cycle(world, POLICY, now)
        note(f"{plan}")
        world = _check(world, plan)
        moves.update(one.workload for one in plan.withdrawals)
        now = Instant(now + 1)  # no two cycles are of one instant: it tells decisions apart
        if plan.empty():
            break
    assert plan.empty()
    assert max(moves.values(), default=0) <= 3


def check_order_of_input(world, plan, rng):
    """The plan does not depend on the order in which anything is listed."""
    assert to_json(run_cycle(_shuffled(world, rng), POLICY, NOW)) == to_json(plan)


def _shuffled(world: Snapshot, rng: random.Random) -> Snapshot:
    def mixed(items):
        return tuple(rng.sample(items, len(items)))

    return Snapshot(
        clusters=mixed(world.clusters),
        queues=mixed(world.queues),
        tenants=mixed(world.tenants),
        usage=mixed(world.usage),
        pending=mixed(
            [
                Bucket(queue=b.queue, tenant=b.tenant, workloads=mixed(b.workloads))
                for b in world.pending
            ]
        ),
        unsettled=mixed(world.unsettled),
        epoch=world.epoch,
    )


def check_json(world, plan):
    """Snapshot and plan survive JSON, and a snapshot from JSON gives the same plan."""
    plain = world.snapshot()

    read = from_json(to_json(plain), Snapshot)

    assert read == plain
    assert from_json(to_json(plan), Plan) == plan
    assert run_cycle(read, POLICY, NOW) == plan


def check_explain_agrees(world, plan):
    """Explain gives the outcome that the cycle gives."""
    for outcome in plan.outcomes:
        found = explain_workload(world, POLICY, NOW, outcome.workload)

        assert found is not None
        assert found.outcome.verdict == outcome.verdict
        assert found.outcome.nearest == outcome.nearest
        assert found.outcome.position == outcome.position
        if outcome.verdict.code != Code.FIT and outcome.clusters:
            assert found.outcome.clusters == outcome.clusters


@pytest.mark.slow
def test_hash_seed():
    """The plan is the same bytes under any PYTHONHASHSEED."""
    found = set()
    for seed in ("0", "1", "4242"):
        run = subprocess.run(
            [sys.executable, "-c", _PRINT_PLAN],
            cwd=ROOT,
            env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(ROOT)},
            capture_output=True,
            check=True,
        )
        found.add(run.stdout)

    assert len(found) == 1
    assert b"Admitted" in found.pop()


_PRINT_PLAN = """
import sys
from global_sched.core import run_cycle
from global_sched.shared.model.values import to_json
from global_sched.shared.model.workload import Division
from tests.builders import NOW, POLICY, cluster, queue, snapshot, tenant, workload

world = snapshot(
    clusters=[cluster(f"c{i}", racks=3, nodes=2, gpus=4) for i in range(4)],
    queues=[queue(f"q{i}", weight=i + 1, gpus=20) for i in range(3)],
    pending=[
        workload(f"w{i}", pods=i % 5 + 1, gpus=i % 3, tier=(None, 1, 2)[i % 3], queue=f"q{i % 3}",
                 tenant=f"t{i % 4}", division=(Division.WHOLE, Division.DUPLICATED,
                 Division.DIVIDED, Division.WHOLE, Division.COPIED)[i % 5])
        for i in range(60)
    ],
)
sys.stdout.buffer.write(to_json(run_cycle(world, POLICY, NOW)))
"""
