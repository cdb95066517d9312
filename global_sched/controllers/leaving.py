"""Ends the eviction tasks of our own withdrawals once the old copy is gone.

Karmada ends a task when everything in `spec.clusters` is healthy, or after ten minutes. A workload
without a new home has nothing there, so it could not go back to the cluster that it has left.
"""

import asyncio
from typing import Any, Final

from global_sched.dispatch.source import Term
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import GLOBAL_SCHEDULER
from global_sched.shared.api.resource import (
    CLUSTER_RESOURCE_BINDINGS,
    RESOURCE_BINDINGS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.instant import SECOND, InstantError, parse_instant
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import DISPATCH_WRITES
from global_sched.shared.telemetry.registry import Metrics

PERIOD: Final = 1.0
"""Seconds between two looks at what is being left."""
LEAST_AGE: Final = 2
"""Seconds that a task stays at least: the status may not know of a very young copy yet."""
_DIRECTLY: Final = "Directly"

log = get_logger(__name__)
Body = dict[str, Any]


class Leavings:
    """Bindings that have left a cluster for nowhere, until their tasks are ended."""

    def __init__(self, client: Client, *, clock: Clock, term: Term, metrics: Metrics) -> None:
        self._client = client
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._left: set[ObjectKey] = set()
        self._some = asyncio.Event()

    def seen(self, wire: ResourceBinding) -> None:
        """A binding is new or changed."""
        key = ObjectKey(wire.metadata.namespace or "", wire.metadata.name)
        if _has_left(wire):
            self._left.add(key)
            self._some.set()
        else:
            self._left.discard(key)

    def gone(self, key: ObjectKey) -> None:
        """A binding was deleted."""
        self._left.discard(key)

    async def run(self) -> None:
        """End tasks until cancelled."""
        while True:
            if not self._left:
                self._some.clear()
                await self._some.wait()
            await self._clock.sleep(PERIOD)
            for key in sorted(self._left):
                if not self._term.valid():
                    break
                try:
                    await self._end(key)
                except NotFound:
                    self._left.discard(key)
                except ApiError as error:  # a newer version is looked at in the next round
                    log.info("eviction_task_not_ended", name=str(key), error=str(error))

    async def _end(self, key: ObjectKey) -> None:
        resource = RESOURCE_BINDINGS if key.namespace else CLUSTER_RESOURCE_BINDINGS
        raw = await self._client.get(resource, key.name, namespace=key.namespace or None)
        spec, status = raw.get("spec") or {}, raw.get("status") or {}
        tasks: list[Body] = spec.get("gracefulEvictionTasks") or []
        copies = {one.get("clusterName") for one in status.get("aggregatedStatus") or ()}
        ages = [self._age(one, copies) for one in tasks]
        kept = [one for one, age in zip(tasks, ages, strict=True) if age is None or age < LEAST_AGE]
        if spec.get("clusters") or not any(age is not None for age in ages):
            self._left.discard(key)  # what it becomes is told by a watch event
        elif kept != tasks:
            await self._write(resource, key, raw["metadata"]["resourceVersion"], kept)

    def _age(self, task: Body, copies: set[Any]) -> float | None:
        """Seconds since Karmada has seen a task; None unless it is ours and the copy is gone."""
        ours = _ours(task.get("producer"), task.get("purgeMode"))
        if not ours or task.get("fromCluster") in copies:
            return None
        try:
            since = parse_instant(str(task.get("creationTimestamp")))
        except InstantError:
            return None
        return (self._clock.now() - since) / SECOND

    async def _write(
        self, resource: Resource, key: ObjectKey, version: str, kept: list[Body]
    ) -> None:
        body = {
            "metadata": {"resourceVersion": version},
            "spec": {"gracefulEvictionTasks": kept or None},
        }
        await self._client.patch(resource, key.name, body, namespace=key.namespace or None)
        self._metrics.inc(DISPATCH_WRITES, object="binding", verb="patch", outcome="ok")
        log.info("eviction_task_ended", name=str(key))


def _has_left(wire: ResourceBinding) -> bool:
    """Whether it is nowhere, and a copy that we took back does not exist any more."""
    spec = wire.spec
    if spec.clusters or not spec.graceful_eviction_tasks:
        return False
    copies = {one.cluster_name for one in wire.status.aggregated_status or ()}
    return any(
        _ours(task.producer, task.purge_mode) and task.from_cluster not in copies
        for task in spec.graceful_eviction_tasks
    )


def _ours(producer: object, mode: object) -> bool:
    return producer == GLOBAL_SCHEDULER and mode == _DIRECTLY
