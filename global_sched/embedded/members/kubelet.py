"""Kubelets: they take bound pods or refuse them, run them, end them, let them go.

One loop plays the kubelets of all nodes of the cluster. What it remembers can be read from the
pods again, so that it may stop and start at any time; only which owner has had its one failure
(FAIL_ONCE) begins anew.
"""

from typing import Final

import msgspec

from global_sched.embedded.karmada.loop import Loop
from global_sched.embedded.members import pod_status
from global_sched.embedded.members.cluster import Cluster, controller_of, node_of
from global_sched.embedded.members.options import MemberOptions
from global_sched.propagation.fields import Obj, deleting, get, uid_of
from global_sched.shared.api.core import Node, PodSpec
from global_sched.shared.api.names import FAIL_ONCE
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement.capacity.from_nodes import allocatable
from global_sched.shared.placement.request.pod_shape import pod_requests
from global_sched.shared.placement.requirements import SpecError

WORKERS: Final = 16


def requests_of(pod: Obj) -> Resources:
    """What a pod asks of its node. One that cannot be read was refused at admission."""
    try:
        return pod_requests(msgspec.convert(pod.get("spec") or {}, PodSpec))
    except (SpecError, msgspec.ValidationError):
        return Resources.of({"pods": 1})


class Kubelets:
    """The kubelets of every node that is there and not `down`."""

    def __init__(self, cluster: Cluster, options: MemberOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._taken: dict[str, Resources] = {}
        """By uid: pods that a node took, and what they use of it."""
        self._due: dict[str, float] = {}
        """By uid: when a pod's present stage ends, in monotonic seconds."""
        self._failed_once: set[str] = set()
        self._addresses = 0
        self.down: set[str] = set()
        self.loop: Loop[ObjectKey] = Loop(
            "kubelet", self._reconcile, clock=cluster.clock, workers=WORKERS
        )
        cluster.pods.listen(self._pod_changed)
        cluster.mirrors[NODES].listen(self._node_changed)

    def _pod_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is None:
            if old is not None:
                self._forget(uid_of(old))
        elif node_of(new):
            self.loop.add(_key(new))

    def _node_changed(self, old: Obj | None, new: Obj | None) -> None:
        if new is not None and old is None:
            self.look_at(str(get(new, "metadata", "name")))

    def look_at(self, node: str) -> None:
        """Look at every pod of a node."""
        for pod in self._cluster.on_node(node):
            self.loop.add(_key(pod))

    def _forget(self, uid: str) -> None:
        self._taken.pop(uid, None)
        self._due.pop(uid, None)

    async def _reconcile(self, key: ObjectKey) -> float | None:
        pod = self._cluster.pods.get(key)
        if pod is None:
            return None
        name = node_of(pod)
        node = self._cluster.mirrors[NODES].get(ObjectKey("", name))
        if not name or name in self.down:
            return None
        if deleting(pod):
            return await self._stop(pod)
        if node is None:
            return None
        phase = get(pod, "status", "phase")
        if phase in ("Succeeded", "Failed"):
            self._forget(uid_of(pod))
            return None
        if uid_of(pod) not in self._taken and not await self._take(pod, node):
            return None
        rest = self._rest(pod)
        if rest is None or rest > 0:
            return rest
        if phase == "Running":
            await self._end(pod)
        else:
            await self._run(pod)
        return None  # the write's echo brings it back

    # --- stages ---------------------------------------------------------------------------

    async def _take(self, pod: Obj, node: Obj) -> bool:
        """Let the node take the pod; False when it refuses."""
        uid, requests = uid_of(pod), requests_of(pod)
        if get(pod, "status", "startTime") is None:
            shortage = self._shortage(requests, node)
            if shortage is not None:
                resource, used, capacity = shortage
                status = pod_status.refused(
                    pod,
                    self._cluster.now(),
                    resource=resource,
                    requested=requests.get(resource),
                    used=used,
                    capacity=capacity,
                )
                await self._cluster.write_status(PODS, pod, status)
                return False
        self._taken[uid] = requests
        if get(pod, "status", "startTime") is None:
            status = pod_status.creating(pod, self._cluster.now())
            try:
                await self._enter(pod, status, self._options.start_seconds)
            except BaseException:
                self._forget(uid)
                raise
        return True

    async def _enter(self, pod: Obj, status: Obj, seconds: float | None) -> None:
        """Write that a pod is in a new stage, which lasts so long.

        The time counts before the write, since its echo may come before its answer; a write that
        was lost leaves the pod in the stage before.
        """
        uid = uid_of(pod)
        before = self._due.get(uid)
        self._wait(uid, seconds)
        try:
            await self._cluster.write_status(PODS, pod, status)
        except BaseException:
            if before is None:
                self._due.pop(uid, None)
            else:
                self._due[uid] = before
            raise

    def _shortage(self, requests: Resources, node: Obj) -> tuple[str, int, int] | None:
        """The first resource of which the node has not enough: (name, used, capacity)."""
        capacity = allocatable(msgspec.convert(node, Node))
        used: dict[str, int] = {}
        for pod in self._cluster.on_node(str(get(node, "metadata", "name"))):
            if get(pod, "status", "phase") in ("Succeeded", "Failed"):
                continue
            for name, amount in self._taken.get(uid_of(pod), Resources.of({})).entries:
                used[name] = used.get(name, 0) + amount
        for name, amount in requests.entries:
            if amount > capacity.get(name, 0) - used.get(name, 0):
                return name, used.get(name, 0), capacity.get(name, 0)
        return None

    async def _run(self, pod: Obj) -> None:
        self._addresses += 1
        high, low = divmod(self._addresses, 250)
        address = f"10.{high // 250 % 250}.{high % 250}.{low + 1}"
        seconds = pod_status.run_seconds(pod, self._options.run_seconds)
        status = pod_status.running(pod, self._cluster.now(), address=address)
        await self._enter(pod, status, seconds)

    async def crash(self, pod: Obj, code: int, reason: str = "Error") -> None:
        """The pod's containers end with that code now, whatever its annotations say."""
        await self._end_with(pod, code, reason)

    async def _end(self, pod: Obj) -> None:
        """Its containers end: for good, or to be restarted, as the restart policy says."""
        await self._end_with(pod, self._exit_code(pod), "Error")

    async def _end_with(self, pod: Obj, code: int, reason: str) -> None:
        policy = pod_status.restart_policy(pod)
        if policy == "Always" or (policy == "OnFailure" and code):
            status = pod_status.running(
                pod,
                self._cluster.now(),
                address=str(get(pod, "status", "podIP") or ""),
                restarts=pod_status.restarts_of(pod) + 1,
                failed=code,
                reason=reason,
            )
            seconds = pod_status.run_seconds(pod, self._options.run_seconds)
            await self._enter(pod, status, seconds)
        else:
            status = pod_status.ended(pod, self._cluster.now(), code, reason)
            await self._cluster.write_status(PODS, pod, status)

    def _exit_code(self, pod: Obj) -> int:
        once = (get(pod, "metadata", "annotations") or {}).get(FAIL_ONCE) == "true"
        if not once:
            return pod_status.exit_code(pod)
        owner = controller_of(pod)
        uid = owner["uid"] if owner is not None else uid_of(pod)
        if uid in self._failed_once:
            return 0
        self._failed_once.add(uid)
        return pod_status.exit_code(pod) or 1

    async def _stop(self, pod: Obj) -> float | None:
        """Stop a pod that was deleted, then let the object go."""
        uid = uid_of(pod)
        stopping = f"{uid} stops"
        grace = get(pod, "metadata", "deletionGracePeriodSeconds") or 0
        if stopping not in self._due:
            self._wait(stopping, min(self._options.stop_seconds, grace))
        rest = self._due[stopping] - self._cluster.clock.monotonic()
        if rest > 0:
            return rest
        await self._cluster.delete(PODS, pod, grace=0)
        self._due.pop(stopping, None)
        return None

    # --- time -----------------------------------------------------------------------------

    def _wait(self, uid: str, seconds: float | None) -> None:
        """The pod's stage lasts that long; None for ever."""
        now = self._cluster.clock.monotonic()
        self._due[uid] = float("inf") if seconds is None else now + seconds

    def _rest(self, pod: Obj) -> float | None:
        """Seconds until the pod's stage ends; None when it never does."""
        uid = uid_of(pod)
        if uid not in self._due:
            self._wait(uid, self._left(pod))
        rest = self._due[uid] - self._cluster.clock.monotonic()
        return None if rest == float("inf") else rest

    def _left(self, pod: Obj) -> float | None:
        """What is left of a stage that began before this process did."""
        if get(pod, "status", "phase") != "Running":
            return 0.0
        seconds = pod_status.run_seconds(pod, self._options.run_seconds)
        if seconds is None:
            return None
        try:
            started = parse_instant(pod_status.started_at(pod) or "")
        except InstantError:
            return seconds
        return max(0.0, seconds - (self._cluster.clock.now() - started) / SECOND)


def _key(obj: Obj) -> ObjectKey:
    return ObjectKey(obj["metadata"].get("namespace") or "", obj["metadata"]["name"])
