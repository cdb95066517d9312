"""`gsched` looks once: what happens when the control plane goes away, or stumbles, meanwhile."""

import asyncio

import pytest

from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, ConfigError
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.model.ids import WorkloadKey
from global_sched.view.look import look
from tests.flows.control_plane import control_plane, transport_to
from tests.virtual_time import virtual_time
from tests.wire import binding, vcjob

FOR_EVER = 10**9


async def looked(plane, tmp_path, *faults):
    """One look through a network with these faults: what it saw, the calls, the virtual seconds."""
    plan = FaultPlan(*faults)
    transport = await transport_to(plane.server, tmp_path, plane.clock)
    client = Client(FaultyTransport(transport, plan, clock=plane.clock), clock=plane.clock)
    start = asyncio.get_running_loop().time()
    try:
        found = await look(client, plane.clock)
    except (ApiError, ConfigError) as error:
        found = error
    finally:
        await client.close()
    return found, plan.calls, asyncio.get_running_loop().time() - start


@pytest.mark.slow
@pytest.mark.parametrize("kind", [FaultKind.LOST_BEFORE, FaultKind.LOST_AFTER])
@virtual_time
async def test_the_server_goes_away_at_any_request(tmp_path, kind):
    """Whichever request is the first without an answer: one error that says so, and soon."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        await plane.add(binding(await plane.add(vcjob("train", gpus=8))))
        _, calls, _ = await looked(plane, tmp_path)
        asked = [n for n, one in enumerate(calls, start=1) if one.verb != "watch"]
        for nth in asked[:-1]:
            gone = Fault("*", "*", kind=kind, nth=nth, times=FOR_EVER)
            found, _, took = await looked(plane, tmp_path, gone)
            assert isinstance(found, ApiError | ConfigError), (nth, found)
            assert "\n" not in str(found)
            assert took <= 11, (nth, took)
    assert len(asked) > 30


@virtual_time
async def test_what_could_not_be_listed_is_named_with_the_failure(tmp_path):
    """Kinds that never arrived, and what the server said last."""
    broken = Fault("list", "queues.*", kind=FaultKind.ERROR, nth=1, times=FOR_EVER)
    async with control_plane(tmp_path) as plane:
        found, _, took = await looked(plane, tmp_path, broken)

    assert str(found).startswith(
        "the control plane did not list Queue.scheduling.volcano.sh in time "
        "(list queues.scheduling.volcano.sh: "
    )
    assert str(found).endswith(": check that it is well, and try again")
    assert 10 <= took < 11


@virtual_time
async def test_a_server_that_stumbles_is_asked_again(tmp_path):
    """Throttled or cut off once, the look is whole all the same."""
    async with control_plane(tmp_path) as plane:
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job))
        found, _, _ = await looked(
            plane,
            tmp_path,
            Fault("list", "resourcebindings.*", kind=FaultKind.THROTTLE),
            Fault("list", "queues.*", kind=FaultKind.LOST_BEFORE),
        )

    assert [one.key for one in found.state.workloads()] == [WorkloadKey("team-a/train-job")]
