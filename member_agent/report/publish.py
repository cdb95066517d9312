"""Writes the report: soon after a change, seldom enough to be no load, often enough to trust it."""

import asyncio
import math
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec

from global_sched.shared.api.base import KubeObject, Meta
from global_sched.shared.api.federation import CapacityReport, CapacityReportSpec, ReportWorkload
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import CAPACITY_REPORTS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.backoff import JitteredBackoff
from global_sched.shared.kube.client import Client, PatchKind
from global_sched.shared.kube.errors import AlreadyExists, ApiError, NotFound
from global_sched.shared.kube.informer import Handler
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.kube.retry import retry
from global_sched.shared.model.instant import Instant
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    REPORT_BUILD_DURATION,
    REPORT_BYTES,
    REPORT_GENERATION,
    REPORT_ROUNDED,
    REPORT_SLICES,
    REPORTS,
)
from global_sched.shared.telemetry.registry import Metrics
from member_agent.report.build import (
    Limits,
    Observation,
    ReportTooLarge,
    report_bytes,
    slices_of,
)

DEBOUNCE: Final = 0.1
"""Seconds in which changes are collected before a report is built."""

log = get_logger(__name__)


def slice_name(cluster: str, number: int) -> str:
    """The object's name: the cluster's for the first slice, with a number for the others."""
    return cluster if number == 0 else f"{cluster}-{number}"


