"""Gauges that the agent reads at scrape time."""

from types import SimpleNamespace

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.events import EventRecorder
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.telemetry.registry import Metrics, Program
from member_agent.cache import ClusterCache
from member_agent.gauges import refresh_gauges
from member_agent.jobs import JobController
from tests.virtual_time import virtual_time


@virtual_time
async def test_the_depth_of_the_queue_of_jobs_is_shown():
    """Jobs that wait for the controller by state, and nothing where it does not run."""
    clock = LoopClock()
    client = Client(InProcessTransport.to(ApiServer(clock=clock, seed=1), clock=clock), clock=clock)
    recorder = EventRecorder(client, component="x", instance="x", clock=clock)
    jobs = JobController(client, clock=clock, recorder=recorder)
    agent = SimpleNamespace(
        cache=ClusterCache("m1"),
        feeds=SimpleNamespace(informers=lambda: ()),
        publisher=None,
        jobs=None,
        clock=clock,
    )
    metrics = Metrics(Program.AGENT)

    refresh_gauges(metrics, agent)
    assert b"magent_work_queue_depth{" not in metrics.render()

    agent.jobs = jobs
    jobs._queue.add(ObjectKey("team", "a"))
    jobs._queue.add_after(ObjectKey("team", "b"), 5.0)
    refresh_gauges(metrics, agent)

    shown = metrics.render().decode()
    assert 'magent_work_queue_depth{queue="jobs",state="ready"} 1.0' in shown
    assert 'magent_work_queue_depth{queue="jobs",state="delayed"} 1.0' in shown
    await client.close()
