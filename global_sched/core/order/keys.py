"""Every order there is, by name: the one place to add one.

`order(item, view) -> key`: less goes first; the rules of a level apply in their order here. Plain
functions in dict literals: nothing registers itself.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from global_sched.core.order.ageing import aged
from global_sched.core.quota.dominant_share import ShareKey
from global_sched.core.quota.water_filling import Ratio
from global_sched.core.view import CycleView
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Workload


class Sibling(NamedTuple):
    """A queue between its brothers: what orders them.

    `saturated` says whether it has all that it deserves of something that its next workload asks
    for, `share` is of its deserved, divided by its weight; its excess once it is saturated.
    """

    queue: Queue
    saturated: bool
    share: Ratio


def _queue_priority(place: Sibling) -> int:
    return -place.queue.priority


def _saturated(place: Sibling) -> bool:
    return place.saturated


def _queue_share(place: Sibling) -> float:
    return place.share.key()


def _queue_name(place: Sibling) -> str:
    return place.queue.name


def effective_priority(workload: Workload, view: CycleView) -> int:
    """The job's priority, raised by how long it waits."""
    if workload.targets:
        return workload.priority
    return aged(workload.priority, workload.created, view.now, view.policy)


def _priority(workload: Workload, view: CycleView) -> int:
    return -effective_priority(workload, view)


def _share_in_queue(workload: Workload, view: CycleView) -> ShareKey:
    return view.tenant_share_in(workload.queue, workload.tenant)


def _tenant_share(workload: Workload, view: CycleView) -> ShareKey:
    return view.tenant_share(workload.tenant)


def _creation(workload: Workload, view: CycleView) -> int:  # noqa: ARG001 - an order's signature
    return workload.created


def _uid(workload: Workload, view: CycleView) -> str:  # noqa: ARG001 - an order's signature
    return workload.uid


QUEUE_ORDER: Mapping[str, Callable[[Sibling], object]] = {
    "priority": _queue_priority,
    "saturated": _saturated,
    "share": _queue_share,
    "name": _queue_name,
}
"""Between the queues of one parent, at every level of the tree."""

WORKLOAD_ORDER: Mapping[str, Callable[[Workload, CycleView], object]] = {
    "priority": _priority,
    "share-in-queue": _share_in_queue,
    "tenant-share": _tenant_share,
    "creation": _creation,
    "uid": _uid,
}
"""Inside a leaf."""

MOVING = frozenset({"share-in-queue", "tenant-share"})
"""Those of them that change during a cycle; they depend on the queue and the tenant only."""
