"""Every order, filter and score there is, by name: the one place to add one.

- `order(item, view) -> key`: less goes first; the rules of a level apply in their order here.
- `filter(workload, cluster, view) -> Verdict`: `PASS` or the refusal; the first refusal counts.
- `score(subject, view) -> 0..100`: more is better; `Policy.score_weights` has the weight by
  the same name.

Plain functions in dict literals: nothing registers itself.
"""

from collections.abc import Callable, Mapping

from global_sched.core import filters, scores
from global_sched.core.fairness import ShareKey
from global_sched.core.scores import Subject
from global_sched.core.view import View
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload

Filter = Callable[[Workload, Cluster, View], Verdict]
Score = Callable[[Subject, View], int]


def _queue_priority(queue: Queue, view: View) -> int:  # noqa: ARG001 - an order's signature
    return -queue.priority


def _queue_share(queue: Queue, view: View) -> ShareKey:
    return view.queue_share(queue.name)


def _queue_name(queue: Queue, view: View) -> str:  # noqa: ARG001 - an order's signature
    return queue.name


def _priority(workload: Workload, view: View) -> int:  # noqa: ARG001 - an order's signature
    return -workload.priority


def _tenant_share(workload: Workload, view: View) -> ShareKey:
    return view.tenant_share(workload.tenant)


def _creation(workload: Workload, view: View) -> int:  # noqa: ARG001 - an order's signature
    return workload.created


def _uid(workload: Workload, view: View) -> str:  # noqa: ARG001 - an order's signature
    return workload.uid


QUEUE_ORDER: Mapping[str, Callable[[Queue, View], object]] = {
    "priority": _queue_priority,
    "share": _queue_share,
    "name": _queue_name,
}

WORKLOAD_ORDER: Mapping[str, Callable[[Workload, View], object]] = {
    "priority": _priority,
    "tenant-share": _tenant_share,
    "creation": _creation,
    "uid": _uid,
}

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
}
"""Their answer depends on the one workload; they are asked only where it has such an entry."""

CLUSTER_SCORES: Mapping[str, Score] = {
    "topology": scores.topology,
    "packing": scores.packing,
}
"""They depend on the demand and on the room in the cluster."""

TENANT_SCORES: Mapping[str, Callable[..., int]] = {
    "balance": scores.balance,
}
"""They depend on what the tenant holds in the cluster."""

WORKLOAD_SCORES: Mapping[str, Callable[..., int]] = {
    "locality": scores.locality,
}
"""They depend on where the workload is."""
