"""The status of a Queue: Volcano's own fields, and by cluster in an annotation of ours.

Volcano's CRD has no field for single clusters, for what is deserved, or for what is wrong with a
queue, and it prunes what it does not know. So these stand in the annotation `queue-usage`, as JSON.
Amounts and counts are those of the queue and of everything below it.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Final

from global_sched.controllers.counts import count_queues
from global_sched.core import queue_views
from global_sched.shared.api.names import PAST_USAGE, QUEUE_USAGE
from global_sched.shared.api.resource import QUEUES
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden
from global_sched.shared.model.ids import QueueName
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import ROOT, QueueState
from global_sched.shared.model.queue_view import QueueView
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.snapshot import Snapshot
from global_sched.shared.model.workload import Workload
from global_sched.shared.telemetry.logs import get_logger

LONGEST: Final = 64 * 1024
"""Characters of the annotation; clusters beyond that are only counted."""

log = get_logger(__name__)
Body = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class QueueReport:
    """One queue. `starting` are admitted and have not reached their minimum.

    `dominant` is the weighted dominant share of the federation, `share` that of its deserved.
    """

    name: QueueName
    view: QueueView
    pending: int = 0
    starting: int = 0
    running: int = 0
    dominant: float = 0.0
    share: float = 0.0

    def state(self) -> QueueState:
        """Volcano's state: a closed queue is closing as long as it has any workload."""
        state = self.view.queue.state
        if state not in (QueueState.CLOSED, QueueState.CLOSING):
            return state
        busy = self.pending or self.starting or self.running
        return QueueState.CLOSING if busy else QueueState.CLOSED

    def trouble(self) -> str:
        """What is wrong with it or its place; empty for one that only is below such."""
        problem = self.view.problem
        said = problem and not problem.startswith("above it, ")
        return f"Queue {self.name}: {problem}" if said else ""


def queue_reports(snapshot: Snapshot, workloads: Iterable[Workload]) -> list[QueueReport]:
    """Every queue that has an object, each before those below it."""
    counts = {one.name: one for one in count_queues(snapshot, workloads)}
    pending = Counter({QueueName(name): one.pending for name, one in counts.items()})
    starting = Counter({QueueName(name): one.starting for name, one in counts.items()})
    running = Counter({QueueName(name): one.running for name, one in counts.items()})
    views = queue_views(snapshot)
    for numbers in (pending, starting, running):
        _carry_up(numbers, views)
    return [
        QueueReport(
            name=view.queue.name,
            view=view,
            pending=pending[view.queue.name],
            starting=starting[view.queue.name],
            running=running[view.queue.name],
            dominant=float(counts[view.queue.name].share),
            share=round(view.share.held / view.share.total, 4) if view.share.total else 0.0,
        )
        for view in views
        if view.exists
    ]


def _carry_up(counts: Counter[QueueName], views: tuple[QueueView, ...]) -> None:
    """Count the workloads of a queue in those above it, too; those in trouble stand alone."""
    depths = {view.queue.name: view.depth for view in views}
    for view in reversed(views):
        name, above = view.queue.name, view.queue.parent
        if name != ROOT and depths.get(above, -1) == view.depth - 1:
            counts[above] += counts[name]


def status_of(report: QueueReport) -> Body:
    """The fields of `status` that are ours to write."""
    view = report.view
    return {
        "state": report.state().value,
        "pending": report.pending,
        "inqueue": report.starting,
        "running": report.running,
        "allocated": _amounts(view.held),
        "reservation": {"resource": _amounts(view.guarantee)} if view.guarantee else {},
    }


def usage_text(report: QueueReport) -> str:
    """The annotation: entitlement, use, share, and what is held in each cluster."""
    view = report.view
    found: Body = {
        "deserved": _amounts(view.deserved),
        "borrowed": _amounts(view.borrowed),
        "share": report.share,
        "clusters": {str(name): _amounts(held) for name, held in view.clusters},
    }
    if view.problem:
        found["problem"] = view.problem[:1024]
    text = _json(found)
    if len(text) > LONGEST:
        found["clusters"], found["omitted"] = {}, len(view.clusters)
        text = _json(found)
    return text


async def write_queue(client: Client, name: str, report: QueueReport) -> str:
    """Write what differs from what the object says: its status, then the annotation; its UID."""
    found = await client.get(QUEUES, name)
    status, wanted = found.get("status") or {}, status_of(report)
    if (status.get("state") in (None, "", QueueState.OPEN)) != report.view.queue.open:
        del wanted["state"]  # opened or closed a moment ago, and not seen yet: it stays as it is
    if any(_differs(status.get(key), value) for key, value in wanted.items()):
        body = wanted | {"allocated": _replacing(status.get("allocated"), wanted["allocated"])}
        kept = (status.get("reservation") or {}).get("resource")
        resource = _replacing(kept, wanted["reservation"].get("resource", {}))
        body["reservation"] = {"resource": resource} if resource else {}
        await client.patch(QUEUES, name, {"status": body}, subresource="status")
    text = usage_text(report)
    annotations = (found.get("metadata") or {}).get("annotations") or {}
    if annotations.get(QUEUE_USAGE) != text:
        patch = {"metadata": {"annotations": {QUEUE_USAGE: text}}}
        try:
            await client.patch(QUEUES, name, patch)
        except Forbidden as error:  # an older role: the status is there, and asking again is no use
            log.info("queue_usage_not_written", queue=name, error=str(error))
    return str((found.get("metadata") or {}).get("uid", ""))


async def write_past(client: Client, name: str, text: str) -> None:
    """Write what the queue's tenants held before; nothing: the annotation goes."""
    await client.patch(QUEUES, name, {"metadata": {"annotations": {PAST_USAGE: text or None}}})


def _differs(has: Any, wanted: Any) -> bool:
    """Whether a field has to be written; one that is not there is as good as empty."""
    if isinstance(wanted, dict) and "resource" in wanted:
        return bool((has or {}).get("resource") != wanted["resource"])
    if wanted == {}:
        return any(bool(value) for value in (has or {}).values())
    return bool((has if has is not None else type(wanted)()) != wanted)


def _amounts(amounts: Resources) -> dict[str, str]:
    return {name: format_quantity(value, name) for name, value in amounts.entries}


def _replacing(old: Any, new: Body) -> Body:
    """A merge patch that leaves exactly the new map."""
    return {key: None for key in old or {} if key not in new} | new


def _json(value: Body) -> str:
    return json.dumps(value, sort_keys=True, separators=(",", ":"))
