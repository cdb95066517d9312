"""Without a term the binder binds and deletes nothing, also what it had begun."""

import asyncio

import pytest

from global_sched.shared.api.core import Pod
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from member_agent.cache import ClusterCache
from member_agent.scheduler.write.binder import Binder, BindOutcome
from tests.global_sched.shared.kube.memory_server import MemoryTransport
from tests.member_agent.member import CLUSTER, pod
from tests.wire import decode

NAMES = ("a", "b", "c")


@pytest.fixture
def pods():
    """Three pods, as the cache has them."""
    cache = ClusterCache(CLUSTER)
    for name in NAMES:
        cache.upsert_pod(decode(pod(name), Pod))
    return sorted(cache.pods.values(), key=lambda one: one.name)


def asked(what, *, allowed):
    """What the server was asked for, when a Binder may write so many times and does `what`."""
    server, left = MemoryTransport(), iter([True] * allowed)
    binder = Binder(
        Client(server, clock=LoopClock()),
        cache=ClusterCache(CLUSTER),
        metrics=Metrics(Program.AGENT),
        at_once=4,
        may_write=lambda: next(left, False),
        resource_of=lambda *_: None,
    )
    asyncio.run(what(binder))
    return [one.rpartition("/pods/")[2] for one in server.requests]


@pytest.mark.parametrize("allowed", [0, 2])
def test_no_pod_is_bound_after_the_end_of_a_term(pods, allowed):
    async def bind(binder):
        for one in pods:
            await binder._bind(one, "node", BindOutcome())

    assert asked(bind, allowed=allowed) == [f"{name}/binding" for name in NAMES[:allowed]]


@pytest.mark.parametrize("allowed", [0, 2])
def test_no_pod_is_deleted_after_the_end_of_a_term(pods, allowed):
    async def delete(binder):
        assert len(await binder.delete_pods(pods, BindOutcome())) == allowed

    assert asked(delete, allowed=allowed) == list(NAMES[:allowed])
