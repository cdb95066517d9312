"""Fault plans at the transport seam."""

import asyncio
from contextlib import aclosing

import pytest

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.resource import CONFIGMAPS, QUEUES
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Gone,
    ServerError,
    Throttled,
    Unreachable,
)
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import AiohttpTransport
from tests.global_sched.shared.kube.scripted import event, serving, stores, streams, thing
from tests.virtual_time import virtual_time

FIVE = [event("ADDED", thing(name, version)) for version, name in enumerate("abcde", 10)]


def faulty(script, *faults):
    clock = LoopClock()
    plan = FaultPlan(*faults)
    inner = AiohttpTransport(Connection.to(script.url, clock=clock))
    return Client(FaultyTransport(inner, plan, clock=clock), clock=clock), plan


async def attempt(call):
    """The class of the error that a call ends with, None when it works."""
    try:
        await call
    except ApiError as error:
        return type(error)
    return None


@pytest.mark.parametrize(
    ("kind", "want", "want_sent"),
    [
        pytest.param(FaultKind.CONFLICT, Conflict, 2, id="a conflict"),
        pytest.param(FaultKind.GONE, Gone, 2, id="compaction"),
        pytest.param(FaultKind.THROTTLE, Throttled, 2, id="throttling"),
        pytest.param(FaultKind.ERROR, ServerError, 2, id="a server error"),
        pytest.param(FaultKind.FORBIDDEN, Forbidden, 2, id="a refusal"),
        pytest.param(FaultKind.TIMEOUT, Unreachable, 2, id="silence"),
        pytest.param(FaultKind.LOST_BEFORE, Unreachable, 2, id="lost before it was sent"),
        pytest.param(FaultKind.LOST_AFTER, Unreachable, 3, id="carried out, answer lost"),
        pytest.param(FaultKind.DELAY, None, 3, id="late"),
    ],
)
@virtual_time
async def test_the_nth_call_fails(kind, want, want_sent):
    """Exactly the named call meets the fault; the server sees it only if the kind says so."""
    async with serving(stores()) as script:
        client, plan = faulty(
            script, Fault("patch", "queues.*", kind=kind, nth=2), Fault("get", "*", kind=kind)
        )
        outcomes = [await attempt(client.patch(QUEUES, "q", {})) for _ in range(3)]
        await client.close()

    assert outcomes == [None, want, None]
    assert len(script.seen) == want_sent
    assert [target.name for _, target in plan.fired] == ["q"]


@virtual_time
async def test_counts_are_per_verb_resource_and_name():
    """A fault counts only the calls that it matches."""
    fault = Fault("patch", "queues.*/status", "gold", kind=FaultKind.CONFLICT, times=2)
    async with serving(stores()) as script:
        client, plan = faulty(script, fault)
        outcomes = [
            await attempt(client.patch(QUEUES, name, {}, subresource=sub))
            for name, sub in [
                ("gold", None),
                ("tin", "status"),
                ("gold", "status"),
                ("gold", "status"),
                ("gold", "status"),
            ]
        ]
        await client.close()

    assert outcomes == [None, None, Conflict, Conflict, None]
    assert len(plan.calls) == 5


@virtual_time
async def test_held_calls_wait_for_release():
    """A test can stop the world at a call, look, and let it go on."""
    async with serving(stores()) as script:
        client, plan = faulty(script, Fault("patch", "*", kind=FaultKind.HOLD))
        call = asyncio.create_task(client.patch(QUEUES, "q", {}))
        await asyncio.sleep(100)
        assert (plan.held, script.seen) == (1, [])
        plan.release()
        await call
        await client.close()

    assert len(script.seen) == 1


async def read_watch(client, names):
    watch = client.watch(CONFIGMAPS, resource_version="5", type=KubeObject)
    async with aclosing(watch):
        async for found in watch:
            names.append((found.object.metadata.name, asyncio.get_running_loop().time()))


@pytest.mark.parametrize(
    ("kind", "want_error", "want_names"),
    [
        pytest.param(FaultKind.CUT, Unreachable, "ab", id="cut in the middle of the third"),
        pytest.param(FaultKind.GONE, Gone, "ab", id="told that it is too old"),
        pytest.param(FaultKind.HALF_OPEN, Unreachable, "ab", id="silent after the second"),
        pytest.param(FaultKind.DUPLICATE, None, "abccde", id="the third comes twice"),
        pytest.param(FaultKind.DELAY, None, "abcde", id="everything comes late"),
    ],
)
@virtual_time
async def test_watches_break_in_every_way(kind, want_error, want_names):
    """A watch delivers what came before its fault, and then fails as the kind says."""
    names = []
    async with serving(streams(*FIVE, 1.0)) as script:
        client, _ = faulty(script, Fault("watch", "*", kind=kind, events=2, seconds=10))
        error = await attempt(read_watch(client, names))
        await client.close()

    assert error is want_error
    assert "".join(name for name, _ in names) == want_names
    late = 10 <= names[0][1] < 11
    assert late == (kind is FaultKind.DELAY)


@virtual_time
async def test_half_open_lasts_the_inactivity_time():
    """Silence is noticed after the inactivity time, and not earlier."""
    async with serving(streams(*FIVE, 1000.0)) as script:
        client, _ = faulty(script, Fault("watch", "*", kind=FaultKind.HALF_OPEN, events=1))
        await attempt(read_watch(client, []))
        await client.close()

        assert 90 <= asyncio.get_running_loop().time() < 91


@virtual_time
async def test_clearing_heals():
    """After `clear` nothing fails any more."""
    async with serving(stores()) as script:
        client, plan = faulty(script, Fault("*", "*", kind=FaultKind.ERROR, times=99))
        assert await attempt(client.get(QUEUES, "q")) is ServerError
        plan.clear()
        assert await attempt(client.get(QUEUES, "q")) is None
        await client.close()
