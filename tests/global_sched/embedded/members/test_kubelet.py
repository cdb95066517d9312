"""Pods on nodes: taken or refused, run, ended, gone."""

import asyncio

import pytest

from global_sched.embedded.members import NodePlan, rack_plan
from global_sched.shared.api.names import EXIT_CODE, FAIL_ONCE, RUN_SECONDS
from global_sched.shared.api.resource import LEASES, NODES, PODS
from global_sched.shared.kube.errors import Conflict, NotFound
from tests.global_sched.embedded.members.member_world import TEAM, member, pod
from tests.virtual_time import virtual_time


@virtual_time
async def test_a_pods_life():
    """Bound, creating, running and ready, succeeded: at the times that it asks for."""
    async with member() as one:
        await one.add(PODS, pod("a", annotations={RUN_SECONDS: "3"}))
        await asyncio.sleep(0.3)
        creating = (await one.pods())["a"]
        await asyncio.sleep(1)
        running = (await one.pods())["a"]
        await asyncio.sleep(3)
        ended = (await one.pods())["a"]

    assert creating["spec"]["nodeName"] == "m1-0-0"
    state = creating["status"]["containerStatuses"][0]["state"]
    assert state == {"waiting": {"reason": "ContainerCreating"}}
    assert running["status"]["phase"] == "Running"
    assert {c["type"]: c["status"] for c in running["status"]["conditions"]} == {
        "Initialized": "True",
        "Ready": "True",
        "ContainersReady": "True",
        "PodScheduled": "True",
    }
    assert running["status"]["podIP"] == "10.0.0.2"
    assert ended["status"]["phase"] == "Succeeded"
    terminated = ended["status"]["containerStatuses"][0]["state"]["terminated"]
    assert (terminated["exitCode"], terminated["reason"]) == (0, "Completed")


@virtual_time
@pytest.mark.parametrize(
    ("restart", "annotations", "want_phase", "want_restarts"),
    [
        pytest.param("Never", {EXIT_CODE: "3"}, "Failed", 0, id="fails for good"),
        pytest.param("OnFailure", {EXIT_CODE: "3"}, "Running", 2, id="is restarted each time"),
        pytest.param("OnFailure", {FAIL_ONCE: "true"}, "Succeeded", 1, id="fails once"),
        pytest.param("Always", {}, "Running", 2, id="is restarted when it ends"),
    ],
)
async def test_restart_policies(restart, annotations, want_phase, want_restarts):
    """The restart policy decides what the end of a container means."""
    async with member() as one:
        notes = {RUN_SECONDS: "2", **annotations}
        await one.add(PODS, pod("a", restart=restart, annotations=notes))
        await asyncio.sleep(6)
        status = (await one.pods())["a"]["status"]

    assert status["phase"] == want_phase
    assert status["containerStatuses"][0]["restartCount"] == want_restarts


@virtual_time
@pytest.mark.parametrize(
    "lost",
    [
        pytest.param(1, id="that its containers are made"),
        pytest.param(2, id="that they run"),
        pytest.param(3, id="that they run again after their end"),
    ],
)
async def test_a_lost_status_leaves_the_stage_as_it_was(lost):
    """A status that could not be written is written again, however long the next stage lasts."""
    seen = []

    def loses(request):
        if request.path.endswith("/pods/a/status"):
            seen.append(request)
        return len(seen) == lost and request is seen[-1]

    async with member(loses=loses) as one:
        notes = {} if lost < 3 else {RUN_SECONDS: "5"}
        await one.add(PODS, pod("a", restart="Always", annotations=notes))
        await asyncio.sleep(9)
        [status] = [found["status"] for found in (await one.pods()).values()]

    assert len(seen) > lost
    assert status["phase"] == "Running"
    assert status["containerStatuses"][0]["restartCount"] == (1 if lost == 3 else 0)


@virtual_time
async def test_without_a_time_a_service_runs_for_ever_and_a_job_ends():
    """RestartPolicy Always runs on; Never takes the default time."""
    async with member(run_seconds=4) as one:
        await one.add(PODS, pod("service", restart="Always"))
        await one.add(PODS, pod("job"))
        await asyncio.sleep(600)
        phases = await one.phases()

    assert phases == {"service": "Running", "job": "Succeeded"}


