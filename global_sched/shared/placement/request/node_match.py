"""Which nodes a pod may go to at all, by class; how large a pod is, and what devices are."""

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.pods import PodShape, matches, tolerated
from global_sched.shared.model.topology import NodeClass

_PLAIN = ("cpu", "memory", "ephemeral-storage", "storage", "pods")


def class_takes(kind: NodeClass, shape: PodShape) -> bool:
    """Whether pods of a shape may go to nodes of a class, apart from room."""
    return kind.schedulable and class_problem(kind, shape) == ""


def class_problem(kind: NodeClass, shape: PodShape) -> str:
    """Why pods of a shape may not go to nodes of a class (a cordon left out); empty if they may."""
    labels = dict(kind.labels)
    for key, value in shape.selector:
        if labels.get(key) != value:
            return f"label {key} is not {value}"
    if shape.affinity and not any(
        all(matches(requirement, labels) for requirement in term) for term in shape.affinity
    ):
        return "the node affinity does not match"
    taint = tolerated(kind.taints, shape.tolerations)
    if taint is not None:
        return f"taint {taint.key} is not tolerated"
    taken = next((port for port in shape.ports if port in kind.ports), "")
    return f"host port {taken} is taken" if taken else ""


def is_device(resource: str) -> bool:
    """Whether a resource is scarce enough to keep free of pods that do not ask for it."""
    return resource not in _PLAIN and not resource.startswith("hugepages-")


def least_choice(tier: int, gang: Gang, amounts: Amounts) -> tuple[int, int, int, int]:
    """Sorts room first that can be had in fewest places: in lower tiers, then for larger pods.

    Pods are compared by their devices, then CPU, then memory; the largest of the gang counts.
    """
    sizes = []
    for pod_set in gang.pod_sets:
        if amounts.get(pod_set.name):
            requests = pod_set.shape.requests
            devices = sum(amount for name, amount in requests if is_device(name))
            sizes.append((devices, requests.get("cpu"), requests.get("memory")))
    devices, cpu, memory = max(sizes, default=(0, 0, 0))
    return tier, -devices, -cpu, -memory
