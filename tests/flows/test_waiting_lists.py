"""WaitingLists on a control plane: where they are written, when, and how seldom."""

import asyncio

import pytest

from global_sched.controllers.waiting_lists import INTERVAL, WRITES
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import MANAGED_NAMESPACE, WAITING_LIST
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed, is_refused
from tests.virtual_time import virtual_time
from tests.wire import binding, vcjob


async def managed(plane, *names):
    """Namespaces of tenants."""
    for name in names:
        await plane.namespace(name)
        labels = {"metadata": {"labels": {MANAGED_NAMESPACE: "true"}}}
        await plane.client.patch(kinds.NAMESPACES, name, labels)


async def submit(plane, name, namespace="team-a", gpus=8, **more):
    """A job with its binding."""
    job = await plane.add(vcjob(name, gpus=gpus, namespace=namespace, **more))
    await plane.add(binding(job))


async def listed(plane, namespace="team-a"):
    """The list as it stands; None when there is none."""
    try:
        return await plane.client.get(kinds.WAITING_LISTS, WAITING_LIST, namespace=namespace)
    except NotFound:
        return None


async def until(plane, what, namespace="team-a", seconds=90):
    """The list as soon as it is as wanted."""
    for _ in range(seconds * 2):
        found = await listed(plane, namespace)
        if what(found):
            return found
        await asyncio.sleep(0.5)
    raise AssertionError(found)


async def remove(plane, name, namespace="team-a"):
    """The job ends: its binding goes."""
    await plane.client.delete(kinds.RESOURCE_BINDINGS, f"{name}-job", namespace=namespace)


def names(found):
    """The jobs of a list, with their places."""
    return [] if found is None else [(one["name"], one.get("position")) for one in found["jobs"]]


@virtual_time
async def test_it_follows_what_waits(tmp_path):
    """A list with what an entry promises; gone when nothing waits; none where it is not wanted."""
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a")
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await submit(plane, "runs")
            await plane.until(is_placed, "runs-job")
            await submit(plane, "waits")
            await submit(plane, "elsewhere", "team-b")
            found = await until(plane, bool)
            assert await listed(plane, "team-b") is None

            await remove(plane, "runs")
            await remove(plane, "waits")
            await until(plane, lambda one: one is None)

    [entry] = found["jobs"]
    assert found["total"] == 1
    assert (entry["name"], entry["queue"]) == ("waits", "default")
    assert entry["position"] == 2  # behind the job of the tenant that holds nothing
    assert entry["reason"] == "CapacityDoesNotFit"
    assert entry["runsWhen"] == "a cluster with room for 1 pod comes free"
    assert entry["since"] == entry["since"].replace("+00:00", "Z")


@virtual_time
async def test_a_namespace_becomes_managed(tmp_path):
    """Its list comes and goes with the label, though no job changes."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await submit(plane, "wide", gpus=9)
            await plane.until(is_refused, "wide-job")
            await asyncio.sleep(70)
            assert await listed(plane) is None

            await managed(plane, "team-a")
            await until(plane, bool)
            off = {"metadata": {"labels": {MANAGED_NAMESPACE: None}}}
            await plane.client.patch(kinds.NAMESPACES, "team-a", off)
            await until(plane, lambda one: one is None, seconds=120)


@virtual_time
async def test_one_list_is_written_every_half_minute_at_most(tmp_path):
    """However often its jobs change; the last change is not lost."""
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a")
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await submit(plane, "wide-0", gpus=9)
            await until(plane, bool)
            plane.writes.clear()
            for at in range(1, 10):
                await submit(plane, f"wide-{at}", gpus=9)
                await asyncio.sleep(5)
            await until(plane, lambda one: one["total"] == 10)
            written = plane.writes["patch waitinglists"]

    assert 1 <= written <= 3


@virtual_time
async def test_ten_lists_in_a_second_at_most(tmp_path):
    """Of many namespaces each has its turn, a second apart for every ten."""
    spaces = [f"team-{at:02}" for at in range(25)]
    async with control_plane(tmp_path) as plane:
        await managed(plane, *spaces)
        await plane.member("m1")
        for space in spaces:
            await submit(plane, "wide", space, gpus=9)
        async with scheduling(plane, tmp_path):
            counts = []
            for _ in range(100):
                await asyncio.sleep(0.25)
                counts.append(plane.writes["create waitinglists"])

    assert counts[-1] == len(spaces)
    steps = [late - early for early, late in zip(counts, counts[4:], strict=False)]
    assert max(steps) == WRITES


@virtual_time
async def test_the_next_leader_goes_on(tmp_path):
    """It mends what changed while no leader was there, and writes nothing that is right."""
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a", "team-b")
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await submit(plane, "wide", "team-a", gpus=9)
            await submit(plane, "wide", "team-b", gpus=9)
            await until(plane, bool, "team-a")
            await until(plane, bool, "team-b")
        await remove(plane, "wide", "team-b")
        plane.writes.clear()
        async with scheduling(plane, tmp_path):
            await until(plane, lambda one: one is None, "team-b")
            await plane.report("m1", generation=2)
            await asyncio.sleep(INTERVAL)

    lists = {what: count for what, count in plane.writes.items() if "waitinglists" in what}
    assert lists == {"delete waitinglists": 1}


@pytest.mark.parametrize("kind", [FaultKind.ERROR, FaultKind.LOST_AFTER, FaultKind.CONFLICT])
@virtual_time
async def test_a_write_that_fails_is_made_later(tmp_path, kind):
    """The list is right in the end, and decisions do not wait for it."""
    plan = FaultPlan(Fault("create", "waitinglists.federation.global-sched.io", kind=kind))
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a")
        await plane.member("m1")
        async with scheduling(plane, tmp_path, faults=plan):
            await submit(plane, "wide", gpus=9)
            found = await until(plane, bool, seconds=180)

    assert names(found) == [("wide", 1)]
    assert len(plan.fired) == 1


@virtual_time
async def test_a_list_that_a_person_deletes_comes_back(tmp_path):
    """With the next change of the namespace."""
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a")
        await plane.member("m1")
        async with scheduling(plane, tmp_path):
            await submit(plane, "wide", gpus=9)
            await until(plane, bool)
            await plane.client.delete(kinds.WAITING_LISTS, WAITING_LIST, namespace="team-a")
            await submit(plane, "wider", gpus=10)
            found = await until(plane, bool)

    assert len(names(found)) == 2
