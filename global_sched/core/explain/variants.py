"""The table of what may let a workload run: each row yields variants of the request or the world.

A variant is a sentence and a world that differs in the one thing that it says. `trials` gives each
its turn in a cycle on that world; what is said to be enough was admitted there, or makes room. A
new kind of advice is one more row. How many variants of a row are tried at most stands in `most`.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from enum import StrEnum
from typing import Final, NamedTuple

import numpy as np

from global_sched.core.cycle import Cycle
from global_sched.core.explain import worlds
from global_sched.core.explain.endings import endings, latest_end
from global_sched.core.explain.left_out import obstacles, permitted
from global_sched.core.explain.remedy_text import (
    ending_text,
    enough_text,
    leaving_text,
    open_text,
    tier_text,
)
from global_sched.core.fit.rooms import Ask
from global_sched.core.offer import Offer, Refusal
from global_sched.core.place.admission import growth_for, offer_for, refused_before
from global_sched.core.quota.limits import over
from global_sched.core.statement import Statement
from global_sched.core.waiting import claimants
from global_sched.shared.api.reasons import Reason
from global_sched.shared.kinds import FieldNames, field_names
from global_sched.shared.model.explanation import Change, Victim
from global_sched.shared.model.gang import Amounts, Gang, Mode
from global_sched.shared.model.growth import needs_more
from global_sched.shared.model.ids import ClusterName, DomainId, QueueName
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.quantity import counted, format_quantity
from global_sched.shared.model.resources import PODS, Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.topology import Domain
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.words import nearest_name
from global_sched.shared.model.workload import Division, Workload

FIRST: Final = "no other job is ahead of it in the queue order"
GROWS_FIRST: Final = "no other request is ahead of its growth in the queue order"
QUOTA: Final = frozenset({Reason.QUEUE_CAPABILITY, Reason.TENANT_LIMIT})
_ROOM: Final = frozenset({Reason.CAPACITY_DOES_NOT_FIT, Reason.TOPOLOGY_DOES_NOT_FIT})
_HOLDS: Final = _ROOM | QUOTA | {Reason.GUARANTEE_RESERVED, Reason.GROWTH_PENDING}


class Variant(NamedTuple):
    """One change: the world with it, and how it is said.

    `snapshot` None: nothing of it can be tried. `alone`: with it the workload has to be admitted
    with no victims. `proved`: a search has shown it already.
    """

    change: Change
    text: str
    snapshot: Snapshot | None = None
    policy: Policy | None = None
    cluster: ClusterName | None = None
    domain: DomainId | None = None
    field: str = ""
    value: str = ""
    alone: bool = False
    proved: bool = False
    says_where: bool = False
    """Whether the place that it gets is worth saying."""


class Says(StrEnum):
    """Which of a row's variants are said."""

    EACH = "each"
    """All, also those that are not enough, with what then still stands against the workload."""
    FIRST = "first"
    """The first one that is enough."""
    BEST = "best"
    """The first one that is enough, else the last one with what then still stands against it."""
    HELPING = "helping"
    """All that are enough, else the first one."""


class Row(NamedTuple):
    """One kind of advice."""

    when: "Callable[[Question], bool]"
    variants: "Callable[[Question], Iterator[Variant]]"
    says: Says
    most: int


