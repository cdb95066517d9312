"""A workload has left a member when the member shows it, and not when Karmada was asked."""

import asyncio

import click
import pytest

from global_sched.cli.left import end
from global_sched.cli.where import Where
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import execution_namespace
from tests.flows.federation import TEAM, gang, member, whole
from tests.flows.test_whole_reclaim import two_classes
from tests.virtual_time import virtual_time
from tests.wire import placement, queue, stripped

ORDERED = {
    "clusterAffinities": [
        {"affinityName": "a", "clusterNames": ["m1"]},
        {"affinityName": "b", "clusterNames": ["m2"]},
    ]
}


async def scheduled(world, name):
    """What the condition of a binding says."""
    binding = await world.binding(name)
    return next(
        (c["message"] for c in binding["status"]["conditions"] if c["type"] == "Scheduled"), ""
    )


async def tasks(world, name):
    """The clusters that a binding is leaving."""
    spec = (await world.binding(name))["spec"]
    return [one["fromCluster"] for one in spec.get("gracefulEvictionTasks") or ()]


async def a_victim_in_a_silent_member(world):
    """Gang `low` runs in m1 and may go to m2; m1 falls silent; `high` claims the place of `low`."""
    await two_classes(world, ("m1", "m2"))
    low = gang("low", seconds=9999, spec={"priorityClassName": "low"})
    await world.submit(low, where=ORDERED)
    await world.until_phase("low", "Running")
    await world.silence("m1")
    high = gang("high", seconds=9999, spec={"priorityClassName": "high"})
    await world.submit(high, where=placement("m1"))


@pytest.mark.slow
@virtual_time
async def test_a_victim_in_a_member_that_does_not_answer_runs_nowhere_else(tmp_path):
    """Its pods run on there for ever; once the member answers they end, and it goes elsewhere."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await a_victim_in_a_silent_member(world)
        for _ in range(6):
            await asyncio.sleep(30)
            assert await world.clusters("low") == []
            assert await world.clusters("high") == []
            assert await world.pods("m2") == []
        assert await tasks(world, "low") == ["m1"]
        assert "it was withdrawn from m1 since " in await scheduled(world, "low")

        await world.answer("m1")
        await world.until_phase("high", "Running", seconds=300)
        await world.until_phase("low", "Running", seconds=300)
        assert (await world.clusters("low"), await tasks(world, "low")) == (["m2"], [])
        assert [one["cluster"] for one in (await world.decision("low"))["grants"]] == ["m2"]


@pytest.mark.slow
@virtual_time
async def test_quota_is_not_free_before_the_pods_have_ended(tmp_path):
    """The queue holds what is leaving, although there is room for another gang elsewhere."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await world.apply(queue("capped", capability={"nvidia.com/gpu": "32"}))
        await two_classes(world, ("m1", "m2"))
        for name in ("m1", "m2"):
            client = world.federation.member_client(name)
            await client.create(kinds.QUEUES, stripped(queue("capped")))
            await client.close()
        job = {"queue": "capped"}
        low = gang("low", seconds=9999, spec=job | {"priorityClassName": "low"})
        await world.submit(low, where=placement("m1"))
        await world.until_phase("low", "Running")
        await world.silence("m1")
        high = gang("high", seconds=9999, spec=job | {"priorityClassName": "high"})
        await world.submit(high, where=placement("m2"))
        await asyncio.sleep(180)
        assert await world.clusters("high") == []
        assert await tasks(world, "low") == ["m1"]

        await world.answer("m1")
        await world.until_phase("high", "Running", seconds=300)


