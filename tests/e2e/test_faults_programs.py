"""Programs that end where it hurts: one decision is one write, and what was begun is completed."""

import json

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import PLAN, SYSTEM_NAMESPACE
from global_sched.shared.kube.errors import ApiError, ServerError, Unreachable
from member_agent.scheduler.gang.bind_plan import parse_plan
from tests.e2e.faults import ADMINISTRATOR, SHORT, Refusal, settled
from tests.e2e.requests import GLOBAL_SCHED
from tests.e2e.world import gang, policy
from tests.wire import deployment, placement, stripped
from tools.local_karmada.servers import CONTROL_PLANE

EAST = placement("east")
AGENT = "system:serviceaccount:global-sched:member-agent"
CONTROL_PLANE_PROGRAMS = (
    f"{CONTROL_PLANE}/kube-apiserver",
    "karmada-aggregated-apiserver",
    "karmada-webhook",
    f"{CONTROL_PLANE}/kube-controller-manager",
    "karmada-controller-manager",
    "karmada-scheduler",
    "karmada-descheduler",
)
"""All of the control plane, in an order in which it can be started."""


@pytest.mark.parametrize(
    ("ended", "stands"),
    [
        pytest.param(CONTROL_PLANE_PROGRAMS, True, id="every server and controller"),
        # The members keep their objects in the same store: they cannot be asked meanwhile.
        pytest.param(("etcd",), False, id="the store, which is that of the members too"),
        pytest.param(("etcd", *CONTROL_PLANE_PROGRAMS), False, id="all of it at once"),
    ],
)
async def test_the_control_plane_is_restarted(faults, ended, stands):
    """It is killed and started again: work runs on, what waits waits on, and new work comes."""
    space, federation = faults.space, faults.federation
    await faults.submit(gang("old", space), where=EAST)
    await faults.submit(gang("waits", space, gpus=9), where=EAST)
    before = await faults.until_running("east", "old", 2)
    reason = await faults.until_waits("waits", "nvidia.com/gpu 9")
    ours = {name: faults.programs.pid(name) for name in faults.programs.names()}

    for name in ended:
        await federation.stop(name, kill=True)
    states = {one.name: one.state for one in await federation.status()}
    assert {states[name] for name in ended} == {"ended"}
    with pytest.raises((Unreachable, ServerError)):
        await faults.admin.raw("GET", "/readyz")
    if stands:
        assert await faults.running("east", "old") == before
    for name in ended:
        await federation.start(name)

    await faults.submit(gang("new", space), where=EAST)
    await faults.submit(_web(space), where=EAST, scheduler="default-scheduler")
    await faults.until_running("east", "new", 2)
    await faults.until_running("east", "web", 1)
    assert await faults.running("east", "old") == before
    # While clusters are not ready yet, their taint is what keeps it out.
    assert await faults.until_waits("waits", reason)
    assert (faults.placements("old"), faults.placements("new")) == (1, 1)
    assert {name: faults.programs.pid(name) for name in ours} == ours


def _web(space):
    """Work of karmada-scheduler's."""
    return stripped(deployment("web", replicas=1, namespace=space))


async def test_global_sched_is_killed_between_its_two_writes(faults):
    """The placement is written, its status is not: the next one says it and decides nothing."""
    space = faults.space
    await faults.apply(policy(gang("probe", space), scheduler="nobody"), gang("probe", space))

    async def probe():
        body = {"status": {"schedulerObservedGeneration": 1}}
        try:
            await faults.admin.patch(
                *(kinds.RESOURCE_BINDINGS, "probe-job", body),
                namespace=space,
                subresource="status",
                dry_run=True,
            )
        except ApiError as error:
            return str(error)
        return ""

    refusal = Refusal(
        server=CONTROL_PLANE,
        group="work.karmada.io",
        version="v1alpha2",
        resource="resourcebindings/status",
        operation="UPDATE",
        condition=(
            f"request.namespace == '{space}' && "
            f"request.userInfo.username in ['{GLOBAL_SCHED}', '{ADMINISTRATOR}']"
        ),
    )
    async with faults.refused(refusal, probe):
        await faults.submit(gang("train", space), where=EAST)

        async def placed():
            return await faults.clusters(space, "train")

        await faults.until(placed, "the placement is written")
        await faults.programs.kill("global-sched")
        half = await faults.binding(space, "train")
        assert await faults.condition(space, "train") == {}
        assert not settled(half)
        before = await faults.decision(space, "train")
        assert before["id"]
    await faults.programs.start_scheduler("global-sched", *SHORT)

    async def said():
        return (await faults.condition(space, "train")).get("status") == "True"

    await faults.until(said, "the status follows")
    await faults.until_running("east", "train", 2)
    binding = await faults.binding(space, "train")
    assert settled(binding)
    assert binding["spec"]["clusters"] == half["spec"]["clusters"]
    assert await faults.decision(space, "train") == before
    assert faults.placements("train") == 1