@virtual_time
@pytest.mark.parametrize(
    ("limits", "want_reason", "want_numbers"),
    [
        pytest.param(
            {"nvidia.com/gpu": "6"},
            "OutOfnvidia.com/gpu",
            "nvidia.com/gpu, requested: 6, used: 6, capacity: 8",
            id="GPUs",
        ),
        pytest.param(
            {"cpu": "40"},
            "OutOfcpu",
            "cpu, requested: 40000, used: 40000, capacity: 64000",
            id="CPUs",
        ),
        pytest.param(
            {"example.com/fpga": "1"},
            "OutOfexample.com/fpga",
            "example.com/fpga, requested: 1, used: 0, capacity: 0",
            id="a device that the node does not have",
        ),
    ],
)
async def test_a_node_refuses_what_does_not_fit(limits, want_reason, want_numbers):
    """Admission counts what the node took before, and says what is missing."""
    async with member() as one:
        if "example.com/fpga" not in limits:
            await one.add(PODS, pod("a", scheduler="x", restart="Always", limits=limits))
            await one.bind("a", "m1-0-0")
        await one.add(PODS, pod("b", scheduler="x", limits=limits))
        await one.bind("b", "m1-0-0")
        await asyncio.sleep(2)
        status = (await one.pods())["b"]["status"]

    assert (status["phase"], status["reason"]) == ("Failed", want_reason)
    assert status["message"] == (
        f"Pod was rejected: Node didn't have enough resource: {want_numbers}"
    )
    assert "containerStatuses" not in status


@virtual_time
async def test_a_node_holds_only_so_many_pods():
    """`pods` is a resource like any other."""
    few = rack_plan("n", racks=1, nodes=1, allocatable={"cpu": "64", "pods": "2"})
    async with member(plan=few) as one:
        for name in ("a", "b", "c"):
            await one.add(PODS, pod(name, scheduler="x", restart="Always"))
            await one.bind(name, "n-0-0")
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        reasons = {n: p["status"].get("reason") for n, p in (await one.pods()).items()}

    assert reasons == {"a": None, "b": None, "c": "OutOfpods"}


@virtual_time
async def test_deletion_takes_its_moment():
    """A bound pod goes after the kubelet stopped it; an ended one makes room at once."""
    async with member(stop_seconds=2) as one:
        await one.add(PODS, pod("a", restart="Always"))
        await asyncio.sleep(2)
        await one.client.delete(PODS, "a", namespace=TEAM)
        await asyncio.sleep(1)
        going = (await one.pods())["a"]
        await asyncio.sleep(1.5)
        left = await one.pods()

    assert "deletionTimestamp" in going["metadata"]
    assert left == {}


@virtual_time
async def test_a_pod_that_nobody_binds_waits():
    """Another scheduler's pods are not touched, and node names are never cleared."""
    async with member() as one:
        await one.add(PODS, pod("a", scheduler="member-agent"))
        await asyncio.sleep(5)
        before = (await one.pods())["a"]
        await one.bind("a", "m1-1-1")
        with pytest.raises(Conflict):
            await one.bind("a", "m1-0-0")

    assert "nodeName" not in before["spec"]
    assert before["status"]["phase"] == "Pending"


@virtual_time
async def test_a_lost_node():
    """Its conditions become Unknown and its pods stand still, until the machine is back."""
    async with member() as one:
        await one.add(PODS, pod("a", annotations={RUN_SECONDS: "5"}))
        await asyncio.sleep(2)
        await one.member.lose_node("m1-0-0")
        await asyncio.sleep(60)
        node = await one.client.get(NODES, "m1-0-0")
        during = await one.phases()
        await one.member.recover_node("m1-0-0")
        await asyncio.sleep(6)
        after = await one.phases()
        back = await one.client.get(NODES, "m1-0-0")

    ready = {c["type"]: c for c in node["status"]["conditions"]}["Ready"]
    assert (ready["status"], ready["reason"]) == ("Unknown", "NodeStatusUnknown")
    assert (during, after) == ({"a": "Running"}, {"a": "Succeeded"})
    assert {c["type"]: c["status"] for c in back["status"]["conditions"]}["Ready"] == "True"


@virtual_time
async def test_many_nodes_are_cheap():
    """In a quiet hour, 847 nodes cost their rare statuses and one Lease, no more."""
    plan = rack_plan("n", racks=7, nodes=121)
    async with member(plan=NodePlan(nodes=plan.nodes), lease_seconds=60) as one:
        writes = []
        one.server.on_request(
            lambda record: (
                writes.append(record.resource)
                if record.verb in ("patch", "update", "create")
                else None
            )
        )
        await asyncio.sleep(600)
        lease = await one.client.get(LEASES, "embedded-kubelets", namespace="kube-node-lease")
        with pytest.raises(NotFound):
            await one.client.get(LEASES, "n-0-0", namespace="kube-node-lease")

    assert 847 <= writes.count("nodes") <= 2 * 847 + 20
    assert writes.count("leases") <= 12
    assert lease["spec"]["holderIdentity"] == "embedded-kubelets"
