"""What would let a workload run that does not: changes, each tried with the cycle's own checks.

Asked by `explain` only, in the workload's turn. A tier or a minimum is tried in the statement as it
is then, everything else in a cycle of its own on a changed snapshot (`trials`). So many of each are
tried at most: seven cycles, one search for those whose ending would help, `TIERS` tiers, `QUEUES`
queues, `CLASSES` PriorityClasses, `CLUSTERS` clusters, and as many smaller minimums as halving
takes.
"""

from collections.abc import Iterator
from dataclasses import replace

from global_sched.core.cycle import Cycle
from global_sched.core.explain.cluster_remedies import ClusterRemedies
from global_sched.core.explain.endings import endings, latest_end
from global_sched.core.explain.named_remedies import its_class, other_classes, other_queues
from global_sched.core.explain.remedy_text import (
    UNKNOWN,
    ending_text,
    enough_text,
    instead_of,
    leaving_text,
    open_text,
    placed,
)
from global_sched.core.explain.trials import Trials
from global_sched.core.explain.variants import (
    ended,
    existing,
    leaves_of,
    lent,
    only_these,
    opened,
    raised,
    waiting,
    with_gang,
    without_claims,
)
from global_sched.core.fit.rooms import Ask
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for, refused_before
from global_sched.core.quota.limits import over
from global_sched.core.waiting import claimants
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

TIERS = 4
"""So many further tiers are tried, the next ones first."""
FIRST = "it is the first in line"
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
        self._trials = Trials(workload, cycle.statement)

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
            nowhere, asked = self._may_run_nowhere(ask.gang), self._asked(ask.gang)
            clusters = ClusterRemedies(self._workload, asked, self._trials, self._statement)
            yield from clusters.find(ask, self._refusal, nowhere=nowhere)
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
            if first and self._trials.has_room(world):
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
        """Its tenant may have as many waiting as are before it, and itself."""
        tenant = self._statement.ledger.tenant(self._workload.tenant)
        most = self._statement.ledger.gates.beyond_pending_limit[self._workload.key] + 1
        text = f"tenant {tenant.name} may have {most} waiting (now {tenant.pending_limit})"
        yield self._trials.judged(Change.TENANT, waiting(self._snapshot, tenant.name, most), text)

    def _in_order(self, reason: Reason) -> Iterator[Remedy]:
        """What is wrong with its queue or tenant is put right, or it names others."""
        workload, ledger = self._workload, self._statement.ledger
        queue, tenant = workload.queue, ledger.tenant(workload.tenant)
        match reason:
            case Reason.QUEUE_CLOSED:
                shut = [one.queue.name for one in ledger.node(queue).path if not one.queue.open]
                changed = opened(self._snapshot, frozenset(shut))
                yield self._trials.judged(Change.QUEUE_OPEN, changed, open_text(shut))
            case Reason.QUEUE_MISSING:
                changed = existing(self._snapshot, queue)
                yield self._trials.judged(Change.QUEUE, changed, f"there is a queue {queue}")
            case Reason.QUEUE_INVALID:
                text = f"queue {queue} is put right: {ledger.node(queue).frozen}{UNKNOWN}"
                yield Remedy(change=Change.QUEUE, text=text, enough=False)
            case Reason.TENANT_INVALID:
                text = f"tenant {tenant.name} is put right: {tenant.problem}{UNKNOWN}"
                yield Remedy(change=Change.TENANT, text=text, enough=False)
            case Reason.QUEUE_NOT_LEAF:
                below = leaves_of(ledger.node(queue))
                yield from other_queues(workload, below, self._trials, self._statement)
            case Reason.QUEUE_NOT_ALLOWED:
                yield from other_queues(workload, tenant.queues, self._trials, self._statement)
            case Reason.PRIORITY_CLASS_NOT_ALLOWED:
                names = sorted(tenant.priority_classes)
                yield from other_classes(workload, names, self._trials, self._statement)
            case Reason.PRIORITY_CLASS_MISSING:
                yield its_class(workload, self._trials, self._statement)
            case _:
                return

    def _quota(self, reason: Reason, gang: Gang) -> Iterator[Remedy]:
        """The limits that are too small, by how much; or guarantees of others."""
        if reason in QUOTA:
            yield from self._limits(self._asked(gang))
        elif reason == Reason.GUARANTEE_RESERVED:
            text = "guarantees that others do not use are lent (policy.lend_guarantees)"
            policy = lent(self._policy)
            yield self._trials.judged(Change.LENDING, self._snapshot, text, policy=policy)

    def _limits(self, asked: Resources) -> Iterator[Remedy]:
        """Limits raised by what it lacks; where that is not enough, beside what is set aside."""
        found: list[Remedy] = []
        for beside in (False, True):
            changed, lacks = raised(self._workload, asked, self._statement, beside_aside=beside)
            text = "; ".join(lacks)
            if lacks and text not in [one.text for one in found]:
                found.append(self._trials.judged(Change.QUOTA, changed, text))
                if found[-1].enough:
                    break
        yield from found[-1:]

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
            if self._trials.has_room(world):
                said = f"{first}, and {text}" if first else text
                yield Remedy(change=Change.ENDING, text=said, cluster=units[0].cluster)
                return

    def _may_run_nowhere(self, gang: Gang) -> bool:
        """Whether its queue, its tenant or their limits stand against it, whatever the cluster."""
        one, statement = self._workload, self._statement
        if self._refusal.verdict.reason == Reason.GUARANTEE_RESERVED:
            return True
        if refused_before(one, statement) is not None:
            return True
        return over(statement.ledger.bounds(one.queue, one.tenant), self._asked(gang)) is not None

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
