"""The trial transaction of a cycle: what is given so far, undone or turned into a plan.

Everything that a cycle changes is in here: the clusters' room, what queues and tenants hold, and
the actions. `mark` and `rollback` undo a trial; `plan` is the committed statement.
"""

from dataclasses import dataclass, replace

import numpy as np

from global_sched.core.fairness import Amount, ShareKey
from global_sched.core.ledger import Charge, Ledger
from global_sched.core.offer import Offer
from global_sched.core.plugins import TENANT_SCORES, WORKLOAD_SCORES
from global_sched.core.rooms import Ask, Ints, Mask, Rooms, RoomsMark
from global_sched.core.standing import Standings
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Backoff, Decision, Grant, decision_id
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.plan import Admission, Confirmation, Outcome, Plan, Withdrawal
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import ClusterVerdict, Verdict
from global_sched.shared.model.workload import Target, Workload, lacking


@dataclass(frozen=True, slots=True)
class Mark:
    """A point that a statement can go back to."""

    rooms: RoomsMark
    admissions: int
    charges: int
    order: int


class Statement:
    """The world of a snapshot with everything that this cycle has decided: the cycle's `View`."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: Instant) -> None:
        self.snapshot, self.policy, self.now = snapshot, policy, now
        self.ledger = Ledger(snapshot)
        self.rooms = Rooms(snapshot.clusters, self)
        self.standings = Standings(self, self.rooms)
        self.admissions: list[Admission] = []
        self.withdrawals: list[Withdrawal] = []
        self.confirmations: list[Confirmation] = []
        self.outcomes: list[Outcome] = []
        self.decided: set[WorkloadKey] = set()
        self._charges: list[Charge] = []
        self._order = 0
        self._tenant_scores: dict[TenantName, Ints] = {}

    # The view

    def queue(self, name: QueueName) -> Queue:
        """The queue; one with defaults when there is none of that name."""
        return self.ledger.queue(name)

    def queue_share(self, name: QueueName) -> ShareKey:
        """How much the queue holds, weighted."""
        return self.ledger.queue_share(name)

    def tenant_share(self, name: TenantName) -> ShareKey:
        """How much the tenant holds, weighted."""
        return self.ledger.tenant_share(name)

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster."""
        return self.ledger.held(tenant, cluster)

    def total(self, cluster: ClusterName) -> Resources:
        """What a cluster's nodes have in all."""
        return self.rooms.rooms[self.rooms.position[cluster]].total

    # Ranking

    def scores(self, workload: Workload, ask: Ask) -> Ints:
        """The weighted sums by cluster position, valid where the ask just fitted."""
        scores: Ints = ask.base + self._balance(workload)
        for target in workload.targets:
            at = self.rooms.position.get(target.cluster)
            if at is not None:
                scores[at] += self._local(workload, self.rooms.rooms[at].cluster)
        return scores

    def place_score(self, workload: Workload, cluster: Cluster) -> int:
        """The weighted sum of the scores that depend on tenant and workload, in one cluster."""
        at = self.rooms.position[cluster.name]
        return int(self._balance(workload)[at]) + self._local(workload, cluster)

    def _local(self, workload: Workload, cluster: Cluster) -> int:
        weights = self.policy.score_weights
        return sum(
            getattr(weights, name) * score(workload, cluster, self)
            for name, score in WORKLOAD_SCORES.items()
        )

    def ranked(self, workload: Workload, ask: Ask, fits: Mask) -> list[tuple[int, int]]:
        """The fitting clusters as (position, score), best first, ties by name."""
        scores = self.scores(workload, ask)
        found = [(at, int(scores[at])) for at in np.flatnonzero(fits).tolist()]
        return sorted(found, key=lambda one: (-one[1], one[0]))

    def best(self, workload: Workload, ask: Ask, fits: Mask) -> tuple[int, int] | None:
        """The best fitting cluster as (position, score); None when none fits."""
        if not fits.any():
            return None
        scores = np.where(fits, self.scores(workload, ask), -1)
        at = int(scores.argmax())
        return at, int(scores[at])

    def _balance(self, workload: Workload) -> Ints:
        """The weighted scores that depend on what the tenant holds, by cluster position."""
        scores = self._tenant_scores.get(workload.tenant)
        moved = self.ledger.moved(workload.tenant)
        if scores is None:
            scores = np.zeros(len(self.rooms.rooms), dtype=np.int64)
            self._tenant_scores[workload.tenant] = scores
            moved = set(self.rooms.position)
        for name in moved:
            at = self.rooms.position.get(name)
            if at is not None:
                scores[at] = sum(
                    getattr(self.policy.score_weights, key)
                    * score(workload, self.rooms.rooms[at].cluster, self)
                    for key, score in TENANT_SCORES.items()
                )
        return scores

    # The transaction

    def mark(self) -> Mark:
        """A point to go back to; one at a time."""
        return Mark(self.rooms.mark(), len(self.admissions), len(self._charges), self._order)

    def rollback(self, mark: Mark) -> None:
        """Undo every admission since the mark."""
        for charge in reversed(self._charges[mark.charges :]):
            self.ledger.charge(charge, -1)
        del self._charges[mark.charges :]
        for admission in self.admissions[mark.admissions :]:
            self.decided.discard(admission.workload)
        del self.admissions[mark.admissions :]
        self._order = mark.order
        self.rooms.rollback(mark.rooms)
        self.standings.revive()

    def commit(self) -> None:
        """Keep everything since the mark."""
        self.rooms.commit()

    def admit(self, workload: Workload, offer: Offer) -> Admission:
        """Take the offered room, charge it, and write the decision."""
        gang = workload.demand.gang
        for part in offer.parts:
            if part.placed is None or gang is None:
                continue
            amount = gang.requests(part.placed.amounts)
            self.rooms.take(part.at, part.placed, amount)
            self.charge(workload, part.cluster, amount)
        decision = self.decide(workload, offer.grants)
        return self.write(workload, decision, offer.affinity)

    def write(self, workload: Workload, decision: Decision, affinity: str) -> Admission:
        """Plan the write of a decision and the clusters that it grants."""
        admission = Admission(
            workload=workload.key,
            uid=workload.uid,
            resource_version=workload.resource_version,
            decision=decision,
            targets=targets_of(decision.grants),
            affinity=affinity,
        )
        self.admissions.append(admission)
        self.decided.add(workload.key)
        return admission

    def withdraw(
        self, workload: Workload, grant: Grant, decision: Decision, reason: str, message: str
    ) -> None:
        """Plan to take the workload back from one cluster; the decision says what stays."""
        self.withdrawals.append(
            Withdrawal(
                workload=workload.key,
                uid=workload.uid,
                resource_version=workload.resource_version,
                cluster=grant.cluster,
                replicas=grant.replicas,
                targets=targets_of(decision.grants),
                decision=decision,
                reason=reason,
                message=message,
            )
        )
        self.decided.add(workload.key)

    def confirm(self, workload: Workload, *, scheduled_now: bool) -> None:
        """Plan to bring the status up to date."""
        self.confirmations.append(
            Confirmation(
                workload=workload.key,
                uid=workload.uid,
                resource_version=workload.resource_version,
                generation=workload.generation,
                scheduled_now=scheduled_now,
            )
        )
        self.decided.add(workload.key)

    def charge(self, workload: Workload, cluster: ClusterName, amount: Resources) -> None:
        """The workload holds that much more."""
        charge = Charge(workload.queue, workload.tenant, cluster, amount)
        self._charges.append(charge)
        self.ledger.charge(charge)

    def release(self, workload: Workload, cluster: ClusterName, amount: Resources) -> None:
        """The workload holds that much less, from now on in this cycle."""
        self.ledger.charge(Charge(workload.queue, workload.tenant, cluster, amount), -1)

    def decide(
        self,
        workload: Workload,
        grants: tuple[Grant, ...],
        backoffs: tuple[Backoff, ...] | None = None,
    ) -> Decision:
        """A new decision, next in the order in which room is given."""
        grants = tuple(sorted(grants, key=lambda grant: grant.cluster))
        order, self._order = self._order, self._order + 1
        return Decision(
            id=decision_id(workload.binding_id, grants, self.now, order),
            epoch=self.snapshot.epoch,
            at=self.now,
            order=order,
            grants=grants,
            pending=lacking(workload.demand, grants) if grants else Amounts(),
            backoffs=self.backoffs(workload) if backoffs is None else backoffs,
        )

    def redecide(self, workload: Workload, grants: tuple[Grant, ...]) -> Decision:
        """The decision with fewer grants, at its old place in the order in which room was given.

        A new place would let those that came later take the room first.
        """
        old = workload.decision
        assert old is not None
        made = decision_id(workload.binding_id, grants, old.at, old.order)
        pending = lacking(workload.demand, grants)
        return replace(old, id=made, epoch=self.snapshot.epoch, grants=grants, pending=pending)

    def backoffs(self, workload: Workload) -> tuple[Backoff, ...]:
        """The back-offs that still count: a failure is forgotten one longest back-off after it."""
        if workload.decision is None:
            return ()
        oldest = self.now - self.policy.backoff_limit_seconds * SECOND
        return tuple(one for one in workload.decision.backoffs if one.until > oldest)

    def limit_reached(self) -> bool:
        """Whether this cycle has admitted as much as the Policy lets one cycle admit."""
        return len(self.admissions) >= self.policy.admissions_per_cycle

    def plan(self) -> Plan:
        """What was decided."""
        return Plan(
            admissions=tuple(self.admissions),
            withdrawals=tuple(self.withdrawals),
            confirmations=tuple(self.confirmations),
            outcomes=tuple(self.outcomes),
        )


def targets_of(grants: tuple[Grant, ...]) -> tuple[Target, ...]:
    """The entries of `spec.clusters` for these grants."""
    return tuple(Target(cluster=grant.cluster, replicas=grant.replicas) for grant in grants)


def outcome_of(
    workload: Workload,
    verdict: Verdict,
    *,
    nearest: ClusterName | None = None,
    clusters: tuple[ClusterVerdict, ...] = (),
    position: int = 0,
) -> Outcome:
    """How a workload leaves the cycle."""
    return Outcome(
        workload=workload.key,
        queue=workload.queue,
        tenant=workload.tenant,
        verdict=verdict,
        nearest=nearest,
        clusters=clusters,
        position=position,
    )
