"""karmada-scheduler beside us: each schedules what bears its name, and touches nothing else."""

import asyncio

from tests.e2e.faults import settled, writers
from tests.e2e.requests import GLOBAL_SCHED
from tests.e2e.world import clusters_of, policy
from tests.wire import deployment, placement, stripped
from tools.local_karmada.karmada import USER

THEIRS, OURS = "theirs", "ours"
NAMES = {THEIRS: "default-scheduler", OURS: "global-sched"}
USERS = {THEIRS: f"{USER}karmada-scheduler", OURS: GLOBAL_SCHED}
MANAGERS = {THEIRS: "karmada-scheduler", OURS: "global-sched"}
WHERE = placement("east", "west", divided=True)


async def test_each_schedules_its_own(world, space):
    """Both run; of each binding only its own scheduler owns fields, and only it has written."""
    for name in (THEIRS, OURS):
        await _submit(world, space, name, replicas=3)
    for name in (THEIRS, OURS):
        await _until_scheduled(world, space, name, replicas=3)

    for name, other in ((THEIRS, OURS), (OURS, THEIRS)):
        binding = await world.binding(space, name, "Deployment")
        managers = {one["manager"] for one in binding["metadata"]["managedFields"]}
        assert MANAGERS[name] in managers
        assert MANAGERS[other] not in managers
        users = writers(world.federation, space, f"{name}-deployment")
        assert USERS[name] in users
        assert USERS[other] not in users
    assert await world.decision(space, OURS, "Deployment")
    assert not await world.decision(space, THEIRS, "Deployment")


async def test_what_changes_for_one_is_nothing_to_the_other(world, space):
    """One is scaled, the other's binding keeps its version; then the other way round."""
    for name in (THEIRS, OURS):
        await _submit(world, space, name, replicas=2)
    for name in (THEIRS, OURS):
        await _until_scheduled(world, space, name, replicas=2)
    await _until_ready(world, space, THEIRS, 2)
    await _until_ready(world, space, OURS, 2)

    for changed, still in ((THEIRS, OURS), (OURS, THEIRS)):
        before = await _version(world, space, still)
        await _submit(world, space, changed, replicas=4)
        await _until_scheduled(world, space, changed, replicas=4)
        await _until_ready(world, space, changed, 4)
        assert await _version(world, space, still) == before


async def test_each_starts_again_and_writes_nothing(world, federation, programs, space):
    """What the other has placed is no work for a scheduler that sees it for the first time."""
    for name in (THEIRS, OURS):
        await _submit(world, space, name, replicas=2)
    for name in (THEIRS, OURS):
        await _until_scheduled(world, space, name, replicas=2)
        await _until_ready(world, space, name, 2)
    before = [await _version(world, space, name) for name in (THEIRS, OURS)]

    await asyncio.gather(federation.stop("karmada-scheduler"), programs.stop("global-sched"))
    await federation.start("karmada-scheduler")
    await programs.start_scheduler()
    # A workload of each that comes after shows that both have listed what was there.
    later = [f"later-{name}" for name in (THEIRS, OURS)]
    for name, scheduler in zip(later, NAMES.values(), strict=True):
        await _submit(world, space, name, replicas=1, scheduler=scheduler)
    for name in later:
        await _until_scheduled(world, space, name, replicas=1)

    assert [await _version(world, space, name) for name in (THEIRS, OURS)] == before


async def test_one_that_is_away_leaves_its_work_waiting(world, programs, space):
    """global-sched is stopped: its binding is not taken over by the other, and waits for it."""
    await programs.stop("global-sched")
    try:
        for name in (OURS, THEIRS):
            await _submit(world, space, name, replicas=1)
        await _until_scheduled(world, space, THEIRS, replicas=1)
        binding = await world.binding(space, OURS, "Deployment")
        assert binding["spec"]["schedulerName"] == "global-sched"
        assert "clusters" not in binding["spec"]
        assert USERS[THEIRS] not in writers(world.federation, space, f"{OURS}-deployment")
    finally:
        await programs.start_scheduler()
    await _until_scheduled(world, space, OURS, replicas=1)


async def _submit(world, space, name, *, replicas, scheduler=""):
    web = stripped(deployment(name, replicas=replicas, namespace=space))
    await world.apply(policy(web, where=WHERE, scheduler=scheduler or NAMES[name]), web)


async def _until_scheduled(world, space, name, *, replicas):
    async def there():
        binding = await world.binding(space, name, "Deployment")
        return sum(clusters_of(binding).values()) == replicas and settled(binding)

    await world.until(there, f"{name} is placed, {replicas} replicas")


async def _until_ready(world, space, name, pods):
    """The status came back from every member, so that no write of it is still to come."""

    async def there():
        binding = await world.binding(space, name, "Deployment")
        told = (binding.get("status") or {}).get("aggregatedStatus") or ()
        parts = [one.get("status") or {} for one in told]
        healthy = all(one.get("health") == "Healthy" for one in told)
        return healthy and sum(one.get("availableReplicas", 0) for one in parts) == pods

    await world.until(there, f"{pods} pods of {name} are available")


async def _version(world, space, name):
    """The resourceVersion of a binding, once it stands still."""

    async def still():
        first = (await world.binding(space, name, "Deployment"))["metadata"]["resourceVersion"]
        await asyncio.sleep(1)
        again = (await world.binding(space, name, "Deployment"))["metadata"]["resourceVersion"]
        return first if first == again else ""

    return await world.until(still, f"the binding of {name} stands still")
