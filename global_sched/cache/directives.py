"""Directives: the state's admitted workloads as specs per member, and which of them changed."""

from collections.abc import Iterable, Sequence
from dataclasses import fields, is_dataclass, replace
from typing import Any, Final
from zlib import crc32

import msgspec

from global_sched.cache.snapshot_builder import SnapshotBuilder
from global_sched.shared.api.federation import (
    DirectiveEntry,
    DirectiveRecovery,
    DirectiveSpec,
    LeftBinding,
)
from global_sched.shared.model.decision import Claim, ClaimPart, Decision, Grant
from global_sched.shared.model.decision_text import amounts_map
from global_sched.shared.model.gang import Gang
from global_sched.shared.model.growth import growth_gang, growth_of
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.instant import format_micro
from global_sched.shared.model.recovery_spec import RecoveryPolicy
from global_sched.shared.model.topology import Wanted
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import encode_demand
from global_sched.shared.placement.bounded_cache import BoundedCache

SLICE_LIMIT: Final = 16 * 1024
"""Bytes of entries in one Directive, as long as there may be more of them. A lone decision rewrites
its slice whole, and an API server checks every entry of what it is sent: about 0.7 ms of its CPU
each, during which the next decision waits."""
SLICES_LIMIT: Final = 1024
_MOST_GANGS: Final = 4096
Gangs = BoundedCache[Gang, dict[str, Any]]
"""Gangs as JSON."""
DEFAULTS: Final = RecoveryPolicy()