@dataclass(slots=True)
class Question:
    """A workload that waits, in its turn: what stands against it, and what it asks for."""

    workload: Workload
    cycle: Cycle
    refusal: Refusal
    ask: Ask | None
    victims: tuple[Victim, ...]
    alone: str | None = None
    """The order in which it was found to have room already: as it is, or with it first."""
    ends: bool = False
    """Whether jobs were found whose end lets it run."""
    _kept: list[Workload] = field(default_factory=list)
    """Variants of the workload: as long as the statement is asked, it knows them by identity."""

    @property
    def statement(self) -> Statement:
        """The cycle's statement at its turn."""
        return self.cycle.statement

    @property
    def snapshot(self) -> Snapshot:
        """The world as it is."""
        return self.statement.snapshot

    @property
    def reason(self) -> Reason:
        """What stands against it."""
        return self.refusal.verdict.reason

    @property
    def gang(self) -> Gang:
        """What it asks for."""
        gang = self.workload.demand.gang
        assert gang is not None
        return gang

    @property
    def names(self) -> FieldNames:
        """Where its object says what advice speaks of."""
        demand = self.workload.demand
        return field_names(demand.api_version, demand.kind)

    @property
    def runs(self) -> bool:
        """Whether it runs, and waits for more."""
        return bool(self.workload.targets)

    @property
    def whole(self) -> bool:
        """Whether it is a gang in one cluster."""
        return self.workload.demand.division == Division.WHOLE

    @property
    def lacks_room(self) -> bool:
        """Whether room or quota is what it waits for."""
        verdict = self.refusal.verdict
        return self.reason in _HOLDS and (not self.runs or verdict.code == Code.NO_FIT)

    def lacks(self) -> Amounts:
        """What it waits for: its minimum, what it lacks of that, or one pod more."""
        if not self.runs:
            return self.gang.minimum_amounts()
        lacks, more = needs_more(self.workload), self.workload.lacking()
        return lacks if lacks.entries else Amounts.of({more.entries[0][0]: 1})

    def asked(self) -> Resources:
        """What that is in resources."""
        gang = self.gang
        return gang.requests(self.lacks()) or gang.requests(gang.all_amounts())

    def offered(self, gang: Gang) -> Offer | None:
        """What the workload would get now, in the statement, if it were this gang."""
        variant = worlds.with_gang(self.workload, gang)
        self._kept.append(variant)
        found = (growth_for if self.runs else offer_for)(variant, self.statement)
        return found if isinstance(found, Offer) else None

    def other(self, other: Workload) -> Snapshot:
        """The world with another workload in its place."""
        return worlds.exchanged(self.snapshot, self.workload, other)


# --- its turn -----------------------------------------------------------------------------


def _lines(question: Question, snapshot: Snapshot) -> Iterator[tuple[str, Snapshot]]:
    """The order as it is, without those before it, and without room that is kept for them."""
    first = GROWS_FIRST if question.runs else FIRST
    yield "", snapshot
    yield first, worlds.only_these(snapshot, [question.workload])
    own, claims = question.workload.key, question.cycle.claims
    others = (one.key for one in claimants(snapshot) if one.key != own)
    kept = sum(claims.kept_for(key) is not None for key in others)
    if kept:
        text = f"{first} and no room is kept for {counted(kept, 'other job')}"
        unkept = worlds.without_claims(snapshot, question.workload)
        yield text, worlds.only_these(unkept, [question.workload])


def _turns(question: Question) -> Iterator[Variant]:
    """It comes before the others."""
    for first, world in _lines(question, question.snapshot):
        if first:
            change = Change.TURN if first in (FIRST, GROWS_FIRST) else Change.HELD
            yield Variant(change, f"{first}: there is room now", world, alone=True)


def _may_wait(question: Question) -> Iterator[Variant]:
    """Its tenant may have as many waiting as are before it, and itself."""
    tenant = question.statement.ledger.tenant(question.workload.tenant)
    gates = question.statement.ledger.gates
    most = gates.beyond_pending_limit[question.workload.key] + 1
    now = f"spec.pendingLimit, now {tenant.pending_limit}"
    text = f"tenant {tenant.name} may have {counted(most, 'pending job')} ({now})"
    yield Variant(Change.TENANT, text, worlds.waiting(question.snapshot, tenant.name, most))


# --- its queue, tenant and PriorityClass ----------------------------------------------------


def _open(question: Question) -> Iterator[Variant]:
    path = question.statement.ledger.node(question.workload.queue).path
    shut = [one.queue.name for one in path if not one.queue.open]
    yield Variant(
        Change.QUEUE_OPEN, open_text(shut), worlds.opened(question.snapshot, frozenset(shut))
    )


