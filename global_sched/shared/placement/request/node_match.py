"""Nodes that a pod may use, by class; its request by position on the axis; devices."""

from dataclasses import dataclass

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.pods import PodShape, matches, tolerated
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.bounded_cache import BoundedCache
from global_sched.shared.placement.sentinels import MOST_PODS_COUNTED

AFFINITY_PROBLEM = "node affinity does not match"

_PLAIN = ("cpu", "memory", "ephemeral-storage", "storage", "pods")


def node_class_admits(kind: NodeClass, shape: PodShape) -> bool:
    """Whether pods of a shape may go to nodes of a class, apart from room."""
    return kind.schedulable and node_class_problem(kind, shape) == ""


def node_class_problem(kind: NodeClass, shape: PodShape) -> str:
    """Why pods of a shape may not go to nodes of a class (a cordon left out); empty if they may."""
    labels = dict(kind.labels)
    for key, value in shape.selector:
        if labels.get(key) != value:
            return label_problem(key, value)
    if shape.affinity and not any(
        all(matches(requirement, labels) for requirement in term) for term in shape.affinity
    ):
        return AFFINITY_PROBLEM
    taint = tolerated(kind.taints, shape.tolerations)
    if taint is not None:
        return f"taint {taint.key} is not tolerated"
    taken = next((port for port in shape.ports if port in kind.ports), "")
    return f"host port {taken} is taken" if taken else ""


def label_problem(key: str, value: str) -> str:
    """What a node lacks for a selector."""
    return f"no label {key}={value}"


def is_device(resource: str) -> bool:
    """Whether a resource is scarce enough to keep free of pods that do not ask for it."""
    return resource not in _PLAIN and not resource.startswith("hugepages-")


def scarcity_key(tier: int, gang: Gang, amounts: Amounts) -> tuple[int, int, int, int]:
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


_MOST_SHAPES = 1024

Request = tuple[tuple[int, int], ...]
"""What a pod asks for: (position on the axis, amount)."""


def request_on(axis: tuple[str, ...], shape: PodShape) -> Request | None:
    """The shape's request on an axis; None when no node has one of the resources."""
    position = {name: at for at, name in enumerate(axis)}
    if any(name not in position for name, _ in shape.requests):
        return None
    return tuple((position[name], amount) for name, amount in shape.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOnAxis:
    """A shape on one axis, before nodes of some classes.

    `request` is None when no node has one of the resources; `asking` leaves amounts of 0 out.
    """

    request: Request | None
    asking: Request
    scarce_first: Request
    """The same, devices first: nodes run out of those before anything else."""
    scarce: Request
    """The devices of it alone."""
    weighed: Request
    """What slack is measured in."""
    cpu_at: int | None
    """Where the CPU is; None where it asks for no devices that the CPU could suit."""
    cpu_asked: int
    devices: tuple[int, ...]
    """Those that it does not ask for."""
    takes: tuple[bool, ...]
    """By class whether its nodes take it at all."""
    limit: int
    """The most of it on a node, whatever is free there."""


def shape_on(axis: tuple[str, ...], classes: tuple[NodeClass, ...], shape: PodShape) -> ShapeOnAxis:
    """The shape on that axis."""
    request, asked = request_on(axis, shape), set(shape.requests.names())
    asking = tuple([(p, amount) for p, amount in request or () if amount])
    scarce = tuple([(p, amount) for p, amount in asking if is_device(axis[p])])
    cpu_at = axis.index("cpu") if scarce and "cpu" in axis else None
    return ShapeOnAxis(
        request=request,
        asking=asking,
        scarce_first=tuple(sorted(asking, key=lambda item: not is_device(axis[item[0]]))),
        scarce=scarce,
        weighed=tuple([item for item in asking if axis[item[0]] != PODS]) or asking,
        cpu_at=cpu_at,
        cpu_asked=0 if cpu_at is None else dict(request or ()).get(cpu_at, 0),
        devices=tuple(
            [at for at, name in enumerate(axis) if is_device(name) and name not in asked]
        ),
        takes=tuple([node_class_admits(kind, shape) for kind in classes]),
        limit=shape.most_per_node() or MOST_PODS_COUNTED,
    )


class ShapesOnAxis:
    """The shapes that were asked of clusters alike, each worked out once."""

    __slots__ = ("_axis", "_classes", "_known")

    def __init__(self, axis: tuple[str, ...], classes: tuple[NodeClass, ...]) -> None:
        self._axis, self._classes = axis, classes
        self._known = BoundedCache[PodShape, ShapeOnAxis](_MOST_SHAPES)

    def of(self, shape: PodShape) -> ShapeOnAxis:
        """The shape there. The oldest go when there are many, since shapes come from users."""
        found = self._known.get(shape)
        if found is None:
            found = self._known.keep(shape, shape_on(self._axis, self._classes, shape))
        return found
