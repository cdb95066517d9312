"""What would let a workload run that does not: changes, each tried with the cycle's own checks.

Asked by `explain` only, in the workload's turn. What changes the workload alone is tried in the
statement as it is then; what changes others is tried in a cycle of its own on a changed snapshot.
So many of each are tried at most: four cycles, one search for those whose ending would help,
`TIERS` tiers, `QUEUES` queues, and as many smaller minimums as halving takes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from global_sched.core.admission import growth_for, offer_for, refused_before
from global_sched.core.cycle import Cycle
from global_sched.core.endings import endings, latest_end
from global_sched.core.holds import give_back
from global_sched.core.offer import Offer, Refusal
from global_sched.core.quota import over
from global_sched.core.remedy_text import (
    ending_text,
    enough_text,
    instead_of,
    leaving_text,
    open_text,
    placed,
    remedy_of,
)
from global_sched.core.rooms import Ask
from global_sched.core.variants import (
    claimants,
    ended,
    existing,
    leaves_of,
    lent,
    older_of,
    only_these,
    opened,
    raised,
    raised_in,
    waiting,
    with_gang,
    without_claims,
)
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import ClusterName, QueueName
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

TIERS = 4
"""So many further tiers are tried, the next ones first."""
QUEUES = 3
"""So many other queues are tried, by name."""
FIRST = "it is the first in line"
_UNKNOWN = "; what then still stands against it is not known"
QUOTA = frozenset({Reason.QUEUE_CAPABILITY, Reason.TENANT_LIMIT})
_ROOM = frozenset({Reason.CAPACITY_DOES_NOT_FIT, Reason.TOPOLOGY_DOES_NOT_FIT})
_HOLDS = _ROOM | QUOTA | {Reason.GUARANTEE_RESERVED, Reason.GROWTH_PENDING}


class Remedies:
    """Trials for one workload. `cycle` stands at its turn; `refusal` is what it is told there."""

    def __init__(self, workload: Workload, cycle: Cycle, refusal: Refusal) -> None:
        self._workload, self._cycle, self._refusal = workload, cycle, refusal
        self._statement = cycle.statement
        self._snapshot: Snapshot = cycle.statement.snapshot
        self._policy: Policy = cycle.statement.policy
        self._variants: list[Workload] = []
        """Kept as long as the statement is asked: it knows demands by their identity."""
        self._alone: str | None = None
        """In which line it has room already, of `_lines`."""
        self._offer_for = growth_for if workload.targets else offer_for

    def find(self, ask: Ask | None, victims: tuple[Victim, ...]) -> Iterator[Remedy]:
        """All that were found, those that need least of others first.

        A workload that runs waits for more pods where it is: neither other clusters nor a smaller
        minimum would help it.
        """
        gang, reason = self._workload.demand.gang, self._refusal.verdict.reason
        if gang is None:
            return
        whole, runs = self._workload.demand.division == Division.WHOLE, self._workload.targets
        lacks_room = reason in _HOLDS and (not runs or self._refusal.verdict.code == Code.NO_FIT)
        yield from self._first(reason)
        yield from self._in_order(reason)
        yield from self._quota(reason, gang)
        if lacks_room:
            yield from self._others_go(victims)
        if not runs:
            yield from self.own(ask)
        elif whole and lacks_room:
            yield from self._tier(gang)

    def own(self, ask: Ask | None) -> Iterator[Remedy]:
        """Changes of the workload and its policy alone."""
        gang = self._workload.demand.gang
        if gang is None:
            return
        if ask is not None:
            yield from self._cluster(ask)
        if self._workload.demand.division == Division.WHOLE:
            yield from self._tier(gang)
            if self._refusal.verdict.reason in _HOLDS:
                yield from self._minimum(gang)

    def _lacks(self, gang: Gang) -> Amounts:
        """What it waits for: its minimum, what it lacks of that, or one pod more."""
        if not self._workload.targets:
            return gang.minimum_amounts()
        lacks, more = needs_more(self._workload), self._workload.lacking()
        return lacks if lacks.entries else Amounts.of({more.entries[0][0]: 1})

    def _asked(self, gang: Gang) -> Resources:
        return gang.requests(self._lacks(gang)) or gang.requests(gang.all_amounts())

    # --- others ---------------------------------------------------------------------------

    def _first(self, reason: Reason) -> Iterator[Remedy]:
        if reason == Reason.TENANT_PENDING_LIMIT:
            yield from self._may_wait()
            return
        for first, world in self._lines(self._snapshot):
            if first and self._admitted(world) is not None:
                change = Change.TURN if first == FIRST else Change.HELD
                self._alone = first
                yield Remedy(change=change, text=f"{first}: there is room now")
                return

    def _lines(self, snapshot: Snapshot) -> Iterator[tuple[str, Snapshot]]:
        """The line as it is, without those before it, and without room that is kept for them."""
        yield "", snapshot
        yield FIRST, only_these(snapshot, [self._workload])
        own, claims = self._workload.key, self._cycle.claims
        others = (one.key for one in claimants(snapshot) if one.key != own)
        kept = sum(claims.kept_for(key) is not None for key in others)
        if kept:
            text = f"{FIRST} and no room is kept for {counted(kept, 'other job')}"
            unkept = without_claims(snapshot, self._workload)
            yield text, only_these(unkept, [self._workload])

    def _may_wait(self) -> Iterator[Remedy]:
        """Its tenant may have as many waiting as are older, and itself."""
        tenant = self._statement.ledger.tenant(self._workload.tenant)
        older = older_of(self._workload, self._snapshot)
        text = f"tenant {tenant.name} may have {older + 1} waiting (now {tenant.pending_limit})"
        yield self._judged(Change.TENANT, waiting(self._snapshot, tenant.name, older + 1), text)

    def _in_order(self, reason: Reason) -> Iterator[Remedy]:
        """What is wrong with its queue or tenant is put right, or it names others."""
        workload, ledger = self._workload, self._statement.ledger
        queue, tenant = workload.queue, ledger.tenant(workload.tenant)
        match reason:
            case Reason.QUEUE_CLOSED:
                shut = [one.queue.name for one in ledger.node(queue).path if not one.queue.open]
                changed = opened(self._snapshot, frozenset(shut))
                yield self._judged(Change.QUEUE_OPEN, changed, open_text(shut))
            case Reason.QUEUE_MISSING:
                changed = existing(self._snapshot, queue)
                yield self._judged(Change.QUEUE, changed, f"there is a queue {queue}")
            case Reason.QUEUE_INVALID:
                text = f"queue {queue} is put right: {ledger.node(queue).frozen}{_UNKNOWN}"
                yield Remedy(change=Change.QUEUE, text=text, enough=False)
            case Reason.TENANT_INVALID:
                text = f"tenant {tenant.name} is put right: {tenant.problem}{_UNKNOWN}"
                yield Remedy(change=Change.TENANT, text=text, enough=False)
            case Reason.QUEUE_NOT_LEAF:
                yield from self._other_queue(leaves_of(ledger.node(queue)))
            case Reason.QUEUE_NOT_ALLOWED:
                yield from self._other_queue(sorted(tenant.queues))
            case Reason.PRIORITY_CLASS_NOT_ALLOWED:
                names = sorted(tenant.priority_classes)
                other = replace(workload, priority_class=names[0])
                text = f"its PriorityClass is {' or '.join(names)}"
                yield self._with(other, Change.TENANT, text)
            case _:
                return

    def _other_queue(self, names: Sequence[QueueName]) -> Iterator[Remedy]:
        """It names a queue from which it may be admitted."""
        for name in names[:QUEUES]:
            other = replace(self._workload, queue=name)
            yield self._with(other, Change.QUEUE, f"it names queue {name}")

    def _quota(self, reason: Reason, gang: Gang) -> Iterator[Remedy]:
        """The limits that are too small, by how much; or guarantees of others."""
        if reason in QUOTA:
            changed, lacks = raised(self._workload, self._asked(gang), self._statement)
            if lacks:
                yield self._judged(Change.QUOTA, changed, "; ".join(lacks))
        elif reason == Reason.GUARANTEE_RESERVED:
            text = "guarantees that others do not use are lent (policy.lend_guarantees)"
            yield self._judged(Change.LENDING, self._snapshot, text, lent(self._policy))

    def _others_go(self, victims: tuple[Victim, ...]) -> Iterator[Remedy]:
        """Those that would have to leave do, or else those whose ending helps."""
        if victims:
            text = leaving_text(victims)
            yield Remedy(change=Change.LEAVING, text=text, cluster=victims[0].cluster)
            return
        gang = self._workload.demand.gang
        assert gang is not None
        units = endings(self._workload, self._cycle.claims, self._statement, self._lacks(gang))
        if not units:
            return
        text = ending_text(units, self._workload.tenant)
        end = latest_end(units)
        if end is not None:
            text += f", at {format_instant(end)} at the latest by their run-time limits"
        gone = ended(self._snapshot, [unit.holder.workload for unit in units])
        for first, world in self._lines(gone):
            if first and first == self._alone:
                return
            if self._admitted(world) is not None:
                said = f"{first}, and {text}" if first else text
                yield Remedy(change=Change.ENDING, text=said, cluster=units[0].cluster)
                return

    def _cluster(self, ask: Ask) -> Iterator[Remedy]:
        """Clusters that are left out and would hold it; none where it may run in no cluster now."""
        nowhere = self._may_run_nowhere(ask.gang)
        case = self._statement.standings.case(self._workload)
        fits = ask.fitting(np.ones_like(case.allowed))
        for at in (fits & ~case.allowed).nonzero()[0].tolist():
            refusal = case.refusals[at]
            if refusal is None or refusal.verdict.reason == Reason.CLUSTER_TERMINATING:
                continue
            if refusal.verdict.reason in QUOTA:
                yield from self._quota_in(refusal.cluster, ask.gang)
            elif not nowhere:
                text = f"{refusal.cluster} may be used, where it fits: {refusal.verdict.detail}"
                yield Remedy(change=Change.CLUSTER, text=text, cluster=refusal.cluster)

    def _may_run_nowhere(self, gang: Gang) -> bool:
        """Whether its queue, its tenant or their limits stand against it, whatever the cluster."""
        one, statement = self._workload, self._statement
        if self._refusal.verdict.reason == Reason.GUARANTEE_RESERVED:
            return True
        if refused_before(one, statement) is not None:
            return True
        return over(statement.ledger.bounds(one.queue, one.tenant), self._asked(gang)) is not None

    def _quota_in(self, cluster: ClusterName, gang: Gang) -> Iterator[Remedy]:
        """The limits in a cluster that are too small, by how much."""
        changed, lacks = raised_in(self._workload, self._asked(gang), cluster, self._statement)
        if lacks:
            yield self._judged(Change.QUOTA, changed, "; ".join(lacks), cluster=cluster)

    # --- the workload itself --------------------------------------------------------------

    def _tier(self, gang: Gang) -> Iterator[Remedy]:
        """The next tier within which it fits, or no constraint at all."""
        constraint = gang.constraint
        if constraint is None or constraint.mode != Mode.HARD:
            return
        now = constraint.highest_tier
        tiers = sorted(
            {
                domain.tier
                for room in self._statement.rooms.rooms
                if room.cluster.capacity is not None
                for domain in room.cluster.capacity.topology.domains
                if now is None or domain.tier > now
            }
        )
        for tier in tiers[:TIERS]:
            wider = replace(constraint, highest_tier=tier, highest_tier_name="")
            found = self._offer(replace(gang, constraint=wider))
            if found is not None:
                text = f"highestTierAllowed is {tier}{instead_of(gang)}"
                yield placed(found, Change.TIER, text)
                return
        found = self._offer(replace(gang, constraint=None))
        if found is not None:
            yield placed(found, Change.TIER, f"it has no topology constraint{instead_of(gang)}")

    def _minimum(self, gang: Gang) -> Iterator[Remedy]:
        """The largest smaller minimum that fits."""
        least = gang.minimum_amounts().pods()
        if any(pod_set.partition is not None for pod_set in gang.pod_sets):
            return
        low, high, best = 0, least, None
        while high - low > 1:
            middle = (low + high) // 2
            found = self._offer(replace(gang, minimum=middle))
            if found is None:
                high = middle
            else:
                low, best = middle, found
        if best is not None:
            yield placed(best, Change.MINIMUM, enough_text(low, least))

    # --- trials ---------------------------------------------------------------------------

    def _offer(self, gang: Gang) -> Offer | None:
        """What the workload would get now if it were this gang."""
        variant = with_gang(self._workload, gang)
        self._variants.append(variant)
        found = self._offer_for(variant, self._statement)
        return found if isinstance(found, Offer) else None

    def _tried(self, snapshot: Snapshot, policy: Policy) -> Offer | Refusal | None:
        """What it would get in its turn in another world; None: nothing is decided about it."""
        cycle = Cycle(snapshot, policy, self._statement.now)
        turn = cycle.run(until=self._workload.key)
        if turn is None:
            return None
        held = cycle.claims.kept_for(self._workload.key)
        if held is not None:
            give_back(held, cycle.statement)
        return self._offer_for(turn[1], cycle.statement)

    def _admitted(self, snapshot: Snapshot) -> Offer | None:
        found = self._tried(snapshot, self._policy)
        return found if isinstance(found, Offer) else None

    def _judged(
        self,
        change: Change,
        snapshot: Snapshot,
        text: str,
        policy: Policy | None = None,
        cluster: ClusterName | None = None,
    ) -> Remedy:
        """The change, and what still stands against the workload with it."""
        found = self._tried(snapshot, policy or self._policy)
        return remedy_of(found, change, text, cluster)

    def _with(self, variant: Workload, change: Change, text: str) -> Remedy:
        """The same for a change of the workload itself."""
        return remedy_of(self._offer_for(variant, self._statement), change, text)
