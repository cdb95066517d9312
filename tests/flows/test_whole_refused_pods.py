"""Members that refuse a job for good: the reason reaches its binding, and the back-off grows."""

import asyncio

import pytest

from global_sched.shared.kube.faults import Fault, FaultKind
from global_sched.shared.model.instant import SECOND, parse_instant
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time

TIMEOUT, BACKOFF = 120, 60


async def withdrawn(world, name, failures, *, seconds):
    """The back-off of the nth withdrawal from m1, and what the condition says then."""

    async def there():
        backoffs = (await world.decision(name)).get("backoffs") or [{}]
        return backoffs[0].get("failures", 1) == failures and not await world.clusters(name)

    await world.until(there, f"{name} was withdrawn {failures} times", seconds=seconds)
    await asyncio.sleep(3)
    [scheduled] = [
        one
        for one in (await world.binding(name))["status"]["conditions"]
        if one["type"] == "Scheduled"
    ]
    [backoff] = (await world.decision(name))["backoffs"]
    return backoff, scheduled


@pytest.mark.slow
@virtual_time
async def test_pods_that_the_member_refuses(tmp_path):
    """A template that only pod validation refuses: the member makes none of the pods (422).

    Its words stand in the report, then in the condition; each withdrawal doubles the back-off,
    which stands in the annotation.
    """
    async with whole(tmp_path, member("m1")) as world:
        job = gang("a", seconds=3600)
        job["spec"]["tasks"][0]["template"]["spec"]["containers"][0]["name"] = "Not_A_Name"
        await world.submit(job)
        await asyncio.sleep(20)
        [reported] = (await world.report("m1"))["workloads"]

        first, said = await withdrawn(world, "a", 1, seconds=TIMEOUT + 30)
        second, again = await withdrawn(world, "a", 2, seconds=TIMEOUT + BACKOFF + 60)

    why = "spec.containers[0].name: Invalid value"
    assert why in reported["reason"]
    assert reported["reason"].startswith("the member refuses it: pod a-worker-")
    for backoff, condition in ((first, said), (second, again)):
        assert why in backoff["reason"]
        assert condition["status"] == "False"
        assert why in condition["message"]
    lengths = [
        parse_instant(two["until"]) - parse_instant(one)
        for two, one in ((first, said["lastTransitionTime"]), (second, again["lastTransitionTime"]))
    ]
    assert [round(one / SECOND / 10) * 10 for one in lengths] == [BACKOFF, 2 * BACKOFF]


@pytest.mark.slow
@virtual_time
@pytest.mark.parametrize(
    ("verb", "resource"),
    [
        pytest.param("create", "pods/binding", id="binds"),
        pytest.param("create", "podgroups.scheduling.volcano.sh", id="PodGroups"),
    ],
)
async def test_writes_that_the_member_refuses(tmp_path, verb, resource):
    """The agent lacks a right in one member: its words reach the condition, and the job moves on.

    Before, only "did not place the minimum within 120 s" stood there.
    """
    async with whole(tmp_path, member("m1", nodes=5), member("m2", nodes=4)) as world:
        denied = Fault(verb, resource, kind=FaultKind.FORBIDDEN, times=10**6)
        world.plan("m1").add(denied)
        world.plan("m2").add(denied)
        await world.submit(gang("a", seconds=3600))
        await world.until(lambda: _on(world, "a", "m1", "m2"), "it is somewhere", seconds=20)
        [first] = await world.clusters("a")
        [other] = {"m1", "m2"} - {first}
        world.plan(other).clear()
        await asyncio.sleep(20)
        [reported] = (await world.report(first))["workloads"]
        await world.until(lambda: _on(world, "a", other), "it moved on", seconds=TIMEOUT + 30)
        [backoff] = (await world.decision("a"))["backoffs"]
        await world.until_phase("a", "Running", seconds=30)

    want = f"the member refuses it: {verb} {resource}"
    assert reported["reason"].startswith(want)
    assert backoff["reason"].startswith(want)
    assert backoff["cluster"] == first


async def _on(world, name, *clusters):
    """Whether a job is in one of these clusters."""
    found = await world.clusters(name)
    return len(found) == 1 and found[0] in clusters
