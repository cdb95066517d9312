"""Recovery on the real Karmada: a pod that crashes and a node that is lost, with their times.

The times are those of the agent; kubelets are kwok's, which start and end pods at once.
"""

import statistics

import pytest

from global_sched.shared.api.names import RECOVERY
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.clock import SystemClock
from tests.e2e.waiting import until
from tests.e2e.world import gang
from tests.wire import placement

EAST = placement("east")
FAULTS = 3
"""One for each of as many gangs of two nodes: a member of four racks of three has a spare each."""
END = {"name": "c", "state": {"terminated": {"exitCode": 3, "reason": "Error"}}}
CRASHED = {"status": {"phase": "Failed", "containerStatuses": [END]}}


async def running(world, space, job):
    """Uid and node of the job's pods by name, once both run and neither is asked to go."""
    found = {
        one["metadata"]["name"]: (one["metadata"]["uid"], one["spec"]["nodeName"])
        for one in await world.pods("east", space)
        if one["metadata"]["name"].startswith(f"{job}-") and one["status"].get("phase") == "Running"
    }
    return found if len(found) == 2 else None


async def make_again(client, node):
    """A Node that was deleted, as it was."""
    meta = {key: node["metadata"].get(key) for key in ("name", "labels", "annotations")}
    made = {"apiVersion": "v1", "kind": "Node", "metadata": meta, "spec": node["spec"]}
    await client.create(NODES, made)
    room = {key: node["status"][key] for key in ("allocatable", "capacity")}
    await client.patch(NODES, meta["name"], {"status": room}, subresource="status")


@pytest.mark.parametrize(
    ("fault", "least", "most"),
    [
        pytest.param("crash", 0, 15, id="a pod that crashes"),
        pytest.param("node", 20, 45, id="a node that is deleted"),
    ],
)
async def test_only_what_was_lost_is_made_again(world, space, fault, least, most):
    """In the same rack, on another node where its own is gone, with the other pod untouched."""
    clock, east = SystemClock(), await world.member("east")
    for at in range(FAULTS):
        job = gang(f"train{at}", space, pods=2, gpus=8, seconds=3600)
        job["metadata"].setdefault("annotations", {})[RECOVERY] = '{"scopes": ["pod"]}'
        await world.submit(job, where=EAST)
    times, gone = [], []
    try:
        for at in range(FAULTS):
            name = f"train{at}"
            before = await until(lambda name=name: running(world, space, name), f"{name} runs")
            lost, kept = f"{name}-worker-0", f"{name}-worker-1"
            node = await east.get(NODES, before[lost][1])
            start = clock.monotonic()
            if fault == "crash":
                await east.patch(PODS, lost, CRASHED, namespace=space, subresource="status")
            else:
                await east.delete(NODES, before[lost][1])
                gone.append(node)

            async def whole(name=name, lost=lost, before=before):
                found = await running(world, space, name)
                return found if found and found[lost][0] != before[lost][0] else None

            after = await until(whole, f"{name} is whole again", seconds=120)
            times.append(clock.monotonic() - start)
            assert after[kept] == before[kept]
            assert fault == "crash" or after[lost][1] != before[lost][1]
            assert len({on.rpartition("-")[0] for _, on in after.values()}) == 1
    finally:
        for node in gone:
            await make_again(east, node)
    shown = ", ".join(f"{one:.1f} s" for one in times)
    print(f"{fault}: whole again after {shown}; median {statistics.median(times):.1f} s")  # noqa: T201
    assert least <= min(times)
    assert max(times) <= most
