"""From a binding with clusters to objects in members, and back out again."""

import pytest

from global_sched.shared.api.resource import (
    BATCH_JOBS,
    CONFIGMAPS,
    DEPLOYMENTS,
    NAMESPACES,
    OVERRIDE_POLICIES,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
    WORKS,
)
from tests.global_sched.embedded.karmada.karmada_world import KarmadaWorld, exists, karmada_world
from tests.global_sched.embedded.karmada.shapes import (
    NAMESPACE,
    batch_job,
    config_map,
    deployment,
    override,
    plaintext,
    policy,
)
from tests.virtual_time import virtual_time

pytestmark = pytest.mark.slow

WEB_WORK = "web-5478c967bc"


async def place(world: KarmadaWorld, *clusters, name: str = "web-deployment", **spec):
    """A scheduler's decision: cluster names, or names with replicas."""
    entries = [
        {"name": one} if isinstance(one, str) else {"name": one[0], "replicas": one[1]}
        for one in clusters
    ]
    done = await world.control.patch(
        RESOURCE_BINDINGS, name, {"spec": {"clusters": entries} | spec}, namespace="team-a"
    )
    status = {
        "schedulerObservedGeneration": done["metadata"]["generation"],
        "lastScheduledTime": "2026-01-01T00:00:00Z",
    }
    await world.control.patch(
        RESOURCE_BINDINGS, name, {"status": status}, namespace="team-a", subresource="status"
    )
    await world.settle()


async def web(world: KarmadaWorld, cluster: str):
    """The Deployment in a member."""
    return await world.members[cluster].get(DEPLOYMENTS, "web", namespace="team-a")


@virtual_time
async def test_overrides_make_each_copy_its_own():
    """Cluster-wide ones first, then the namespace's, per cluster; a change is written again."""
    wide = override(
        "wide", plaintext("/spec/minReadySeconds", 5, "add"), kind="ClusterOverridePolicy"
    )
    narrow = override(
        "narrow",
        plaintext("/spec/minReadySeconds", 9, targetCluster={"clusterNames": ["m2"]}),
    )
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, wide, narrow, policy(), deployment())
        await world.settle()
        await place(world, ("m1", 3), ("m2", 1))

        assert (await web(world, "m1"))["spec"]["minReadySeconds"] == 5
        assert (await web(world, "m2"))["spec"]["minReadySeconds"] == 9
        assert (await web(world, "m2"))["spec"]["replicas"] == 1
        work = await world.get(WORKS, WEB_WORK, "karmada-es-m2")
        assert (
            '"policyName":"narrow"'
            in (work["metadata"]["annotations"]["policy.karmada.io/applied-overrides"])
        )

        rules = [plaintext("/spec/minReadySeconds", 11)]
        await world.control.patch(
            OVERRIDE_POLICIES, "narrow", {"spec": {"overrideRules": rules}}, namespace="team-a"
        )
        await world.settle()
        assert (await web(world, "m1"))["spec"]["minReadySeconds"] == 11


@virtual_time
async def test_an_override_that_cannot_be_applied_holds_only_its_own_cluster():
    """The other copies are written; this one follows when the policy is mended."""
    bad = override("bad", plaintext("/spec/no/such", 1, targetCluster={"clusterNames": ["m1"]}))
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, bad, policy(), deployment())
        await world.settle()
        await place(world, "m1", "m2")
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        assert await exists(world.members["m2"], DEPLOYMENTS, "web", "team-a")

        await world.control.delete(OVERRIDE_POLICIES, "bad", namespace="team-a")
        await world.settle()
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")


@virtual_time
async def test_dependencies_follow_their_workload():
    """What the pods name goes to the same clusters, follows its changes, and leaves with it."""
    pod = {
        "containers": [
            {
                "name": "c",
                "image": "i",
                "envFrom": [{"configMapRef": {"name": "conf"}}, {"secretRef": {"name": "later"}}],
            }
        ]
    }
    async with karmada_world("m1", "m2") as world:
        await world.apply(NAMESPACE, config_map("conf", a="1"))
        await world.apply(policy(propagateDeps=True), deployment(pod=pod))
        await world.settle()
        await place(world, "m1")

        attached = await world.get(RESOURCE_BINDINGS, "conf-configmap", "team-a")
        owner = await world.get(RESOURCE_BINDINGS, "web-deployment", "team-a")
        assert attached["spec"]["requiredBy"] == [
            {"namespace": "team-a", "name": "web-deployment", "clusters": [{"name": "m1"}]}
        ]
        assert "placement" not in attached["spec"]
        assert owner["metadata"]["annotations"]["resourcebinding.karmada.io/dependencies"] == (
            '[{"apiVersion":"v1","kind":"ConfigMap","namespace":"team-a","name":"conf"},'
            '{"apiVersion":"v1","kind":"Secret","namespace":"team-a","name":"later"}]'
        )
        copy = await world.members["m1"].get(CONFIGMAPS, "conf", namespace="team-a")
        assert copy["data"] == {"a": "1"}
        assert not await exists(world.members["m2"], CONFIGMAPS, "conf", "team-a")

        await world.control.patch(CONFIGMAPS, "conf", {"data": {"a": "2"}}, namespace="team-a")
        await place(world, "m2")
        copy = await world.members["m2"].get(CONFIGMAPS, "conf", namespace="team-a")
        assert copy["data"] == {"a": "2"}
        assert not await exists(world.members["m1"], CONFIGMAPS, "conf", "team-a")

        await world.control.delete(DEPLOYMENTS, "web", namespace="team-a")
        await world.settle()
        left = await world.get(RESOURCE_BINDINGS, "conf-configmap", "team-a")
        assert "requiredBy" not in left["spec"]
        assert not await exists(world.members["m2"], CONFIGMAPS, "conf", "team-a")


