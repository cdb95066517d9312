"""Advice is true: in random worlds a job for which it is followed runs."""

import random
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, event, given, settings

from global_sched.core import run_cycle
from global_sched.core.cycle import Cycle
from global_sched.core.explain import worlds
from global_sched.core.explain.shown_victims import victims_of
from global_sched.core.explain.trials import advice
from global_sched.core.explain.variants import Question
from global_sched.core.fit.rooms import Ask
from global_sched.core.offer import Offer
from global_sched.core.place.admission import offer_for
from global_sched.shared.model.explanation import Change, Remedy
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload
from tests.builders import NOW, POLICY, workload
from tests.deep import DEEP, examples
from tests.strategies import worlds as drawn
from tests.towns import Member, Town

COMMON = settings(
    deadline=None,
    max_examples=examples(25, deep=4_000),
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
QUIET = replace(POLICY, patience_seconds=0)


def edited(one: Workload, remedy: Remedy) -> Workload | None:
    """The job as its user writes it after a remedy of its own fields; None for other remedies."""
    gang = one.demand.gang
    assert gang is not None
    match remedy.change:
        case Change.MINIMUM:
            return worlds.with_gang(one, replace(gang, minimum=int(remedy.value)))
        case Change.TIER if not remedy.value:
            return worlds.with_gang(one, replace(gang, constraint=None))
        case Change.TIER:
            wider = replace(gang.constraint, highest_tier=int(remedy.value), highest_tier_name="")
            return worlds.with_gang(one, replace(gang, constraint=wider))
        case Change.QUEUE if remedy.field:
            return replace(one, queue=QueueName(remedy.value))
    return None


def admits(world: Snapshot, policy: Policy, now: Instant, key: str) -> bool:
    """Whether the cycle on that world admits the workload, or makes room for it."""
    plan = run_cycle(world, policy, now)
    return any(one.workload == key for one in plan.admissions) or any(
        one.makes_room_for == key for one in (*plan.admissions, *plan.withdrawals)
    )


def question(world: Snapshot, key: str, now: Instant) -> Question | None:
    """The workload in its turn, where it is refused alone."""
    cycle = Cycle(world, QUIET, now)
    turn = cycle.run(until=key)
    if turn is None or turn[1].group or turn[1].demand.gang is None:
        return None
    one, statement = turn[1], cycle.statement
    found = offer_for(one, statement)
    if isinstance(found, Offer):
        return None
    standing = statement.standings.of(one)
    ask = Ask(one.demand.gang, standing.wanted, standing.minimum, statement.rooms)
    victims, why = victims_of(one, cycle)
    return Question(one, cycle, found, ask, () if why else victims)


def check(world: Snapshot, now: Instant) -> set[str]:
    """Follow all advice in a world; which kinds of it there were."""
    seen = set()
    for outcome in run_cycle(world, QUIET, now).outcomes:
        asked = None
        if outcome.verdict.code != Code.FIT:
            asked = question(world, outcome.workload, now)
        for variant, remedy in advice(asked) if asked is not None else ():
            one = asked.workload
            if not remedy.enough or variant.snapshot is None:
                continue
            seen.add(remedy.change.value)
            other = edited(one, remedy)
            changed = variant.snapshot
            if other is not None:
                changed = worlds.exchanged(world, one, other)
            assert admits(changed, variant.policy or QUIET, now, one.key), (one.key, remedy.text)
    return seen


@pytest.mark.slow
@given(world=drawn(most=5))
@COMMON
def test_advice_that_is_followed_lets_the_job_run(world):
    """What is said to be enough admits the job in the next cycle, or makes room for it.

    A change of the job is written as the advice says it: its field with the new value.
    """
    for change in sorted(check(world, NOW)):
        event(change)


def crowded(rng: random.Random) -> Town:
    """Two clusters with racks, filled up with jobs of two queues, and larger ones that wait."""
    members = [Member("m", (2, 2), cpu=2), Member("n", (3,), cpu=2)]
    queues = [
        Queue(name=QueueName("p"), deserved=(("cpu", 6_000),)),
        Queue(
            name=QueueName("q"),
            deserved=(("cpu", rng.choice((4_000, 8_000))),),
            capability=(("cpu", rng.choice((6_000, 20_000))),),
        ),
    ]
    town = Town(members, queues)
    for wave, (count, most) in enumerate(((rng.choice((1, 4)), 3), (3, 5))):
        for at in range(count):
            pods = rng.randint(1, most)
            job = workload(
                f"w{wave}{at}",
                pods=pods,
                minimum=rng.randint(1, pods),
                cpu=rng.choice((1, 2)),
                tier=rng.choice((None, 1, 1)),
                queue=rng.choice(("p", "q")),
                priority=rng.choice((0, 5)),
                created=10 * wave + at,
            )
            town.add(replace(job, run_limit=rng.choice((None, 600))))
        if not wave:
            town.execute(run_cycle(town.snapshot(), QUIET, town.now))
            town.now = Instant(town.now + 10 * SECOND)
    return town


def test_advice_in_crowded_worlds():
    """The same where jobs run, with victims, ends, tiers and minimums: every kind is met."""
    seen = set()
    for seed in range(200 if DEEP else 12):
        town = crowded(random.Random(seed))
        seen |= check(town.snapshot(), town.now)

    assert {"Ending", "Minimum", "Quota", "Tier"} <= seen
