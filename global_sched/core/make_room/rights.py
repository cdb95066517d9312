"""Who may be taken from for whom: preemption in a queue, reclaim between queues."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask
from global_sched.core.make_room.hold_window import within_guarantee
from global_sched.core.make_room.leaving import Blocked, QueueResources, Unit
from global_sched.core.make_room.occupancy import Holder, may_ever_leave
from global_sched.core.make_room.refill import Refill
from global_sched.core.make_room.trial_room import release_all
from global_sched.core.offer import Offer
from global_sched.core.order.ageing import overtook
from global_sched.core.quota.limits import fits
from global_sched.core.quota.reclaim import Reclaim
from global_sched.core.statement import Statement
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.workload import Workload


class Rights:
    """One claimant's rights. `amount` is what its minimum asks for."""

    takes_surplus = True
    """Whether pods beyond a gang's minimum may leave without it."""
    takes_gangs = True
    """Whether anything else may leave."""

    def __init__(self, claimant: Workload, amount: Resources, statement: Statement) -> None:
        self.claimant, self.amount = claimant, amount
        self._statement = statement
        self._entitlement: Reclaim = statement.ledger.entitlements
        self._bounds = statement.ledger.bounds(claimant.queue, claimant.tenant)
        self._capped = statement.ledger.capped_clusters(claimant.queue)
        self._distances: dict[QueueName, int] = {}
        self.lately: Mask = np.zeros(0, dtype=np.bool_)
        """Holders of other queues of which only surplus may leave yet: their hold protects them."""
        self.overtaken_by: Mask = np.zeros(0, dtype=np.bool_)
        """Holders of lower priority that came before the claimant by ageing."""

    def holders(self, field: AllRows, gone: Mask) -> Mask:
        """The holders that may leave for the claimant, as far as one looks at each alone.

        Whether a queue gives that much, with everything else that leaves, is asked unit by unit.
        """
        own = np.array([queue == self.claimant.queue for queue in field.queues], dtype=np.bool_)
        lower = own[field.queue] & (field.priority < self.claimant.priority)
        lower &= field.may_leave & ~gone
        self.overtaken_by = self._overtaken_by(field, lower)
        lower &= ~self.overtaken_by
        others = np.zeros(len(field.queues), dtype=np.bool_)
        if self._entitlement.may_reclaim(self.claimant.queue, self.amount):
            others = self._giving(field, lower)
        found: Mask = (lower | others[field.queue]) & field.may_leave & ~gone
        self.lately = found & self._lately(field) & ~own[field.queue]
        surplus = [bool(one.surplus) and self.takes_surplus for one in field.holders]
        found &= ~self.lately | np.array(surplus, dtype=np.bool_)
        for at in field.holders_of(self.claimant.key):  # one that grows does not leave for itself
            found[at] = False
        return found

    def lately_given(self, field: AllRows) -> int:
        """How many of `lately` it could take from, were that not so: each asked alone."""
        found = 0
        for at in self.lately.nonzero()[0].tolist():
            one = field.holders[at]
            unit = Unit(at=at, holder=one, amount=one.amount, reclaim=self.reclaims(one))
            found += self.permits(unit)
        return found

    def _overtaken_by(self, field: AllRows, lower: Mask) -> Mask:
        found, policy = np.zeros(len(lower), dtype=np.bool_), self._statement.policy
        if policy.ageing_period_seconds > 0:
            for at in lower.nonzero()[0].tolist():
                found[at] = overtook(field.holders[at].workload, self.claimant, policy)
        return found

    def _lately(self, field: AllRows) -> Mask:
        """Those whose hold protects them: they came by a claim, or after they had to leave.

        Else a gang would leave for a second that leaves for a third before it has done anything.
        """
        if within_guarantee(self.claimant.queue, self.amount, self._statement):
            return np.zeros(len(field.holders), dtype=np.bool_)
        hold = self._statement.policy.hold_seconds * SECOND
        held: Mask = field.claimed > self._statement.now - (hold << field.evictions)
        return held

    def _giving(self, field: AllRows, lower: Mask) -> Mask:
        """The queues that would give anything, at best with all of its own lower ones gone.

        And with all gone that is nearer to it in the tree and gives: that lowers what is held above
        both.
        """
        queue, ledger = self.claimant.queue, self._statement.ledger
        mine = Resources.total(field.holders[at].amount for at in lower.nonzero()[0].tolist())
        gone = [(ledger.tree.node(queue), mine)]
        ledger.tree.charge(gone[0][0], None, mine, -1)
        gives = dict.fromkeys(field.queues, False)
        others = sorted((one for one in field.queues if one != queue), key=self._distance)
        for _, those in groupby(others, key=self._distance):
            giving = [one for one in those if self._entitlement.could_give(one, queue, self.amount)]
            gives |= dict.fromkeys(giving, True)
            for node in (ledger.tree.node(one) for one in giving if self.is_near(one)):
                gone.append((node, Resources.of(node.held)))
                ledger.tree.charge(node, None, gone[-1][1], -1)
        for node, amount in gone:
            ledger.tree.charge(node, None, amount, 1)
        return np.array([gives[one] for one in field.queues], dtype=np.bool_)

    def is_near(self, queue: QueueName) -> bool:
        """Whether what leaves it lowers what the claimant's queue holds, or one above that.

        Then the claimant may be entitled to more afterwards.
        """
        own = self._entitlement.path(self.claimant.queue)
        return len(set(own) & set(self._entitlement.path(queue))) > 1

    def reclaims(self, holder: Holder) -> bool:
        """Whether taking from it would be reclaim, not preemption."""
        return holder.workload.queue != self.claimant.queue

    def room_now(self, gang: Gang, place: DomainRows) -> dict[PodShape, int]:
        """How many pods of each shape the domain holds as this cycle has left it."""
        rooms = self._statement.rooms
        space = rooms.rooms[rooms.position[place.occupancy.cluster]].space
        found: dict[PodShape, int] = {}
        for pod_set in gang.pod_sets:
            if pod_set.shape not in found:
                alone = replace(pod_set, partition=None, minimum=pod_set.count)
                one = Gang(pod_sets=(alone,), minimum=pod_set.count)
                found[pod_set.shape] = space.holds(one, place.domain)
        return found

    def order(self, holder: Holder) -> tuple[bool, int]:
        """Reclaim before preemption, and the queue's nearest relatives first."""
        queue = holder.workload.queue
        return queue == self.claimant.queue, self._distance(queue)

    def _distance(self, queue: QueueName) -> int:
        distance = self._distances.get(queue)
        if distance is None:
            distance = self._entitlement.distance(queue, self.claimant.queue)
            self._distances[queue] = distance
        return distance

    def permits(self, unit: Unit) -> bool:
        """Whether it may be taken now, with all trial charges as they are."""
        return not unit.reclaim or self._entitlement.gives(
            unit.holder.workload.queue, unit.amount, self.claimant.queue, self.amount
        )

    def gives_any(self, kind: QueueResources) -> bool:
        """Whether the queue gives even the least of these resources."""
        queue, names = kind
        least = Resources.of(dict.fromkeys(names, 1))
        return self._entitlement.gives(queue, least, self.claimant.queue, self.amount)

    def would_give(self, without: Sequence[Unit], kinds: Iterable[QueueResources]) -> bool:
        """Whether a queue of any of these kinds would give something with all of these gone."""
        for unit in without:
            self.release(unit)
        gives = any(self.gives_any(kind) for kind in kinds)
        for unit in without:
            self.give_back(unit)
        return gives

    def shifts(self, unit: Unit) -> bool:
        """Whether its leaving changes what the claimant itself is entitled to take."""
        return not unit.reclaim or self.is_near(unit.holder.workload.queue)

    def rightful(self, units: Sequence[Unit]) -> bool:
        """Whether these units, released in the statement, may leave together.

        None of them could take its room back at once (`Reclaim.stands`).
        """
        taken = {(unit.holder.workload.queue, unit.amount) for unit in units if unit.reclaim}
        return self._entitlement.stands(taken, self.claimant.queue, self.amount)

    def lawful(self, units: Iterable[Unit]) -> bool:
        """Whether these units, released in the statement, could be taken one after the other.

        The largest of each kind last: then its queue has the least to give.
        """
        largest: dict[QueueResources, Unit] = {}
        for unit in units:
            known = largest.get(unit.kind)
            if unit.reclaim and (known is None or known.amount.entries < unit.amount.entries):
                largest[unit.kind] = unit
        return all(self._permits_last(unit) for unit in largest.values())

    def _permits_last(self, unit: Unit) -> bool:
        self.give_back(unit)
        permitted = self.permits(unit)
        self.release(unit)
        return permitted

    def lasts(self, units: Sequence[Unit], back: Sequence[Unit]) -> bool:
        """Whether nobody of these, who left, could take the room back once others came `back`.

        Those who left only for the right to others may come back to where they were, and their
        queue would be further over than those that gave: they would make each other leave by turns.
        """
        if not back or not may_ever_leave(self.claimant):
            return True
        queue, names = self.claimant.queue, {unit.name for unit in back}
        tree = self._statement.ledger.tree
        for unit in back:
            self.give_back(unit)
        tree.charge(tree.node(queue), None, self.amount, 1)
        taken = any(
            self._entitlement.gives(queue, self.amount, unit.holder.workload.queue, unit.amount)
            for unit in units
            if unit.reclaim and unit.name not in names
        )
        tree.charge(tree.node(queue), None, self.amount, -1)
        for unit in back:
            self.release(unit)
        return not taken

    def refilled(self, units: Sequence[Unit], offer: Offer, field: AllRows) -> bool:
        """Whether one of them could come back once others filled what they leave over."""
        claimed = Refill(self.claimant, units, offer, self._statement)
        return claimed.returns(self.amount, field)

    def chains(self, unit: Unit, others: Iterable[Unit]) -> bool:
        """Whether a gang of another queue could make one of these leave in turn when it asks again.

        One of a third queue that is as near to the claimant in the tree: it should leave instead.
        Asked with the units that leave released. For those of the claimant's own see `exchange`.
        """
        one, gang = unit.holder.workload, unit.holder.workload.demand.gang
        if not unit.whole or not unit.reclaim or gang is None:
            return False
        asked, tree = gang.requests(gang.minimum_amounts()), self._statement.ledger.tree
        own = tree.node(self.claimant.queue)
        tree.charge(own, None, self.amount, 1)
        could: dict[QueueName, bool] = {}
        found = False
        for other in others:
            third = other.holder.workload.queue
            farther = self.order(other.holder) != self.order(unit.holder)
            if third == one.queue or farther:
                continue
            if third not in could:
                could[third] = self._entitlement.could_give(third, one.queue, asked)
            if could[third] and self._entitlement.gives(third, other.amount, one.queue, asked):
                found = True
                break
        tree.charge(own, None, self.amount, -1)
        return found

    def release(self, unit: Unit) -> None:
        """Its amount is held no more."""
        self._statement.release(unit.holder.workload, unit.cluster, unit.amount)

    def release_all(self, units: Iterable[Unit]) -> None:
        """Their amounts are held no more."""
        release_all(units, self._statement)

    def give_back(self, unit: Unit) -> None:
        """Its amount is held again."""
        self._statement.charge(unit.holder.workload, unit.cluster, unit.amount)

    def has_quota(self, cluster: ClusterName | None = None) -> bool:
        """Whether queue and tenant let its minimum in (there), with all trial charges on."""
        bounds = self._bounds
        if cluster is not None and cluster in self._capped:
            one = self.claimant
            bounds = self._statement.ledger.bounds(one.queue, one.tenant, cluster)
        return fits(bounds, self.amount)

    def blocked(self, cluster: ClusterName | None) -> list[Blocked]:
        """The queues, from the claimant's up, whose capability leaves no room for its minimum."""
        found: list[Blocked] = []
        for node in self._statement.ledger.node(self.claimant.queue).path:
            if self._exceeds(node.held, node.capability):
                found.append((node.queue.name, None))
            elif cluster is not None and self._exceeds(
                node.cluster_held.get(cluster, {}), node.cluster_capability.get(cluster, {})
            ):
                found.append((node.queue.name, cluster))
        return found

    def _exceeds(self, held: Mapping[str, int], limits: Mapping[str, int]) -> bool:
        return any(held.get(n, 0) + self.amount.get(n) > limit for n, limit in limits.items())

    def relieves(self, holder: Holder, blocked: Sequence[Blocked]) -> bool:
        """Whether its leaving lowers what any of these queues hold; with none, it may help."""
        above = self._entitlement.path(holder.workload.queue)
        here = holder.grant.cluster
        return not blocked or any(name in above and at in (None, here) for name, at in blocked)
