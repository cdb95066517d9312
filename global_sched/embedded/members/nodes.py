"""Nodes: what a kubelet says of its machine, and its heartbeats."""

import asyncio
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any, Final

from global_sched.embedded.members.cluster import Cluster
from global_sched.embedded.members.options import MemberOptions
from global_sched.propagation.fields import Obj, get, name_of
from global_sched.shared.api.resource import HYPER_NODES, LEASES, NAMESPACES, NODES
from global_sched.shared.kube.errors import AlreadyExists, ApiError, Conflict, NotFound
from global_sched.shared.model.instant import format_micro
from global_sched.shared.telemetry.logs import get_logger

LEASE_NAMESPACE: Final = "kube-node-lease"
SHARED_LEASE: Final = "embedded-kubelets"
PARALLEL: Final = 16
TICK: Final = 1.0
TRIES: Final = 5
"""So often a kubelet posts where others write its node at the same time (`nodeStatusUpdateRetry` of
Kubernetes' pkg/kubelet)."""

_PRESSURES: Final = (
    ("MemoryPressure", "KubeletHasSufficientMemory", "kubelet has sufficient memory available"),
    ("DiskPressure", "KubeletHasNoDiskPressure", "kubelet has no disk pressure"),
    ("PIDPressure", "KubeletHasSufficientPID", "kubelet has sufficient PID available"),
)

log = get_logger(__name__)


def completed(node: Obj, now: str) -> Obj:
    """A Node manifest with what its kubelet adds: labels, capacity, conditions."""
    name = name_of(node)
    labels = {
        "kubernetes.io/hostname": name,
        "kubernetes.io/os": "linux",
        "kubernetes.io/arch": "amd64",
    } | (get(node, "metadata", "labels") or {})
    status: Obj = dict(node.get("status") or {})
    allocatable = {"pods": "110"} | (status.get("allocatable") or status.get("capacity") or {})
    status |= {
        "allocatable": allocatable,
        "capacity": status.get("capacity") or allocatable,
        "conditions": conditions(status.get("conditions"), now),
        "addresses": [
            {"type": "InternalIP", "address": "127.0.0.1"},
            {"type": "Hostname", "address": name},
        ],
        "nodeInfo": _INFO | (status.get("nodeInfo") or {}),
    }
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {**node["metadata"], "labels": labels},
        "spec": dict(node.get("spec") or {}),
        "status": status,
    }


def conditions(old: Iterable[Obj] | None, now: str, *, alive: bool = True) -> list[Obj]:
    """A node's conditions with a new heartbeat; Unknown when its kubelet stopped posting."""
    before = {one.get("type"): one for one in old or ()}
    made = [
        _condition(before, now, kind, "False", reason, text) for kind, reason, text in _PRESSURES
    ]
    ready = ("True", "KubeletReady", "kubelet is posting ready status")
    made.append(_condition(before, now, "Ready", *ready))
    if alive:
        return made
    unknown = {
        "status": "Unknown",
        "reason": "NodeStatusUnknown",
        "message": "Kubelet stopped posting node status.",
    }
    return [
        one
        | unknown
        | {
            "lastTransitionTime": now,
            "lastHeartbeatTime": before.get(one["type"], one)["lastHeartbeatTime"],
        }
        for one in made
    ]


def _condition(
    before: dict[Any, Obj], now: str, kind: str, status: str, reason: str, message: str
) -> Obj:
    old = before.get(kind)
    same = old is not None and old.get("status") == status
    return {
        "type": kind,
        "status": status,
        "reason": reason,
        "message": message,
        "lastHeartbeatTime": now,
        "lastTransitionTime": old["lastTransitionTime"] if same and old else now,
    }


