"""What was decided for one workload: the content of the decision annotation."""

import hashlib
from dataclasses import dataclass

from global_sched.shared.model.codec import to_json
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DecisionId, DomainId
from global_sched.shared.model.instant import Instant


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Grant:
    """What was admitted in one cluster.

    `replicas` is what stands in `spec.clusters` (None: the entry has none, the Directive caps it).
    `domain` is the smallest HyperNode that encloses the placement; None with no tree.
    """

    cluster: ClusterName
    amounts: Amounts
    replicas: int | None = None
    domain: DomainId | None = None
    tier: int | None = None
    tier_name: str = ""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Backoff:
    """A cluster to leave out until an instant, after it could not place this workload."""

    cluster: ClusterName
    until: Instant
    failures: int = 1
    reason: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about one workload.

    `id` is a hash of binding id, grants, `at` and `order`, so that two equal decisions at different
    times differ. `order` counts the admissions of one cycle: (at, order) is the order in which
    room was given, which the agents follow. `pending` is growth that was asked for and not
    admitted. A withdrawn workload keeps its decision with no grants and the back-offs.
    """

    id: DecisionId
    epoch: int
    at: Instant
    order: int
    grants: tuple[Grant, ...] = ()
    pending: Amounts = Amounts()
    backoffs: tuple[Backoff, ...] = ()

    def grant(self, cluster: ClusterName) -> Grant | None:
        """What was admitted in that cluster."""
        return next((grant for grant in self.grants if grant.cluster == cluster), None)


def decision_id(
    binding: BindingId, grants: tuple[Grant, ...], at: Instant, order: int
) -> DecisionId:
    """The id that a decision with this content has: 20 hex digits of a SHA-256.

    Whoever decides writes it, and whoever reads a decision annotation checks it.
    """
    content = to_json([binding, grants, at, order])
    return DecisionId(hashlib.sha256(content).hexdigest()[:20])
