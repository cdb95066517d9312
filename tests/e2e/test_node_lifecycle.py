"""A machine that dies without a word: Kubernetes' own node lifecycle beside the embedded one.

The real side is an API server with kube-controller-manager, and kubelets that kwok plays: one for
each node, of which one is killed. Both get the same times, shorter than Kubernetes' defaults.
"""

import asyncio
import socket
import subprocess
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AsyncExitStack, asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from global_sched.embedded.members.pod_garbage import OUT_OF_SERVICE
from global_sched.shared.api.resource import NAMESPACES, NODES, PODS
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from tests.e2e.bare import api_server
from tests.e2e.waiting import until
from tests.global_sched.embedded.members.member_world import TEAM, member, pod
from tools.local_karmada.federation import Federation
from tools.local_karmada.kwok import MANAGED

DIES, STAYS = "m1-0-0", "m1-0-1"
GRACE, LEASE, TOLERATED = 12.0, 8.0, 4
"""Seconds until a silent node is Unknown, of a Lease (renewed four times in it), and for which pods
tolerate a lost node."""
LATE = 15
"""Seconds by which the real controller may notice the silence after the embedded one: it shares two
busy cores with everything else, and counts from when it has seen a Lease change."""
ORDER = ["Unknown", "NoExecute", "evicted", "freed", "back"]
OFF = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}
CONTROLLERS = "node-lifecycle-controller,taint-eviction-controller,pod-garbage-collector-controller"


@dataclass(slots=True)
class Cluster:
    """A cluster with two nodes and a pod on each, and how the kubelet of one falls silent."""

    name: str
    client: Client
    silence: Callable[[], Awaitable[None]]
    recover: Callable[[], Awaitable[None]]
    seen: dict[str, float] = field(default_factory=dict)
    """When each thing was seen first, in seconds after the silence."""
    said: dict[str, object] = field(default_factory=dict)


def tolerating() -> list[dict[str, object]]:
    """Tolerations of a lost node for a short time."""
    return [
        {
            "key": f"node.kubernetes.io/{key}",
            "operator": "Exists",
            "effect": "NoExecute",
            "tolerationSeconds": TOLERATED,
        }
        for key in ("not-ready", "unreachable")
    ]


def ready(obj):
    """The status of the condition Ready of a node or pod, empty without one."""
    found = (obj.get("status") or {}).get("conditions") or ()
    return next((one["status"] for one in found if one["type"] == "Ready"), "")


async def lose_a_node(cluster: Cluster) -> None:
    """The fault and its repair, with what is seen of them."""
    clock, client = SystemClock(), cluster.client

    async def state():
        node = await client.get(NODES, DIES)
        listed = (await client.list(PODS, namespace=TEAM)).items
        pods = {one["metadata"]["name"]: one for one in listed}
        return node, pods.get("dies"), pods.get("stays")

    for name, node in (("dies", DIES), ("stays", STAYS)):
        made = pod(name, nodeName=node, restart="Always", tolerations=tolerating())
        whole = {"apiVersion": "v1", "kind": "Pod", **made}
        await client.create(PODS, whole, namespace=TEAM)

    async def runs():
        node, dies, stays = await state()
        return ready(node) == ready(dies) == ready(stays) == "True"

    await until(runs, f"node and pods are ready in {cluster.name}")
    _, _, before = await state()
    await cluster.silence()
    start = clock.monotonic()

    async def happened(what):
        node, dies, _ = await state()
        taints = node["spec"].get("taints") or ()
        effects = {one["effect"] for one in taints if one["key"].endswith("/unreachable")}
        now = {
            "Unknown": ready(node) == "Unknown",
            "NoSchedule": "NoSchedule" in effects,
            "NoExecute": "NoExecute" in effects,
            "pod unready": dies is None or ready(dies) == "False",
            "evicted": dies is None or "deletionTimestamp" in dies["metadata"],
            "freed": dies is None,
            "back": ready(node) == "True" and not effects,
        }
        for name, true in now.items():
            if true and (name != "back" or what == "back"):
                cluster.seen.setdefault(name, clock.monotonic() - start)
        return now[what]

    await until(lambda: happened("evicted"), f"the pod is evicted in {cluster.name}", seconds=90)
    _, dies, _ = await state()
    cluster.said["conditions"] = sorted(
        (one["type"], one["status"], one.get("reason"))
        for one in dies["status"]["conditions"]
        if one["type"] in ("DisruptionTarget", "Ready")
    )
    await asyncio.sleep(5)
    cluster.said["name taken"] = not await happened("freed")
    node, _, _ = await state()
    taints = [*(node["spec"].get("taints") or ()), OFF]
    await client.patch(NODES, DIES, {"spec": {"taints": taints}})
    await until(lambda: happened("freed"), f"the name is freed in {cluster.name}", seconds=60)
    await client.patch(NODES, DIES, {"spec": {"taints": None}})
    await cluster.recover()
    await until(lambda: happened("back"), f"the node is back in {cluster.name}", seconds=60)
    _, _, after = await state()
    cluster.said["undisturbed"] = before["metadata"]["uid"] == after["metadata"]["uid"]


