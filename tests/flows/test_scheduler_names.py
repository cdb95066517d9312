"""Scheduler names other than the default one: what the leader publishes, `gsched` goes by."""

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import POLICY_CONFIG_MAP, SYSTEM_NAMESPACE
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.policy import Policy
from global_sched.view.look import look, scheduler_names
from tests.flows.control_plane import control_plane, scheduling
from tests.virtual_time import virtual_time
from tests.wire import binding, vcjob

OWN = "bindings-of-ours"
ELSEWHERE = "scheduling"


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


@virtual_time
async def test_a_leader_in_another_namespace_is_followed(tmp_path):
    """Names and Policy are those of the leader whose namespace is given; else it is said."""
    async with control_plane(tmp_path) as plane:
        await plane.member("m1")
        job = await plane.add(vcjob("train", gpus=8))
        await plane.add(binding(job, scheduler=OWN))
        policy = Policy(placement_timeout_seconds=77)
        async with scheduling(
            plane, tmp_path, namespace=ELSEWHERE, scheduler_names=(OWN,), policy=policy
        ):
            await plane.until(lambda one: bool(one["spec"].get("clusters")), "train-job")
        found = await look(plane.client, plane.clock, leader_namespace=ELSEWHERE)
        missed = await look(plane.client, plane.clock)

    assert found.policy == policy
    assert [one.key for one in found.state.workloads()] == [WorkloadKey("team-a/train-job")]
    assert missed.policy == Policy()
    assert missed.policy_note == (
        "no leader has published its Policy in namespace karmada-system: defaults; "
        "--leader-namespace names another"
    )
