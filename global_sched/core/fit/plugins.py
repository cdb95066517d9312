"""Every filter and score there is, by name: the one place to add one.

- `filter(workload, cluster, view) -> Verdict`: `PASS` or the refusal; the first refusal counts.
- `score(subject, view) -> 0..100`: more is better; `Policy.score_weights` has the weight by
  the same name. Those of `CLUSTER_SCORES` take arrays over clusters in place of numbers, too.

Plain functions in dict literals: nothing registers itself.
"""

from collections.abc import Callable, Mapping

from global_sched.core.fit import filters, scores
from global_sched.core.fit.scores import Ints, Mask, Numbers, Subject
from global_sched.core.view import View
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload

Filter = Callable[[Workload, Cluster, View], Verdict]
Score = Callable[[Subject, View], Numbers]


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
"""For objects without demand: neither a report nor a scheduler is needed."""

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
