"""What would let a workload run that does not: changes, each tried with the cycle's own checks.

Asked by `explain` only, in the workload's turn. What changes the workload alone is tried in the
statement as it is then; what changes others is tried in a cycle of its own on a changed snapshot.
So many of each are tried at most: two cycles, one search for those whose ending would help,
`TIERS` tiers, and as many smaller minimums as halving takes.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np

from global_sched.core.admission import growth_for, offer_for
from global_sched.core.cycle import Cycle
from global_sched.core.endings import endings, latest_end
from global_sched.core.offer import Offer, Refusal
from global_sched.core.rights import Unit
from global_sched.core.rooms import Ask
from global_sched.core.variants import lent, only_these, opened, raised, with_gang
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.explanation import Change, Remedy, Victim
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import TenantName
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

TIERS = 4
"""So many further tiers are tried, the next ones first."""
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
        yield from self._first()
        yield from self._queue_open(reason)
        yield from self._quota(reason, gang)
        if lacks_room and whole:
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

    # --- others ---------------------------------------------------------------------------

    def _first(self) -> Iterator[Remedy]:
        if self._admitted(only_these(self._snapshot, [self._workload])) is not None:
            yield Remedy(change=Change.TURN, text="it is the first in line: there is room now")

    def _queue_open(self, reason: Reason) -> Iterator[Remedy]:
        if reason != Reason.QUEUE_CLOSED:
            return
        names = [
            node.queue.name
            for node in self._statement.ledger.node(self._workload.queue).path
            if not node.queue.open
        ]
        text = " and ".join(f"queue {name}" for name in names) + " open"
        yield self._judged(Change.QUEUE_OPEN, opened(self._snapshot, frozenset(names)), text)

    def _quota(self, reason: Reason, gang: Gang) -> Iterator[Remedy]:
        """The limits that are too small, by how much; or guarantees of others."""
        if reason in QUOTA:
            asked = gang.requests(self._lacks(gang)) or gang.requests(gang.all_amounts())
            changed, lacks = raised(self._workload, asked, self._statement)
            if lacks:
                yield self._judged(Change.QUOTA, changed, "; ".join(lacks))
        elif reason == Reason.GUARANTEE_RESERVED:
            text = "guarantees that others do not use are lent (policy.lend_guarantees)"
            yield self._judged(Change.LENDING, self._snapshot, text, lent(self._policy))

    def _others_go(self, victims: tuple[Victim, ...]) -> Iterator[Remedy]:
        """Those that would have to leave do, or else those whose ending helps."""
        if victims:
            gone = [(one.pods, one.whole, one.queue, one.workload) for one in victims]
            where = sorted({str(one.cluster) for one in victims})
            text = f"{_counted(gone)} {'leave' if len(gone) > 1 else 'leaves'} {', '.join(where)}"
            yield Remedy(change=Change.LEAVING, text=text, cluster=victims[0].cluster)
            return
        gang = self._workload.demand.gang
        assert gang is not None
        units = endings(self._workload, self._cycle.claims, self._statement, self._lacks(gang))
        if not units:
            return
        own = self._workload.tenant
        text = ending_text(units, own)
        end = latest_end(units)
        if end is not None:
            text += f", at {format_instant(end)} at the latest by their run-time limits"
        yield Remedy(change=Change.ENDING, text=text, cluster=units[0].cluster)

    def _cluster(self, ask: Ask) -> Iterator[Remedy]:
        """Clusters that are left out and would hold it."""
        case = self._statement.standings.case(self._workload)
        fits = ask.fitting(np.ones_like(case.allowed))
        for at in (fits & ~case.allowed).nonzero()[0].tolist():
            refusal = case.refusals[at]
            if refusal is not None and refusal.verdict.reason != Reason.CLUSTER_TERMINATING:
                text = f"{refusal.cluster} may be used, where it fits: {refusal.verdict.detail}"
                yield Remedy(change=Change.CLUSTER, text=text, cluster=refusal.cluster)

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
                text = f"highestTierAllowed is {tier}{_instead(gang)}"
                yield _placed(found, Change.TIER, text)
                return
        found = self._offer(replace(gang, constraint=None))
        if found is not None:
            yield _placed(found, Change.TIER, f"it has no topology constraint{_instead(gang)}")

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
            yield _placed(best, Change.MINIMUM, f"{low} pods are enough to start (now {least})")

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
        return None if turn is None else self._offer_for(turn[1], cycle.statement)

    def _admitted(self, snapshot: Snapshot) -> Offer | None:
        found = self._tried(snapshot, self._policy)
        return found if isinstance(found, Offer) else None

    def _judged(
        self, change: Change, snapshot: Snapshot, text: str, policy: Policy | None = None
    ) -> Remedy:
        """The change, and what still stands against the workload with it."""
        found = self._tried(snapshot, policy or self._policy)
        if isinstance(found, Refusal):
            rest = found.verdict.detail
            return Remedy(change=change, text=f"{text}; then still: {rest}", enough=False)
        return Remedy(change=change, text=text)


def ending_text(units: Sequence[Unit], own: TenantName) -> str:
    """`2 gangs of queue c (12 pods) end in member1`."""
    ended = [
        (
            unit.holder.grant.amounts.pods(),
            True,
            unit.holder.workload.queue,
            unit.holder.workload.key if unit.holder.workload.tenant == own else None,
        )
        for unit in units
    ]
    places = sorted({str(unit.cluster) for unit in units})
    return f"{_counted(ended)} {'end' if len(ended) > 1 else 'ends'} in {', '.join(places)}"


def _counted(gone: Sequence[tuple[int, bool, object, object]]) -> str:
    """`2 gangs of queue b (16 pods)`, with the names of one's own tenant's."""
    parts = []
    for queue in sorted({str(one[2]) for one in gone}):
        those = [one for one in gone if str(one[2]) == queue]
        gangs = sum(1 for one in those if one[1])
        pods = sum(one[0] for one in those)
        surplus = sum(one[0] for one in those if not one[1])
        words = [f"{gangs} gang{'s' if gangs > 1 else ''}"] if gangs else []
        words += [f"{surplus} surplus pod{'s' if surplus > 1 else ''}"] if surplus else []
        names = sorted({str(one[3]) for one in those if one[3] is not None})
        named = f": {', '.join(names)}" if names else ""
        parts.append(f"{' and '.join(words)} of queue {queue} ({pods} pods{named})")
    return ", ".join(parts)


def _instead(gang: Gang) -> str:
    constraint = gang.constraint
    assert constraint is not None
    now = constraint.highest_tier_name or constraint.highest_tier
    return "" if now is None else f" (now {now})"


def _placed(offer: Offer, change: Change, text: str) -> Remedy:
    part = offer.parts[0]
    domain = part.placed.domain if part.placed is not None else None
    where = f"{part.cluster} holds it" + (f" in {domain}" if domain is not None else "")
    return Remedy(change=change, text=f"{text}: {where}", cluster=part.cluster, domain=domain)
