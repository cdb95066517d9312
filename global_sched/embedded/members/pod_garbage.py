"""Pod garbage collection: what no kubelet will ever let go is deleted without grace.

A pod whose node is gone goes when the node has been missing for forty seconds; a pod that is
being deleted goes where its node is not ready and carries the taint `out-of-service`, by which an
administrator says that the machine is off. Nothing else frees the name of a pod on a dead node.

Source:  kube-controller-manager 1.35, pkg/controller/podgc.
"""

from typing import Final

from global_sched.embedded.members.cluster import Cluster, node_of
from global_sched.embedded.members.node_lifecycle import ready_status
from global_sched.embedded.members.options import MemberOptions
from global_sched.embedded.members.taint_eviction import disrupt
from global_sched.propagation.fields import Obj, deleting, get, name_of
from global_sched.shared.api.names import OUT_OF_SERVICE
from global_sched.shared.api.resource import NODES, PODS
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.telemetry.logs import get_logger

QUARANTINE: Final = 40.0
"""A node that is missing for so many seconds is gone."""

log = get_logger(__name__)


class PodGarbage:
    """Looks at all pods each twenty seconds."""

    def __init__(self, cluster: Cluster, options: MemberOptions) -> None:
        self._cluster = cluster
        self._period = options.pod_gc_seconds
        self._missing: dict[str, float] = {}
        """Nodes that pods name and that are not there, with when that was first seen."""
        self.failures = 0

    async def run(self) -> None:
        """Collect until cancelled."""
        while True:
            await self._cluster.clock.sleep(self._period)
            try:
                await self._collect()
            except ApiError as error:
                self.failures += 1
                log.info("pods_not_collected", error=str(error))

    async def _collect(self) -> None:
        nodes = {name_of(node): node for node in self._cluster.mirrors[NODES].all()}
        now = self._cluster.clock.monotonic()
        pods = [pod for pod in self._cluster.pods.all() if node_of(pod)]
        missing = {node_of(pod) for pod in pods} - nodes.keys()
        self._missing = {name: self._missing.get(name, now) for name in missing}
        for pod in pods:
            node = nodes.get(node_of(pod))
            if node is None:
                if now - self._missing[node_of(pod)] >= QUARANTINE:
                    await self._force(pod, orphan=True)
            elif deleting(pod) and ready_status(node) != "True" and out_of_service(node):
                await self._force(pod, orphan=False)

    async def _force(self, pod: Obj, *, orphan: bool) -> None:
        """End the pod and delete it now."""
        try:
            if get(pod, "status", "phase") not in ("Succeeded", "Failed"):
                if orphan:
                    await disrupt(
                        self._cluster,
                        pod,
                        reason="DeletionByPodGC",
                        message="PodGC: node no longer exists",
                        phase="Failed",
                    )
                else:
                    status = {"status": {"phase": "Failed"}}
                    await self._cluster.patch(PODS, pod, status, subresource="status")
        except (Conflict, NotFound):
            return  # seen again with the next collection
        await self._cluster.delete(PODS, pod, grace=0)


def out_of_service(node: Obj) -> bool:
    """Whether an administrator says that the node's machine is off."""
    return any(one.get("key") == OUT_OF_SERVICE for one in get(node, "spec", "taints") or ())