@contextmanager
def process(*argv: str | Path, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A program that is killed at the end."""
    with log.open("ab") as out:
        found = subprocess.Popen(argv, stdout=out, stderr=out)
    try:
        yield found
    finally:
        found.kill()
        found.wait(timeout=30)


def free_port() -> int:
    """A port that nothing listens on."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


@asynccontextmanager
async def real(federation: Federation, folder: Path) -> AsyncIterator[Cluster]:
    """Kubernetes' own programs, with one kwok per node."""
    async with AsyncExitStack() as stack:
        plugins = "--disable-admission-plugins=ServiceAccount,TaintNodesByCondition"
        files = stack.enter_context(api_server(federation, folder, plugins, users={}))
        clock = SystemClock()
        client = Client(await connect(kubeconfig=files["admin"], clock=clock), clock=clock)
        stack.push_async_callback(client.close)
        made = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}}
        await until(lambda: client.create(NAMESPACES, made), "the API server answers")
        kwok = [
            federation.tool("kwok"),
            f"--kubeconfig={files['admin']}",
            f"--config={federation.site.state / 'kwok.yaml'}",
            "--manage-all-nodes=false",
            f"--node-lease-duration-seconds={LEASE:.0f}",
        ]

        def kubelet(node: str):
            own = f"--manage-nodes-with-annotation-selector={MANAGED}={node}"
            port = f"--server-address=127.0.0.1:{free_port()}"
            return process(*kwok, own, port, log=folder / f"kwok-{node}.log")

        for name in (DIES, STAYS):
            meta = {"name": name, "annotations": {MANAGED: name}}
            await client.create(NODES, {"apiVersion": "v1", "kind": "Node", "metadata": meta})
        stack.enter_context(kubelet(STAYS))
        dies = stack.enter_context(kubelet(DIES))
        stack.enter_context(
            process(
                federation.tool("kube-controller-manager"),
                f"--kubeconfig={files['admin']}",
                f"--controllers={CONTROLLERS}",
                f"--node-monitor-grace-period={GRACE:.0f}s",
                "--node-monitor-period=1s",
                "--leader-elect=false",
                "--secure-port=0",
                log=folder / "kube-controller-manager.log",
            )
        )

        async def silence() -> None:
            dies.kill()

        async def recover() -> None:
            stack.enter_context(kubelet(DIES))

        yield Cluster("the real cluster", client, silence, recover)


@asynccontextmanager
async def embedded() -> AsyncIterator[Cluster]:
    """The embedded member, with the same times."""
    times = {"node_grace_seconds": GRACE, "node_monitor_seconds": 1.0, "lease_seconds": LEASE / 4}
    async with member(node_leases=True, **times) as one:

        async def silence() -> None:
            await one.member.silence_node(DIES)

        async def recover() -> None:
            await one.member.recover_node(DIES)

        yield Cluster("the embedded cluster", one.client, silence, recover)


async def test_a_node_that_falls_silent_is_treated_alike(federation, tmp_path):
    """The same order, conditions and times: Unknown, taints, eviction, a name that stays taken.

    Only the taint out-of-service frees it, and the pod on the other node runs on.
    """
    async with real(federation, tmp_path) as theirs, embedded() as ours:
        await asyncio.gather(lose_a_node(theirs), lose_a_node(ours))

    for name, at in ours.seen.items():
        print(f"{name}: real {theirs.seen[name]:.1f} s, embedded {at:.1f} s")  # noqa: T201
    assert ours.said == theirs.said
    assert theirs.said["name taken"] is True
    assert theirs.said["undisturbed"] is True
    for one in (theirs, ours):
        assert sorted(ORDER, key=one.seen.__getitem__) == ORDER
        assert one.seen["Unknown"] >= GRACE - LEASE / 4
        assert one.seen["evicted"] - one.seen["NoExecute"] >= TOLERATED - 1
    assert -6 < theirs.seen["Unknown"] - ours.seen["Unknown"] < LATE
    for name in ("NoSchedule", "NoExecute", "pod unready", "evicted"):
        after = [one.seen[name] - one.seen["Unknown"] for one in (theirs, ours)]
        assert abs(after[0] - after[1]) < 6, name
    assert abs(theirs.seen["freed"] - ours.seen["freed"]) < 26
