"""The decision on one workload: the content of the decision annotation."""

import hashlib
from dataclasses import dataclass, replace
from typing import Final

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DecisionId, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.values import to_json

MOST_MOVES: Final = 99
"""The count of moves in a row stops there."""
MOST_EVICTIONS: Final = 3
"""A hold doubles with each eviction up to so many: eight times is the longest."""


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


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Leaver:
    """A workload of which pods leave a cluster for a claim: `amounts` of them, all when `whole`."""

    binding: BindingId
    amounts: Amounts
    whole: bool = True
    cluster: ClusterName = ClusterName("")
    """Where, when it is not the claim's own: it frees a quota then and no room."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class ClaimPart:
    """Room for `amounts` pods in one cluster, under `domain` (None: anywhere there)."""

    cluster: ClusterName
    amounts: Amounts
    domain: DomainId | None = None
    tier: int | None = None


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Claim:
    """Room that is kept for a request that is not admitted yet: its parts, each in one cluster.

    With `victims` it is a wave: they leave, and their room goes to no other job. Without any it is
    a reservation: its whole domain drains. It ends with the admission or at `until`. (since, order)
    is its place in the order in which room was given.
    """

    parts: tuple[ClaimPart, ...]
    """At least one. A gang has one, since it is never split."""
    victims: tuple[Leaver, ...] = ()
    since: Instant
    until: Instant
    order: int = 0

    @property
    def first(self) -> ClaimPart:
        """The part that texts name; a victim without a cluster of its own leaves this one's."""
        return self.parts[0]

    @property
    def amounts(self) -> Amounts:
        """The pods of all parts."""
        found = self.first.amounts
        for one in self.parts[1:]:
            found = found.plus(one.amounts)
        return found

    @property
    def clusters(self) -> tuple[ClusterName, ...]:
        """Where its parts are."""
        return tuple(one.cluster for one in self.parts)

    def leaves(self, victim: Leaver) -> ClusterName:
        """The cluster that a victim leaves."""
        return victim.cluster or self.first.cluster


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Left:
    """A cluster that a workload was withdrawn from at an instant, and where pods may still run.

    It stands until the member shows that nothing is left there. Until then `held` counts against
    the limits of queue and tenant.
    """

    cluster: ClusterName
    at: Instant
    uid: str = ""
    """Of the Cluster object: another member of the same name is another one."""
    held: Resources = Resources()
    amounts: Amounts = Amounts()
    """Its pods there when it was withdrawn; none where that is not known."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Decision:
    """One decision about one workload.

    `id` is a hash of binding id, grants, `at` and `order`, so that two equal decisions at different
    times differ. `order` counts the admissions of one cycle: (at, order) is the order in which
    room was given, which the agents follow. `pending` is growth that was asked for and not
    admitted. A withdrawn workload keeps its decision with no grants and the back-offs.

    `claim` is room that is kept for a workload without grants, or for the growth of one with them.
    `give_up` are, by cluster, surplus pods above the grant that leave to make room. `evicted` is
    when it last had to leave for another one: until its hold after that it claims nothing.
    """

    id: DecisionId
    epoch: int
    at: Instant
    order: int
    grants: tuple[Grant, ...] = ()
    pending: Amounts = Amounts()
    backoffs: tuple[Backoff, ...] = ()
    claim: Claim | None = None
    give_up: tuple[tuple[ClusterName, Amounts], ...] = ()
    evicted: Instant | None = None
    priority: int | None = None
    """The job priority that it was admitted with, which counts while it runs: its PriorityClass may
    go. None: not known, or not admitted."""
    claimed: Instant | None = None
    """When it was admitted by a claim, or after it had to leave: for its hold from then on it is no
    victim of reclaim. None: it came without either."""
    started: Instant | None = None
    """When it was first admitted to where it is, if a later decision changed its amounts; None:
    with this one."""
    evictions: int = 0
    """How often it had to leave for other workloads, up to `MOST_EVICTIONS`: each doubles its hold.
    Forgotten after it ran undisturbed for twice the longest hold."""
    moved: Instant | None = None
    """When it last left a member that could not hold it, for another one."""
    moves: int = 0
    """How many times in a row it moved, each within a day of the one before, up to `MOST_MOVES`."""
    cut: Instant | None = None
    """When surplus of it left last, since `at`; None: none did."""
    recovering: Instant | None = None
    """Since when it goes on with fewer pods than it asks for, because its member had no seat for
    lost ones; it ends when it lacks nothing."""
    called: Instant | None = None
    """When it was asked for a checkpoint, since it has to leave; not a part of the id, as what was
    admitted is the same. None: it may stay."""
    left: tuple[Left, ...] = ()
    """Clusters that it was withdrawn from and that have not shown yet that nothing is left."""

    def grant(self, cluster: ClusterName) -> Grant | None:
        """What was admitted in that cluster."""
        return next((grant for grant in self.grants if grant.cluster == cluster), None)

    def never_placed(self) -> bool:
        """Whether nothing in it tells of a place that its workload has or had."""
        had = self.grants or self.left or self.backoffs or self.evictions or self.give_up
        return not had and self.evicted is None and self.moved is None

    @property
    def runs_since(self) -> Instant:
        """Since when it has its place: growth begins nothing anew."""
        return self.at if self.started is None else self.started

    @property
    def resized(self) -> Instant:
        """When its amounts changed last."""
        return self.at if self.cut is None else max(self.at, self.cut)

    def hold(self, seconds: int) -> int:
        """Its hold as a span of time: `seconds`, doubled with each eviction."""
        return (seconds * SECOND) << self.evictions

    def evictions_after(self, now: Instant, seconds: int) -> int:
        """What `evictions` is when it has to leave now."""
        longest = (seconds * SECOND) << MOST_EVICTIONS
        undisturbed = self.claimed is not None and now >= self.claimed + 2 * longest
        return 1 if undisturbed else min(self.evictions + 1, MOST_EVICTIONS)


def sealed(decision: Decision, binding: BindingId) -> Decision:
    """The decision with the id that its content has."""
    return replace(decision, id=content_id(decision, binding))


def content_id(decision: Decision, binding: BindingId) -> DecisionId:
    """The id that a decision with this content has: 20 hex digits of a SHA-256.

    It is written with the decision, and checked where a decision annotation is read. A claim beside
    grants is for their growth: what was admitted is the same, and so is the id, by which a member
    knows the gang's plan and places and a status is said. Such a claim has a check of its own.
    """
    parts: list[object] = [binding, decision.grants, decision.at, decision.order]
    if decision.claim is not None and not decision.grants:
        parts += _signed(decision.claim)
    for name in (
        "priority",
        "claimed",
        "evictions",
        "started",
        "moved",
        "moves",
        "cut",
        "recovering",
    ):
        value = getattr(decision, name)
        if value is not None and not (name in ("evictions", "moves") and value == 0):
            parts.append({name: value})
    return DecisionId(hashlib.sha256(to_json(parts)).hexdigest()[:20])


def decision_id(
    binding: BindingId,
    grants: tuple[Grant, ...],
    at: Instant,
    order: int,
    claim: Claim | None = None,
    priority: int | None = None,
    claimed: Instant | None = None,
    evictions: int = 0,
) -> DecisionId:
    """The id of a decision with that content (`content_id`)."""
    made = Decision(
        id=DecisionId(""),
        epoch=0,
        at=at,
        order=order,
        grants=grants,
        claim=claim,
        priority=priority,
        claimed=claimed,
        evictions=evictions,
    )
    return content_id(made, binding)


def growth_check(id_: DecisionId, claim: Claim) -> str:
    """What a claim beside grants must carry: it belongs to this decision as it is."""
    return hashlib.sha256(to_json([id_, *_signed(claim)])).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class _OnePart:
    """A claim's content in the order in which ids have always had it."""

    cluster: ClusterName
    amounts: Amounts
    domain: DomainId | None
    tier: int | None
    victims: tuple[Leaver, ...]
    since: Instant
    until: Instant
    order: int


def _signed(claim: Claim) -> list[object]:
    """What of a claim is in an id: its first part as ever, and further ones where it has any."""
    first = claim.first
    found: list[object] = [
        _OnePart(
            cluster=first.cluster,
            amounts=first.amounts,
            domain=first.domain,
            tier=first.tier,
            victims=claim.victims,
            since=claim.since,
            until=claim.until,
            order=claim.order,
        )
    ]
    return [*found, claim.parts[1:]] if claim.parts[1:] else found


def is_whole(decision: Decision, binding: BindingId) -> bool:
    """Whether a decision's id matches its content.

    Those that were written before the priority was a part of it are still read.
    """
    old = replace(decision, priority=None, claimed=None)
    return decision.id in (content_id(decision, binding), content_id(old, binding))