@virtual_time
async def test_a_suspended_binding_dispatches_nothing():
    """Its Works exist and say so; they are applied when the suspension ends."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy(suspension={"dispatching": True}), deployment())
        await world.settle()
        await place(world, "m1")
        work = await world.get(WORKS, WEB_WORK, "karmada-es-m1")
        assert [one["reason"] for one in work["status"]["conditions"]] == ["SuspendDispatching"]
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")

        await world.control.patch(
            PROPAGATION_POLICIES, "all", {"spec": {"suspension": None}}, namespace="team-a"
        )
        await world.settle()
        assert await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")


@virtual_time
async def test_a_foreign_object_is_only_overwritten_when_told():
    """Abort leaves it and says so on the Work; Overwrite takes it over."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy(), deployment(replicas=4))
        await world.settle()
        await world.apply(deployment(replicas=1), client=world.members["m1"])
        await place(world, ("m1", 4))
        assert (await web(world, "m1"))["spec"]["replicas"] == 1
        work = await world.get(WORKS, WEB_WORK, "karmada-es-m1")
        applied = next(one for one in work["status"]["conditions"] if one["type"] == "Applied")
        assert applied["status"] == "False"
        assert "exists in m1 and was not made by this Work" in applied["message"]
        status = (await world.get(RESOURCE_BINDINGS, "web-deployment", "team-a"))["status"]
        assert status["aggregatedStatus"][0]["appliedMessage"] == applied["message"]

        await world.control.patch(
            PROPAGATION_POLICIES,
            "all",
            {"spec": {"conflictResolution": "Overwrite"}},
            namespace="team-a",
        )
        await world.settle()
        assert (await web(world, "m1"))["spec"]["replicas"] == 4


@virtual_time
async def test_a_change_in_the_member_is_undone():
    """An edit of the copy by hand gets it back as the Work says."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy(), deployment())
        await world.settle()
        await place(world, ("m1", 4))
        member = world.members["m1"]
        await member.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 9}}, namespace="team-a")
        await world.settle()
        assert (await web(world, "m1"))["spec"]["replicas"] == 4
        note = {"metadata": {"annotations": {"decision.global-sched.io/plan": "{}"}}}
        await member.patch(DEPLOYMENTS, "web", note, namespace="team-a")
        await member.delete(DEPLOYMENTS, "web", namespace="team-a", grace_seconds=0)
        await world.settle()

        assert (await web(world, "m1"))["spec"]["replicas"] == 4


@virtual_time
async def test_a_members_own_annotation_survives_an_update():
    """An agent's notes on a propagated object stay when the template changes."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy(), deployment())
        await world.settle()
        await place(world, ("m1", 4))
        note = {"metadata": {"annotations": {"decision.global-sched.io/plan": "{}"}}}
        await world.members["m1"].patch(DEPLOYMENTS, "web", note, namespace="team-a")
        await world.control.patch(
            DEPLOYMENTS, "web", {"spec": {"minReadySeconds": 3}}, namespace="team-a"
        )
        await world.settle()

        copy = await web(world, "m1")
        assert copy["metadata"]["annotations"]["decision.global-sched.io/plan"] == "{}"
        assert copy["spec"]["minReadySeconds"] == 3


@virtual_time
async def test_a_divided_batch_job_divides_its_completions():
    """Parallelism is the target's, completions follow in proportion."""
    divided = {"replicaScheduling": {"replicaSchedulingType": "Divided"}}
    selectors = [{"apiVersion": "batch/v1", "kind": "Job"}]
    async with karmada_world("m1", "m2") as world:
        await world.apply(
            NAMESPACE,
            policy(selectors=selectors, placement=divided),
            batch_job(parallelism=4, completions=8),
        )
        await world.settle()
        await place(world, ("m1", 3), ("m2", 1), name="sweep-job")

        copies = [
            (await world.members[name].get(BATCH_JOBS, "sweep", namespace="team-a"))["spec"]
            for name in ("m1", "m2")
        ]
        assert [(one["parallelism"], one["completions"]) for one in copies] == [(3, 6), (1, 2)]


@virtual_time
async def test_a_deleted_template_leaves_nothing():
    """Binding, Works and copies go; the namespace and its own Works stay."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy(), deployment())
        await world.settle()
        await place(world, ("m1", 4))
        await world.control.delete(DEPLOYMENTS, "web", namespace="team-a")
        await world.settle()

        assert not (await world.control.list(RESOURCE_BINDINGS)).items
        assert [work["metadata"]["name"] for work in (await world.control.list(WORKS)).items] == [
            "team-a-5cc7c7959b"
        ]
        assert not await exists(world.members["m1"], DEPLOYMENTS, "web", "team-a")
        assert await exists(world.members["m1"], NAMESPACES, "team-a")