def _meant_queue(question: Question) -> Iterator[Variant]:
    """The queue whose name is nearest, where it takes something from the tenant."""
    ledger, workload = question.statement.ledger, question.workload
    meant = nearest_name(
        workload.queue, [one.queue.name for one in ledger.tree.order if one.exists]
    )
    if meant:
        yield _in_queue(question, QueueName(meant))


def _created(question: Question) -> Iterator[Variant]:
    queue = question.workload.queue
    world = worlds.existing(question.snapshot, queue)
    yield Variant(Change.QUEUE, f"there is a queue {queue}", world)


def _in_queue(question: Question, name: QueueName) -> Variant:
    names, workload = question.names, question.workload
    text = f"it names queue {name} ({names.queue}, now {workload.queue})"
    world = question.other(replace(workload, queue=name))
    return Variant(Change.QUEUE, text, world, field=names.queue, value=name)


def _other_queues(question: Question) -> Iterator[Variant]:
    """It names a queue from which it may be admitted, first those that take from the tenant."""
    ledger, workload = question.statement.ledger, question.workload
    shut, tenant = ledger.gates.shut, ledger.tenant(workload.tenant)
    names: Sequence[QueueName] = tenant.queues
    if question.reason == Reason.QUEUE_NOT_LEAF:
        names = worlds.leaves_of(ledger.node(workload.queue))
    for name in sorted(names, key=lambda one: (shut(one, tenant.name) is not None, one)):
        yield _in_queue(question, name)


def _other_classes(question: Question) -> Iterator[Variant]:
    """It names a PriorityClass that exists and that its tenant may use."""
    workload, values = question.workload, dict(question.snapshot.priorities)
    names: Sequence[str] = sorted(
        question.statement.ledger.tenant(workload.tenant).priority_classes
    )
    if question.reason == Reason.PRIORITY_CLASS_MISSING:
        names = [nearest_name(workload.priority_class, list(values))]
    field_name = question.names.priority_class
    for name in (one for one in names if one in values):
        other = replace(workload, priority_class=name, priority=values[name], problem=None)
        text = f"its PriorityClass is {name} ({field_name}, now {workload.priority_class})"
        world = question.other(other)
        yield Variant(Change.TENANT, text, world, field=field_name, value=name)


def _its_class(question: Question) -> Iterator[Variant]:
    """The class that it names is there. Which priority that would give is not known."""
    one = question.workload
    text = f"there is a PriorityClass {one.priority_class} (tried with {one.priority})"
    yield Variant(Change.PRIORITY, text, question.other(replace(one, problem=None)))


def _put_right(question: Question) -> Iterator[Variant]:
    """What is wrong with its queue or tenant is mended; what that leads to cannot be tried."""
    ledger, workload = question.statement.ledger, question.workload
    if question.reason == Reason.QUEUE_INVALID:
        wrong = ledger.node(workload.queue).frozen
        yield Variant(Change.QUEUE, f"queue {workload.queue} is put right: {wrong}")
    else:
        tenant = ledger.tenant(workload.tenant)
        yield Variant(Change.TENANT, f"tenant {tenant.name} is put right: {tenant.problem}")


# --- quota ----------------------------------------------------------------------------------


def _limits(question: Question) -> Iterator[Variant]:
    """Limits raised by what it lacks; then as much more as is set aside for others."""
    said = ""
    for beside in (False, True):
        changed, lacks = worlds.raised(
            question.workload, question.asked(), question.statement, beside_aside=beside
        )
        text = "; ".join(lacks)
        if text and text != said:
            yield Variant(Change.QUOTA, text, changed)
        said = text


def _lent(question: Question) -> Iterator[Variant]:
    text = "guarantees that other queues do not use are lent (policy.lend_guarantees)"
    policy = worlds.lent(question.statement.policy)
    yield Variant(Change.LENDING, text, question.snapshot, policy)


# --- other jobs -----------------------------------------------------------------------------


