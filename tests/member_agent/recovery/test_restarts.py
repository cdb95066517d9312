"""A gang that starts anew: pods that the end of a term leaves alone."""

import pytest

from global_sched.shared.api.core import Pod
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from member_agent.cache import ClusterCache
from member_agent.recovery.restarts import GangRestarts
from tests.global_sched.shared.kube.memory_server import MemoryTransport
from tests.member_agent.member import CLUSTER, pod
from tests.wire import decode


@pytest.mark.parametrize(
    ("leads", "want"),
    [pytest.param(True, 1, id="while it leads"), pytest.param(False, 0, id="afterwards")],
)
async def test_a_pod_of_it_is_deleted_only_while_the_agent_leads(leads, want):
    """The term may end between the look at a gang and the deletion of its last pod."""
    cache, server, clock = ClusterCache(CLUSTER), MemoryTransport(), LoopClock()
    cache.upsert_pod(decode(pod("a"), Pod))
    restarts = GangRestarts(
        Client(server, clock=clock),
        cache=cache,
        store=None,
        recorder=None,
        clock=clock,
        metrics=Metrics(Program.AGENT),
        unwatched=frozenset,
        may_write=lambda: leads,
        waits_at=lambda *_: None,
        run_here=frozenset(),
    )
    for one in cache.pods.values():
        await restarts._delete(one)

    assert len(server.requests) == want