async def test_an_agent_is_killed_midway_through_a_gang(faults):
    """Two of four pods are bound: the next agent completes the very plan that was begun."""
    space = faults.space
    east = await faults.member("east")

    async def probe():
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": "none-worker-2", "namespace": space},
            "target": {"kind": "Node", "name": "none"},
        }
        path = kinds.PODS.path(space, "none-worker-2", "binding")
        try:
            await east.raw("POST", path, body, {"dryRun": "All"})
        except ApiError as error:
            return str(error)
        return ""

    async def created():
        return await east.get(kinds.NAMESPACES, space)

    await faults.until(created, "the namespace is in the member")
    refusal = Refusal(
        server="east",
        group="",
        version="v1",
        resource="pods/binding",
        operation="CREATE",
        condition=(
            f"request.namespace == '{space}' && "
            f"request.userInfo.username in ['{AGENT}', '{ADMINISTRATOR}'] && "
            "request.name.matches('-worker-[23]$')"
        ),
    )
    async with faults.refused(refusal, probe):
        await faults.submit(gang("train", space, pods=4, tier=2), where=EAST)

        async def half():
            return len(await faults.nodes_of("east", space, "train")) == 2

        await faults.until(half, "half of the gang is bound")
        await faults.programs.kill("member-agent-east")
        begun = await faults.running("east", "train")
        bound = await faults.nodes_of("east", space, "train")
        assert sorted(bound) == ["train-worker-0", "train-worker-1"]
        plan = await _plan(east, space)
    await faults.programs.start_agent("east", "--lease-seconds", "4")

    whole = await faults.until_running("east", "train", 4)
    assert begun.items() <= whole.items()
    nodes = await faults.nodes_of("east", space, "train")
    assert {whole[pod]: node for pod, node in nodes.items()} == plan


async def _plan(client, space):
    """Pod uid to node, as the agent wrote it down before the first bind."""
    (group,) = (await client.list(kinds.POD_GROUPS, namespace=space)).items
    return dict(parse_plan(group["metadata"]["annotations"][PLAN]).nodes)


async def test_the_leader_of_two_is_killed(faults):
    """The other takes over with a later term; each job is placed once, and waiting ones wait on."""
    space, standby = faults.space, "global-sched-standby"
    await faults.programs.start_scheduler(standby, *SHORT, "--identity", "standby")
    try:
        await faults.submit(*[gang(f"before-{at}", space) for at in range(3)])
        await faults.submit(gang("waits", space, gpus=9))
        for at in range(3):
            await _runs(faults, f"before-{at}")
        await faults.until_waits("waits")
        assert (await _holder(faults)) != "standby"
        epoch = (await faults.decision(space, "before-0"))["epoch"]

        await faults.submit(*[gang(f"during-{at}", space) for at in range(2)])
        await faults.programs.kill("global-sched")
        await faults.submit(*[gang(f"after-{at}", space) for at in range(2)])

        async def taken_over():
            return await _holder(faults) == "standby"

        await faults.until(taken_over, "the other leads")
        names = [f"{when}-{at}" for when in ("during", "after") for at in range(2)]
        for name in names:
            await _runs(faults, name)
        assert (await faults.decision(space, "after-1"))["epoch"] > epoch
        await faults.until_waits("waits")
        names += [f"before-{at}" for at in range(3)]
        assert {name: faults.placements(name) for name in names} == dict.fromkeys(names, 1)
    finally:
        await faults.programs.stop(standby)
        await faults.programs.start_scheduler("global-sched", *SHORT)


async def test_a_deleted_lease_takes_nothing_from_what_runs(faults):
    """The next term is above the last one: gangs stay where they are, and agents follow."""
    space = faults.space
    await faults.submit(gang("old", space), gang("waits", space, gpus=9))
    await _runs(faults, "old")
    await faults.until_waits("waits")
    before, homes = await faults.decision(space, "old"), await faults.clusters(space, "old")
    (home,) = homes
    pods = await faults.running(home, "old")

    await faults.admin.delete(kinds.LEASES, "global-sched", namespace=SYSTEM_NAMESPACE)

    async def later():
        lease = await faults.get(kinds.LEASES, "global-sched", SYSTEM_NAMESPACE)
        term = lease.get("spec", {}).get("leaseTransitions", 0)
        return term if term > before["epoch"] else None

    term = await faults.until(later, "a new term")
    await faults.submit(gang("new", space))
    await _runs(faults, "new")

    assert (await faults.decision(space, "new"))["epoch"] == term
    assert (await faults.decision(space, "old"))["grants"] == before["grants"]
    assert await faults.clusters(space, "old") == homes
    assert await faults.running(home, "old") == pods
    assert await faults.tasks("old") == []
    assert faults.placements("old") == 1
    assert "NotBelieved" not in json.dumps((await faults.binding(space, "old"))["status"])

    async def followed():
        told = (await faults.admin.list(kinds.DIRECTIVES)).items
        return {one["spec"]["epoch"] for one in told} == {term}

    await faults.until(followed, "every Directive is of the new term")


async def _holder(faults):
    lease = await faults.get(kinds.LEASES, "global-sched", SYSTEM_NAMESPACE)
    return lease["spec"]["holderIdentity"]


async def _runs(faults, name):
    """In one member, both pods; in the other none."""

    async def there():
        homes = await faults.clusters(faults.space, name)
        running = {one: len(await faults.running(one, name)) for one in faults.federation.members}
        return sorted(running.values()) == [0, 2] and len(homes) == 1

    binding = json.dumps(await faults.binding(faults.space, name))
    await faults.until(there, f"{name} runs in one member; its binding was {binding}")
