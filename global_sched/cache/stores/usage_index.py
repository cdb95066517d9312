"""Pending workloads by queue and holders by cluster, kept up to date one workload at a time."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from global_sched.cache.stores.assumed import AssumedPlacement
from global_sched.cache.stores.demands import Demands
from global_sched.cache.stores.sorted_values import SortedValues
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName, WorkloadKey
from global_sched.shared.model.queue import Usage
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Bucket, Running
from global_sched.shared.model.usage_sums import UsageSums
from global_sched.shared.model.workload import Workload

BucketKey = tuple[QueueName, TenantName]
UsageKey = tuple[QueueName, TenantName, ClusterName]
Rank = tuple[int, int, str]
"""Order inside a bucket: priority descending, creation, UID."""


@dataclass(slots=True)
class Position:
    """Where one workload stands in the ledger, so that it can be taken out again."""

    bucket: BucketKey | None = None
    rank: Rank = (0, 0, "")
    charges: tuple[tuple[UsageKey, Resources], ...] = ()
    left: tuple[tuple[UsageKey, Resources], ...] = ()
    clusters: tuple[ClusterName, ...] = ()
    claims: tuple[ClusterName, ...] = ()
    unsettled: bool = False


class UsageIndex:
    """Pending buckets, unsettled workloads, usage, holders and takers by cluster."""

    def __init__(self, demands: Demands) -> None:
        self._demands = demands
        self._waiting: dict[BucketKey, SortedValues[Rank, Workload]] = {}
        self._buckets: SortedValues[BucketKey, Bucket] = SortedValues()
        self._changed_buckets: set[BucketKey] = set()
        self._unsettled: SortedValues[WorkloadKey, Workload] = SortedValues()
        self._amounts: dict[UsageKey, Counter[str]] = {}
        self._usage: SortedValues[UsageKey, Usage] = SortedValues()
        self._changed_usage: set[UsageKey] = set()
        self._sums = UsageSums()
        self._left: dict[UsageKey, Counter[str]] = {}
        self._leaving: SortedValues[UsageKey, Usage] = SortedValues()
        self._changed_leaving: set[UsageKey] = set()
        self.leavers: dict[ClusterName, dict[WorkloadKey, Workload]] = {}
        """Workloads that were withdrawn and may still have pods, by cluster."""
        self.holders: dict[ClusterName, dict[WorkloadKey, Workload]] = {}
        """Admitted, unfinished workloads with pods, by cluster."""
        self.takers: dict[ClusterName, dict[WorkloadKey, AssumedPlacement]] = {}
        """What of them is not counted."""
        self.claimants: dict[ClusterName, dict[WorkloadKey, Workload]] = {}
        """Workloads for which room is kept, by cluster: they wait, or are to grow."""
        self._running: SortedValues[ClusterName, Running] = SortedValues()
        self._changed_running: set[ClusterName] = set()
        self.changed_rooms: set[ClusterName] = set()
        self.changed_holders: set[ClusterName] = set()

    def replace(
        self, key: WorkloadKey, old: Position, new: Workload | None, *, look: bool
    ) -> Position:
        """Move a workload from its old position to where it belongs now (None: nowhere).

        `look`: a cycle must look at it although it is admitted. One that is neither admitted nor
        finished waits in its bucket.
        """
        waits = new is not None and not new.targets and not new.finished
        for usage, amount in old.charges:
            self._amounts.setdefault(usage, Counter()).subtract(dict(amount.entries))
            self._changed_usage.add(usage)
        for usage, amount in old.left:
            self._left[usage].subtract(dict(amount.entries))
            self._changed_leaving.add(usage)
        stays = new is not None and waits and _place(new) == (old.bucket, old.rank)
        if old.bucket is not None and not stays:
            self._waiting[old.bucket].remove(old.rank)
            self._changed_buckets.add(old.bucket)
        if old.unsettled and not look:
            self._unsettled.remove(key)
        position = Position() if new is None else self._enter(new, waits=waits, look=look)
        for cluster in old.clusters:
            if cluster not in position.clusters:
                self._drop(cluster, key)
        for cluster in {usage[2] for usage, _ in old.left}:
            left = self.leavers.get(cluster, {}).get(key)
            if left is not None and left is not new:
                del self.leavers[cluster][key]
                self.changed_holders.add(cluster)
        for cluster in set(old.claims) - set(position.claims):
            self.claimants[cluster].pop(key, None)
            self.changed_holders.add(cluster)
        return position

    def _drop(self, cluster: ClusterName, key: WorkloadKey) -> None:
        if self.holders.get(cluster, {}).pop(key, None) is not None:
            self.changed_holders.add(cluster)
            self._changed_running.add(cluster)
        if self.takers.get(cluster, {}).pop(key, None) is not None:
            self.changed_rooms.add(cluster)

    def _enter(self, new: Workload, *, waits: bool, look: bool) -> Position:
        position = Position(unsettled=look)
        if look:
            self._unsettled.set(new.key, new)
        if waits:
            position.bucket, position.rank = _place(new)
            index = self._waiting.get(position.bucket)
            if index is None:
                index = self._waiting[position.bucket] = SortedValues()
            index.set(position.rank, new)
            self._changed_buckets.add(position.bucket)
        if new.admitted() and new.decision is not None and new.demand.gang is not None:
            self._hold(new, position)
        self._leave(new, position)
        stands = waits or new.admitted()
        if stands and new.decision is not None and new.decision.claim is not None:
            position.claims = new.decision.claim.clusters
            for cluster in position.claims:
                self.claimants.setdefault(cluster, {})[new.key] = new
                self.changed_holders.add(cluster)
        return position

    def _hold(self, new: Workload, position: Position) -> None:
        decision, gang = new.decision, new.demand.gang
        assert decision is not None
        assert gang is not None
        charges = []
        for grant in decision.grants:
            key = (new.queue, new.tenant, grant.cluster)
            amount = self._demands.requests(new.demand, new.held(grant))
            charges.append((key, amount))
            self._amounts.setdefault(key, Counter()).update(dict(amount.entries))
            self._changed_usage.add(key)
            holders = self.holders.setdefault(grant.cluster, {})
            if holders.get(new.key) is not new:
                holders[new.key] = new
                self.changed_holders.add(grant.cluster)
                self._changed_running.add(grant.cluster)
            progress = new.progress_in(grant.cluster)
            bound = Amounts() if progress is None else progress.bound
            missing = grant.amounts.minus(bound)
            least = (
                gang.minimum_amounts().minus(bound).within(missing) if missing.entries else missing
            )
            order, domain = (decision.at, decision.order), grant.domain
            taker = AssumedPlacement(*order, new.binding_id, missing, gang, domain, least)
            self._take(grant.cluster, new.key, taker)
        position.charges = tuple(charges)
        position.clusters = tuple(grant.cluster for grant in decision.grants)

    def _leave(self, new: Workload, position: Position) -> None:
        """What it was withdrawn from, and surplus that it gave up: counted until it is gone."""
        charges = [((new.queue, new.tenant, one.cluster), one.held) for one in new.left]
        gang, decision = new.demand.gang, new.decision
        if new.admitted() and gang is not None and decision is not None and decision.give_up:
            charges += [
                ((new.queue, new.tenant, grant.cluster), gang.requests(amounts))
                for grant in decision.grants
                if (amounts := new.giving_up(grant)).entries
            ]
        for key, amount in charges:
            self._left.setdefault(key, Counter()).update(dict(amount.entries))
            self._changed_leaving.add(key)
        for one in new.left:
            leavers = self.leavers.setdefault(one.cluster, {})
            if leavers.get(new.key) is None or leavers[new.key].left != new.left:
                self.changed_holders.add(one.cluster)
            leavers[new.key] = new
        position.left = tuple(charges)

    def _take(self, cluster: ClusterName, key: WorkloadKey, taker: AssumedPlacement) -> None:
        takers = self.takers.setdefault(cluster, {})
        if not taker.amounts.entries:
            if takers.pop(key, None) is not None:
                self.changed_rooms.add(cluster)
        elif takers.get(key) != taker:
            takers[key] = taker
            self.changed_rooms.add(cluster)

    # --- reading --------------------------------------------------------------------------

    def pending(self) -> tuple[Bucket, ...]:
        """Buckets by queue and tenant; unchanged ones are the same objects as before."""
        for key in self._changed_buckets:
            index = self._waiting[key]
            if len(index):
                queue, tenant = key
                bucket = Bucket(queue=queue, tenant=tenant, workloads=index.values())
                self._buckets.set(key, bucket)
            else:
                del self._waiting[key]
                self._buckets.remove(key)
        self._changed_buckets.clear()
        return self._buckets.values()

    def unsettled(self) -> tuple[Workload, ...]:
        """Admitted workloads that a cycle must look at, by key."""
        return self._unsettled.values()

    def running(self) -> tuple[Running, ...]:
        """The holders of each cluster; the object is the last one where none of them changed."""
        for cluster in self._changed_running:
            holders = self.holders.get(cluster, {})
            if holders:
                found = tuple(holders[key] for key in sorted(holders))
                self._running.set(cluster, Running(cluster=cluster, workloads=found))
            else:
                self._running.remove(cluster)
        self._changed_running.clear()
        return self._running.values()

    def usage(self) -> tuple[Usage, ...]:
        """What is held, by queue, tenant and cluster."""
        before = [(key, self._usage.get(key)) for key in self._changed_usage]
        found = _totals(self._amounts, self._usage, self._changed_usage)
        changes = [(old, self._usage.get(key)) for key, old in before]
        if changes:
            self._sums = self._sums.changed(one for one in changes if one[0] != one[1])
        return found

    def sums(self) -> UsageSums:
        """The usage of the last `usage`, summed up."""
        return self._sums

    def leaving(self) -> tuple[Usage, ...]:
        """What was withdrawn and may still run, by queue, tenant and cluster."""
        return _totals(self._left, self._leaving, self._changed_leaving)

    def takers_in(self, cluster: ClusterName) -> tuple[AssumedPlacement, ...]:
        """What is assumed in a cluster, in the order of the decisions."""
        found: Iterable[AssumedPlacement] = self.takers.get(cluster, {}).values()
        return tuple(sorted(found, key=lambda taker: (taker.at, taker.order, taker.binding)))


def _totals(
    amounts: dict[UsageKey, Counter[str]],
    shown: SortedValues[UsageKey, Usage],
    changed: set[UsageKey],
) -> tuple[Usage, ...]:
    """The sums as values; only those that changed are made anew."""
    for key in changed:
        left = tuple(sorted((n, v) for n, v in amounts[key].items() if v))
        if left:
            queue, tenant, cluster = key
            shown.set(
                key, Usage(queue=queue, tenant=tenant, cluster=cluster, amount=Resources(left))
            )
        else:
            del amounts[key]
            shown.remove(key)
    changed.clear()
    return shown.values()


def _place(workload: Workload) -> tuple[BucketKey, Rank]:
    return (workload.queue, workload.tenant), (
        -workload.priority,
        workload.created,
        workload.uid,
    )
