"""One job from its binding to `spec.clusters`, over HTTP."""

import asyncio
import json

from global_sched.shared.api import resource as kinds
from tests.flows.control_plane import control_plane, scheduling
from tests.virtual_time import virtual_time
from tests.wire import binding, placement, vcjob


@virtual_time
async def test_a_gang_is_placed_and_directed(tmp_path):
    """A binding gets clusters, its two annotations, the Scheduled condition, and a Directive."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", racks=1, nodes=4)
        job = await plane.add(vcjob("train", replicas=4, gpus=8, tier=1))
        await plane.add(binding(job, where=placement("m1")))

        placed = await plane.until(
            lambda b: b.get("status", {}).get("schedulerObservedGeneration"), "train-job"
        )

        assert placed["spec"]["clusters"] == [{"name": "m1"}]
        annotations = placed["metadata"]["annotations"]
        assert json.loads(annotations["policy.karmada.io/applied-placement"]) == placement("m1")
        decision = json.loads(annotations["decision.global-sched.io/decision"])
        [grant] = decision["grants"]
        assert (grant["cluster"], grant["amounts"], grant["domain"]) == (
            "m1",
            {"worker": 4},
            "rack-0",
        )
        status = placed["status"]
        assert status["schedulerObservedGeneration"] == placed["metadata"]["generation"]
        assert status["lastScheduledTime"].startswith("2026-01-01T00:")
        [condition] = status["conditions"]
        assert (condition["type"], condition["status"], condition["reason"]) == (
            "Scheduled",
            "True",
            "Success",
        )
        await asyncio.sleep(0.2)  # the Directive follows behind the placement, at its own pace
        directives = await plane.client.list(kinds.DIRECTIVES, namespace="karmada-es-m1")
        [entry] = directives.items[0]["spec"]["entries"]
        assert entry["binding"] == "id-train-job"
        assert entry["decision"] == decision["id"]
        assert entry["admitted"] == {"worker": 4}
