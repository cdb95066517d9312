"""Room that is made across the whole flow: victims leave, the claimant comes, nothing flaps."""

import pytest

from global_sched.shared.api import resource as kinds
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import GPU, deployment, placement, pod_template, priority_class, stripped


async def two_classes(world, members=("m1",)):
    """Two PriorityClasses, in the members too, as the shipped policy brings them there."""
    classes = [priority_class("low", 10), priority_class("high", 1000)]
    await world.apply(*classes)
    for name in members:
        client = world.federation.member_client(name)
        for one in classes:
            await client.create(kinds.PRIORITY_CLASSES, stripped(one))
        await client.close()


def condition_of(binding, kind):
    """A condition of a binding."""
    return next((c for c in binding["status"]["conditions"] if c["type"] == kind), {})


@pytest.mark.slow
@virtual_time
async def test_a_gang_of_higher_priority_takes_the_place_of_another(tmp_path):
    """The lower one leaves through Karmada, waits with its place kept, and comes back."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await two_classes(world)
        await world.submit(gang("small", seconds=3600, spec={"priorityClassName": "low"}))
        await world.until_phase("small", "Running")
        await world.submit(gang("large", seconds=60, spec={"priorityClassName": "high"}))
        await world.until_phase("large", "Running", seconds=60)

        assert await world.clusters("small") == []
        assert await world.bound("m1", "small") == {}
        assert len(await world.bound("m1", "large")) == 4
        evicted = condition_of(await world.binding("small"), "Evicted")
        assert (evicted["status"], evicted["reason"]) == ("True", "Preempted")
        assert "large" not in evicted["message"]

        await world.until_phase("large", "Completed")
        await world.until_phase("small", "Running", seconds=900)
        assert (await world.phase("large")) == "Completed"


@pytest.mark.slow
@virtual_time
async def test_surplus_pods_make_room_before_a_whole_gang_must(tmp_path):
    """An elastic gang gives up its highest indices and runs on with its minimum."""
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await two_classes(world)
        elastic = gang(
            "elastic", seconds=3600, spec={"priorityClassName": "low", "minAvailable": 2}
        )
        await world.submit(elastic)
        await world.until_phase("elastic", "Running")
        assert len(await world.bound("m1", "elastic")) == 4
        await world.submit(gang("large", pods=2, seconds=3600, spec={"priorityClassName": "high"}))
        await world.until_phase("large", "Running", seconds=60)

        assert await world.clusters("elastic") == ["m1"]
        assert sorted(await world.bound("m1", "elastic")) == [
            "elastic-worker-0",
            "elastic-worker-1",
        ]
        grants = (await world.decision("elastic"))["grants"]
        assert [grant["amounts"] for grant in grants] == [{"worker": 2}]
        waiting = [
            pod
            for pod in await world.pods("m1", TEAM)
            if pod["metadata"]["name"].startswith("elastic-") and not pod["spec"].get("nodeName")
        ]
        messages = {
            c["message"]
            for pod in waiting
            for c in pod["status"].get("conditions") or ()
            if c["type"] == "PodScheduled"
        }
        assert len(waiting) == 2
        assert messages
        assert all("growth not admitted" in text for text in messages)


@pytest.mark.slow
@virtual_time
async def test_a_service_leaves_the_cluster_that_a_gang_needs(tmp_path):
    """Its Work goes there and its pods with it; what runs in another cluster runs on."""
    run = {"federation.global-sched.io/run-seconds": "100000"}
    template = pod_template(
        labels={"app": "web"},
        annotations=run,
        schedulerName="member-agent",
        priorityClassName="low",
    )
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "8", GPU: "8"}}
    service = deployment("web", replicas=8, template=template)
    service["metadata"]["namespace"] = TEAM
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    only = {"clusterAffinity": {"clusterNames": ["m2"]}}
    async with whole(tmp_path, member("m1", nodes=4), member("m2", nodes=4)) as world:
        await two_classes(world, ("m1", "m2"))

        async def full():
            return len(await world.bound("m1", "web")) + len(await world.bound("m2", "web")) == 8

        await world.submit(service, where=placement() | {"replicaScheduling": divided})
        await world.until(full, "all replicas are bound", seconds=120)
        large = gang("large", seconds=60, spec={"priorityClassName": "high"})
        await world.submit(large, where=placement() | only)
        await world.until_phase("large", "Running", seconds=120)

        assert len(await world.bound("m2", "large")) == 4
        assert len(await world.bound("m1", "web")) == 4
        assert await world.bound("m2", "web") == {}
        binding = await world.admin.get(kinds.RESOURCE_BINDINGS, "web-deployment", namespace=TEAM)
        assert [one["name"] for one in binding["spec"]["clusters"]] == ["m1"]
        assert condition_of(binding, "Evicted")["reason"] == "Preempted"
        assert condition_of(binding, "Scheduled")["status"] == "True"

        await world.until_phase("large", "Completed")
        await world.until(full, "the replicas are back", seconds=900)


@pytest.mark.slow
@virtual_time
async def test_a_gang_leaves_for_a_service_of_higher_priority(tmp_path):
    """Its policy allows one cluster: the gang leaves, all replicas run, and nothing runs twice."""
    template = pod_template(
        labels={"app": "web"},
        annotations={"federation.global-sched.io/run-seconds": "100000"},
        schedulerName="member-agent",
        priorityClassName="high",
    )
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "8", GPU: "8"}}
    service = deployment("web", replicas=4, template=template)
    service["metadata"]["namespace"] = TEAM
    divided = {"replicaSchedulingType": "Divided", "replicaDivisionPreference": "Aggregated"}
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await two_classes(world)
        await world.submit(gang("small", seconds=3600, spec={"priorityClassName": "low"}))
        await world.until_phase("small", "Running")
        await world.submit(service, where=placement() | {"replicaScheduling": divided})

        async def full():
            return len(await world.bound("m1", "web")) == 4

        await world.until(full, "all replicas are bound", seconds=120)

        assert await world.clusters("small") == []
        assert await world.bound("m1", "small") == {}
        evicted = condition_of(await world.binding("small"), "Evicted")
        assert (evicted["status"], evicted["reason"]) == ("True", "Preempted")
