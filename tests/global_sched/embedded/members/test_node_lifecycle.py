"""Nodes that die without a word, and what Kubernetes' own controllers make of it."""

import asyncio

from global_sched.shared.api.names import OUT_OF_SERVICE
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.errors import Conflict
from tests.global_sched.embedded.members.member_world import Looker, member, pod
from tests.virtual_time import virtual_time

UNREACHABLE = "node.kubernetes.io/unreachable"


async def taints(one: Looker, node: str) -> list[tuple[str, str]]:
    """Key and effect of a node's taints."""
    found = await one.client.get(NODES, node)
    return [(t["key"], t["effect"]) for t in found["spec"].get("taints") or ()]


async def ready(one: Looker, node: str) -> str:
    """The status of a node's condition Ready."""
    found = (await one.client.get(NODES, node))["status"]["conditions"]
    return next(c["status"] for c in found if c["type"] == "Ready")


def condition(obj, kind):
    """A condition of a pod, None without it."""
    return next((c for c in obj["status"]["conditions"] if c["type"] == kind), None)


@virtual_time
async def test_a_silent_kubelet_and_the_name_of_its_pod():
    """Unknown after 50 s, evicted after 300 more; the name is taken until the machine is off."""
    async with member() as one:
        await one.add(PODS, pod("a", nodeName="m1-0-0"))
        await one.add(PODS, pod("done", nodeName="m1-0-1"))
        await asyncio.sleep(2)
        await one.member.silence_node("m1-0-0")
        await asyncio.sleep(45)
        early = await ready(one, "m1-0-0")
        await asyncio.sleep(20)
        late, marks = await ready(one, "m1-0-0"), await taints(one, "m1-0-0")
        unready = condition((await one.pods())["a"], "Ready")
        await asyncio.sleep(285)
        before = (await one.pods())["a"]["metadata"].get("deletionTimestamp")
        await asyncio.sleep(20)
        after = (await one.pods())["a"]
        await asyncio.sleep(600)
        stuck = set(await one.pods())
        off = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
        patch = {"spec": {"taints": [off]}}
        await one.client.patch(NODES, "m1-0-0", patch)
        await asyncio.sleep(21)
        end = set(await one.pods())

    assert (early, late) == ("True", "Unknown")
    assert marks == [(UNREACHABLE, "NoSchedule"), (UNREACHABLE, "NoExecute")]
    assert unready["status"] == "False"
    assert before is None
    assert after["metadata"]["deletionTimestamp"]
    assert condition(after, "DisruptionTarget")["reason"] == "DeletionByTaintManager"
    assert stuck == {"a", "done"}
    assert end == {"done"}


@virtual_time
async def test_a_kubelet_that_comes_back():
    """Its taints go and its pods stay, when it is back before their tolerations end."""
    async with member() as one:
        await one.add(PODS, pod("a", nodeName="m1-0-0", restart="Always"))
        await asyncio.sleep(2)
        await one.member.silence_node("m1-0-0")
        await asyncio.sleep(200)
        lost = await taints(one, "m1-0-0")
        await one.member.recover_node("m1-0-0")
        await asyncio.sleep(400)
        found = await one.pods()
        back = await taints(one, "m1-0-0")

    assert (len(lost), back) == (2, [])
    assert "deletionTimestamp" not in found["a"]["metadata"]


@virtual_time
async def test_a_kubelet_that_comes_back_while_others_write_its_node():
    """It posts again on the newer version, as a kubelet does: not at its next turn."""
    others = [1, 2]

    def overtaken(request):
        """Whether others have written the node between its reading and its writing."""
        posts = request.method == "PUT" and request.path.endswith("/nodes/m1-0-0/status")
        if posts and silent and others:
            others.pop()
            raise Conflict("the object has been modified", target=request.target)
        return False

    silent = False
    async with member(loses=overtaken) as one:
        await one.member.silence_node("m1-0-0")
        await asyncio.sleep(100)
        lost, silent = await ready(one, "m1-0-0"), True
        await one.member.recover_node("m1-0-0")
        back = await ready(one, "m1-0-0")

    assert (lost, back, others) == ("Unknown", "True", [])


@virtual_time
async def test_tolerations_say_how_long_a_pod_stays():
    """One with 5 s leaves after 5 s, one without seconds stays, whatever Kubernetes adds."""
    brief = {"key": UNREACHABLE, "operator": "Exists", "effect": "NoExecute"}
    brief["tolerationSeconds"] = 5
    always = {"operator": "Exists"}
    async with member() as one:
        await one.add(PODS, pod("brief", nodeName="m1-0-0", tolerations=[brief], restart="Always"))
        await one.add(PODS, pod("ever", nodeName="m1-0-0", tolerations=[always], restart="Always"))
        await one.member.silence_node("m1-0-0")
        await asyncio.sleep(75)
        soon = {n: "deletionTimestamp" in p["metadata"] for n, p in (await one.pods()).items()}
        await asyncio.sleep(330)
        late = {n: "deletionTimestamp" in p["metadata"] for n, p in (await one.pods()).items()}

    assert soon == late == {"brief": True, "ever": False}


@virtual_time
async def test_a_node_that_is_deleted():
    """Its pods are collected when it has been missing for forty seconds."""
    async with member() as one:
        await one.add(PODS, pod("a", nodeName="m1-0-0", restart="Always"))
        await asyncio.sleep(2)
        await one.member.silence_node("m1-0-0")
        await one.client.delete(NODES, "m1-0-0")
        await asyncio.sleep(35)
        during = set(await one.pods())
        await asyncio.sleep(30)
        after = set(await one.pods())

    assert (during, after) == ({"a"}, set())


@virtual_time
async def test_no_more_than_one_node_in_ten_seconds_and_none_when_all_are_lost():
    """Taints that evict are rationed; a member without any ready node blames the network."""
    async with member() as one:
        for node in ("m1-0-0", "m1-0-1"):
            await one.member.silence_node(node)
        await asyncio.sleep(62)
        first = [len(await taints(one, node)) for node in ("m1-0-0", "m1-0-1")]
        await asyncio.sleep(15)
        second = [len(await taints(one, node)) for node in ("m1-0-0", "m1-0-1")]
        for node in ("m1-1-0", "m1-1-1"):
            await one.member.silence_node(node)
        await asyncio.sleep(75)
        every = [await taints(one, f"m1-{rack}-{at}") for rack in (0, 1) for at in (0, 1)]

    assert (first, second) == ([2, 1], [2, 2])
    assert every == [[(UNREACHABLE, "NoSchedule")]] * 4