def directive_specs(  # noqa: PLR0913 - everything that one Directive is made of
    cluster: ClusterName,
    holders: Iterable[Workload],
    claimants: Iterable[Workload] = (),
    leavers: Iterable[Workload] = (),
    *,
    label_keys: tuple[str, ...],
    epoch: int,
    demand: Sequence[Wanted] = (),
    gangs: Gangs | None = None,
    recovery: RecoveryPolicy = DEFAULTS,
) -> tuple[DirectiveSpec, ...]:
    """The Directive of one member, in as many slices as its size needs.

    `holders` are admitted there, `claimants` wait and have room kept for them there, `leavers` were
    withdrawn from there. `demand` is what places were chosen by; `gangs` keeps
    gangs as JSON from one call to the next.

    An entry's slice follows from its binding id, so that one change rewrites one slice.
    Order:  entries as room was given: (at, order, binding id).
    """
    known = Gangs(_MOST_GANGS) if gangs is None else gangs
    entries = _entries(cluster, holders, claimants, known)
    sizes = [len(msgspec.json.encode(entry)) + 1 for entry in entries]
    left = sorted(
        (
            LeftBinding(
                binding=workload.binding_id,
                at=format_micro(one.at),
                namespace=workload.namespace,
                kind=workload.demand.kind,
                name=workload.name,
            )
            for workload in leavers
            for one in workload.left
            if one.cluster == cluster
        ),
        key=lambda one: (one.binding, one.at),
    )
    parts, encoded = 1, encode_demand(demand)
    said = len(msgspec.json.encode(encoded)) + len(msgspec.json.encode(left))
    limit = max(SLICE_LIMIT - said, SLICE_LIMIT // 2)
    while parts < SLICES_LIMIT and _largest(entries, sizes, parts) > limit:
        parts *= 2
    sliced: list[list[DirectiveEntry]] = [[] for _ in range(parts)]
    for entry in entries:
        sliced[_slice_of(entry, parts)].append(entry)
    return tuple(
        DirectiveSpec(
            cluster=cluster,
            epoch=epoch,
            slice=number,
            slices=parts,
            label_keys=list(label_keys) or None,
            demand=None if number else encoded,
            recovery=None if number else _recovery(recovery),
            size=len(part),
            entries=part or None,
            left=None if number else left or None,
        )
        for number, part in enumerate(sliced)
    )


def _recovery(policy: RecoveryPolicy) -> DirectiveRecovery | None:
    """The Policy's values for the agent; None for the defaults, which it has itself."""
    if policy == DEFAULTS:
        return None
    return DirectiveRecovery(
        heal_seconds=policy.heal_seconds,
        step_seconds=policy.step_seconds,
        hold_limit_seconds=policy.hold_limit_seconds,
        node_exit_codes=list(policy.node_exit_codes) or None,
    )


def _entries(
    cluster: ClusterName,
    holders: Iterable[Workload],
    claimants: Iterable[Workload],
    gangs: Gangs,
) -> list[DirectiveEntry]:
    found = []
    for workload in claimants:
        decision = workload.decision
        if decision is not None and decision.claim is not None:
            make = _growth_entry if decision.grants else _claim_entry
            key = (decision.claim.since, decision.claim.order, workload.binding_id)
            found += [
                (key, make(workload, decision, decision.claim, part, gangs))
                for part in decision.claim.parts
                if part.cluster == cluster
            ]
    for workload in holders:
        decision = workload.decision
        grant = decision.grant(cluster) if decision is not None else None
        if decision is not None and grant is not None:
            key = (decision.at, decision.order, workload.binding_id)
            found.append((key, _entry(workload, decision, grant, gangs)))
    return [entry for _, entry in sorted(found, key=lambda item: item[0])]


def _claim_entry(
    workload: Workload, decision: Decision, claim: Claim, part: ClaimPart, gangs: Gangs
) -> DirectiveEntry:
    gang = workload.demand.gang
    held = part.amounts if gang is None else part.amounts.within(gang.all_amounts())
    return DirectiveEntry(
        binding=workload.binding_id,
        workload=workload.key,
        decision=decision.id,
        epoch=decision.epoch,
        at=format_micro(claim.since),
        order=claim.order,
        tier=part.tier,
        gang=None if gang is None else _written(gang, gangs),
        held=amounts_map(held),
        held_domain=part.domain or "",
        held_until=format_micro(claim.until),
        leaving=sorted({one.binding for one in claim.victims}) or None,
    )


def _growth_entry(
    workload: Workload, decision: Decision, claim: Claim, part: ClaimPart, gangs: Gangs
) -> DirectiveEntry:
    """Room for more pods of a gang that runs: an entry of its own, as of a waiting workload."""
    entry = _claim_entry(workload, decision, claim, part, gangs)
    return msgspec.structs.replace(
        entry,
        binding=growth_of(workload.binding_id),
        gang=_written(growth_gang(workload, part.amounts), gangs),
    )


def _entry(workload: Workload, decision: Decision, grant: Grant, gangs: Gangs) -> DirectiveEntry:
    progress = workload.progress_in(grant.cluster)
    counted = progress is not None and progress.bound.covers(grant.amounts)
    gang = None
    if workload.demand.gang is not None and not counted:
        gang = _written(workload.demand.gang, gangs)
    return DirectiveEntry(
        binding=workload.binding_id,
        workload=workload.key,
        decision=decision.id,
        epoch=decision.epoch,
        at=format_micro(decision.at),
        order=decision.order,
        domain=grant.domain or "",
        tier=grant.tier,
        admitted=amounts_map(grant.amounts),
        gang=gang,
        give_up=_gives_up(decision, grant),
        checkpoint_call="" if decision.called is None else format_micro(decision.called),
    )


def _written(gang: Gang, known: Gangs) -> dict[str, Any]:
    """A gang as JSON, without what its readers assume anyway. Shared: never change it.

    Nor with its allowed sizes: agents get amounts, and the CRD's schema has no such field.
    """
    return known[gang] if gang in known else known.keep(gang, _lean(replace(gang, elastic=None)))


def _lean(value: Any) -> Any:
    if is_dataclass(value):
        named = ((field, getattr(value, field.name)) for field in fields(value))
        return {field.name: _lean(one) for field, one in named if one != field.default}
    if isinstance(value, tuple):
        return [_lean(one) for one in value]
    return value


def _gives_up(decision: Decision, grant: Grant) -> dict[str, int] | None:
    found = next((a for cluster, a in decision.give_up if cluster == grant.cluster), None)
    return amounts_map(found) if found is not None else None


def _slice_of(entry: DirectiveEntry, parts: int) -> int:
    return crc32(entry.binding.encode()) % parts


def _largest(entries: list[DirectiveEntry], sizes: list[int], parts: int) -> int:
    sums = [0] * parts
    for entry, size in zip(entries, sizes, strict=True):
        sums[_slice_of(entry, parts)] += size
    return max(sums)


class DirectiveDiff:
    """The members whose Directive changed, by what was written last: label keys, epoch, demand."""

    def __init__(self, builder: SnapshotBuilder) -> None:
        self._builder = builder
        self._written: tuple[tuple[str, ...], int, RecoveryPolicy] = ((), -1, DEFAULTS)
        self._directed: frozenset[ClusterName] = frozenset()
        self._demands: dict[ClusterName, tuple[Wanted, ...]] = {}
        self._gangs = Gangs(_MOST_GANGS)

    def changes(
        self, label_keys_limit: int, epoch: int, recovery: RecoveryPolicy = DEFAULTS
    ) -> frozenset[ClusterName]:
        """Members whose Directive may differ from what it was at the last call."""
        clusters = frozenset(self._builder.clusters())
        holders = self._builder.usage_index.changed_holders
        changed = frozenset(holders) & clusters
        holders.clear()
        written = (self._builder.demands.label_keys(label_keys_limit), epoch, recovery)
        if written != self._written:
            changed = clusters
        changed |= clusters - self._directed
        demands = {cluster: self._builder.demand_in(cluster) for cluster in clusters}
        before = self._demands
        changed |= {name for name, mix in demands.items() if mix != before.get(name, ())}
        self._demands = demands
        self._written, self._directed = written, clusters
        return changed

    def specs(self, cluster: ClusterName) -> tuple[DirectiveSpec, ...]:
        """The Directive of one member as it should be; nothing for a cluster that is gone."""
        if cluster not in self._directed:
            return ()
        usage_index = self._builder.usage_index
        return directive_specs(
            cluster,
            tuple(usage_index.holders.get(cluster, {}).values()),
            tuple(usage_index.claimants.get(cluster, {}).values()),
            tuple(usage_index.leavers.get(cluster, {}).values()),
            label_keys=self._written[0],
            epoch=self._written[1],
            recovery=self._written[2],
            demand=self._demands.get(cluster, ()),
            gangs=self._gangs,
        )
