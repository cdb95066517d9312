"""A world in which nothing can be done costs nothing."""

import asyncio

import pytest

from global_sched.embedded.apiserver import ApiServer
from global_sched.shared.api.resource import RESOURCE_BINDINGS, VOLCANO_JOBS, Resource
from tests.deep import SETTLED_SECONDS
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_refused
from tests.flows.test_waiting_lists import managed, until
from tests.virtual_time import virtual_time
from tests.wire import Object, binding, vcjob

PENDING = 10_000


def preload(server: ApiServer, resource: Resource, obj: Object) -> None:
    """Put an object into the server's store as it is, without 20,000 requests."""
    backend = server.backend
    served = backend.registry.find(resource.group, resource.version, resource.plural)
    assert served is not None
    key = f"{obj['metadata']['namespace']}/{obj['metadata']['name']}"
    backend.commit(served, key, obj)


@pytest.mark.slow
@virtual_time
async def test_ten_thousand_pending_jobs_write_nothing(tmp_path):
    """Once every reason is written, only leases and reports are, although reports keep coming.

    No condition, no Event, no waiting list, no status: no other request changes anything.
    """
    async with control_plane(tmp_path) as plane:
        await managed(plane, "team-a")
        await plane.member("m1", nodes=3)
        sample = await plane.add(vcjob("sample", replicas=4, gpus=8, tier=1))
        await plane.add(binding(sample))
        async with scheduling(plane, tmp_path):
            refused = await plane.until(is_refused, "sample-job")
        for number in range(PENDING):
            job = vcjob(f"job-{number}", replicas=4, gpus=8, tier=1)
            preload(plane.server, VOLCANO_JOBS, job)
            preload(plane.server, RESOURCE_BINDINGS, binding(job, status=refused["status"]))
        async with scheduling(plane, tmp_path) as program:
            await until(plane, lambda one: one is not None and one["total"] == PENDING + 1)
            await plane.report("m1", nodes=3, generation=2)
            await asyncio.sleep(10)
            plane.writes.clear()
            before = program.loop.cycles
            for generation in range(3, SETTLED_SECONDS // 10):
                await plane.report("m1", nodes=3, generation=generation)
                await asyncio.sleep(10)
            cycles = program.loop.cycles - before
            written = {
                what for what in plane.writes if not what.endswith(("leases", "capacityreports"))
            }

    assert written == set()
    assert cycles == 0
