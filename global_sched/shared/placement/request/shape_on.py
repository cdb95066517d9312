"""What pods of one shape ask of nodes, by position on an axis; the same for every cluster alike."""

from dataclasses import dataclass

from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import PODS
from global_sched.shared.model.topology import NodeClass
from global_sched.shared.placement.capacity.asked import MOST_PODS
from global_sched.shared.placement.request.node_match import class_takes, is_device

_MOST_KEPT = 1024

Request = tuple[tuple[int, int], ...]
"""What a pod asks for: (position on the axis, amount)."""


def request_on(axis: tuple[str, ...], shape: PodShape) -> Request | None:
    """The shape's request on an axis; None when no node has one of the resources."""
    position = {name: at for at, name in enumerate(axis)}
    if any(name not in position for name, _ in shape.requests):
        return None
    return tuple((position[name], amount) for name, amount in shape.requests)


@dataclass(frozen=True, slots=True, kw_only=True)
class ShapeOn:
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


def shape_on(axis: tuple[str, ...], classes: tuple[NodeClass, ...], shape: PodShape) -> ShapeOn:
    """The shape on that axis."""
    request, asked = request_on(axis, shape), set(shape.requests.names())
    asking = tuple([(p, amount) for p, amount in request or () if amount])
    scarce = tuple([(p, amount) for p, amount in asking if is_device(axis[p])])
    cpu_at = axis.index("cpu") if scarce and "cpu" in axis else None
    return ShapeOn(
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
        takes=tuple([class_takes(kind, shape) for kind in classes]),
        limit=shape.most_per_node() or MOST_PODS,
    )


class Shapes:
    """The shapes that were asked of clusters alike, each worked out once."""

    __slots__ = ("_axis", "_classes", "_known")

    def __init__(self, axis: tuple[str, ...], classes: tuple[NodeClass, ...]) -> None:
        self._axis, self._classes = axis, classes
        self._known: dict[PodShape, ShapeOn] = {}

    def of(self, shape: PodShape) -> ShapeOn:
        """The shape there. The oldest go when there are many, since shapes come from users."""
        found = self._known.get(shape)
        if found is None:
            found = shape_on(self._axis, self._classes, shape)
            if len(self._known) >= _MOST_KEPT:
                del self._known[next(iter(self._known))]
            self._known[shape] = found
        return found
