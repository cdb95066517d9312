"""Policies claim templates, change, take over from each other, and go."""

import pytest

from global_sched.shared.api.resource import (
    CLUSTER_RESOURCE_BINDINGS,
    DEPLOYMENTS,
    PROPAGATION_POLICIES,
    RESOURCE_BINDINGS,
)
from global_sched.shared.kube.errors import Invalid
from tests.global_sched.embedded.karmada.karmada_world import KarmadaWorld, karmada_world
from tests.global_sched.embedded.karmada.shapes import (
    NAMESPACE,
    batch_job,
    cluster_policy,
    config_map,
    deployment,
    override,
    plaintext,
    policy,
)
from tests.virtual_time import virtual_time

pytestmark = pytest.mark.slow

BY_POLICY = "propagationpolicy.karmada.io/name"
BY_CLUSTER_POLICY = "clusterpropagationpolicy.karmada.io/name"


async def binding(world: KarmadaWorld, name: str = "web-deployment"):
    """A binding of team-a."""
    return await world.get(RESOURCE_BINDINGS, name, "team-a")


async def claimed_by(world: KarmadaWorld, name: str = "web-deployment"):
    """The names of policies on a binding."""
    notes = (await binding(world, name))["metadata"].get("annotations") or {}
    return notes.get(BY_POLICY), notes.get(BY_CLUSTER_POLICY)


@virtual_time
async def test_a_policy_of_the_namespace_goes_before_a_cluster_wide_one():
    """Scope decides before priority."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, cluster_policy("wide", priority=9), policy("narrow"))
        await world.settle()
        await world.apply(deployment())
        await world.settle()

        assert await claimed_by(world) == ("narrow", None)


@virtual_time
async def test_a_claim_stays_unless_a_policy_preempts():
    """A later, higher policy waits; one that says `preemption: Always` takes over."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("first"), deployment())
        await world.settle()
        first = await binding(world)
        await world.apply(policy("second", priority=5))
        await world.settle()
        assert await claimed_by(world) == ("first", None)
        await world.apply(policy("third", priority=7, preemption="Always"))
        await world.settle()

        taken = await binding(world)
        assert await claimed_by(world) == ("third", None)
        permanent = "resourcebinding.karmada.io/permanent-id"
        assert taken["metadata"]["labels"][permanent] == first["metadata"]["labels"][permanent]


@virtual_time
async def test_a_deleted_policy_leaves_its_templates_to_the_next():
    """The binding's clusters stay; another policy that matches claims it, its scheduler decides."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("a"), deployment())
        await world.settle()
        patch = {"spec": {"clusters": [{"name": "m1", "replicas": 4}]}}
        await world.control.patch(RESOURCE_BINDINGS, "web-deployment", patch, namespace="team-a")
        await world.apply(policy("b", schedulerName="other"))
        await world.settle()
        await world.control.delete(PROPAGATION_POLICIES, "a", namespace="team-a")
        await world.settle()

        left = await binding(world)
        assert await claimed_by(world) == ("b", None)
        assert left["spec"]["schedulerName"] == "other"
        assert left["spec"]["clusters"] == [{"name": "m1", "replicas": 4}]


@virtual_time
async def test_a_policy_that_no_longer_means_a_template_lets_it_go():
    """Changed selectors free what they leave out: marks go, clusters stay."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p"), deployment())
        await world.settle()
        other = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "other"}
        await world.control.patch(
            PROPAGATION_POLICIES, "p", {"spec": {"resourceSelectors": [other]}}, namespace="team-a"
        )
        await world.settle()

        assert await claimed_by(world) == (None, None)
        template = await world.get(DEPLOYMENTS, "web", "team-a")
        assert not template["metadata"].get("labels")


