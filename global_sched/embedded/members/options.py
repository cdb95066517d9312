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
    default_scheduler: whether pods of Kubernetes' own scheduler are bound.
    """

    start_seconds: float = 0.5
    stop_seconds: float = 0.2
    run_seconds: float = 5.0
    job_backoff: float = 10.0
    node_status_seconds: float = 300.0
    lease_seconds: float = 10.0
    node_leases: bool = False
    default_scheduler: bool = True
