"""The Job controller in a running member: pods are bound, run and end while it watches."""

import asyncio
from contextlib import asynccontextmanager

import pytest

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.in_process import InProcessTransport
from global_sched.shared.api.names import FAIL_ONCE, RUN_SECONDS
from global_sched.shared.api.resource import (
    CONFIGMAPS,
    EVENTS,
    LEASES,
    NAMESPACES,
    PODS,
    PRIORITY_CLASSES,
    VOLCANO_JOBS,
)
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.events import EventRecorder
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import Transport
from global_sched.shared.model.instant import SECOND, Instant, format_micro
from member_agent.jobs import JobController, VolcanoRunsError, volcano_controller_lease
from tests.global_sched.embedded.members.member_world import TEAM, member
from tests.member_agent.jobs.job_world import policy, task
from tests.virtual_time import virtual_time


@asynccontextmanager
async def controlled(one, *, plan=None):
    """Our Job controller in a member; pods go to the member's own scheduler."""
    clock = LoopClock()
    transport: Transport = InProcessTransport.to(one.server, clock=clock)
    if plan is not None:
        transport = FaultyTransport(transport, plan, clock=clock)
    client = Client(transport, clock=clock)
    recorder = EventRecorder(client, component="member-agent", instance="test", clock=clock)
    controller = JobController(
        client, clock=clock, recorder=recorder, default_scheduler="default-scheduler"
    )
    running = [asyncio.create_task(loop()) for loop in (controller.run, recorder.run)]
    try:
        yield controller
    finally:
        for each in running:
            each.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await client.close()


def running_task(name="worker", replicas=2, *, seconds=3, notes=None, **fields):
    """A task whose pods run for so long."""
    made = task(name, replicas, **fields)
    made["template"]["metadata"] = {"annotations": {RUN_SECONDS: str(seconds), **(notes or {})}}
    made["template"]["spec"]["restartPolicy"] = "Never"
    return made


async def submit(one, *tasks, **spec):
    """Create a Job."""
    body = {"metadata": {"name": "train"}, "spec": {"tasks": list(tasks), **spec}}
    return await one.add(VOLCANO_JOBS, body)


def history(job):
    """The phases so far."""
    return [entry["status"] for entry in job["status"]["conditions"]]


@virtual_time
async def test_a_job_runs_to_its_end():
    """From submission to Completed, with a task that waits for another."""
    async with member() as one, controlled(one):
        await submit(
            one,
            running_task("server", 1, seconds=6),
            running_task("worker", 2, dependsOn={"name": ["server"]}),
        )
        await asyncio.sleep(0.5)
        early = sorted(await one.pods())
        await asyncio.sleep(10)
        job = await one.get(VOLCANO_JOBS, "train")

    assert early == ["train-server-0"]
    assert history(job)[-2:] == ["Running", "Completed"]
    assert job["status"]["succeeded"] == 3


@virtual_time
async def test_a_failure_restarts_the_job():
    """One pod fails, all are made anew with the next version, and the Job completes."""
    async with member() as one, controlled(one):
        await submit(
            one,
            running_task(notes={FAIL_ONCE: "true"}),
            policies=[policy("RestartJob", "PodFailed")],
        )
        await asyncio.sleep(15)
        job = await one.get(VOLCANO_JOBS, "train")
        pods = await one.pods()

    phases = [phase for phase in history(job) if phase != "Pending"]
    assert phases == ["Running", "Restarting", "Running", "Completed"]
    assert job["status"]["retryCount"] == 1
    notes = [pod["metadata"]["annotations"] for pod in pods.values()]
    assert {note["volcano.sh/job-version"] for note in notes} == {"1"}
    assert {note["volcano.sh/job-retry-count"] for note in notes} == {"1"}


@virtual_time
async def test_a_restart_of_the_agent_counts_nothing_twice():
    """Another controller takes over in the middle of a restart: one retry, and the same end."""
    async with member(stop_seconds=3) as one:
        async with controlled(one):
            await submit(
                one,
                running_task(notes={FAIL_ONCE: "true"}, seconds=4),
                policies=[policy("RestartPod", "PodFailed"), policy("RestartJob", "PodEvicted")],
            )
            await asyncio.sleep(5.2)
        middle = await one.get(VOLCANO_JOBS, "train")
        async with controlled(one):
            await asyncio.sleep(15)
        job = await one.get(VOLCANO_JOBS, "train")

    assert middle["status"]["retryCount"] == 1
    assert (job["status"]["state"]["phase"], job["status"]["retryCount"]) == ("Completed", 1)


