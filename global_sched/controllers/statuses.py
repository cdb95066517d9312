"""Status of Queues, Tenants and CapacityReports: written on change, at most every few seconds."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, Final

from global_sched.cache import State
from global_sched.cache.stores.tenants import TenantFacts
from global_sched.controllers.counts import TenantCounts, count_tenants
from global_sched.controllers.queue_status import (
    QueueReport,
    queue_reports,
    write_past,
    write_queue,
)
from global_sched.core import renewed
from global_sched.dispatch.source import LeaderTerm
from global_sched.shared.api.reasons import ConditionType
from global_sched.shared.api.resource import CAPACITY_REPORTS, QUEUES, TENANTS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.past_text import render_past
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.printable import printable
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    DISPATCH_WRITES,
    LOOP_FAILURES,
    QUEUE_SHARE,
    TENANT_SHARE,
)
from global_sched.shared.telemetry.registry import Metrics

WRITES_PER_ROUND: Final = 50
LONGEST_PAUSE: Final = 30.0
"""Seconds after which a write that failed is tried again at the latest, where nothing changes."""

log = get_logger(__name__)
Body = dict[str, Any]


class StatusLoop:
    """Every `interval` seconds: what changed since it was written last is written."""

    def __init__(
        self,
        client: Client,
        state: State,
        *,
        clock: Clock,
        term: LeaderTerm,
        metrics: Metrics,
        policy: Policy,
        interval: float = 5.0,
    ) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._policy = policy
        self._interval = interval
        self._written: dict[tuple[str, str], object] = {}
        self._seen = -1
        self._behind = False
        """Whether something that differs was not written in the last round."""
        self._failures = 0
        self._retry_at = 0.0
        self._next_queue = 0

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            await self._clock.sleep(self._interval)
            try:
                await self.round()
            except Exception as error:  # the loop's guard: a status must never end scheduling
                self._metrics.inc(LOOP_FAILURES, loop="status")
                log.exception("status_round_failed", error=str(error))

    async def round(self) -> None:
        """Compare everything once and write what differs, within the round's budget."""
        snapshot = self._state.snapshot()
        await self._remember(snapshot)
        now = self._clock.monotonic()
        if self._state.revision == self._seen and not (self._behind and now >= self._retry_at):
            return
        self._behind = False
        revision, left = self._state.revision, WRITES_PER_ROUND
        # In a large world this takes longer than a placement should wait.
        reports, tenants = await asyncio.to_thread(_counted, snapshot, self._state.workloads())
        for queue in reports:
            self._metrics.set(QUEUE_SHARE, queue.dominant, queue=queue.name)
        # At most half of a round, so that busy queues leave some to tenants; the next one begins
        # where this one stopped.
        first = self._next_queue % max(len(reports), 1)
        budget = left // 2
        for at, queue in enumerate([*reports[first:], *reports[:first]]):
            sent = await self._once(("Queue", queue.name), queue, budget, self._write_queue)
            budget, left = budget - sent, left - sent
            if budget <= 0:
                self._next_queue = first + at + 1
                break
        for tenant in tenants:
            self._metrics.set(TENANT_SHARE, float(tenant.share), tenant=tenant.name)
            facts = self._state.tenants.settled.get(tenant.name)
            if facts is not None:
                value = (tenant, tenant_problem(facts, self._state))
                left -= await self._once(("Tenant", tenant.name), value, left, self._write_tenant)
        for reference in sorted(
            self._state.reports.acceptances, key=lambda one: (one.namespace, one.name)
        ):
            key = ("Report", f"{reference.namespace}/{reference.name}")
            problem = self._state.reports.acceptances[reference].problem
            left -= await self._once(key, problem, left, self._write_report)
        if left > 0 and budget > 0:
            self._seen = revision
        self._failures = self._failures + 1 if self._behind else 0
        self._retry_at = now + min(LONGEST_PAUSE, self._interval * 2**self._failures)

    async def _remember(self, snapshot: Snapshot) -> None:
        """Write what tenants held before, where that counts and what they hold has changed."""
        left = WRITES_PER_ROUND
        for queue, records in renewed(snapshot, self._policy, self._clock.now()).items():
            left -= await self._once(("Past", queue), render_past(records), left, self._write_past)

    async def _once(
        self,
        key: tuple[str, str],
        value: Any,
        left: int,
        write: Callable[[str, Any], Awaitable[None]],
    ) -> int:
        """1 when something was sent, else 0."""
        if self._written.get(key) == value or left <= 0:
            return 0
        if not self._term.valid():
            self._behind = True
            return 0
        try:
            await write(key[1], value)
        except NotFound:
            self._written[key] = value
        except ApiError as error:
            self._behind = True
            self._written.pop(key, None)  # a part of it may stand there
            log.info("status_not_written", kind=key[0], name=key[1], error=str(error))
            self._metrics.inc(
                DISPATCH_WRITES, object="queue_status", verb="patch", outcome="failed"
            )
        else:
            self._written[key] = value
        return 1

    async def _write_queue(self, name: str, report: QueueReport) -> None:
        uid = await write_queue(self._client, name, report)
        if not report.view.queue.problem:  # its own faults are in the status already
            self._state.notices.set_aside(
                QUEUES.api_version, QUEUES.kind, "", name, uid, report.trouble()
            )

    async def _write_past(self, name: str, text: str) -> None:
        await write_past(self._client, name, text)

    async def _write_tenant(self, name: str, value: tuple[TenantCounts, tuple[str, str]]) -> None:
        found = await self._client.get(TENANTS, name)
        counts, (reason, message) = value
        condition = {
            "type": ConditionType.READY.value,
            "status": "False" if message else "True",
            "reason": reason,
            "message": message[:1024],
        }
        status = found.get("status") or {}
        wanted: Body = {
            "dominantShare": f"{float(counts.share):.4f}",
            "admitted": counts.admitted,
            "pending": counts.pending,
            "conditions": _merged(status.get("conditions") or [], condition, self._now()),
        }
        if any(status.get(key) != value for key, value in wanted.items()):
            await self._client.patch(TENANTS, name, {"status": wanted}, subresource="status")

    async def _write_report(self, key: str, problem: str) -> None:
        namespace, _, name = key.partition("/")
        found = await self._client.get(CAPACITY_REPORTS, name, namespace=namespace)
        condition = {
            "type": ConditionType.ACCEPTED.value,
            "status": "False" if problem else "True",
            "reason": "Refused" if problem else "InUse",
            "message": problem[:1024],
        }
        conditions = (found.get("status") or {}).get("conditions") or []
        merged = _merged(conditions, condition, self._now())
        if merged != conditions:
            await self._client.patch(
                CAPACITY_REPORTS,
                name,
                {"status": {"conditions": merged}},
                namespace=namespace,
                subresource="status",
            )

    def _now(self) -> str:
        return format_instant(self._clock.now())


