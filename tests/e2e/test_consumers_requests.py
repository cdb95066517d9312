"""Our writes suffice for components that ask: rebalancers, dependencies, the replicas syncer."""

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.propagation import WORKLOAD_REBALANCERS
from tests.e2e.faults import settled
from tests.e2e.world import clusters_of, gang, policy
from tests.wire import batch_job, deployment, placement, pod_template, stripped

ORDERED = {
    "clusterAffinities": [
        {"affinityName": "first", "clusterNames": ["east"]},
        {"affinityName": "second", "clusterNames": ["west"]},
    ]
}
RETAIN = "resourcetemplate.karmada.io/retain-replicas"
"""The label by which the replicas of a member are its own, as a member's autoscaler wants."""


async def test_a_workload_rebalancer_is_answered(world, karmadactl, space):
    """The job went to its second group; asked to be placed anew, it goes to the first."""
    train = gang("train", space)
    karmadactl("cordon", "east")
    try:
        await world.submit(train, where=ORDERED)
        await world.until_phase(space, "train", "Running")
        assert await world.clusters(space, "train") == {"west": 0}
    finally:
        karmadactl("uncordon", "east")
    before = await world.binding(space, "train")

    name = await _rebalance(world, space, train, "once")
    await _until_in(world, space, "train", {"east": 0})
    await world.until_phase(space, "train", "Running")
    binding = await world.binding(space, "train")
    asked = binding["spec"]["rescheduleTriggeredAt"]
    assert before["status"]["lastScheduledTime"] <= asked
    assert asked <= binding["status"]["lastScheduledTime"]
    told = (await world.get(WORKLOAD_REBALANCERS, name))["status"]["observedWorkloads"]
    assert [one["result"] for one in told] == ["Successful"]
    await world.admin.delete(WORKLOAD_REBALANCERS, name)


async def test_a_workload_that_is_where_it_should_be_answers_too(world, space):
    """Nothing better: it stays, its pods with it, and the request is not asked again for ever."""
    train = gang("train", space)
    await world.submit(train, where=ORDERED)
    await world.until_phase(space, "train", "Running")
    pods = {one["metadata"]["uid"] for one in await world.pods("east", space)}
    decision = await world.decision(space, "train")

    name = await _rebalance(world, space, train, "stays")

    async def answered():
        binding = await world.binding(space, "train")
        asked = binding["spec"].get("rescheduleTriggeredAt")
        return asked and settled(binding) and binding["status"]["lastScheduledTime"] >= asked

    await world.until(answered, "the request is answered")
    assert await world.clusters(space, "train") == {"east": 0}
    assert {one["metadata"]["uid"] for one in await world.pods("east", space)} == pods
    assert (await world.decision(space, "train"))["grants"] == decision["grants"]
    await world.admin.delete(WORKLOAD_REBALANCERS, name)


async def test_a_config_map_follows_the_job_that_uses_it(world, kubectl, space):
    """The distributor reads our clusters: the ConfigMap is where the Job is, and moves with it."""
    kubectl("-n", space, "create", "configmap", "settings", "--from-literal=lr=1")
    template = pod_template(
        restartPolicy="Never",
        annotations={"federation.global-sched.io/run-seconds": "600"},
        volumes=[{"name": "settings", "configMap": {"name": "settings"}}],
    )
    train = stripped(batch_job("train", namespace=space, template=template))
    await world.apply(_with_dependencies(train, placement("east")), train)
    await _until_there(world, space, "east")
    attached = await world.binding(space, "settings", "ConfigMap")
    (cause,) = attached["spec"]["requiredBy"]
    assert (cause["name"], [one["name"] for one in cause["clusters"]]) == ("train-job", ["east"])
    assert "placement" not in attached["spec"]

    await world.apply(_with_dependencies(train, placement("west")))
    await _until_there(world, space, "west")


async def test_the_replicas_syncer_learns_what_the_members_run(world, space):
    """An autoscaler in a member scales: the template follows, and we write what it says."""
    web = deployment("web", replicas=2, namespace=space, labels={RETAIN: "true"})
    await world.apply(policy(web, where=placement("east", divided=True)), stripped(web))
    await _until_in(world, space, "web", {"east": 2}, "Deployment")
    east = await world.member("east")

    async def ready():
        found = await east.get(kinds.DEPLOYMENTS, "web", namespace=space)
        return found.get("status", {}).get("readyReplicas") == 2

    await world.until(ready, "both pods run")
    body = {"spec": {"replicas": 4}}
    await east.patch(kinds.DEPLOYMENTS, "web", body, namespace=space)

    async def followed():
        return (await world.get(kinds.DEPLOYMENTS, "web", space))["spec"]["replicas"] == 4

    await world.until(followed, "the template has four replicas")
    await _until_in(world, space, "web", {"east": 4}, "Deployment")


async def test_what_we_took_back_may_return(world, space):
    """Karmada keeps the task of a job without a home for ten minutes; we end ours before."""
    train = gang("train", space)
    await world.submit(train, where=placement("east"))
    await world.until_phase(space, "train", "Running")
    await world.apply(policy(train, where=placement("nowhere")))

    async def out():
        condition = await world.condition(space, "train")
        waits = condition.get("status") == "False" and "ClusterAffinity" in condition["message"]
        return waits and await world.clusters(space, "train") == {}

    await world.until(out, "no cluster is selected any more")
    await world.apply(policy(train, where=placement("east")))
    await _until_in(world, space, "train", {"east": 0})
    await world.until_phase(space, "train", "Running")
    assert "gracefulEvictionTasks" not in (await world.binding(space, "train"))["spec"]


async def _rebalance(world, space, job, name):
    """Ask for a new placement, as users do; the name of the request."""
    target = {"apiVersion": job["apiVersion"], "kind": job["kind"], "namespace": space}
    rebalancer = {
        "apiVersion": WORKLOAD_REBALANCERS.api_version,
        "kind": WORKLOAD_REBALANCERS.kind,
        "metadata": {"name": f"{space}-{name}"},
        "spec": {"workloads": [target | {"name": job["metadata"]["name"]}]},
    }
    await world.admin.create(WORKLOAD_REBALANCERS, rebalancer)
    return rebalancer["metadata"]["name"]


async def _until_in(world, space, name, clusters, kind="Job"):
    async def there():
        binding = await world.binding(space, name, kind)
        return clusters_of(binding) == clusters and settled(binding)

    await world.until(there, f"{name} is in {clusters}")


def _with_dependencies(job, where):
    found = policy(job, where=where)
    found["spec"]["propagateDeps"] = True
    return found


async def _config_map(world, space, cluster):
    client = await world.member(cluster)
    found = await client.list(kinds.CONFIGMAPS, namespace=space)
    return [one["data"] for one in found.items if one["metadata"]["name"] == "settings"]


async def _until_there(world, space, cluster):
    """In that member with its data, and in no other."""

    async def there():
        held = {one: await _config_map(world, space, one) for one in ("east", "west")}
        return held == {"east": [], "west": []} | {cluster: [{"lr": "1"}]}

    await world.until(there, f"the ConfigMap is in {cluster} alone")
