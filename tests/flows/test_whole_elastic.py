"""An elastic gang that goes on with fewer pods when its member has no seat, and grows back."""

import asyncio
import json

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import ELASTIC, RECOVERY
from tests.flows.federation import gang, member, whole
from tests.flows.test_whole_moves import events, lose, recovering, verdict
from tests.virtual_time import virtual_time

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
        assert said.startswith("scope shrink: 2 of 4 pods in m1 since 2026-")
        assert "train-worker-3 was lost: OutOfService; it grows back when there is room" in said
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
