"""Scheduler names other than the default one: what the leader publishes, `gsched` goes by."""

from global_sched.cli.view import look, scheduler_names
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import POLICY_CONFIG_MAP, SYSTEM_NAMESPACE
from global_sched.shared.model.ids import WorkloadKey
from tests.flows.control_plane import control_plane, scheduling
from tests.virtual_time import virtual_time
from tests.wire import binding, vcjob

OWN = "bindings-of-ours"


@virtual_time
async def test_the_names_in_force_are_published(tmp_path):
    """A job under a configured name is shown; one under the default name is not ours then."""
    async with control_plane(tmp_path) as plane:
        before = await scheduler_names(plane.client)
        await plane.member("m1")
        for name, scheduler in (("train", OWN), ("other", "global-sched")):
            job = await plane.add(vcjob(name, gpus=8))
            await plane.add(binding(job, scheduler=scheduler))
        async with scheduling(plane, tmp_path, scheduler_names=(OWN, "second")):
            await plane.until(lambda one: bool(one["spec"].get("clusters")), "train-job")
        found = await plane.client.get(
            kinds.CONFIGMAPS, POLICY_CONFIG_MAP, namespace=SYSTEM_NAMESPACE
        )
        view = await look(plane.client, plane.clock)

    assert before == {"global-sched"}
    assert found["data"]["schedulerNames"] == f"{OWN},second"
    assert [one.key for one in view.state.workloads()] == [WorkloadKey("team-a/train-job")]
