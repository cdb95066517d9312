"""Every filter and score there is, by name: the one place to add one.

- `filter(workload, cluster, view) -> Verdict`: `PASS` or the refusal; the first refusal counts.
- `score(subject, view) -> 0..100`: more is better; `Policy.score_weights` has the weight by
  the same name. Those of `CLUSTER_SCORES` take arrays over clusters in place of numbers, too.

Plain functions in dict literals: nothing registers itself.
"""

from collections.abc import Callable, Mapping

from global_sched.core.fit import filters, scores
from global_sched.core.fit.scores import BEST, Ints, Mask, Numbers, ScoreInput
from global_sched.core.view import CycleView
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.policy import ScoreWeights
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Workload

Filter = Callable[[Workload, Cluster, CycleView], Verdict]
Score = Callable[[ScoreInput, CycleView], Numbers]


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


class WeightedScore:
    """The sum of the scores of one table, each multiplied by its weight in the Policy."""

    def __init__(self, table: Mapping[str, Callable[..., Numbers]], weights: ScoreWeights) -> None:
        self._parts: list[tuple[int, Callable[..., Numbers]]] = [
            (getattr(weights, name), score) for name, score in table.items()
        ]

    def of(self, *subject: object) -> Numbers:
        """The sum for what the table's scores are asked about: a number, or one per cluster."""
        total: Numbers = 0
        for weight, score in self._parts:
            total = total + weight * score(*subject)
        return total

    def best(self) -> int:
        """The sum where every score is the best."""
        return BEST * sum(weight for weight, _ in self._parts)
