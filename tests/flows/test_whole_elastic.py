"""An elastic gang that goes on with fewer pods when its member has no seat, and grows back."""

import asyncio
import json

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import ELASTIC, RECOVERY
from tests.flows.federation import TEAM, gang, member, whole
from tests.flows.test_whole_moves import events, lose, recovering, verdict
from tests.flows.test_whole_recovery import running
from tests.virtual_time import virtual_time
from tests.wire import GPU, pod_template, pytorch_job

SIZES = {"sizes": [2, 4], "cooldown": "3m"}
RULES = {"scopes": ["pod", "shrink", "job"]}


def elastic(name="train", *, sizes=SIZES, rules=RULES, minimum=2, **fields):
    """A gang of four pods, each of which needs a node of its own."""
    job = gang(name, seconds=36_000, spec={"minAvailable": minimum}, **fields)
    notes = job["metadata"].setdefault("annotations", {})
    notes |= {ELASTIC: json.dumps(sizes), RECOVERY: json.dumps(rules)}
    return job


async def numbers(world, seconds):
    """Admitted and bound pods, second by second, without repeats."""
    seen = []
    for _ in range(seconds):
        grants = (await world.decision("train"))["grants"]
        admitted = sum(sum(one["amounts"].values()) for one in grants)
        found = (admitted, len(await world.bound("m1", "train")))
        if not seen or seen[-1] != found:
            seen.append(found)
        await asyncio.sleep(1)
    return seen


@pytest.mark.slow
@virtual_time
async def test_it_goes_on_with_the_next_smaller_size_and_grows_back(tmp_path):
    """After a minute without a seat; the others run on, and after its cooldown it is whole."""
    async with whole(tmp_path, member("m1")) as world:
        await world.submit(elastic())
        await world.until_phase("train", "Running")
        await asyncio.sleep(180)
        kept = {one["metadata"]["uid"] for one in await world.pods("m1")}
        node = (await world.bound("m1", "train"))["train-worker-3"]
        await lose(world, node)
        assert await numbers(world, 75) == [(4, 4), (4, 3), (2, 2)]

        status, said = await recovering(world)
        assert status == "True"
        assert said.startswith(
            "scope shrink, attempt 1: from 4 to 2 pods in m1, which has had no seat for the others "
            "since 2026-"
        )
        assert "; train-worker-3 was lost: OutOfService; next: it grows back when there is" in said
        told = await events(world, "GoesOnWithFewer")
        assert sorted(told) == ["Job", "ResourceBinding"]
        assert "it goes on with 2 of 4 pods, its next smaller size, and grows" in told["Job"]
        running = {one["metadata"]["uid"] for one in await world.pods("m1") if _runs(one)}
        assert len(running) == 2
        assert running < kept

        await world.federation.running_member("m1").recover_node(node)
        client = world.federation.member_client("m1")
        await client.patch(kinds.NODES, node, {"spec": {"taints": None}})
        await client.close()
        await asyncio.sleep(60)
        assert "and its cooldown lasts until 2026-" in await verdict(world)
        assert await numbers(world, 180) == [(2, 2), (4, 4)]
        assert await recovering(world) == ("False", "admitted again")
        assert (await world.phase("train"), await world.clusters("train")) == ("Running", ["m1"])
        version = await world.bindings_version()
        await asyncio.sleep(1200)
        assert await world.bindings_since(version, "train") == []


def _runs(pod):
    return pod["status"].get("phase") == "Running"


@pytest.mark.slow
@virtual_time
async def test_a_refused_annotation_is_an_event_on_the_job(tmp_path):
    """With object, field, reason and remedy; until then it may have any size."""
    async with whole(tmp_path, member("m1")) as world:
        await world.submit(elastic(sizes={"sizes": [1, 4]}))
        await world.until_phase("train", "Running")
        assert await events(world, "ElasticRefused") == {
            "Job": "federation.global-sched.io/elastic: elastic.sizes[0]: is 1, and the gang's "
            "minimum is 2; begin with the minimum, or lower that; until then it may have any size"
        }


@pytest.mark.slow
@virtual_time
async def test_a_pytorch_job_goes_on_with_fewer_workers(tmp_path):
    """Of another controller's gang the pods beyond the size stay Pending, and the rest runs on."""
    template = pod_template(
        annotations={"federation.global-sched.io/run-seconds": "36000"},
        restartPolicy="ExitCode",
        schedulerName="member-agent",
    )
    template["spec"]["containers"][0] |= {
        "name": "pytorch",
        "resources": {"limits": {"cpu": "8", GPU: "8"}},
    }
    job = pytorch_job(
        "train",
        {"Worker": 4},
        namespace=TEAM,
        template=template,
        spec={"elasticPolicy": {"minReplicas": 2, "maxReplicas": 4}},
    )
    for one in job["spec"]["pytorchReplicaSpecs"].values():
        one["restartPolicy"] = one["template"]["spec"].pop("restartPolicy", "ExitCode")
    notes = {ELASTIC: json.dumps({"sizes": [2, 4]}), RECOVERY: json.dumps(RULES)}
    job["metadata"].setdefault("annotations", {}).update(notes)
    async with whole(tmp_path, member("m1", nodes=4)) as world:
        await world.submit(job)
        await asyncio.sleep(20)
        before = await running(world)
        await lose(world, (await world.pods("m1"))[0]["spec"]["nodeName"])
        await asyncio.sleep(100)

        bound = [one for one in await world.pods("m1") if one["spec"].get("nodeName")]
        assert (before, await running(world), len(bound)) == (4, 2, 2)
