"""The trial transaction of a cycle: what is given so far, undone or turned into a plan.

Everything that a cycle changes is in here: the clusters' room, what queues and tenants hold, and
the actions. `mark` and `rollback` undo a trial; `plan` is the committed statement.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from global_sched.core.decisions import new_decision, reduced
from global_sched.core.fit.ranking import Ranking
from global_sched.core.fit.rooms import Rooms, RoomsMark
from global_sched.core.fit.standing import Standing, Standings
from global_sched.core.offer import Offer, OfferPart, Refusal, targets_of
from global_sched.core.proof import Doubts
from global_sched.core.quota.dominant_share import Amount, ShareKey
from global_sched.core.quota.ledger import Charge, Ledger
from global_sched.core.quota.water_filling import Ratio
from global_sched.shared.model.decision import Backoff, Decision, Grant, Left
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.last_resort import counting_all
from global_sched.shared.model.plan import (
    Admission,
    Claiming,
    Confirmation,
    Outcome,
    Plan,
    Stays,
    Withdrawal,
)
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.model.workload import Demand, Workload, lacking
from global_sched.shared.placement import Placed, Space


@dataclass(frozen=True, slots=True)
class Mark:
    """A point that a statement can go back to."""

    rooms: RoomsMark
    dead: Mapping[Standing, Refusal]
    admissions: int
    withdrawals: int
    booked: int
    order: int


class Statement:
    """The world of a snapshot with everything that this cycle has decided: the cycle's `View`."""

    def __init__(self, snapshot: Snapshot, policy: Policy, now: Instant) -> None:
        self.snapshot, self.policy, self.now = snapshot, policy, now
        self.ledger = Ledger(snapshot, policy, now)
        self.rooms = Rooms(snapshot.clusters, self)
        self.rooms.expect(one.demand for bucket in snapshot.pending for one in bucket.workloads)
        self.standings = Standings(self, self.rooms)
        self.ranking = Ranking(self, self.rooms, self.ledger)
        self.admissions: list[Admission] = []
        self.withdrawals: list[Withdrawal] = []
        self.confirmations: list[Confirmation] = []
        self.claims: list[Claiming] = []
        self.outcomes: list[Outcome] = []
        self.stays: list[tuple[WorkloadKey, Stays]] = []
        self.decided: set[WorkloadKey] = set()
        self._booked: list[tuple[Callable[[Charge, int], None], Charge, int]] = []
        """What was changed in the ledger, in order: held, set aside, or used by pods that leave."""
        self._order = 0
        self._doubts = Doubts()
        self._counting_all: dict[int, tuple[Demand, Demand]] = {}
        """By a demand's identity, which it keeps: the demand with nodes of last resort."""

    def queue(self, name: QueueName) -> Queue:
        """The queue; one with defaults when there is none of that name."""
        return self.ledger.queue(name)

    def queue_path(self, name: QueueName) -> tuple[QueueName, ...]:
        """The queue and all above it, to the root."""
        return self.ledger.entitlements.path(name)

    def queues_below(self, name: QueueName) -> bool:
        """Whether it has queues below it."""
        return bool(self.ledger.node(name).children)

    def queue_standing(self, name: QueueName, wanted: tuple[str, ...] | None) -> tuple[bool, Ratio]:
        """Whether it has what it deserves of what its next workload wants, and its share."""
        return self.ledger.entitlements.standing(self.ledger.node(name), wanted)

    def touched(self) -> set[tuple[QueueName, TenantName]]:
        """In which queues whose amounts changed since this was last asked."""
        return self.ledger.take_touched()

    def shares_fallen(self) -> int:
        """How often anything was given back: shares may be less than before."""
        return self.ledger.given_back

    def tenant_changes(self, name: TenantName) -> int:
        """How often the tenant's amounts changed: as long as they did not, its shares stay."""
        return self.ledger.tenant_changes.get(name, 0)

    def tenant_share(self, name: TenantName) -> ShareKey:
        """How much the tenant holds, weighted."""
        return self.ledger.tenant_share(name)

    def tenant_share_in(self, queue: QueueName, name: TenantName) -> ShareKey:
        """How much the tenant holds through one queue, weighted."""
        return self.ledger.tenant_share_in(queue, name)

    def capped_clusters(self, queue: QueueName) -> frozenset[ClusterName]:
        """Clusters in which the queue or one above it has a limit of its own."""
        return self.ledger.capped_clusters(queue)

    def refusal(
        self, workload: Workload, cluster: ClusterName, amount: Resources
    ) -> Verdict | None:
        """Why the limits do not let it hold that much more in a cluster, None when they do."""
        return self.ledger.refusal(workload, cluster, amount)

    def held(self, tenant: TenantName, cluster: ClusterName) -> Amount:
        """What the tenant holds in a cluster."""
        return self.ledger.held(tenant, cluster)

    def total(self, cluster: ClusterName) -> Resources:
        """What a cluster's nodes have in all."""
        return self.rooms.rooms[self.rooms.position[cluster]].total

    def counting_all(self, workload: Workload) -> Workload:
        """The workload as one that may use nodes of last resort; equal demands stay one object."""
        demand = workload.demand
        known = self._counting_all.get(id(demand))
        if known is None:
            gang = None if demand.gang is None else counting_all(demand.gang)
            known = self._counting_all[id(demand)] = (demand, replace(demand, gang=gang))
        return replace(workload, demand=known[1])

    # The transaction

    def mark(self) -> Mark:
        """A point to go back to. Marks nest: the last one is ended first, by either way."""
        return Mark(
            rooms=self.rooms.mark(),
            dead=self.standings.mark(),
            admissions=len(self.admissions),
            withdrawals=len(self.withdrawals),
            booked=len(self._booked),
            order=self._order,
        )

    def rollback(self, mark: Mark) -> None:
        """Undo everything since the mark: admissions, withdrawals, charges, releases, room."""
        for change, charge, times in reversed(self._booked[mark.booked :]):
            change(charge, -times)
        del self._booked[mark.booked :]
        undone = [one.workload for one in self.admissions[mark.admissions :]]
        undone += [one.workload for one in self.withdrawals[mark.withdrawals :]]
        self.decided.difference_update(undone)
        self._doubts.forget(undone)
        del self.admissions[mark.admissions :]
        del self.withdrawals[mark.withdrawals :]
        self._order = mark.order
        self.rooms.rollback(mark.rooms)
        self.standings.revive(mark.dead)

    def commit(self) -> None:
        """Keep everything since the last mark."""
        self.rooms.commit()

    def admit(self, workload: Workload, offer: Offer) -> Admission:
        """Take the offered room, charge it, and write the decision."""
        gang = workload.demand.gang
        for part in offer.parts:
            if part.placed is None or gang is None:
                continue
            amount = self.standings.of(workload).requests(gang, part.placed.amounts)
            self.take(workload, part, part.placed, amount)
        decision = self.decide(workload, offer.grants)
        return self.write(workload, decision, offer.affinity)

    def take(self, workload: Workload, part: OfferPart, placed: Placed, amount: Resources) -> None:
        """The workload has this room from now on, and is charged for it."""
        self.rooms.take(part.at, placed, amount)
        self.charge(workload, part.cluster, amount)
        self._doubts.note(workload.key, placed)

    def write(
        self,
        workload: Workload,
        decision: Decision,
        affinity: str,
        *,
        makes_room_for: WorkloadKey | None = None,
    ) -> Admission:
        """Plan the write of a decision and the clusters that it grants."""
        admission = Admission(
            workload=workload.key,
            uid=workload.uid,
            resource_version=workload.resource_version,
            decision=self.of_term(decision),
            targets=targets_of(decision.grants),
            affinity=affinity,
            makes_room_for=makes_room_for,
            disbelieved=workload.forged,
        )
        self.admissions.append(admission)
        self.decided.add(workload.key)
        return admission

    def withdraw(
        self,
        workload: Workload,
        grant: Grant,
        decision: Decision,
        reason: str,
        message: str,
        others: tuple[Grant, ...] = (),
        *,
        makes_room_for: WorkloadKey | None = None,
    ) -> None:
        """Plan to take the workload back from one cluster; the decision says what stays.

        `others` are further clusters that it leaves with the same write. What it held there counts
        against the limits, for everything that comes after, until the members show that it is gone.
        """
        left = tuple(one for gone in (grant, *others) for one in self._left(workload, gone))
        names = {one.cluster for one in left}
        kept = (one for one in decision.left if one.cluster not in names)
        decision = replace(decision, left=tuple(sorted((*kept, *left))))
        self.withdrawals.append(
            Withdrawal(
                workload=workload.key,
                uid=workload.uid,
                resource_version=workload.resource_version,
                cluster=grant.cluster,
                replicas=grant.replicas,
                targets=targets_of(decision.grants),
                decision=self.of_term(decision),
                reason=reason,
                message=message,
                others=targets_of(others),
                makes_room_for=makes_room_for,
            )
        )
        self.decided.add(workload.key)

    def _left(self, workload: Workload, grant: Grant) -> Iterator[Left]:
        """The cluster that it leaves, as its decision has it from now on; none where it is gone."""
        at, gang = self.rooms.position.get(grant.cluster), workload.demand.gang
        if at is None:
            return
        amounts = workload.held(grant)
        held = Resources() if gang is None else gang.requests(amounts)
        self.leave(workload, grant.cluster, held)
        uid = self.rooms.rooms[at].cluster.uid
        yield Left(cluster=grant.cluster, at=self.now, uid=uid, held=held, amounts=amounts)

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
        self._book(self.ledger.charge, Charge(workload.queue, workload.tenant, cluster, amount), 1)

    def release(self, workload: Workload, cluster: ClusterName, amount: Resources) -> None:
        """It holds that much less quota from now on; room of this cycle is made by `make_room`."""
        self._book(self.ledger.charge, Charge(workload.queue, workload.tenant, cluster, amount), -1)

    def shrink(self, workload: Workload, cluster: ClusterName, amount: Resources) -> None:
        """It holds that much less, and the limits count it still: its pods have not ended yet."""
        self.release(workload, cluster, amount)
        self.leave(workload, cluster, amount)

    def leave(self, workload: Workload, cluster: ClusterName, amount: Resources) -> None:
        """Limits count that much more for the rest of the cycle: pods of it that have to end."""
        charge = Charge(workload.queue, workload.tenant, cluster, amount)
        self._book(self.ledger.leave, charge, 1)

    def set_aside(
        self, workload: Workload, cluster: ClusterName, amount: Resources, times: int = 1
    ) -> None:
        """So much more is kept for it while it waits, or less; it holds none of that."""
        charge = Charge(workload.queue, workload.tenant, cluster, amount)
        self._book(self.ledger.set_aside, charge, times)

    def _book(self, change: Callable[[Charge, int], None], charge: Charge, times: int) -> None:
        self._booked.append((change, charge, times))
        change(charge, times)

    def make_room(self, at: int, change: Callable[[Space], object], amount: Resources) -> None:
        """Make room in a cluster, as `Rooms.give` says; refused workloads are asked again.

        Between `mark` and `rollback` this is a trial, and costs one question per workload that is
        asked in between; who was refused for good before is so again after the rollback.
        """
        self.rooms.give(at, change, amount)
        self.standings.revive()

    def decide(
        self,
        workload: Workload,
        grants: tuple[Grant, ...],
        backoffs: tuple[Backoff, ...] | None = None,
    ) -> Decision:
        """A new decision, next in the order in which room is given."""
        if len(grants) > 1:
            grants = tuple(sorted(grants, key=lambda grant: grant.cluster))
        return new_decision(
            workload,
            grants,
            (self.now, self.next_order()),
            epoch=self.snapshot.epoch,
            pending=self._pending(workload, grants),
            backoffs=self.backoffs(workload) if backoffs is None else backoffs,
        )

    def of_term(self, decision: Decision) -> Decision:
        """The decision as it is written: whatever of it is older, the present term writes it.

        One with an earlier epoch would be refused, or judged as a late write.
        """
        epoch = self.snapshot.epoch
        return decision if decision.epoch == epoch else replace(decision, epoch=epoch)

    def next_order(self) -> int:
        """The next place in the order in which this cycle gives room."""
        order, self._order = self._order, self._order + 1
        return order

    def _pending(self, workload: Workload, grants: tuple[Grant, ...]) -> Amounts:
        """Growth that these grants leave out; most leave out nothing."""
        wanted = self.standings.of(workload).wanted.entries
        if not grants or (len(grants) == 1 and grants[0].amounts.entries == wanted):
            return Amounts()
        return lacking(workload.demand, grants)

    def redecide(self, workload: Workload, grants: tuple[Grant, ...]) -> Decision:
        """The decision with fewer grants (`decisions.reduced`)."""
        return reduced(workload, grants, self.snapshot.epoch)

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
            claims=tuple(self.claims),
            outcomes=tuple(self.outcomes),
            unproven=self._doubts.unproven(self.decided, self.outcomes),
            stays=tuple(self.stays),
        )
