"""Crowded worlds by seed: whether the core comes to rest, and how often a workload leaves.

One or two members, five queues in a tree of seven, eight old jobs of two queues that hold what they
got, six newcomers of all queues. Then cycles, in one of two ways of time.
"""

import random
from collections import Counter
from dataclasses import dataclass, field, replace

from global_sched.core import run_cycle
from global_sched.core.quota.ledger import Ledger
from global_sched.shared.model.ids import QueueName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Workload
from tests.builders import workload
from tests.towns import Member, Town

LEAVES = ("a", "b", "p-x", "p-y", "q-z")
POLICY = Policy(patience_seconds=0)
CYCLES = 40
"""A world that has not come to rest by then never does."""


def crowded_town(seed: int) -> Town:
    """The town of a seed: the old jobs run, the newcomers wait."""
    r = random.Random(seed)
    queues = [Queue(name=QueueName(name)) for name in "pq"]
    for name in LEAVES:
        cpus = r.choice((None, 0, 1, 2, 3, 4))
        queues.append(
            Queue(
                name=QueueName(name),
                parent=QueueName(name[0]) if "-" in name else QueueName("root"),
                weight=r.randint(1, 3),
                deserved=() if cpus is None else (("cpu", cpus * 1000), ("pods", cpus)),
            )
        )
    members = [
        Member(f"m{i}", [r.randint(2, 4) for _ in range(r.randint(1, 3))], cpu=r.choice((1, 2)))
        for i in range(r.randint(1, 2))
    ]
    town = Town(members, queues)

    def job(name: str, created: int, among: tuple[str, ...]) -> Workload:
        pods = r.randint(1, 4)
        return workload(
            name,
            cpu=1,
            pods=pods,
            minimum=r.choice((pods, pods, r.randint(1, pods))),
            tier=r.choice((None, None, 1, 2)),
            queue=r.choice(among),
            tenant=r.choice(("t1", "t2")),
            priority=r.choice((0, 0, 10, 20)),
            created=created,
        )

    rich = tuple(r.sample(LEAVES, 2))
    town.add(*[job(f"old{i}", i, rich) for i in range(8)])
    town.execute(run_cycle(town.snapshot(), replace(POLICY, searches_per_cycle=0), town.now))
    town.now = Instant(town.now + 10 * SECOND)
    for i in range(3):
        town.add(*[job(f"new{i}{j}", 20 + i, LEAVES) for j in range(2)])
    return town


@dataclass(slots=True)
class Settled:
    """What happened in a town until it came to rest, or until `CYCLES` were over."""

    rests: bool = False
    left: Counter[WorkloadKey] = field(default_factory=Counter)
    """How often each workload left for another one, surplus included."""


def settle(town: Town, *, past_holds: bool) -> Settled:
    """Run cycles until the town rests.

    By the clock every other step is a little longer than `hold_seconds`, as a federation would see
    in some hours; three empty cycles in a row are rest. `past_holds`: the steps double, so that no
    hold protects anything, however often it has doubled; ten empty cycles in a row are rest.
    """
    found, quiet, step = Settled(), 0, POLICY.hold_seconds + 1
    for turn in range(CYCLES):
        plan = run_cycle(town.snapshot(), POLICY, town.now)
        found.left.update(one.workload for one in plan.withdrawals if one.makes_room_for)
        town.execute(plan, linger=True)
        town.leave()
        waits = step if turn % 2 else 0
        if past_holds and turn % 2:
            step = min(step * 2, 10**7)
        town.now = Instant(town.now + (waits + 1) * SECOND)
        quiet = quiet + 1 if plan.empty() else 0
        if quiet >= (10 if past_holds else 3):
            found.rests = True
            break
    return found


def lacking(town: Town) -> int:
    """CPUs that queues lack now: the smaller of deserved and asked, less what they hold, summed."""
    entitled = Ledger(town.snapshot(), POLICY).entitlements
    total = 0
    for leaf in LEAVES:
        name = QueueName(leaf)
        owed = min(entitled.deserved(name).get("cpu", 0), entitled.asked(name).get("cpu", 0))
        total += max(0, owed - entitled.allocated(name).get("cpu", 0)) // 1000
    return total
