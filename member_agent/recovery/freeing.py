"""Names that may be freed: pods that no kubelet will ever let go. Pure.

A pod keeps its name until its kubelet has stopped it. Where the machine is off nothing stops it,
and a controller with fixed names (Volcano, PyTorchJob, StatefulSet) cannot make its replacement.
Deleting such a pod without grace is safe only when the machine surely runs it no longer; otherwise
two pods of one rank may run at once.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum

from global_sched.shared.model.instant import Instant
from global_sched.shared.model.recovery import Cause
from member_agent.cache import ClusterCache, PodRecord
from member_agent.recovery.trouble import TroubleState


class Fencing(StrEnum):
    """The administrator's rule for when a machine counts as off."""

    NEVER = "never"
    """Names are never freed here; Kubernetes' own pod garbage collection may do it."""
    OUT_OF_SERVICE = "out-of-service"
    """The Node object is gone, or has the taint node.kubernetes.io/out-of-service."""
    LEASE = "lease"
    """Or its kubelet's Lease was not renewed for twice its duration: nodes that lose their API
    server must stop their pods by themselves."""


@dataclass(frozen=True, slots=True, kw_only=True)
class LeaseSeen:
    """A kubelet's Lease: its renewal, when that was first seen here, and its duration in µs."""

    renewed: str
    seen: Instant
    duration: int


def nodes_off(
    cache: ClusterCache,
    state: TroubleState,
    *,
    fencing: Fencing,
    leases: Mapping[str, LeaseSeen],
    now: Instant,
) -> dict[str, Cause]:
    """The nodes whose machine is off, as far as the rule lets that be known."""
    if fencing is Fencing.NEVER:
        return {}
    found: dict[str, Cause] = {}
    for name, one in state.nodes.items():
        if not one.standing:
            continue
        if one.cause is Cause.NODE_GONE and name not in cache.nodes:
            found[name] = one.cause
        record = cache.nodes.get(name)
        if record is None or record.usable:
            continue
        if one.cause is Cause.OUT_OF_SERVICE:
            found[name] = one.cause
        lease = leases.get(name)
        expired = lease is not None and now - lease.seen >= 2 * lease.duration
        if fencing is Fencing.LEASE and one.cause is Cause.NODE_NOT_READY and expired:
            found[name] = one.cause
    return found


def names_to_free(
    cache: ClusterCache, off: Mapping[str, Cause], schedulers: Collection[str]
) -> list[tuple[PodRecord, Cause]]:
    """Pods of ours on machines that are off, by name.

    A pod that tolerates the loss of its node for ever stays where only a missed Lease speaks for
    it: its owner asked for that.
    """
    if not off:
        return []
    found = [
        (pod, off[pod.node])
        for pod in cache.pods.values()
        if pod.node in off
        and pod.scheduler in schedulers
        and not (off[pod.node] is Cause.NODE_NOT_READY and pod.tolerates_loss)
    ]
    return sorted(found, key=lambda one: one[0].key)