def _victims(question: Question) -> Iterator[Variant]:
    """Those that would have to leave do: the search has proved that."""
    cluster = question.victims[0].cluster
    yield Variant(Change.LEAVING, leaving_text(question.victims), cluster=cluster, proved=True)


def _endings(question: Question) -> Iterator[Variant]:
    """Jobs end, and perhaps it comes before the others, too."""
    units = endings(question.workload, question.cycle.claims, question.statement, question.lacks())
    if not units:
        return
    text = ending_text(units, question.workload)
    end = latest_end(units)
    if end is not None:
        text += f", at {format_instant(end)} at the latest by their run-time limits"
    gone = worlds.ended(question.snapshot, [unit.holder.workload for unit in units])
    for first, world in _lines(question, gone):
        if first and first == question.alone:
            return
        said = f"{first}, and {text}" if first else text
        yield Variant(Change.ENDING, said, world, cluster=units[0].cluster, alone=True)


def _all_end(question: Question) -> Iterator[Variant]:
    """Every other job ends, which shows the largest room that there could be; services run on."""
    running = [
        one
        for some in question.snapshot.running
        for one in some.workloads
        if one.demand.division == Division.WHOLE
    ]
    if running:
        world = worlds.without_claims(worlds.ended(question.snapshot, running), question.workload)
        alone = worlds.only_these(world, [question.workload])
        yield Variant(Change.ENDING, "all running jobs end", alone, alone=True)


# --- clusters -------------------------------------------------------------------------------


def _clusters(question: Question) -> Iterator[Variant]:
    """Clusters that are left out: those that hold it now, else the nearest first."""
    statement, refusal = question.statement, question.refusal
    case, rooms, ask = statement.standings.case(question.workload), statement.rooms.rooms, None
    ask = question.ask
    assert ask is not None
    fits = ask.fitting(np.ones_like(case.allowed))
    found = (fits & ~case.allowed).nonzero()[0].tolist()
    if not found and not case.allowed.any():
        found = sorted(range(len(rooms)), key=lambda at: rooms[at].cluster.name != refusal.nearest)
    nowhere = _may_run_nowhere(question)
    for at in found:
        against = case.refusals[at]
        if against is None or rooms[at].cluster.terminating:
            continue
        if against.verdict.reason == Reason.QUEUE_CAPABILITY:
            yield from _limits_in(question, rooms[at].cluster.name)
        elif not nowhere:
            yield from _let_in(question, at, fits=bool(fits[at]))


def _limits_in(question: Question, cluster: ClusterName) -> Iterator[Variant]:
    changed, lacks = worlds.raised_in(
        question.workload, question.asked(), cluster, question.statement
    )
    if lacks:
        yield Variant(Change.QUOTA, "; ".join(lacks), changed, cluster=cluster)


def _let_in(question: Question, at: int, *, fits: bool) -> Iterator[Variant]:
    statement = question.statement
    cluster = statement.rooms.rooms[at].cluster
    against = obstacles(question.workload, cluster, statement)
    if not against:
        return
    where = ", which has room for it" if fits else ""
    said = [one.detail + _POLICY_FIELDS.get(one.reason, "") for one in against]
    text = f"it may use cluster {cluster.name}{where}: {'; '.join(said)}"
    reasons = [one.reason for one in against]
    world = permitted(question.workload, cluster, reasons, statement.snapshot, statement.now)
    yield Variant(Change.CLUSTER, text, world, cluster=cluster.name)


_POLICY_FIELDS: Final = {
    Reason.CLUSTER_AFFINITY: " (spec.placement.clusterAffinity)",
    Reason.CLUSTER_TAINT: " (spec.placement.clusterTolerations)",
}
"""Where the policy says what keeps a job out of a cluster."""


def _may_run_nowhere(question: Question) -> bool:
    """Whether its queue, its tenant or their limits stand against it, whatever the cluster."""
    one, statement = question.workload, question.statement
    if question.reason == Reason.GUARANTEE_RESERVED:
        return True
    if refused_before(one, statement) is not None:
        return True
    bounds = statement.ledger.bounds(one.queue, one.tenant)
    return over(bounds, question.asked()) is not None