class NodeKeeper:
    """Registers the given nodes, and lets every node of the cluster show that it lives."""

    def __init__(
        self,
        cluster: Cluster,
        options: MemberOptions,
        *,
        nodes: Sequence[Obj],
        hyper_nodes: Sequence[Obj],
        down: set[str],
    ) -> None:
        self._cluster = cluster
        self._options = options
        self._given = tuple(nodes)
        self._tree = tuple(hyper_nodes)
        self._down = down
        self._due: dict[str, float] = {}

    async def register(self) -> None:
        """Create the given nodes and HyperNodes; those that are there stay as they are."""
        gate = asyncio.Semaphore(PARALLEL)
        now = self._cluster.now()

        async def one(resource: Any, obj: Obj) -> None:
            async with gate:
                with suppress(AlreadyExists):
                    await self._cluster.client.create(resource, obj)

        async with asyncio.TaskGroup() as group:
            for node in self._given:
                group.create_task(one(NODES, completed(node, now)))
            for hyper_node in self._tree:
                group.create_task(one(HYPER_NODES, hyper_node))

    async def run(self) -> None:
        """Beat until cancelled."""
        async with asyncio.TaskGroup() as group:
            group.create_task(self._post_statuses())
            group.create_task(self._renew_leases())

    # --- status ---------------------------------------------------------------------------

    async def _post_statuses(self) -> None:
        """Each node writes its status now and then; new ones soon, all others spread in time."""
        while True:
            for node in self._cluster.mirrors[NODES].all():
                if self._is_due(node):
                    try:
                        await self._post(node)
                    except ApiError as error:
                        log.info("node_status_failed", node=name_of(node), error=str(error))
            await self._cluster.clock.sleep(TICK)

    def _is_due(self, node: Obj) -> bool:
        name, now = name_of(node), self._cluster.clock.monotonic()
        if name in self._down:
            return False
        period = self._options.node_status_seconds
        if name not in self._due:
            spread = (len(self._due) % 97) / 97 * period
            self._due[name] = now + spread
            return not _is_ready(node)
        if self._due[name] > now:
            return False
        self._due[name] = now + period
        return True

    async def _post(self, node: Obj, *, alive: bool = True) -> None:
        """Write its conditions, on a newer version where others have written it meanwhile."""
        with suppress(NotFound):
            for _ in range(TRIES):
                now, status = self._cluster.now(), dict(node.get("status") or {})
                if not status.get("conditions"):
                    status = completed(node, now)["status"]
                status["conditions"] = conditions(status["conditions"], now, alive=alive)
                try:
                    await self._cluster.write_status(NODES, node, status)
                except Conflict:
                    node = await self._cluster.client.get(NODES, name_of(node))
                else:
                    return
            log.info("node_status_failed", node=name_of(node), error="others write it all the time")

    async def lose(self, name: str) -> None:
        """The node's conditions become Unknown at once, as after a silence; its pods stay."""
        self._down.add(name)
        await self._post(await self._cluster.client.get(NODES, name), alive=False)

    async def silence(self, name: str) -> None:
        """The node's kubelet dies without a word: nothing of it is renewed from now on.

        Where one Lease stands for all kubelets, the dead one gets its own, renewed a last time.
        """
        self._down.add(name)
        if not self._options.node_leases:
            await self._renew(name)

    async def recover(self, name: str) -> None:
        """The node's kubelet posts again, and renews its Lease or shares that of the others."""
        if name in self._down and not self._options.node_leases:
            with suppress(NotFound):
                await self._cluster.client.delete(LEASES, name, namespace=LEASE_NAMESPACE)
        self._down.discard(name)
        node = await self._cluster.client.get(NODES, name)
        await self._post(node)

    # --- leases ---------------------------------------------------------------------------

    async def _renew_leases(self) -> None:
        """Renew one Lease for all kubelets, or one for each."""
        while True:
            names = [SHARED_LEASE]
            if self._options.node_leases:
                names = [name_of(node) for node in self._cluster.mirrors[NODES].all()]
            for name in names:
                if name not in self._down:
                    await self._renew(name)
            await self._cluster.clock.sleep(self._options.lease_seconds)

    async def _renew(self, name: str) -> None:
        spec = {
            "holderIdentity": name,
            "leaseDurationSeconds": round(self._options.lease_seconds * 4),
            "renewTime": format_micro(self._cluster.clock.now()),
        }
        client = self._cluster.client
        body = {"metadata": {"name": name}, "spec": spec}
        try:
            try:
                await client.patch(LEASES, name, {"spec": spec}, namespace=LEASE_NAMESPACE)
            except NotFound:
                with suppress(AlreadyExists):
                    await client.create(NAMESPACES, {"metadata": {"name": LEASE_NAMESPACE}})
                await client.create(LEASES, body, namespace=LEASE_NAMESPACE)
        except ApiError as error:
            log.info("lease_renewal_failed", lease=name, error=str(error))


def _is_ready(node: Obj) -> bool:
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in get(node, "status", "conditions") or ()
    )


_INFO: Final = {
    "architecture": "amd64",
    "bootID": "",
    "containerRuntimeVersion": "containerd://2.1.4",
    "kernelVersion": "6.1.0",
    "kubeProxyVersion": "",
    "kubeletVersion": "v1.35.4",
    "machineID": "",
    "operatingSystem": "linux",
    "osImage": "Debian GNU/Linux 12 (bookworm)",
    "systemUUID": "",
}
