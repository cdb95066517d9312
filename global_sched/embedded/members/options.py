"""Options of an embedded member."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberOptions:
    """Times in seconds; 0 means at once.

    start_seconds: from ContainerCreating to Running. stop_seconds: what a pod takes of its
    grace period when it is deleted. run_seconds: how long a pod runs that does not say so and is
    to end (restartPolicy Never or OnFailure). job_backoff: the first pause after a failed pod of
    a batch Job; it doubles.
    node_status_seconds: how often each node writes its status. lease_seconds: how often the
    kubelets' Lease is renewed; one for all of them, unless node_leases asks for one each.
    node_monitor_seconds, node_grace_seconds, pod_gc_seconds: how often nodes are looked at, for how
    long one that is not heard of still counts as ready, and how often pods of dead nodes are
    collected; the defaults of kube-controller-manager 1.35.
    default_scheduler: whether pods of Kubernetes' own scheduler are bound.
    """

    start_seconds: float = 0.5
    stop_seconds: float = 0.2
    run_seconds: float = 5.0
    job_backoff: float = 10.0
    node_status_seconds: float = 300.0
    lease_seconds: float = 10.0
    node_leases: bool = False
    node_monitor_seconds: float = 5.0
    node_grace_seconds: float = 50.0
    pod_gc_seconds: float = 20.0
    default_scheduler: bool = True

    def node_grace(self) -> float:
        """Seconds until a node that is not heard of is Unknown: never less than five renewals."""
        return max(self.node_grace_seconds, 5 * self.lease_seconds)
