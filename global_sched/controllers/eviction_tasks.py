"""Ends a withdrawal once it is shown that nothing of the workload is left in the cluster.

Until then its eviction task stays (`suppressDeletion`), a gang goes nowhere else, and what it held
counts against its queue and tenant. That Karmada was asked to delete it shows nothing: a member
that does not answer runs its pods on. It is shown when

- Karmada's Work in that cluster is gone, and
- where the member reports at all: a report that was observed after the withdrawal was accepted
  names it, which says that neither its object nor any pod of it is there.

Where the Cluster object itself is gone, or is another one, nothing can be shown any more. It ends
then, too, and an Event says that it is not proved.
"""

import asyncio
import json
from typing import Any, Final

from global_sched.cache import State
from global_sched.dispatch.patches import CARRIER, carried_patch, carries, left_patch, ours
from global_sched.dispatch.source import LeaderTerm
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import (
    BINDING_ID,
    CLUSTER_BINDING_ID,
    DECISION,
    GLOBAL_SCHEDULER,
    execution_namespace,
)
from global_sched.shared.api.resource import (
    CLUSTER_RESOURCE_BINDINGS,
    RESOURCE_BINDINGS,
    WORKS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.decision import Decision, Left
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.ids import BindingId, ClusterName
from global_sched.shared.model.instant import SECOND, Instant, InstantError, parse_instant
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import DISPATCH_WRITES, MOVE_DURATION
from global_sched.shared.telemetry.registry import Metrics

PERIOD: Final = 1.0
"""Seconds between two looks at what is being left."""
LEAST_AGE: Final = 2
"""Seconds that a withdrawal stands at least: Karmada may be writing a very young copy."""
NO_REPORT_SECONDS: Final = 15
"""A member that has had no report for so long has no agent: an agent whose report was deleted
writes the next one within its period."""
GONE_SECONDS: Final = 15
"""So long a withdrawal stands after its Cluster object is gone: pods of an unjoined member end."""
UNPROVED: Final = "LeftUnproved"

log = get_logger(__name__)
Body = dict[str, Any]
Fact = tuple[str, ClusterName, Instant]
"""`accepted`, `no report` or `cluster gone`, the cluster that is left, and when it was withdrawn
from there."""


class EvictionTasks:
    """Bindings that are leaving a cluster, until each of them has left."""

    def __init__(
        self,
        client: Client,
        state: State,
        *,
        clock: Clock,
        term: LeaderTerm,
        metrics: Metrics,
        recorder: EventRecorder,
    ) -> None:
        self._client = client
        self._state = state
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._recorder = recorder
        self._first: dict[ObjectKey, dict[Fact, Instant]] = {}
        """The bindings that are leaving, with when each fact about a withdrawal was first seen."""
        self._some = asyncio.Event()

    def seen(self, wire: ResourceBinding) -> None:
        """A binding is new or changed."""
        key = ObjectKey(wire.metadata.namespace or "", wire.metadata.name)
        if _leaves(wire):
            self._first.setdefault(key, {})
            self._some.set()
        else:
            self._first.pop(key, None)

    def gone(self, key: ObjectKey) -> None:
        """A binding was deleted."""
        self._first.pop(key, None)

    async def run(self) -> None:
        """Look at all of them again and again, until cancelled."""
        while True:
            if not self._first:
                self._some.clear()
                await self._some.wait()
            await self._clock.sleep(PERIOD)
            for key in sorted(self._first):
                if not self._term.valid():
                    break
                try:
                    await self._look(key)
                except NotFound:
                    self._first.pop(key, None)
                except ApiError as error:  # a newer version is looked at in the next round
                    log.info("withdrawal_not_ended", name=str(key), error=str(error))

    async def _look(self, key: ObjectKey) -> None:
        """End what has been left, with one write."""
        resource = RESOURCE_BINDINGS if key.namespace else CLUSTER_RESOURCE_BINDINGS
        raw = await self._client.get(resource, key.name, namespace=key.namespace or None)
        labels = raw["metadata"].get("labels") or {}
        binding = BindingId(labels.get(BINDING_ID) or labels.get(CLUSTER_BINDING_ID) or "")
        decision = decision_of(raw)
        found = withdrawals(raw, decision)
        if not found:
            await self._end_carriers(key, resource, raw, binding)
            return
        first = self._first.setdefault(key, {})
        gone, unproved = set[ClusterName](), set[ClusterName]()
        for left in found:
            now = self._clock.now()
            accepted = first.setdefault(("accepted", left.cluster, left.at), now)
            if self._replaced(left):
                since = first.setdefault(("cluster gone", left.cluster, left.at), now)
                if now - since >= GONE_SECONDS * SECOND:
                    unproved.add(left.cluster)
            elif now - accepted >= LEAST_AGE * SECOND and await self._is_gone(
                binding, left, resource, first
            ):
                gone.add(left.cluster)
        if gone or unproved:
            tasks = (raw.get("spec") or {}).get("gracefulEvictionTasks") or []
            version, epoch = raw["metadata"]["resourceVersion"], self._state.epoch
            body = left_patch(version, tasks, decision, gone | unproved, epoch=epoch)
            await self._client.patch(resource, key.name, body, namespace=key.namespace or None)
            self._metrics.inc(DISPATCH_WRITES, object="binding", verb="patch", outcome="ok")
            log.info("withdrawal_ended", name=str(key), clusters=sorted(gone | unproved))
            if decision is not None and decision.moved in {one.at for one in found}:
                took = (self._clock.now() - decision.moved) / SECOND
                self._metrics.observe(MOVE_DURATION, took, phase="gone")
            self._tell(resource, raw, unproved)

    async def _end_carriers(
        self, key: ObjectKey, resource: Resource, raw: Body, binding: BindingId
    ) -> None:
        """End tasks that only carry labels, once the Work that gets them is there.

        Karmada puts them on when it makes the Work. A job without a cluster keeps them.
        """
        spec = raw.get("spec") or {}
        tasks = spec.get("gracefulEvictionTasks") or []
        if not any(map(carries, tasks)):
            self._first.pop(key, None)
            return
        label = BINDING_ID if resource is RESOURCE_BINDINGS else CLUSTER_BINDING_ID
        for target in spec.get("clusters") or ():
            if await self._has_work(f"{label}={binding}", ClusterName(str(target["name"]))):
                body = carried_patch(raw["metadata"]["resourceVersion"], tasks)
                await self._client.patch(resource, key.name, body, namespace=key.namespace or None)
                self._metrics.inc(DISPATCH_WRITES, object="binding", verb="patch", outcome="ok")
                return

    def _replaced(self, left: Left) -> bool:
        """Whether the Cluster object that it was withdrawn from is there no more."""
        cluster = self._state.builder.cluster(left.cluster)
        return cluster is None or bool(left.uid and cluster.uid != left.uid)

    async def _is_gone(
        self, binding: BindingId, left: Left, resource: Resource, first: dict[Fact, Instant]
    ) -> bool:
        """Whether it is shown that nothing is left in a cluster."""
        report = self._state.reports.get(left.cluster)
        missing: Fact = ("no report", left.cluster, left.at)
        if report is None:
            now = self._clock.now()
            if now - first.setdefault(missing, now) < NO_REPORT_SECONDS * SECOND:
                return False
            cluster = self._state.builder.cluster(left.cluster)
            if cluster is not None and cluster.terminating:
                return False  # Its reports go with their namespace: it may well have an agent.
        else:
            first.pop(missing, None)
            if report.capacity.observed <= first["accepted", left.cluster, left.at]:
                return False
            if (binding, left.at) not in report.left:
                return False
        label = BINDING_ID if resource is RESOURCE_BINDINGS else CLUSTER_BINDING_ID
        return not await self._has_work(f"{label}={binding}", left.cluster)

    async def _has_work(self, selector: str, cluster: ClusterName) -> bool:
        """Whether Karmada's Work of the binding is still there, being deleted or not."""
        answer = await self._client.raw(
            "GET",
            WORKS.path(execution_namespace(cluster)),
            params={"labelSelector": selector, "limit": "1"},
        )
        return bool(json.loads(answer).get("items"))

    def _tell(self, resource: Resource, raw: Body, unproved: set[ClusterName]) -> None:
        """An Event for each cluster of which nothing can show any more that its pods have ended."""
        meta = raw["metadata"]
        for cluster in sorted(unproved):
            self._recorder.record(
                Regarding(
                    resource.api_version,
                    resource.kind,
                    meta.get("namespace", ""),
                    meta["name"],
                    meta["uid"],
                ),
                reason=UNPROVED,
                note=f"cluster {cluster} is gone or another one: whether pods of the workload "
                "still run in the old one is not known; it may be placed again",
                action="Withdraw",
                kind=EventKind.WARNING,
            )


def withdrawals(raw: Body, decision: Decision | None) -> list[Left]:
    """What a binding is leaving: as its decision says, and as our eviction tasks say."""
    known = {} if decision is None else {one.cluster: one for one in decision.left}
    for task in (raw.get("spec") or {}).get("gracefulEvictionTasks") or ():
        cluster = ClusterName(str(task.get("fromCluster")))
        if ours(task) and cluster not in known:
            known[cluster] = Left(cluster=cluster, at=_instant(task.get("creationTimestamp")))
    return [known[name] for name in sorted(known)]


def _instant(text: object) -> Instant:
    try:
        return parse_instant(str(text))
    except InstantError:
        return Instant(0)


def decision_of(raw: Body) -> Decision | None:
    """The decision of a binding; None where there is none, or none that can be read."""
    text = (raw["metadata"].get("annotations") or {}).get(DECISION)
    try:
        return parse_decision(text) if text else None
    except DecisionError:
        return None


def _leaves(wire: ResourceBinding) -> bool:
    """Whether it is leaving a cluster, as far as can be known without reading its decision."""
    tasks = wire.spec.graceful_eviction_tasks or ()
    if any(one.producer == GLOBAL_SCHEDULER and one.purge_mode == "Directly" for one in tasks):
        return True
    if any(one.producer == CARRIER for one in tasks):
        return True
    return '"left":' in wire.metadata.annotation(DECISION)
