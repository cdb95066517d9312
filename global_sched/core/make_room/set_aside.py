"""No starvation by a quota: what comes free of it is kept for a gang that waited long enough.

A gang that a limit keeps out (the capability of its queue or of one above, its tenant's, or what is
guaranteed to others) waits until so much of that is free at once. After its patience it is set
aside in the gang's turn of each cycle: nothing behind it in the order takes any, so it adds up.
Room is not kept meanwhile, since others use it. Nothing is written: the next cycle finds the same.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Final

import numpy as np

from global_sched.core.make_room.all_rows import AllRows
from global_sched.core.make_room.by_cluster import ByCluster
from global_sched.core.make_room.search import open_but_for_limits
from global_sched.core.offer import Refusal
from global_sched.core.quota.dominant_share import Amount, add
from global_sched.core.quota.tree import QueueNode
from global_sched.core.statement import Statement
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.ids import ClusterName, QueueName, TenantName
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Running
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Division, Workload

_LIMITS = frozenset({Reason.QUEUE_CAPABILITY, Reason.TENANT_LIMIT, Reason.GUARANTEE_RESERVED})
_Whose = tuple[QueueName, TenantName]


@dataclass(frozen=True, slots=True)
class Aside:
    """What is kept of its limits for one gang."""

    workload: Workload
    cluster: ClusterName
    amount: Resources


def is_kept_out(refusal: Refusal) -> bool:
    """Whether a limit is in the way now, and would not be if others had ended."""
    verdict = refusal.verdict
    return verdict.code == Code.NO_FIT and verdict.reason in _LIMITS


class SetAside:
    """What is set aside in one cycle, at most `Policy.reservations` times.

    For several gangs below one limit only as far as it would hold all of them together.
    """

    def __init__(self, statement: Statement, whole: Callable[[], AllRows]) -> None:
        self._statement, self._whole = statement, whole
        self._left = statement.policy.reservations

    def may(self, workload: Workload) -> bool:
        """Whether so much would be free for it once all gangs have ended: cheap."""
        statement, ledger = self._statement, self._statement.ledger
        asked, node = self._asked(workload), ledger.node(workload.queue)
        if self._left <= 0:
            return False
        tenant = ledger.tenant(workload.tenant)
        held, aside = ledger.tenant_held(tenant.name), ledger.tenant_aside(tenant.name)
        ends = self._ends.by_tenant.get(tenant.name, {}) if tenant.limits else {}
        return (
            _within(dict(tenant.limits), asked, held, aside, ends)
            and all(self._suffices(one, asked) for one in node.limits)
            and (not statement.ledger.reserves or self._fits_beside(node, asked))
        )

    def keep(self, workload: Workload, refusal: Refusal) -> Aside | None:
        """Set it aside for a gang that `may` have it.

        None where no cluster would hold the gang even when all gangs had ended.
        """
        gang, statement = workload.demand.gang, self._statement
        assert gang is not None
        field, case = self._whole(), statement.standings.case(workload)
        names = [room.cluster.name for room in statement.rooms.rooms]
        opened = open_but_for_limits(case).tolist()
        asked, node = self._asked(workload), statement.ledger.node(workload.queue)
        usable = {
            name
            for name, ok in zip(names, opened, strict=True)
            if ok and all(self._suffices_in(one, asked, name) for one in node.limits)
        }
        for wanted in ({refusal.nearest} & usable, usable):
            allowed = np.array([part.cluster in wanted for part in field.parts], dtype=np.bool_)
            for place in field.drained(gang, allowed, 1):
                self._left -= 1
                found = Aside(workload, place.occupancy.cluster, asked)
                statement.set_aside(workload, found.cluster, asked)
                return found
        return None

    def _asked(self, workload: Workload) -> Resources:
        return self._statement.standings.of(workload).minimum_requests

    def _suffices(self, node: QueueNode, asked: Resources) -> bool:
        """Whether its capability lets this in beside what does not end."""
        ends = self._ends.by_queue.get((node.queue.name, None), {})
        return _within(node.capability, asked, node.held, node.aside, ends)

    def _suffices_in(self, node: QueueNode, asked: Resources, cluster: ClusterName) -> bool:
        """The same for its capability in a cluster."""
        limit = node.cluster_capability.get(cluster)
        if limit is None:
            return True
        held, aside = node.cluster_held.get(cluster, {}), node.cluster_aside.get(cluster, {})
        ends = self._ends.by_queue.get((node.queue.name, cluster), {})
        return _within(limit, asked, held, aside, ends)

    def _fits_beside(self, node: QueueNode, asked: Resources) -> bool:
        """Whether what is guaranteed to others lets this in beside what does not end."""
        tree, totals = self._statement.ledger.tree, self._statement.ledger.entitlements.totals
        for name, amount in asked.entries:
            inner: dict[QueueName, int] = {}
            for one in reversed(tree.order):
                stays = self._stays(one, name)
                for child in one.children:
                    below = inner[child.queue.name]
                    stays += max(below, child.kept.get(name, 0)) - self._stays(child, name)
                inner[one.queue.name] = stays
            idle = 0
            for one in node.path:
                limit = one.capability.get(name)
                if one is tree.root and name in totals:
                    limit = min(totals[name], totals[name] if limit is None else limit)
                there = inner[one.queue.name]
                if limit is not None and amount > limit - there + idle:
                    return False
                idle += max(0, one.kept.get(name, 0) - there)
        return True

    def _stays(self, node: QueueNode, name: str) -> int:
        """What of a resource is held or set aside below it and does not end."""
        ends = self._ends.by_queue.get((node.queue.name, None), {})
        return node.held.get(name, 0) + node.aside.get(name, 0) - ends.get(name, 0)

    @cached_property
    def _ends(self) -> "_Ends":
        return _Ends(self._statement)


class _Ends:
    """What gangs hold, which end some day: below each queue, and by tenant."""

    def __init__(self, statement: Statement) -> None:
        self.by_queue: dict[tuple[QueueName, ClusterName | None], Amount] = {}
        """In all, and in the clusters where any queue has a limit."""
        self.by_tenant: dict[TenantName, Amount] = {}
        ledger = statement.ledger
        for running in statement.snapshot.running:
            there = running.cluster if running.cluster in ledger.tree.limited_in else None
            for (queue, tenant), amount in _ENDING.of(running).items():
                add(self.by_tenant.setdefault(tenant, {}), amount)
                for above in ledger.node(queue).path:
                    for place in {None, there}:
                        add(self.by_queue.setdefault((above.queue.name, place), {}), amount)


def _within(
    limits: Mapping[str, int], asked: Resources, held: Amount, aside: Amount, ends: Amount
) -> bool:
    """Whether a limit lets this in once what `ends` has ended."""
    return all(
        held.get(name, 0) + aside.get(name, 0) - ends.get(name, 0) + asked.get(name) <= limit
        for name, limit in limits.items()
        if asked.get(name)
    )


def _ending(running: Running) -> dict[_Whose, Resources]:
    """What gangs hold in one cluster; other workloads run until they are stopped."""
    found: dict[_Whose, Amount] = {}
    for one in running.workloads:
        gang, decision = one.demand.gang, one.decision
        if gang is None or decision is None or one.demand.division != Division.WHOLE:
            continue
        grant = decision.grant(running.cluster)
        if grant is not None:
            held = found.setdefault((one.queue, one.tenant), {})
            add(held, gang.requests(grant.amounts))
    return {whose: Resources.of(amount) for whose, amount in found.items()}


_ENDING: Final = ByCluster(_ending)