@pytest.mark.slow
@virtual_time
async def test_an_operator_says_that_nothing_is_left(tmp_path):
    """`gsched left` ends the withdrawal from a member that never answers again, and no other."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await a_victim_in_a_silent_member(world)
        await asyncio.sleep(60)

        async def said(cluster):
            asked = {"job": "low", "namespace": None, "at": cluster, "yes": True}
            return await end(Where(), world.admin, world.clock, **asked)

        with pytest.raises(click.ClickException, match="not leaving m2; it is leaving m1"):
            await said("m2")
        assert await said("m1") == "team-a/low-job has left m1"
        await world.until_phase("low", "Running", seconds=300)
        assert await world.clusters("low") == ["m2"]


@pytest.mark.slow
@virtual_time
async def test_no_victim_is_chosen_in_a_member_that_has_not_reported_for_long(tmp_path):
    """What is not known to end is not asked to leave: the claimant waits, and nothing changes."""
    async with whole(tmp_path, member("m1")) as world:
        await two_classes(world)
        low = gang("low", seconds=9999, spec={"priorityClassName": "low"})
        await world.submit(low)
        await world.until_phase("low", "Running")
        await world.silence("m1")
        await asyncio.sleep(200)
        await world.submit(gang("high", spec={"priorityClassName": "high"}))
        await asyncio.sleep(60)

        assert (await world.clusters("low"), await tasks(world, "low")) == (["m1"], [])
        assert await world.clusters("high") == []


@pytest.mark.slow
@virtual_time
async def test_a_cluster_that_is_gone_is_left_without_a_proof(tmp_path):
    """Nothing can show it any more: the workload is placed again, and an Event says so."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await a_victim_in_a_silent_member(world)
        await asyncio.sleep(30)
        assert await tasks(world, "low") == ["m1"]
        await world.admin.patch(
            kinds.CLUSTERS, "m1", {"metadata": {"finalizers": None, "deletionTimestamp": None}}
        )
        await world.admin.delete(kinds.CLUSTERS, "m1")
        await world.until_phase("low", "Running", seconds=600)

        assert await world.clusters("low") == ["m2"]
        notes = [
            one["note"]
            for one in (await world.admin.list(kinds.EVENTS)).items
            if one["reason"] == "LeftUnproved"
        ]
        assert len(notes) == 1
        assert notes[0].startswith("cluster m1 is gone or another one")


@pytest.mark.slow
@virtual_time
async def test_a_report_that_goes_with_its_cluster_is_no_sign_of_a_member_without_agent(tmp_path):
    """While a Cluster is being deleted its report is gone, and its pods may run: it waits."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        low = gang("low", seconds=9999)
        await world.submit(low, where=ORDERED)
        await world.until_phase("low", "Running")
        await world.kill("m1")
        cluster = await world.admin.get(kinds.CLUSTERS, "m1")
        kept = [*cluster["metadata"].get("finalizers", ()), "test.example/kept"]
        await world.admin.patch(kinds.CLUSTERS, "m1", {"metadata": {"finalizers": kept}})
        await world.admin.delete(kinds.CLUSTERS, "m1")
        await asyncio.sleep(60)
        reports = (await world.admin.list(kinds.CAPACITY_REPORTS)).items
        assert {one["spec"]["cluster"] for one in reports} == {"m2"}
        assert (await world.clusters("low"), await tasks(world, "low")) == ([], ["m1"])
        assert await world.pods("m2") == []

        await world.admin.patch(kinds.CLUSTERS, "m1", {"metadata": {"finalizers": None}})
        await world.until_phase("low", "Running", seconds=300)
        assert await world.clusters("low") == ["m2"]
        # A namespace that is being deleted takes nothing new (403): no right is missing.
        gone = execution_namespace("m1")
        world.records = [one for one in world.records if one[1].namespace != gone]


@pytest.mark.slow
@virtual_time
async def test_a_report_that_was_deleted_is_no_sign_of_a_member_without_agent(tmp_path):
    """Its pods end slowly; Karmada's Work is gone at once, and nothing says that they are, too.

    Its agent is away for a moment, so that no report comes back at once.
    """
    slow = MemberOptions(stop_seconds=12.0)
    async with whole(tmp_path, member("m1", options=slow), member("m2")) as world:
        await world.submit(gang("low", seconds=9999), where=ORDERED)
        await world.until_phase("low", "Running")
        body = {"spec": {"placement": {"clusterAffinities": ORDERED["clusterAffinities"][1:]}}}
        await world.admin.patch(kinds.PROPAGATION_POLICIES, "low-job", body, namespace=TEAM)

        async def leaving():
            return await tasks(world, "low") == ["m1"]

        await world.until(leaving, "low is leaving m1")
        await world.kill("m1")
        space = execution_namespace("m1")
        for one in (await world.admin.list(kinds.CAPACITY_REPORTS, namespace=space)).items:
            await world.admin.delete(
                kinds.CAPACITY_REPORTS, one["metadata"]["name"], namespace=space
            )
        for _ in range(12):
            await asyncio.sleep(1)
            assert await world.clusters("low") == []
        await world.until_phase("low", "Running", seconds=120)
        assert await world.clusters("low") == ["m2"]
        assert await world.pods("m1") == []