@virtual_time
@pytest.mark.parametrize("away", [False, True], ids=["it sees them go", "it is down meanwhile"])
async def test_ended_pods_that_are_collected(away):
    """Pod garbage collection takes the ended ones: no task runs twice, and the Job completes.

    The status survives the API server's schema, where unknown fields are cut off.
    """
    async with member() as one:
        async with controlled(one):
            await submit(
                one,
                running_task("first", 2, seconds=2),
                running_task("worker", 2, seconds=20, dependsOn={"name": ["first"]}),
            )
            await asyncio.sleep(8)
            before = {pod["metadata"]["uid"] for pod in (await one.pods()).values()}
            if not away:
                await _collect(one)
                await asyncio.sleep(3)
        if away:
            await _collect(one)
        async with controlled(one):
            await asyncio.sleep(5)
            after = await one.pods()
            middle = await one.get(VOLCANO_JOBS, "train")
            await asyncio.sleep(20)
            job = await one.get(VOLCANO_JOBS, "train")

    assert sorted(after) == ["train-worker-0", "train-worker-1"]
    assert {pod["metadata"]["uid"] for pod in after.values()} <= before
    assert middle["status"]["state"]["phase"] == "Running"
    assert middle["status"]["taskStatusCount"]["first"] == {"phase": {"Succeeded": 2}}
    assert (job["status"]["state"]["phase"], job["status"]["succeeded"]) == ("Completed", 4)


async def _collect(one):
    """Delete the pods that succeeded."""
    for name, pod in (await one.pods()).items():
        if pod["status"]["phase"] == "Succeeded":
            await one.client.delete(PODS, name, namespace=TEAM)


@virtual_time
async def test_an_eviction_while_the_pod_runs():
    """A pod that is deleted is the event PodEvicted; its neighbours start again, too."""
    async with member() as one, controlled(one):
        await submit(one, running_task(seconds=60), policies=[policy("RestartJob", "PodEvicted")])
        await asyncio.sleep(3)
        before = {pod["metadata"]["uid"] for pod in (await one.pods()).values()}
        await one.client.delete(PODS, "train-worker-1", namespace=TEAM)
        await asyncio.sleep(5)
        after = {pod["metadata"]["uid"] for pod in (await one.pods()).values()}
        job = await one.get(VOLCANO_JOBS, "train")

    assert not before & after
    assert (job["status"]["state"]["phase"], job["status"]["version"]) == ("Running", 1)


@virtual_time
async def test_a_rollback_is_no_eviction():
    """Pods that the agent itself takes back are made anew, and no policy answers."""
    async with member() as one, controlled(one) as controller:
        job = await submit(
            one, running_task(seconds=60), policies=[policy("AbortJob", "PodEvicted")]
        )
        await asyncio.sleep(3)
        pod = (await one.pods())["train-worker-1"]
        controller.expect(job["metadata"]["uid"], (pod["metadata"]["uid"],))
        await one.client.delete(PODS, "train-worker-1", namespace=TEAM)
        await asyncio.sleep(3)
        found = await one.get(VOLCANO_JOBS, "train")
        phases = await one.phases()

    assert found["status"]["state"]["phase"] == "Running"
    assert phases == {"train-worker-0": "Running", "train-worker-1": "Running"}


@virtual_time
async def test_scaling_brings_the_host_lists_along():
    """More replicas: new pods, and a ConfigMap that names them."""
    async with member() as one, controlled(one):
        await submit(one, running_task("worker", 1, seconds=60), plugins={"svc": []})
        await asyncio.sleep(2)
        tasks = [running_task("worker", 3, seconds=60)]
        spec = {"spec": {"tasks": tasks, "minAvailable": 3}}
        await one.client.patch(VOLCANO_JOBS, "train", spec, namespace=TEAM)
        await asyncio.sleep(3)
        hosts = await one.get(CONFIGMAPS, "train-svc")
        job = await one.get(VOLCANO_JOBS, "train")

    assert hosts["data"]["VC_WORKER_NUM"] == "3"
    assert job["status"]["running"] == 3


