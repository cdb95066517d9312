"""Says why pods wait: their condition PodScheduled=False and Events, written only on change."""

import asyncio
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from typing import Final

from global_sched.shared.api.base import Condition
from global_sched.shared.api.core import Pod
from global_sched.shared.api.resource import PODS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.ratelimit import TokenBucket
from global_sched.shared.model.instant import format_instant
from global_sched.shared.model.printable import printable
from global_sched.shared.telemetry.logs import get_logger
from member_agent.cache import ClusterCache, NoteHolder, PodRecord, PodUid
from member_agent.scheduler.plan.outcome import Wait

MESSAGE_LIMIT: Final = 1000
"""Characters of a condition's message."""
RATE: Final = 50.0
"""Conditions written per second, at most."""

log = get_logger(__name__)


def pod_reference(pod: PodRecord) -> Regarding:
    """A pod as an Event names it."""
    return Regarding("v1", "Pod", pod.namespace, pod.name, pod.uid)


def holder_reference(holder: NoteHolder) -> Regarding:
    """A PodGroup or root owner as an Event names it."""
    return Regarding(holder.api_version, holder.kind, holder.namespace, holder.name, holder.uid)


class ConditionWriter:
    """Writes the conditions of waiting pods from one task, newest reason only.

    A pod's condition is written when its message changed and the last write is `interval` seconds
    ago; a settled world makes no write.
    """

    def __init__(
        self,
        client: Client,
        *,
        cache: ClusterCache,
        recorder: EventRecorder,
        clock: Clock,
        interval: float,
    ) -> None:
        self._client = client
        self._cache = cache
        self._recorder = recorder
        self._clock = clock
        self._interval = interval
        self._bucket = TokenBucket(rate=RATE, burst=RATE, clock=clock)
        self._wanted: OrderedDict[PodUid, str] = OrderedDict()
        self._written: dict[PodUid, float] = {}
        self._wake = asyncio.Event()

    def wanted(self, waits: Sequence[Wait]) -> None:
        """These pods wait now, and no others."""
        before = self._wanted
        self._wanted = OrderedDict(
            (pod.uid, wait.reason[:MESSAGE_LIMIT]) for wait in waits for pod in wait.pods
        )
        self._written = {u: at for u, at in self._written.items() if u in self._cache.pods}
        if self._wanted != before:
            self._wake.set()

    async def run(self) -> None:
        """Write until cancelled."""
        while True:
            self._wake.clear()
            pause = await self._write_due()
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _write_due(self) -> float | None:
        """Write what is due; seconds until something else is, None when nothing waits.

        What was written is looked at once more then: a write may fail.
        """
        pause: float | None = None
        for uid, message in list(self._wanted.items()):
            pod = self._cache.pods.get(uid)
            if pod is None or pod.pending_message == message or self._cache.node_of(pod):
                continue
            now = self._clock.monotonic()
            due = self._written.get(uid, now - self._interval) + self._interval - now
            if due > 0:
                pause = due if pause is None else min(pause, due)
                continue
            await self._bucket.take()
            if self._wanted.get(uid) == message:
                self._written[uid] = now
                await self._write(pod, message)
                pause = self._interval if pause is None else min(pause, self._interval)
        return pause

    async def _write(self, pod: PodRecord, message: str) -> None:
        self._recorder.record(
            pod_reference(pod),
            kind=EventKind.WARNING,
            reason="FailedScheduling",
            action="Scheduling",
            note=message,
        )
        try:
            found = await self._client.get(PODS, pod.name, namespace=pod.namespace, type=Pod)
            if found.metadata.uid != pod.uid or found.spec.node_name:
                return
            await self._client.patch(
                PODS,
                pod.name,
                _patch(found, message, format_instant(self._clock.now())),
                namespace=pod.namespace,
                subresource="status",
            )
        except (Conflict, NotFound):
            return  # it changed: the next round says again what it waits for
        except ApiError as error:
            log.info("condition_not_written", pod=pod.name, error=str(error))


def _patch(pod: Pod, message: str, now: str) -> dict[str, object]:
    """A merge patch that replaces one condition and keeps the others."""
    others = [c for c in pod.status.conditions or () if c.type != "PodScheduled"]
    old = next((c for c in pod.status.conditions or () if c.type == "PodScheduled"), None)
    since = old.last_transition_time if old is not None and old.status == "False" else now
    own = Condition(
        type="PodScheduled",
        status="False",
        reason="Unschedulable",
        message=printable(message),
        last_transition_time=since,
    )
    return {
        "metadata": {"resourceVersion": pod.metadata.resource_version},
        "status": {"conditions": [*others, own]},
    }


MOMENT: Final = 2.0
"""Seconds that a unit waits before its wait is written. While its pods are still being made it
waits for each of them in turn, and an Event or a condition would be out of date before it is
read."""


class Debounce:
    """Remembers since when each unit waits, whatever it has waited for."""

    def __init__(self) -> None:
        self._since: dict[str, float] = {}

    def of(self, waits: Iterable[Wait], now: float) -> list[Wait]:
        """The waits of units that have waited for a moment already (`now` is monotonic)."""
        waits = tuple(waits)
        keys = [wait.unit.key for wait in waits]
        self._since = {key: self._since.get(key, now) for key in keys}
        return [wait for wait in waits if self._since[wait.unit.key] + MOMENT <= now]

    def dues(self) -> Iterable[float]:
        """When each unit that waits has waited for a moment (monotonic)."""
        return (since + MOMENT for since in self._since.values())
