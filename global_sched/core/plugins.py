"""Every order, filter and score there is, by name: the one place to add one.

- `order(item, view) -> key`: less goes first; the rules of a level apply in their order here.
- `filter(workload, cluster, view) -> Verdict`: `PASS` or the refusal; the first refusal counts.
- `score(subject, view) -> 0..100`: more is better; `Policy.score_weights` has the weight by
  the same name. Those of `CLUSTER_SCORES` take arrays over clusters in place of numbers, too.

Plain functions in dict literals: nothing registers itself.
"""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from global_sched.core import filters, scores
from global_sched.core.ageing import aged
from global_sched.core.fairness import ShareKey
from global_sched.core.scores import Ints, Mask, Numbers, Subject
from global_sched.core.sharing import Ratio
from global_sched.core.view import View
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload

Filter = Callable[[Workload, Cluster, View], Verdict]
Score = Callable[[Subject, View], Numbers]


class Place(NamedTuple):
    """A queue between its brothers: what orders them.

    `saturated` says whether it has all that it deserves of something that its next workload asks
    for, `share` is of its deserved, divided by its weight; its excess once it is saturated.
    """

    queue: Queue
    saturated: bool
    share: Ratio


def _queue_priority(place: Place) -> int:
    return -place.queue.priority


def _saturated(place: Place) -> bool:
    return place.saturated


def _queue_share(place: Place) -> float:
    return place.share.key()


def _queue_name(place: Place) -> str:
    return place.queue.name


def effective_priority(workload: Workload, view: View) -> int:
    """The job's priority, raised by how long it waits."""
    if workload.targets:
        return workload.priority
    return aged(workload.priority, workload.created, view.now, view.policy)


def _priority(workload: Workload, view: View) -> int:
    return -effective_priority(workload, view)


def _share_in_queue(workload: Workload, view: View) -> ShareKey:
    return view.tenant_share_in(workload.queue, workload.tenant)


def _tenant_share(workload: Workload, view: View) -> ShareKey:
    return view.tenant_share(workload.tenant)


def _creation(workload: Workload, view: View) -> int:  # noqa: ARG001 - an order's signature
    return workload.created


def _uid(workload: Workload, view: View) -> str:  # noqa: ARG001 - an order's signature
    return workload.uid


QUEUE_ORDER: Mapping[str, Callable[[Place], object]] = {
    "priority": _queue_priority,
    "saturated": _saturated,
    "share": _queue_share,
    "name": _queue_name,
}
"""Between the queues of one parent, at every level of the tree."""

WORKLOAD_ORDER: Mapping[str, Callable[[Workload, View], object]] = {
    "priority": _priority,
    "share-in-queue": _share_in_queue,
    "tenant-share": _tenant_share,
    "creation": _creation,
    "uid": _uid,
}
"""Inside a leaf."""

MOVING = frozenset({"share-in-queue", "tenant-share"})
"""Those of them that change during a cycle; they depend on the queue and the tenant only."""

DEMAND_FILTERS: Mapping[str, Filter] = {
    "affinity": filters.affinity,
    "terminating": filters.terminating,
    "ready": filters.ready,
    "taints": filters.taints,
    "spread": filters.spread_field,
    "kind": filters.kind_enabled,
    "report": filters.reported,
    "binder": filters.binder,
    "honoured": filters.honoured,
    "devices": filters.devices,
}
"""Their answer depends on the demand and the cluster only."""

COPY_FILTERS: Mapping[str, Filter] = {
    name: DEMAND_FILTERS[name]
    for name in ("affinity", "terminating", "ready", "taints", "spread", "kind")
}
"""For objects without demand: no report and nobody to bind anything."""

WORKLOAD_FILTERS: Mapping[str, Filter] = {
    "leaving": filters.leaving,
    "back-off": filters.backing_off,
    "limits": filters.limited,
}
"""Their answer depends on the one workload; they are asked only where it has such an entry."""

CLUSTER_SCORES: Mapping[str, Score] = {
    "topology": scores.topology,
    "tightness": scores.tightness,
    "packing": scores.packing,
}
"""They depend on the demand and on the room in the cluster."""

CHOICE_SCORES: Mapping[str, Callable[[Ints, Mask], Ints]] = {
    "shape": scores.shape,
}
"""They compare the clusters that fit by how the demand goes with what they have; only for what is
nowhere yet and has no topology constraint: where it is, and its tier, come first."""

TENANT_SCORES: Mapping[str, Callable[..., int]] = {
    "balance": scores.balance,
}
"""They depend on what the tenant holds in the cluster: 100 where it holds nothing."""

WORKLOAD_SCORES: Mapping[str, Callable[..., int]] = {
    "locality": scores.locality,
}
"""They depend on where the workload is."""