@virtual_time
async def test_changes_of_policy_and_template_reach_the_binding():
    """Placement, replicas and suspension follow; the scheduler's fields are not touched."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p"), deployment())
        await world.settle()
        mine = {"clusters": [{"name": "m1", "replicas": 4}], "suspension": {"scheduling": True}}
        await world.control.patch(
            RESOURCE_BINDINGS, "web-deployment", {"spec": mine}, namespace="team-a"
        )
        affinity = {"clusterAffinity": {"clusterNames": ["m1"]}}
        change = {"placement": affinity, "suspension": {"dispatching": True}}
        await world.control.patch(PROPAGATION_POLICIES, "p", {"spec": change}, namespace="team-a")
        await world.control.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 7}}, namespace="team-a")
        await world.settle()

        spec = (await binding(world))["spec"]
        template = await world.get(DEPLOYMENTS, "web", "team-a")
        assert spec["placement"] == affinity
        assert spec["replicas"] == 7
        assert spec["clusters"] == [{"name": "m1", "replicas": 4}]
        assert spec["suspension"] == {"dispatching": True, "scheduling": True}
        assert spec["resource"]["resourceVersion"] == template["metadata"]["resourceVersion"]


@virtual_time
async def test_a_lazy_policy_waits_for_the_template():
    """Its change arrives with the template's next change."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p", activationPreference="Lazy"), deployment())
        await world.settle()
        affinity = {"clusterAffinity": {"clusterNames": ["m1"]}}
        await world.control.patch(
            PROPAGATION_POLICIES, "p", {"spec": {"placement": affinity}}, namespace="team-a"
        )
        await world.settle()
        assert (await binding(world))["spec"]["placement"] == {}
        await world.control.patch(DEPLOYMENTS, "web", {"spec": {"replicas": 5}}, namespace="team-a")
        await world.settle()

        assert (await binding(world))["spec"]["placement"] == affinity


@virtual_time
async def test_a_policy_waits_for_the_overrides_it_depends_on():
    """`dependentOverrides` must exist before anything is claimed."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p", dependentOverrides=["o"]), deployment())
        await world.settle(5)
        assert not await world.exists(RESOURCE_BINDINGS, "web-deployment", "team-a")
        await world.apply(override("o", plaintext("/spec/replicas", 1)))
        await world.settle(40)

        assert await claimed_by(world) == ("p", None)


@virtual_time
async def test_schedule_priority_comes_from_a_priority_class():
    """The class's value is on the binding; a class that does not exist holds the claim back."""
    source = {"priorityClassSource": "KubePriorityClass", "priorityClassName": "high"}
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p", schedulePriority=source), deployment())
        await world.settle()
        assert not await world.exists(RESOURCE_BINDINGS, "web-deployment", "team-a")
        await world.apply(
            {
                "apiVersion": "scheduling.k8s.io/v1",
                "kind": "PriorityClass",
                "metadata": {"name": "high"},
                "value": 1000,
            }
        )
        await world.settle(40)

        assert (await binding(world))["spec"]["schedulePriority"] == {"priority": 1000}


@virtual_time
async def test_two_kinds_of_one_name_share_a_binding_name():
    """The first template keeps the binding; the second one's policy cannot be applied."""
    selectors = [
        {"apiVersion": "batch/v1", "kind": "Job"},
        {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
    ]
    volcano_job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "sweep", "namespace": "team-a"},
        "spec": {"tasks": []},
    }
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p", selectors=selectors), batch_job("sweep"))
        await world.settle()
        await world.apply(volcano_job)
        await world.settle()

        assert (await binding(world, "sweep-job"))["spec"]["resource"]["apiVersion"] == "batch/v1"


@virtual_time
async def test_cluster_scoped_templates_have_cluster_bindings():
    """A Queue's binding has no namespace, no demand and its own label."""
    queue = {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "Queue",
        "metadata": {"name": "q1"},
        "spec": {},
    }
    selectors = [{"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "Queue"}]
    async with karmada_world("m1") as world:
        await world.apply(cluster_policy("queues", selectors=selectors), queue)
        await world.settle()

        made = await world.get(CLUSTER_RESOURCE_BINDINGS, "q1-queue")
        assert "clusterresourcebinding.karmada.io/permanent-id" in made["metadata"]["labels"]
        assert "replicas" not in made["spec"]


@virtual_time
async def test_nothing_in_a_reserved_namespace_is_claimed():
    """Karmada's and Kubernetes' own namespaces stay where they are."""
    system = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-system"}}
    selectors = [{"apiVersion": "v1", "kind": "ConfigMap"}]
    inside = config_map("conf", a="b")
    inside["metadata"]["namespace"] = "karmada-system"
    async with karmada_world("m1") as world:
        await world.apply(system, cluster_policy("all", selectors=selectors), inside)
        await world.settle()

        assert not (await world.control.list(RESOURCE_BINDINGS)).items


@virtual_time
async def test_the_scheduler_of_a_policy_cannot_change():
    """As with the real webhook; everything else may."""
    async with karmada_world("m1") as world:
        await world.apply(NAMESPACE, policy("p"))
        with pytest.raises(Invalid, match="the schedulerName should not be updated"):
            await world.control.patch(
                PROPAGATION_POLICIES, "p", {"spec": {"schedulerName": "x"}}, namespace="team-a"
            )
        await world.control.patch(
            PROPAGATION_POLICIES, "p", {"spec": {"priority": 3}}, namespace="team-a"
        )