# --- the job itself -------------------------------------------------------------------------


def _tiers(question: Question) -> Iterator[Variant]:
    """The next tiers within which the statement has room for it, then no constraint at all."""
    gang, name = question.gang, question.names.topology
    constraint = gang.constraint
    assert constraint is not None
    domains = [
        domain
        for room in question.statement.rooms.rooms
        if room.cluster.capacity is not None
        for domain in room.cluster.capacity.topology.domains
    ]
    now = constraint.highest_tier
    if constraint.highest_tier_name:
        name = name.replace("highestTierAllowed", "highestTierName")
        yield from _tier_names(question, name, domains)
        now = max((one.tier for one in domains), default=0)
    tiers = {one.tier for one in domains if now is None or one.tier > now}
    for tier in sorted(tiers)[:TIERS]:
        wider = replace(constraint, highest_tier=tier, highest_tier_name="")
        yield from _as_gang(
            question,
            Change.TIER,
            replace(gang, constraint=wider),
            tier_text(gang, name, tier),
            (name, str(tier)),
        )
    free = replace(gang, constraint=None)
    yield from _as_gang(question, Change.TIER, free, tier_text(gang, name, None), (name, ""))


def _tier_names(
    question: Question, field_name: str, domains: Sequence[Domain]
) -> Iterator[Variant]:
    """The same where the tier stands by its name: the nearest name first, then higher tiers."""
    constraint = question.gang.constraint
    assert constraint is not None
    tiers = {one.tier_name: one.tier for one in domains if one.tier_name}
    now = tiers.get(constraint.highest_tier_name)
    meant = nearest_name(constraint.highest_tier_name, sorted(tiers))
    higher = [one for one, tier in tiers.items() if now is None or tier > now]
    for other in sorted(higher, key=lambda one: (one != meant, tiers[one], one))[:TIERS]:
        gang = replace(question.gang, constraint=replace(constraint, highest_tier_name=other))
        text = tier_text(question.gang, field_name, other)
        yield from _as_gang(question, Change.TIER, gang, text, (field_name, other))


def _minimum(question: Question) -> Iterator[Variant]:
    """The largest smaller minimum for which the statement has room, by halving."""
    gang, name = question.gang, question.names.minimum
    least = gang.minimum_amounts().pods()
    low, high = 0, least
    while high - low > 1:
        middle = (low + high) // 2
        if question.offered(replace(gang, minimum=middle)) is None:
            high = middle
        else:
            low = middle
    if low:
        fewer, text = replace(gang, minimum=low), enough_text(low, least, name)
        yield from _as_gang(question, Change.MINIMUM, fewer, text, (name, str(low)))


def _smaller_pods(question: Question) -> Iterator[Variant]:
    """Pods that ask for no more than the largest node has, where that is what stands against it."""
    gang, largest = question.gang, question.statement.standings.sizes().largest()
    texts, sets = [], []
    for pod_set in gang.pod_sets:
        asked = dict(pod_set.shape.requests.entries)
        less = {name: min(amount, largest.get(name, 0)) for name, amount in asked.items()}
        for name, amount in asked.items():
            if less[name] < amount and name != PODS:
                if not less[name]:
                    return
                shown = [format_quantity(one, name) for one in (less[name], amount)]
                texts.append(f"pods of {pod_set.name} request {name} {shown[0]} (now {shown[1]})")
        shape = replace(pod_set.shape, requests=Resources.of(less))
        sets.append(replace(pod_set, shape=shape))
    if texts:
        smaller = worlds.with_gang(question.workload, replace(gang, pod_sets=tuple(sets)))
        yield Variant(Change.REQUESTS, "; ".join(texts), question.other(smaller), says_where=True)


