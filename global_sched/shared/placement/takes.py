"""Which nodes a pod may go to at all, by class; and which resources are devices."""

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
