"""Observation: one generation of the report, collected from the cache. Pure, like `build`."""

from collections.abc import Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace

import msgspec

from global_sched.shared.api.federation import (
    ReportNodes,
    ReportNodeTrouble,
    ReportOmission,
    ReportWorkload,
)
from global_sched.shared.kinds import ONE_BY_ONE
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, ClusterName, DecisionId
from global_sched.shared.model.instant import (
    Instant,
    InstantError,
    format_instant,
    format_micro,
    parse_instant,
)
from global_sched.shared.model.recovery_spec import Scope
from global_sched.shared.model.resources import Resources
from global_sched.shared.placement import demand_of, histogram
from member_agent.cache import ClusterCache, ManagedWorkload, PodUnit, gone, room_of
from member_agent.recovery.checkpoints import answered
from member_agent.recovery.health import NodeHealth
from member_agent.recovery.losses import Book, to_wire
from member_agent.recovery.trouble import TroubleState
from member_agent.report.build import AMOUNT_LIMIT, AXIS_LIMIT, Observation, ReportHeader
from member_agent.scheduler.gang.minimum import reached as minimum_is_bound

NOT_MADE = "its pods have not been made yet"
TROUBLE_LIMIT = 100
"""Nodes in trouble that a report lists; all are counted."""
DOMAINS_LIMIT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Facts:
    """What the report says that does not come from watched objects."""

    header: ReportHeader = ReportHeader()
    label_keys: tuple[str, ...] = ()
    label_keys_limit: int = 128
    unwatched: frozenset[tuple[str, str]] = frozenset()
    """(apiVersion, kind) of owners that cannot be watched here."""
    health: NodeHealth = NodeHealth()
    trouble: TroubleState = TroubleState()
    losses: Book = field(default_factory=dict)
    waiting: Mapping[BindingId, Scope] = field(default_factory=dict)
    """The step of the leader at which ladders of recovery wait."""
    below: Mapping[BindingId, Instant] = field(default_factory=dict)
    """Since when gangs are below their minimum, as the last report said."""
    short: Mapping[BindingId, Instant] = field(default_factory=dict)
    """Since when gangs have fewer pods than were admitted, as the last report said."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Placing:
    """What the scheduler knows of managed units: minimums reached, and why the rest waits."""

    reached: Mapping[BindingId, DecisionId] = field(default_factory=dict)
    reasons: Mapping[BindingId, str] = field(default_factory=dict)


def observe(
    cache: ClusterCache,
    units: Sequence[PodUnit],
    *,
    facts: Facts,
    placing: Placing,
    generation: int,
    now: Instant,
) -> Observation:
    """Everything that the report of this generation says."""
    kept, dropped = label_keys(cache, facts.label_keys, facts.label_keys_limit)
    health = facts.health
    return Observation(
        cluster=ClusterName(cache.cluster),
        generation=generation,
        observed=now,
        topology=replace(
            histogram(
                room_of(cache, units, closed=health.closed, last_resort=health.last_resort), kept
            ),
            demand=demand_of(cache.mix(), kept),
        ),
        header=facts.header,
        nodes=msgspec.structs.replace(
            _totals(cache),
            troubled=len(facts.trouble.standing()),
            probation=len(facts.health.probation),
            domains=sorted(facts.health.leaves)[:DOMAINS_LIMIT] or None,
        ),
        trouble=tuple(_trouble(facts)),
        workloads=tuple(_workloads(cache, units, placing, facts, now)),
        omitted=tuple(_omissions(cache, dropped)),
        gone=tuple(gone(cache, facts.unwatched)),
    )


def _trouble(facts: Facts) -> Iterable[ReportNodeTrouble]:
    """Nodes in trouble, then those on probation; those that fell most often first."""
    nodes = facts.trouble.nodes
    listed = [n for n, one in nodes.items() if one.standing or n in facts.health.probation]
    listed.sort(key=lambda name: (not nodes[name].standing, -nodes[name].count, name))
    for name in listed[:TROUBLE_LIMIT]:
        one = nodes[name]
        yield ReportNodeTrouble(
            node=name,
            domain=one.leaf,
            state="trouble" if one.standing else "probation",
            cause=one.cause.value,
            detail=one.detail,
            since=format_instant(one.since),
            until="" if one.standing else format_instant(one.until),
            count=one.count,
        )


def label_keys(
    cache: ClusterCache, configured: Sequence[str], limit: int
) -> tuple[list[str], list[str]]:
    """Node label keys that the report holds, ascending; and those that are too many.

    Configured keys go first: an operator's choice is not crowded out by what users select on.
    """
    asked = [key for key in cache.asked_label_keys() if key not in configured]
    ranked = [*sorted(configured), *asked]
    return sorted(ranked[:limit]), ranked[limit:]


def _totals(cache: ClusterCache) -> ReportNodes:
    ready = [record for record in cache.nodes.values() if record.usable]
    open_ = [record for record in ready if record.node_class.schedulable]
    known = list(Resources.total(Resources.of(record.room) for record in open_))
    return ReportNodes(
        total=len(cache.nodes),
        ready=len(ready),
        schedulable=len(open_),
        allocatable={name: min(n, AMOUNT_LIMIT) for name, n in known[:AXIS_LIMIT]} or None,
        largest=_largest(cache) or None,
    )


def _largest(cache: ClusterCache) -> dict[str, int]:
    """Of each resource the most that any node has."""
    most: dict[str, int] = {}
    for record in cache.nodes.values():
        for name, amount in record.room.items():
            most[name] = max(most.get(name, 0), amount)
    return {name: min(n, AMOUNT_LIMIT) for name, n in sorted(most.items())[:AXIS_LIMIT] if n}


def _workloads(
    cache: ClusterCache, units: Sequence[PodUnit], placing: Placing, facts: Facts, now: Instant
) -> Iterable[ReportWorkload]:
    by_binding: dict[BindingId, list[PodUnit]] = {
        binding: [] for binding, entry in cache.entries().items() if not entry.held.entries
    }
    for unit in units:
        if unit.binding is not None:
            by_binding.setdefault(unit.binding, []).append(unit)
    for binding, own in sorted(by_binding.items()):
        entry = cache.entries().get(binding)
        bound = counted(own, entry)
        decision = entry.decision if entry else DecisionId("")
        reason = placing.reasons.get(binding, "" if own else NOT_MADE)
        if entry is None and not bound.pods() and not reason:
            continue
        reached = bool(decision) and placing.reached.get(binding) == decision
        below = reached and _below(own)
        short = reached and _gangs(own) and entry is not None and not bound.covers(entry.admitted)
        yield ReportWorkload(
            binding=binding,
            bound=dict(bound.entries) or None,
            decision=decision,
            minimum_reached=reached,
            reason=reason,
            below_since=format_micro(min(facts.below.get(binding, now), now)) if below else "",
            short_since=format_micro(min(facts.short.get(binding, now), now)) if short else "",
            losses=to_wire(facts.losses.get(binding, ())),
            waits_at=at.value if (at := facts.waiting.get(binding)) else "",
            checkpoint_answered=answered(entry, own),
        )


def _below(units: Sequence[PodUnit]) -> bool:
    """Whether a gang that had its minimum lacks it: pods of it have no node, or are not made."""
    return _gangs(units) and not (units and all(minimum_is_bound(one) for one in units))


def _gangs(units: Sequence[PodUnit]) -> bool:
    """Whether none of these is a service, whose pods come and go one by one."""
    return all(unit.root_kind not in ONE_BY_ONE for unit in units)


def below_of(workloads: Iterable[ReportWorkload]) -> dict[BindingId, Instant]:
    """Since when gangs are below their minimum, as a report says; what cannot be read is new."""
    return _instants((one.binding, one.below_since) for one in workloads)


def short_of(workloads: Iterable[ReportWorkload]) -> dict[BindingId, Instant]:
    """The same of gangs that have fewer pods than were admitted."""
    return _instants((one.binding, one.short_since) for one in workloads)


def _instants(texts: Iterable[tuple[str, str]]) -> dict[BindingId, Instant]:
    found = {}
    for binding, text in texts:
        with suppress(InstantError):
            found[BindingId(binding)] = parse_instant(text)
    return found


def counted(units: Iterable[PodUnit], entry: ManagedWorkload | None) -> Amounts:
    """The pods of one binding that count as bound, by pod set; never more than admitted.

    Pods that succeeded count, but for those that are being replaced: a Job with more completions
    than parallelism makes a new pod for each that ends, and the room admitted for its pods at once
    must stay theirs.
    """
    active, succeeded, unbound = Amounts(), Amounts(), Amounts()
    for unit in units:
        active = active.plus(unit.active())
        succeeded = succeeded.plus(unit.succeeded)
        unbound = unbound.plus(unit.unbound)
    if entry is None:
        return active.plus(succeeded)
    spare = entry.admitted.minus(active).minus(unbound)
    done = Amounts.of({name: min(pods, spare.get(name)) for name, pods in succeeded.entries})
    return active.plus(done)


def _omissions(cache: ClusterCache, keys: Sequence[str]) -> Iterable[ReportOmission]:
    for (kind, key), problem in sorted(cache.problems.items()):
        what = f"{kind} {'/'.join(part for part in key if part)}"
        yield ReportOmission(what=what, reason=problem)
    for node, pods in sorted(cache.unreadable_on.items()):
        namespace, name = min(pods)
        reason = f"its room is unknown: the requests of pod {namespace}/{name} cannot be read"
        yield ReportOmission(what=f"Node {node}", reason=reason)
    for label in keys:
        yield ReportOmission(what=f"label key {label}", reason="more keys than label_keys_limit")
