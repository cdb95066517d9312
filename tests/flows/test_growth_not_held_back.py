"""Growth of a Volcano Job whose pods another scheduler binds: the binding says so."""

import pytest

from global_sched.shared.api import resource as kinds
from tests.flows.control_plane import control_plane, scheduling
from tests.flows.test_binding_writes import is_placed
from tests.virtual_time import virtual_time
from tests.wire import binding, queue, vcjob


def said(found):
    """What the binding's condition says of growth that nothing holds back."""
    conditions = found["status"].get("conditions") or ()
    return next((one for one in conditions if one["type"] == "GrowthNotHeldBack"), None)


async def resize(plane, pods):
    """Edit the Job, as a user does, and follow it with the binding, as Karmada does."""
    job = await plane.client.get(kinds.VOLCANO_JOBS, "train", namespace="team-a")
    tasks = [dict(job["spec"]["tasks"][0]) | {"replicas": pods}]
    job = await plane.client.patch(
        kinds.VOLCANO_JOBS, "train", {"spec": {"tasks": tasks}}, namespace="team-a"
    )
    reference = {"resourceVersion": job["metadata"]["resourceVersion"]}
    await plane.client.patch(
        kinds.RESOURCE_BINDINGS, "train-job", {"spec": {"resource": reference}}, namespace="team-a"
    )


@virtual_time
async def test_where_volcano_binds_the_binding_says_that_nothing_holds_growth_back(tmp_path):
    """True with the cluster, the scheduler and how many; False when it asks for no more."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", nodes=4, schedulers=["member-agent"], volcanoScheduler=True)
        await plane.add(queue("q", capability={"nvidia.com/gpu": "16"}))
        spec = {"schedulerName": "volcano"}
        job = await plane.add(vcjob("train", replicas=2, gpus=8, queue="q", spec=spec))
        await plane.add(binding(job))
        before = await plane.until(is_placed, "train-job")
        await resize(plane, 4)
        grown = await plane.until(said, "train-job")
        await resize(plane, 2)
        after = await plane.until(lambda one: said(one)["status"] == "False", "train-job")

    assert said(before) is None
    assert (said(grown)["status"], said(grown)["reason"]) == ("True", "BoundByAnotherScheduler")
    assert said(grown)["message"] == (
        "scheduler volcano binds the pods in m1, so nothing there holds back 2 pods that are "
        "not admitted"
    )
    assert {one["type"]: one["status"] for one in grown["status"]["conditions"]} == {
        "Scheduled": "True",
        "GrowthNotHeldBack": "True",
    }
    assert (said(after)["reason"], said(after)["message"]) == (
        "Admitted",
        "nothing runs that is not admitted",
    )


@pytest.mark.parametrize("scheduler", ["member-agent", "volcano"])
@virtual_time
async def test_where_the_agent_binds_nothing_is_said(tmp_path, scheduler):
    """The agent leaves those pods unbound, also those of Volcano's name that it answers for."""
    async with control_plane(tmp_path) as plane, scheduling(plane, tmp_path):
        await plane.member("m1", nodes=4)
        await plane.add(queue("q", capability={"nvidia.com/gpu": "16"}))
        spec = {"schedulerName": scheduler}
        job = await plane.add(vcjob("train", replicas=2, gpus=8, queue="q", spec=spec))
        await plane.add(binding(job))
        await plane.until(is_placed, "train-job")
        await resize(plane, 3)
        grown = await plane.until(
            lambda one: (
                '"pending":{"worker":1}'
                in one["metadata"]["annotations"]["decision.global-sched.io/decision"]
            ),
            "train-job",
        )

    assert said(grown) is None