class Publisher:
    """Keeps the CapacityReport of one member up to date.

    `build(generation, now)` gives what there is to say. A report that says the same as the last
    one is written again only when the period is over.
    """

    def __init__(
        self,
        client: Client,
        *,
        cluster: str,
        build: Callable[[int, Instant], Observation],
        clock: Clock,
        metrics: Metrics,
        limits: Limits,
        period: float,
        interval: float,
    ) -> None:
        self._client = client
        self._cluster = cluster
        self._namespace = execution_namespace(cluster)
        self._build = build
        self._clock = clock
        self._metrics = metrics
        self._limits = limits
        # A write that takes a while must still be there before the period is over.
        self._period = max(period * 0.9, min(period, interval))
        self._interval = interval
        self._changed = asyncio.Event()
        self._lost = asyncio.Event()
        self._renewed_at = -math.inf
        self.first_written = asyncio.Event()
        self._generation = 0
        self._known: set[str] = set()
        self._wanted: frozenset[str] = frozenset()
        self._last: list[CapacityReportSpec] = []
        self._written_at: float | None = None
        self._backoff = JitteredBackoff(floor=1.0, cap=30.0)

    @property
    def generation(self) -> int:
        """The generation written last."""
        return self._generation

    @property
    def written_at(self) -> float | None:
        """When the last report was written (monotonic), None before the first."""
        return self._written_at

    def poke(self) -> None:
        """Something changed; a report follows soon."""
        self._changed.set()

    def removed(self, name: str) -> None:
        """An object of ours is gone: unless we deleted it, the report is written again at once.

        At once is at most once per interval, whatever deletes the object again and again.
        """
        if name not in self._wanted:
            return
        self._last = []
        self._changed.set()
        now = self._clock.monotonic()
        if now - self._renewed_at >= self._interval:
            self._renewed_at = now
            self._lost.set()

    async def resume(self) -> list[ReportWorkload]:
        """Read what the last agent wrote: generations go on from there.

        Returns what it said of workloads, since a minimum that was reached stays reached.
        Raises:  ApiError after several attempts; NotFound when the kind is not served.
        """

        async def read() -> tuple[list[CapacityReport], list[str]]:
            found = await self._client.list(
                CAPACITY_REPORTS, namespace=self._namespace, type=CapacityReport
            )
            return found.items, [bad.key.name for bad in found.malformed]

        reports, unreadable = await retry(read, clock=self._clock)
        own = [report for report in reports if report.spec.cluster == self._cluster]
        self._generation = max((report.spec.generation for report in own), default=0)
        self._known = {report.metadata.name for report in reports} | set(unreadable)
        return [workload for report in own for workload in report.spec.workloads or ()]

    async def run(self) -> None:
        """Publish until cancelled."""
        while True:
            try:
                await self.publish()
            except ApiError as error:
                self._metrics.inc(REPORTS, outcome="failed")
                pause = self._backoff.next(at_least=error.retry_after)
                log.warning("report_not_written", error=str(error), retry_seconds=round(pause, 1))
                await self._clock.sleep(pause)
                continue
            except ReportTooLarge as error:
                self._metrics.inc(REPORTS, outcome="failed")
                log.warning("report_too_large", error=str(error))
            else:
                self._backoff.reset()
            await self._wait()

    async def _wait(self) -> None:
        """Until something changed and the interval is over, an object is lost, or the period is."""
        now = self._clock.monotonic()
        start = self._written_at if self._written_at is not None else now
        due = max(start + self._period, now + DEBOUNCE)
        try:
            async with asyncio.timeout(due - now):
                await self._changed.wait()
        except TimeoutError:
            return
        wait = max(start + self._interval - self._clock.monotonic(), DEBOUNCE)
        with suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._lost.wait()

    async def publish(self) -> bool:
        """Build, and write when there is news or the period is over; True when written."""
        self._changed.clear()
        self._lost.clear()
        started = self._clock.monotonic()
        slices = slices_of(self._build(self._generation + 1, self._clock.now()), self._limits)
        self._metrics.observe(REPORT_BUILD_DURATION, self._clock.monotonic() - started)
        due = self._written_at is None or started - self._written_at >= self._period - DEBOUNCE
        if not due and _says_the_same(slices, self._last):
            self._metrics.inc(REPORTS, outcome="unchanged")
            return False
        self._last = []  # until all of it is written, any part may stand there
        await self._write(slices)
        self._last = slices
        self._generation += 1
        self._written_at = self._clock.monotonic()
        self._count(slices)
        self.first_written.set()
        return True

    async def _write(self, slices: Sequence[CapacityReportSpec]) -> None:
        names = [slice_name(self._cluster, number) for number in range(len(slices))]
        self._wanted = frozenset(names)
        # The first slice goes last: who reads it sees all others of its generation.
        for name, spec in reversed(list(zip(names, slices, strict=True))):
            await self._write_slice(name, spec)
        for name in sorted(self._known - set(names)):
            with suppress(NotFound):
                await self._client.delete(CAPACITY_REPORTS, name, namespace=self._namespace)
            self._known.discard(name)

    async def _write_slice(self, name: str, spec: CapacityReportSpec) -> None:
        if name in self._known:
            try:
                await self._replace_spec(name, spec)
            except NotFound as error:
                if error.resource_missing:
                    raise
                self._known.discard(name)
            else:
                return
        report = CapacityReport(metadata=Meta(name=name, namespace=self._namespace), spec=spec)
        try:
            await self._client.create(CAPACITY_REPORTS, report, namespace=self._namespace)
        except AlreadyExists:
            await self._replace_spec(name, spec)
        self._known.add(name)

    async def _replace_spec(self, name: str, spec: CapacityReportSpec) -> None:
        """Replace the spec as a whole, so that no field of an older report stays behind."""
        patch = [{"op": "add", "path": "/spec", "value": msgspec.to_builtins(spec)}]
        await self._client.patch(
            CAPACITY_REPORTS, name, patch, namespace=self._namespace, kind=PatchKind.JSON
        )

    def _count(self, slices: Sequence[CapacityReportSpec]) -> None:
        self._metrics.inc(REPORTS, outcome="written")
        self._metrics.set(REPORT_BYTES, report_bytes(slices))
        self._metrics.set(REPORT_SLICES, len(slices))
        self._metrics.set(REPORT_GENERATION, self._generation)
        self._metrics.set(REPORT_ROUNDED, 1.0 if slices[0].resolution else 0.0)


class OwnReports(Handler[KubeObject]):
    """Watches the objects that the publisher wrote, for the one that is deleted by others."""

    def __init__(self, publisher: Publisher) -> None:
        self._publisher = publisher

    def upsert(self, obj: KubeObject) -> None:
        """Informer handler: what the report says is the publisher's own."""

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Informer handler."""
        del uid
        self._publisher.removed(key.name)

    def malformed(self, bad: Malformed) -> None:
        """Informer handler: the next write replaces it."""

    def synced(self) -> None:
        """Informer handler."""


def _says_the_same(new: Sequence[CapacityReportSpec], old: Sequence[CapacityReportSpec]) -> bool:
    """Equal but for generation and time."""
    return len(new) == len(old) and all(
        msgspec.structs.replace(spec, generation=before.generation, observed_at=before.observed_at)
        == before
        for spec, before in zip(new, old, strict=True)
    )
