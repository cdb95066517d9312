"""Duties of an agent in a real member besides placing gangs: with the rights of its Roles."""

from global_sched.embedded.members.racks import hyper_node
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import PLAN
from tests.e2e.world import gang
from tests.wire import GPU, batch_job, deployment, placement, pod_template, queue, stripped

EAST = placement("east")
PLUGINS = {"plugins": {"svc": [], "env": []}}


async def test_all_kinds_are_bound(world, space):
    """Pods of a Job, a StatefulSet and a bare ReplicaSet go to nodes; owners carry the plan."""
    template = pod_template(schedulerName="member-agent", restartPolicy="Never")
    labels = {"app": "db"}
    await world.submit(
        batch_job("batch", namespace=space, template=template),
        deployment(
            "db",
            kind="StatefulSet",
            namespace=space,
            template=pod_template(schedulerName="member-agent", labels=labels),
        ),
        where=EAST,
    )
    member = await world.member("east")
    await world.until(lambda: _there(member, space), "the member has the namespace")
    bare = deployment(
        "bare",
        namespace=space,
        template=pod_template(schedulerName="member-agent", labels={"app": "bare"}),
    )
    bare |= {"kind": "ReplicaSet"}
    await member.create(kinds.REPLICA_SETS, stripped(bare), namespace=space)

    async def bound():
        found = [await world.nodes_of("east", space, name) for name in ("batch", "db", "bare")]
        return [len(one) for one in found] == [1, 1, 1]

    await world.until(bound, "each has its pod on a node")
    for resource, name in (
        (kinds.BATCH_JOBS, "batch"),
        (kinds.STATEFUL_SETS, "db"),
        (kinds.REPLICA_SETS, "bare"),
    ):
        found = await member.get(resource, name, namespace=space)
        assert PLAN in found["metadata"]["annotations"]


async def _there(client, namespace):
    found = await client.get(kinds.NAMESPACES, namespace)
    return found["status"]["phase"] == "Active"


async def test_a_bad_hyper_node_is_told(world, programs):
    """A HyperNode without members gets a condition that says so, and no other one does."""
    member = await world.member("west")
    await member.create(kinds.HYPER_NODES, hyper_node("lost", 3, "", "HyperNode", ["nowhere"]))
    try:

        async def told():
            found = await member.get(kinds.HYPER_NODES, "lost")
            conditions = (found.get("status") or {}).get("conditions") or ()
            return [one["status"] for one in conditions if one["type"] == "TreeValid"] == ["False"]

        await world.until(told, "HyperNode lost says TreeValid=False")
    finally:
        await member.delete(kinds.HYPER_NODES, "lost")


async def test_a_lost_pod_starts_the_job_again(world, space):
    """Services and ConfigMaps of the plugins are there; losing a pod makes all of them new."""
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    job = gang("train", space, spec=PLUGINS | {"policies": policies})
    await world.submit(job, where=EAST)
    await world.until_phase(space, "train", "Running")
    member = await world.member("east")
    assert (await member.get(kinds.SERVICES, "train", namespace=space))["spec"]["clusterIP"]
    before = {one["metadata"]["uid"] for one in await world.pods("east", space)}

    await member.delete(kinds.PODS, "train-worker-0", namespace=space)

    async def all_new():
        pods = await world.pods("east", space)
        running = [one for one in pods if one["status"]["phase"] == "Running"]
        return len(running) == 2 and before.isdisjoint(one["metadata"]["uid"] for one in running)

    await world.until(all_new, "two new pods run")


async def _grow(world, space, pods):
    """The Job's template asks for so many pods now."""
    found = await world.get(kinds.VOLCANO_JOBS, "train", space)
    tasks = found["spec"]["tasks"]
    tasks[0]["replicas"] = pods
    body = {"spec": {"tasks": tasks}}
    await world.admin.patch(kinds.VOLCANO_JOBS, "train", body, namespace=space)


async def test_a_job_that_grows_tells_its_pods(world, space):
    """More pods are admitted and bound, and the hosts file of the plugin knows them."""
    await world.submit(gang("train", space, spec=PLUGINS), where=EAST)
    await world.until_phase(space, "train", "Running")
    await _grow(world, space, 3)

    async def grown():
        return len(await world.nodes_of("east", space, "train")) == 3

    await world.until(grown, "the third pod is on a node")
    member = await world.member("east")

    async def known():
        maps = (await member.list(kinds.CONFIGMAPS, namespace=space)).items
        return any("train-worker-2" in str(one.get("data")) for one in maps)

    await world.until(known, "the hosts file names the third pod")


async def test_growth_over_the_quota_waits_and_says_why(world, space):
    """Karmada passes an edited Job on unasked; a pod over its queue's quota stays unbound."""
    quota = queue(space, capability={GPU: "2"})
    await world.apply(quota)
    await world.submit(gang("train", space, spec={"queue": space}), where=EAST)
    await world.until_phase(space, "train", "Running")
    await _grow(world, space, 3)

    async def told():
        pods = await world.pods("east", space)
        (third,) = [pod for pod in pods if pod["metadata"]["name"] == "train-worker-2"] or [{}]
        conditions = third.get("status", {}).get("conditions") or ()
        said = [one["message"] for one in conditions if one["type"] == "PodScheduled"]
        return said and said[0].startswith("growth not admitted: the Directive admits 2 pods")

    await world.until(told, "the third pod says that it was not admitted")
    assert len(await world.nodes_of("east", space, "train")) == 2
    await world.admin.delete(kinds.VOLCANO_JOBS, "train", namespace=space)
    await world.admin.delete(kinds.QUEUES, space)


async def test_jobs_of_the_member_itself(world, space):
    """A Job that was made in the member runs, and is deleted when its time to live is over."""
    member = await world.member("west")
    await world.until(lambda: _there(member, space), "the member has the namespace")
    spec = PLUGINS | {"ttlSecondsAfterFinished": 1}
    job = gang("short", space, pods=1, seconds=1, spec=spec)
    await member.create(kinds.VOLCANO_JOBS, stripped(job), namespace=space)

    async def gone():
        return not (await member.list(kinds.VOLCANO_JOBS, namespace=space)).items

    await world.until(gone, "the Job is deleted")
