"""Volcano Jobs on real members: pods by the agent's Job controller, status back, karmadactl."""

import pytest

from tests.e2e.waiting import until
from tests.e2e.world import gang
from tests.wire import placement

EAST = placement("east")


async def test_a_job_runs_and_its_status_comes_back(world, space, kubectl):
    """The agent makes the pods; what they do is written at the template, and by its binding."""
    await world.submit(gang("train", space, pods=3, seconds=6), where=EAST)
    await world.until_phase(space, "train", "Running")

    nodes = await world.nodes_of("east", space, "train")
    assert sorted(nodes) == [f"train-worker-{at}" for at in range(3)]
    assert len({node.rpartition("-")[0] for node in nodes.values()}) == 1
    pods = await world.pods("east", space)
    assert {one["spec"]["schedulerName"] for one in pods} == {"member-agent"}

    await world.until_phase(space, "train", "Completed")
    binding = await world.binding(space, "train")
    (copy,) = binding["status"]["aggregatedStatus"]
    assert (copy["clusterName"], copy["status"]["succeeded"]) == ("east", 3)
    assert (
        kubectl("get", "vcjob", "train", "-n", space, "-o", "jsonpath={.status.succeeded}") == "3"
    )


async def test_a_failed_job_says_so(world, space):
    """A pod that ends badly fails the Job, as its policy says, on the control plane too."""
    job = gang("bad", space, seconds=1, spec={"maxRetry": 1})
    job["spec"]["tasks"][0]["template"]["metadata"]["annotations"] |= {
        "federation.global-sched.io/exit-code": "3"
    }
    job["spec"]["policies"] = [{"event": "PodFailed", "action": "AbortJob"}]
    await world.submit(job, where=EAST)
    await world.until_phase(space, "bad", "Aborted")


async def test_a_job_that_fails_once_is_started_again(world, space):
    """RestartJob makes all pods new, and the second time they succeed."""
    job = gang("again", space, seconds=1)
    job["spec"]["tasks"][0]["template"]["metadata"]["annotations"] |= {
        "federation.global-sched.io/fail-once": "true"
    }
    job["spec"]["policies"] = [{"event": "PodFailed", "action": "RestartJob"}]
    await world.submit(job, where=EAST)
    await world.until_phase(space, "again", "Completed")


@pytest.mark.parametrize(
    ("arguments", "wanted"),
    [
        pytest.param(("shown",), ["Karmada", "Running"], id="the control plane's total"),
        pytest.param(
            ("shown", "--operation-scope", "members", "-C", "east"),
            ["CLUSTER", "east", "Running", "ADOPTION", "Y"],
            id="one member's copy, which Karmada owns",
        ),
        pytest.param(
            ("--operation-scope", "all"),
            ["Karmada", "east", "Running"],
            id="both at once",
        ),
    ],
)
async def test_karmadactl_get(world, space, karmadactl, arguments, wanted):
    """`karmadactl get vcjob` shows the aggregated state, and the copies where one asks for them."""
    await world.submit(gang("shown", space), where=EAST)
    await world.until_phase(space, "shown", "Running")

    def shown():
        text = karmadactl("get", "vcjob", "-n", space, *arguments)
        return all(word in text.split() for word in wanted) and text

    await until(shown, f"{wanted} in what karmadactl prints")


async def test_karmadactl_describe(world, space, karmadactl):
    """`describe` shows the Job on the control plane, and with -C the member's with its events."""
    await world.submit(gang("told", space), where=EAST)
    await world.until_phase(space, "told", "Running")

    here = karmadactl("describe", "vcjob", "told", "-n", space)
    assert "Min Available" in here
    assert "Phase:" in here
    member = ("--operation-scope", "members", "-C", "east")
    there = karmadactl("describe", "vcjob", "told", "-n", space, *member)
    assert "karmada.io/managed=true" in there
    pods = karmadactl("get", "pods", "-n", space, *member)
    assert "told-worker-0" in pods


@pytest.mark.volcano
async def test_volcano_runs_the_jobs_where_it_is(world, space):
    """The agent leaves Jobs to Volcano's controller: its PodGroup carries Volcano's annotations."""
    await world.submit(gang("train", space, seconds=6), where=EAST)
    await world.until_phase(space, "train", "Completed")
    assert "--run-volcano-jobs" not in world.federation.programs["member-agent-east"].argv
