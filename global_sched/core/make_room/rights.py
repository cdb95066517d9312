"""Rights of a claimant over victims: preemption in a queue, reclaim between queues."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from itertools import groupby
from typing import Final

import numpy as np

from global_sched.core.make_room.all_rows import AllRows, DomainRows, Mask
from global_sched.core.make_room.hold_window import within_guarantee
from global_sched.core.make_room.leaving import Blocked, EvictionUnit, QueueResources
from global_sched.core.make_room.occupancy import Holder, Ints, may_ever_leave
from global_sched.core.make_room.trial_room import release_all
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

_HOUR: Final = 3600


def _each_alone(gang: Gang) -> tuple[Gang, ...]:
    """A gang of the pods of each shape, without partition: the same ones whenever that is asked."""
    sets = {one.shape: one for one in reversed(gang.pod_sets)}
    return tuple(
        Gang(pod_sets=(replace(one, partition=None, minimum=one.count),), minimum=one.count)
        for one in sets.values()
    )


class Rights:
    """One claimant's rights. `amount` is what its minimum asks for."""

    takes_surplus = True
    """Whether pods beyond a gang's minimum may leave without it."""

    def __init__(self, claimant: Workload, amount: Resources, statement: Statement) -> None:
        self.claimant, self.amount = claimant, amount
        self._statement = statement
        self._entitlement: Reclaim = statement.ledger.entitlements
        self._bounds = statement.ledger.bounds(claimant.queue, claimant.tenant)
        self._capped = statement.ledger.capped_clusters(claimant.queue)
        self._distances: dict[QueueName, int] = {}
        self.stays_whole: Mask = np.zeros(0, dtype=np.bool_)
        """Holders of which only surplus may leave: hold, minimum run time, cooldown, or what they
        would lose protects them."""
        self.runs_shortly: Mask = np.zeros(0, dtype=np.bool_)
        """Those of them that their queue's minimum run time protects."""
        self.loses_much: Mask = np.zeros(0, dtype=np.bool_)
        """Those of which reclaim would undo more work than it may."""
        self.rests: Mask = np.zeros(0, dtype=np.bool_)
        """Those that rest after a resize: their surplus does not leave either."""
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
        self.stays_whole = found & self._protected(field, own)
        surplus = field.has_surplus & self.takes_surplus & ~self.rests
        found &= ~self.stays_whole | surplus
        for at in field.holders_of(self.claimant.key):  # one that grows does not leave for itself
            found[at] = False
        return found

    def spared(self, field: AllRows) -> list[int]:
        """Those of `stays_whole` that it could take from, were that not so: each asked alone."""
        found = []
        for at in self.stays_whole.nonzero()[0].tolist():
            one = field.holders[at]
            unit = EvictionUnit(at=at, holder=one, amount=one.amount, reclaim=self.reclaims(one))
            if self.permits(unit):
                found.append(at)
        return found

    def _overtaken_by(self, field: AllRows, lower: Mask) -> Mask:
        found, policy = np.zeros(len(lower), dtype=np.bool_), self._statement.policy
        if policy.ageing_period_seconds > 0:
            for at in lower.nonzero()[0].tolist():
                found[at] = overtook(field.holders[at].workload, self.claimant, policy)
        return found

    def _protected(self, field: AllRows, own: Mask) -> Mask:
        """Those that time protects: hold from reclaim, minimum run time and cooldown from both.

        Else a gang would leave for a second that leaves for a third before it has done anything.
        And those of which reclaim would undo more than it may. A claim that a guarantee covers is
        not bound.
        """
        statement = self._statement
        none = np.zeros(len(field.holders), dtype=np.bool_)
        if within_guarantee(self.claimant.queue, self.amount, statement):
            self.runs_shortly = self.loses_much = self.rests = none
            return none
        cooldown = np.minimum(
            field.cooldown, statement.policy.elastic_cooldown_limit_seconds * SECOND
        )
        self.rests = (cooldown > 0) & (field.resized + cooldown > statement.now)
        hold = statement.policy.hold_seconds * SECOND
        held: Mask = (field.claimed > statement.now - (hold << field.evictions)) & ~own[field.queue]
        self.runs_shortly = field.began > statement.now - self.min_runtimes(field)
        self.loses_much = none
        if (hours := statement.policy.reclaim_loss_limit_gpu_hours) > 0:
            self.loses_much = (field.device_seconds > hours * _HOUR) & ~own[field.queue]
        return held | self.runs_shortly | self.rests | self.loses_much

    def min_runtimes(self, field: AllRows) -> Ints:
        """The minimum run time of each holder against this claimant, in microseconds."""
        of = self._statement.ledger.min_runtimes.of
        times = [
            of(queue).preemption if queue == self.claimant.queue else of(queue).reclaim
            for queue in field.queues
        ]
        found: Ints = np.array(times, dtype=np.int64)[field.queue]
        return found

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
            giving = list(self._entitlement.could_give(list(those), queue, self.amount))
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
        alone = gang.kept(_each_alone, lambda: _each_alone(gang))
        return {one.pod_sets[0].shape: space.holds(one, place.domain) for one in alone}

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

    def permits(self, unit: EvictionUnit) -> bool:
        """Whether it may be taken now, with all trial charges as they are."""
        return not unit.reclaim or self._entitlement.gives(
            unit.holder.workload.queue, unit.amount, self.claimant.queue, self.amount
        )

    def gives_any(self, kind: QueueResources) -> bool:
        """Whether the queue gives even the least of these resources."""
        queue, names = kind
        least = Resources.of(dict.fromkeys(names, 1))
        return self._entitlement.gives(queue, least, self.claimant.queue, self.amount)

    def shifts(self, unit: EvictionUnit) -> bool:
        """Whether its leaving changes what the claimant itself is entitled to take."""
        return not unit.reclaim or self.is_near(unit.holder.workload.queue)

    def rightful(self, units: Sequence[EvictionUnit]) -> bool:
        """Whether these units, released in the statement, may leave together.

        None of them could take its room back at once (`Reclaim.stands`).
        """
        taken = {(unit.holder.workload.queue, unit.amount) for unit in units if unit.reclaim}
        return self._entitlement.stands(taken, self.claimant.queue, self.amount)

    def could_return(self, unit: EvictionUnit, held: Resources) -> bool:
        """Whether a victim could reclaim its minimum from the claimant that holds that much."""
        gang = unit.holder.workload.demand.gang
        if gang is None or not unit.reclaim or not may_ever_leave(self.claimant):
            return False
        asked = gang.requests(gang.minimum_amounts())
        return self._entitlement.gives(self.claimant.queue, held, unit.holder.workload.queue, asked)

    def release(self, unit: EvictionUnit) -> None:
        """Its amount is held no more."""
        self._statement.release(unit.holder.workload, unit.cluster, unit.amount)

    def release_all(self, units: Iterable[EvictionUnit]) -> None:
        """Their amounts are held no more."""
        release_all(units, self._statement)

    def give_back(self, unit: EvictionUnit) -> None:
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