def _counted(
    snapshot: Snapshot, workloads: tuple[Workload, ...]
) -> tuple[list[QueueReport], list[TenantCounts]]:
    return queue_reports(snapshot, workloads), count_tenants(snapshot, workloads)


def tenant_problem(facts: TenantFacts, state: State) -> tuple[str, str]:
    """Reason and message of a Tenant's Ready condition; an empty message: all is well."""
    if facts.tenant.problem:
        return "InvalidSpec", facts.tenant.problem
    if facts.lost:
        lost = "; ".join(
            f"{name} belongs to the older Tenant {owner}" for name, owner in facts.lost
        )
        return "NamespaceConflict", f"{lost}; list a namespace in one Tenant only"
    queues = {queue.name for queue in state.builder.queues()}
    missing = [f"Queue {name}" for name in facts.tenant.queues if name not in queues]
    missing += [
        f"PriorityClass {name}"
        for name in facts.tenant.priority_classes
        if state.priorities.of(name).missing
    ]
    if missing:
        return "ReferenceMissing", f"{', '.join(missing)} does not exist; create it or drop it here"
    return "NamespacesOwned", ""


def _merged(conditions: list[Body], new: Body, now: str) -> list[Body]:
    """The list with the new condition in it; its time moves only with its status."""
    old = next((one for one in conditions if one.get("type") == new["type"]), None)
    same = old is not None and old.get("status") == new["status"]
    since = (old or {}).get("lastTransitionTime") if same else now
    text = printable(str(new.get("message", "")))
    whole = {**new, "message": text, "lastTransitionTime": since or now}
    if old is None:
        return [*conditions, whole]
    return [whole if one is old else one for one in conditions]
