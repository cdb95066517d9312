"""Names with a type each, so that two of the same shape cannot be swapped."""

from typing import NewType

ClusterName = NewType("ClusterName", str)
"""A member cluster: the name of its Karmada `Cluster` object."""

WorkloadKey = NewType("WorkloadKey", str)
"""`namespace/name` of a ResourceBinding; `/name` of a ClusterResourceBinding."""

BindingId = NewType("BindingId", str)
"""The permanent id of a binding, which Karmada carries to the member's objects."""

QueueName = NewType("QueueName", str)
TenantName = NewType("TenantName", str)
"""A `Tenant` object's name, or `ns/NAMESPACE` for a namespace that is its own tenant."""

DomainId = NewType("DomainId", str)
"""The name of a HyperNode in its cluster."""

PodSetName = NewType("PodSetName", str)
"""A task of a Volcano Job, a replica type of a PyTorchJob, `main` for kinds with one template."""

DecisionId = NewType("DecisionId", str)
"""A hash of an admission's content and its place in the leader's history."""

MAIN = PodSetName("main")
"""The pod set of kinds that have a single pod template."""
LEADERS = PodSetName("leader")
WORKERS = PodSetName("worker")
"""The pod sets of a LeaderWorkerSet."""


def workload_key(namespace: str, name: str) -> WorkloadKey:
    """The key of a binding; cluster-scoped bindings have an empty namespace."""
    return WorkloadKey(f"{namespace}/{name}")


def split_key(key: WorkloadKey) -> tuple[str, str]:
    """The binding's (namespace, name)."""
    namespace, _, name = key.partition("/")
    return namespace, name