@virtual_time
async def test_pods_that_are_refused():
    """The Job's events name pod and reason; it goes on as soon as the reason is gone."""
    async with member() as one, controlled(one):
        await submit(one, running_task("worker", 1), priorityClassName="urgent")
        await asyncio.sleep(3)
        events = (await one.client.list(EVENTS, namespace=TEAM)).items
        await one.client.create(PRIORITY_CLASSES, {"metadata": {"name": "urgent"}, "value": 7})
        await asyncio.sleep(30)
        job = await one.get(VOLCANO_JOBS, "train")

    (event,) = [e for e in events if e["regarding"]["kind"] == "Job"]
    assert event["reason"] == "FailedCreate"
    assert "pod train-worker-0: " in event["note"]
    assert "no PriorityClass with name urgent was found" in event["note"]
    assert job["status"]["state"]["phase"] == "Completed"


STATUS = "jobs.batch.volcano.sh/status"


@virtual_time
@pytest.mark.parametrize("action", ["RestartJob", "RestartPod"])
@pytest.mark.parametrize(
    "fault",
    [
        pytest.param(Fault("patch", STATUS, kind=FaultKind.CONFLICT, times=3), id="conflicts"),
        pytest.param(Fault("patch", STATUS, kind=FaultKind.LOST_BEFORE, nth=4), id="no status"),
        pytest.param(
            Fault("patch", STATUS, kind=FaultKind.LOST_AFTER, times=20), id="statuses unanswered"
        ),
        pytest.param(Fault("create", "pods", kind=FaultKind.ERROR, times=3), id="no pods"),
        pytest.param(
            Fault("create", "pods", kind=FaultKind.LOST_AFTER, times=3), id="pods unanswered"
        ),
        pytest.param(Fault("delete", "pods", kind=FaultKind.TIMEOUT, times=2), id="no deletion"),
        pytest.param(Fault("create", "podgroups*", kind=FaultKind.ERROR, times=2), id="no group"),
        pytest.param(Fault("watch", "pods", kind=FaultKind.CUT, events=3, times=3), id="cut"),
    ],
)
async def test_writes_that_fail(fault, action):
    """Whatever fails or goes unanswered: the Job restarts once, and completes all the same."""
    async with member() as one, controlled(one, plan=FaultPlan(fault)):
        await submit(
            one,
            running_task(notes={FAIL_ONCE: "true"}),
            policies=[policy(action, "PodFailed")],
        )
        await asyncio.sleep(180)
        job = await one.get(VOLCANO_JOBS, "train")

    assert job["status"]["state"]["phase"] == "Completed"
    assert job["status"]["retryCount"] == 1


@virtual_time
@pytest.mark.parametrize(
    ("namespace", "holder", "age", "want"),
    [
        pytest.param("volcano-system", "vc-0", 5, True, id="it runs"),
        pytest.param("kube-system", "vc-0", 5, True, id="it runs in kube-system"),
        pytest.param("volcano-system", "vc-0", 3600, False, id="its Lease is long dead"),
        pytest.param("volcano-system", "", 5, False, id="nobody holds it"),
    ],
)
async def test_volcanos_own_controller(namespace, holder, age, want):
    """Where Volcano's controller holds its Lease, ours refuses to start, in one clear line."""
    clock = LoopClock()
    server = ApiServer(clock=clock, seed=1)
    await server.start(listen=False)
    client = Client(InProcessTransport.to(server, clock=clock), clock=clock)
    try:
        if namespace != "kube-system":
            await client.create(NAMESPACES, {"metadata": {"name": namespace}})
        spec = {
            "holderIdentity": holder,
            "leaseDurationSeconds": 15,
            "renewTime": format_micro(Instant(clock.now() - age * SECOND)),
        }
        lease = {"metadata": {"name": "vc-controller-manager"}, "spec": spec}
        await client.create(LEASES, lease, namespace=namespace)
        line = await volcano_controller_lease(client, clock=clock)
        if want:
            recorder = EventRecorder(client, component="x", instance="x", clock=clock)
            with pytest.raises(VolcanoRunsError, match="vc-0 holds the Lease"):
                await JobController(client, clock=clock, recorder=recorder).run()
    finally:
        await client.close()
        await server.stop()

    assert (line is not None) is want
