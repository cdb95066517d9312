"""The node lifecycle controller: a node that is not heard of becomes Unknown and gets its taints.

A node is heard of when its Lease is renewed or its status is posted; after `node_grace()`
seconds without either its conditions become Unknown, its pods are no longer ready, and the taints
`unreachable` follow (`not-ready` where the kubelet itself says so). The taint NoExecute comes at
most once per ten seconds, and not at all while every node is lost: then the network is more likely
the cause.

Source:  kube-controller-manager 1.35, pkg/controller/nodelifecycle; its times are the defaults of
MemberOptions. All nodes are one zone here.
"""

from dataclasses import dataclass
from typing import Final

from global_sched.embedded.members.cluster import Cluster, ready
from global_sched.embedded.members.nodes import LEASE_NAMESPACE, SHARED_LEASE, conditions
from global_sched.embedded.members.options import MemberOptions
from global_sched.propagation.fields import Obj, get, name_of
from global_sched.shared.api.resource import LEASES, NODES, PODS
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.telemetry.logs import get_logger

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
_OWN: Final = (NOT_READY, UNREACHABLE)
RATE: Final = 0.1
"""Nodes per second that get the taint NoExecute."""
SLOW_RATE: Final = 0.01
"""The same while most nodes of a large zone are lost; in a small one none do then."""
LARGE: Final = 50
UNHEALTHY: Final = 0.55

log = get_logger(__name__)


@dataclass(slots=True)
class _Heard:
    """The last signs of life of a node, and when they were seen here, in monotonic seconds."""

    signs: tuple[str, ...]
    at: float


class NodeLifecycle:
    """Looks at every node each `node_monitor_seconds`; one that cannot be written waits."""

    def __init__(self, cluster: Cluster, options: MemberOptions) -> None:
        self._cluster = cluster
        self._options = options
        self._heard: dict[str, _Heard] = {}
        self._next_taint = 0.0
        self.failures = 0

    async def run(self) -> None:
        """Monitor until cancelled."""
        while True:
            nodes = self._cluster.mirrors[NODES].all()
            names = {name_of(node) for node in nodes}
            self._heard = {name: seen for name, seen in self._heard.items() if name in names}
            rate = _rate(nodes)
            for node in nodes:
                try:
                    await self._look_at(node, rate)
                except (Conflict, NotFound):
                    pass  # the next look sees the newer node
                except ApiError as error:
                    self.failures += 1
                    log.info("node_not_marked", node=name_of(node), error=str(error))
            await self._cluster.clock.sleep(self._options.node_monitor_seconds)

    async def _look_at(self, node: Obj, rate: float) -> None:
        now = self._cluster.clock.monotonic()
        name = name_of(node)
        signs = self._signs(node)
        heard = self._heard.get(name)
        if heard is None or heard.signs != signs:
            heard = self._heard[name] = _Heard(signs, now)
        state = ready_status(node)
        if now - heard.at > self._options.node_grace() and state != "Unknown":
            await self._mark_unknown(node)
            node = self._cluster.mirrors[NODES].get(ObjectKey("", name)) or node
            state = "Unknown"
        if not state:
            return  # its kubelet has not posted yet
        await self._taint(node, state, rate)

    def _signs(self, node: Obj) -> tuple[str, ...]:
        """The renewal of the node's Lease, else of the shared one, and its posted heartbeat."""
        leases = self._cluster.mirrors[LEASES]
        lease = leases.get(ObjectKey(LEASE_NAMESPACE, name_of(node)))
        if lease is None:
            lease = leases.get(ObjectKey(LEASE_NAMESPACE, SHARED_LEASE))
        return (str(get(lease or {}, "spec", "renewTime")), str(_heartbeat(node)))

    async def _mark_unknown(self, node: Obj) -> None:
        status = dict(node.get("status") or {})
        before = status.get("conditions")
        status["conditions"] = conditions(before, self._cluster.now(), alive=False)
        await self._cluster.write_status(NODES, node, status)
        for pod in self._cluster.on_node(name_of(node)):
            if not ready(pod):
                continue
            pod_status = dict(pod.get("status") or {})
            pod_status["conditions"] = [
                one | {"status": "False", "lastTransitionTime": self._cluster.now()}
                if one.get("type") == "Ready"
                else one
                for one in pod_status.get("conditions") or ()
            ]
            await self._cluster.write_status(PODS, pod, pod_status)

    async def _taint(self, node: Obj, state: str, rate: float) -> None:
        """Bring the node's own taints in line with its condition Ready."""
        before = list(get(node, "spec", "taints") or ())
        others = [one for one in before if one.get("key") not in _OWN]
        own = [one for one in before if one.get("key") in _OWN]
        key = {"True": "", "Unknown": UNREACHABLE}.get(state, NOT_READY)
        wanted: list[Obj] = []
        if key:
            wanted.append(self._known(own, key, "NoSchedule"))
            has = any(_is(one, key, "NoExecute") for one in own)
            # A node that changes from one to the other keeps being evicted: no token is needed.
            evicting = any(one.get("effect") == "NoExecute" for one in own)
            if rate and (has or evicting or self._token(rate)):
                wanted.append(self._known(own, key, "NoExecute"))
        if wanted != own:
            await self._cluster.patch(NODES, node, {"spec": {"taints": [*others, *wanted] or None}})

    def _known(self, own: list[Obj], key: str, effect: str) -> Obj:
        """The taint as it stands, or a new one."""
        found = next((one for one in own if _is(one, key, effect)), None)
        return found or {"key": key, "effect": effect, "timeAdded": self._cluster.now()}

    def _token(self, rate: float) -> bool:
        now = self._cluster.clock.monotonic()
        if now < self._next_taint:
            return False
        self._next_taint = now + 1 / rate
        return True


def ready_status(node: Obj) -> str:
    """The status of a node's condition Ready, empty without one."""
    for one in get(node, "status", "conditions") or ():
        if one.get("type") == "Ready":
            return str(one.get("status"))
    return ""


def _heartbeat(node: Obj) -> object:
    for one in get(node, "status", "conditions") or ():
        if one.get("type") == "Ready":
            return one.get("lastHeartbeatTime")
    return None


def _is(taint: Obj, key: str, effect: str) -> bool:
    return taint.get("key") == key and taint.get("effect") == effect


def _rate(nodes: list[Obj]) -> float:
    """How many nodes per second may be tainted NoExecute; 0 for none, and taints are taken back."""
    lost = sum(ready_status(node) in ("False", "Unknown") for node in nodes)
    if nodes and lost == len(nodes):
        return 0.0
    if lost > 2 and lost >= UNHEALTHY * len(nodes):
        return SLOW_RATE if len(nodes) > LARGE else 0.0
    return RATE