def _as_gang(
    question: Question, change: Change, gang: Gang, text: str, edit: tuple[str, str]
) -> Iterator[Variant]:
    """The workload as another gang, where the statement has room for that.

    Of one that runs the statement's answer is all that there is: it has no turn of its own.
    """
    found = question.offered(gang)
    if found is None:
        return
    part = found.parts[0]
    domain = part.placed.domain if part.placed is not None else None
    name, value = edit
    world = None
    if not question.runs:
        world = question.other(worlds.with_gang(question.workload, gang))
    yield Variant(
        change,
        text,
        world,
        cluster=part.cluster,
        domain=domain,
        field=name,
        value=value,
        proved=question.runs or bool(question.workload.group),
        says_where=True,
    )


TIERS: Final = 4
"""So many further tiers are tried, the next ones first."""


def _reason(*reasons: Reason) -> Callable[[Question], bool]:
    return lambda question: question.reason in reasons


def _never_room(question: Question) -> bool:
    """Whether neither its turn, nor victims, nor ends of jobs were found to give it room."""
    lacks = question.reason in _ROOM and question.refusal.verdict.code == Code.NO_FIT
    found = question.ends or question.victims or question.alone is not None
    return lacks and not question.runs and not found


def _hard(question: Question) -> bool:
    """Whether a hard tier may be what keeps it out."""
    constraint = question.gang.constraint
    return (
        question.whole
        and constraint is not None
        and constraint.mode == Mode.HARD
        and (not question.runs or question.lacks_room)
    )


def _may_be_fewer(question: Question) -> bool:
    """Whether a smaller minimum can be written, and may help."""
    grouped = any(one.partition is not None for one in question.gang.pod_sets)
    may = question.whole and not question.runs and not grouped
    return may and question.reason in _HOLDS and bool(question.names.minimum)


ITS_TURN: Final = (
    Row(_reason(Reason.TENANT_PENDING_LIMIT), _may_wait, Says.EACH, 1),
    Row(lambda one: one.reason != Reason.TENANT_PENDING_LIMIT, _turns, Says.FIRST, 2),
)
NAMES: Final = (
    Row(_reason(Reason.QUEUE_CLOSED), _open, Says.EACH, 1),
    Row(_reason(Reason.QUEUE_MISSING), _meant_queue, Says.EACH, 1),
    Row(_reason(Reason.QUEUE_MISSING), _created, Says.EACH, 1),
    Row(_reason(Reason.QUEUE_NOT_LEAF, Reason.QUEUE_NOT_ALLOWED), _other_queues, Says.EACH, 3),
    Row(_reason(Reason.QUEUE_INVALID, Reason.TENANT_INVALID), _put_right, Says.EACH, 1),
    Row(
        _reason(Reason.PRIORITY_CLASS_NOT_ALLOWED, Reason.PRIORITY_CLASS_MISSING),
        _other_classes,
        Says.HELPING,
        8,
    ),
    Row(_reason(Reason.PRIORITY_CLASS_MISSING), _its_class, Says.EACH, 1),
)
LIMITS: Final = (
    Row(_reason(*QUOTA), _limits, Says.BEST, 2),
    Row(_reason(Reason.GUARANTEE_RESERVED), _lent, Says.EACH, 1),
)
OTHERS: Final = (
    Row(lambda one: one.lacks_room and bool(one.victims), _victims, Says.EACH, 1),
    Row(lambda one: one.lacks_room and not one.victims, _endings, Says.FIRST, 3),
    Row(_never_room, _all_end, Says.EACH, 1),
)
OWN: Final = (
    Row(lambda one: not one.runs and one.ask is not None, _clusters, Says.EACH, 4),
    Row(_hard, _tiers, Says.FIRST, 2 * TIERS),
    Row(_may_be_fewer, _minimum, Says.FIRST, 1),
    Row(lambda one: one.refusal.verdict.code == Code.NEVER, _smaller_pods, Says.EACH, 1),
)
TABLE: Final = (*ITS_TURN, *NAMES, *LIMITS, *OTHERS, *OWN)
"""All advice, that which needs least of others first."""
