"""A gang that its member cannot hold moves on a real Karmada, with its labels, and never twice.

The gate StatefulFailoverInjection is on in this federation.
"""

import json

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import CHECKPOINT_CALL, CHECKPOINT_GRACE, RECOVERY
from tests.e2e.test_faults_members import ORDERED
from tests.e2e.world import gang

READY = "team.example/ready"
RULES = {
    "scopes": ["pod", "cluster"],
    "hold": "2s",
    "carry": [
        {"label": READY, "jsonPath": "{.status.minAvailable}"},
        {"label": "team.example/step", "jsonPath": "{.status.step}"},
    ],
}


async def test_a_gang_moves_with_its_labels(faults):
    """Its nodes are cordoned and a pod of it is deleted: it goes on in the other member.

    Karmada puts the label of its status on the Job there, the agent on its pods; the task that
    carries it ends, and the pods that are made later have it, too. Before it leaves, the pod that
    still runs is called for a checkpoint, which its program does not answer.
    """
    space = faults.space
    job = gang("moves", space)
    notes = job["metadata"].setdefault("annotations", {})
    notes |= {RECOVERY: json.dumps(RULES), CHECKPOINT_GRACE: "10s"}
    await faults.submit(job, where=ORDERED)
    await faults.until_running("east", "moves", 2)
    east = await faults.member("east")
    nodes = [one["metadata"]["name"] for one in (await east.list(kinds.NODES)).items]
    for name in nodes:
        await east.patch(kinds.NODES, name, {"spec": {"unschedulable": True}})
    try:
        async with faults.never_twice("moves"):
            await east.delete(kinds.PODS, "moves-worker-1", namespace=space)

            async def called():
                pods = await faults.pods("east", space)
                return [
                    CHECKPOINT_CALL in (one["metadata"].get("annotations") or {})
                    for one in pods
                    if one["spec"].get("nodeName")
                ] == [True]

            await faults.until(called, "the pod that runs is called for a checkpoint")
            await faults.until_running("west", "moves", 2, seconds=120)
        assert await faults.running("east", "moves") == {}

        async def ended():
            return await faults.tasks("moves") == []

        await faults.until(ended, "the task with the labels has ended")
        west = await faults.member("west")

        async def carried():
            return {
                pod["metadata"]["labels"].get(READY) for pod in await faults.pods("west", space)
            }

        assert await carried() == {"2"}
        await west.delete(kinds.PODS, "moves-worker-1", namespace=space)
        await faults.until_running("west", "moves", 2)
        assert await carried() == {"2"}
        found = await west.get(kinds.VOLCANO_JOBS, "moves", namespace=space)
        assert found["status"]["controlledResources"][f"carried-{READY}"] == "2"
    finally:
        for name in nodes:
            await east.patch(kinds.NODES, name, {"spec": {"unschedulable": None}})
