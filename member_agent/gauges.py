"""Gauges that are read at scrape time rather than followed."""

from collections import Counter
from typing import Protocol

from global_sched.shared.clock import Clock
from global_sched.shared.telemetry.metrics import (
    DIRECTIVE_ENTRIES,
    HYPERNODES,
    HYPERNODES_INVALID,
    INFORMER_MALFORMED,
    INFORMER_OBJECTS,
    INFORMER_SYNCED,
    NODES,
    QUEUE_DEPTH,
    REPORT_AGE,
    WATCH_STALENESS,
)
from global_sched.shared.telemetry.registry import Metrics
from member_agent.cache import ClusterCache
from member_agent.feeds import Feeds
from member_agent.jobs import JobController
from member_agent.report.publish import Publisher


class Gauged(Protocol):
    """What of the agent the gauges read."""

    cache: ClusterCache
    feeds: Feeds
    publisher: Publisher | None
    jobs: JobController | None
    clock: Clock


def refresh_gauges(metrics: Metrics, agent: Gauged) -> None:
    """Bring the gauges up to date."""
    cache = agent.cache
    states = Counter(
        "not_ready"
        if not record.usable
        else "schedulable"
        if record.node_class.schedulable
        else "unschedulable"
        for record in cache.nodes.values()
    )
    metrics.replace(NODES, {(state,): float(n) for state, n in states.items()})
    tree = cache.tree()
    tiers = Counter(str(domain.tier) for domain in tree.domains)
    metrics.replace(HYPERNODES, {(tier,): float(n) for tier, n in tiers.items()})
    metrics.set(HYPERNODES_INVALID, len(tree.problems))
    metrics.set(DIRECTIVE_ENTRIES, len(cache.entries()))
    written = agent.publisher.written_at if agent.publisher is not None else None
    if written is not None:
        metrics.set(REPORT_AGE, agent.clock.monotonic() - written)
    if agent.jobs is not None:
        depth = agent.jobs.queue_statistics()
        for state in ("ready", "delayed", "processing", "failing"):
            metrics.set(QUEUE_DEPTH, getattr(depth, state), queue="jobs", state=state)
    for informer in agent.feeds.informers():
        stats = informer.statistics()
        server = "control" if stats.namespace else "member"
        labels = {"server": server, "resource": stats.resource}
        metrics.set(INFORMER_OBJECTS, stats.objects, **labels)
        metrics.set(INFORMER_MALFORMED, stats.malformed, **labels)
        metrics.set(INFORMER_SYNCED, 1.0 if stats.synced else 0.0, **labels)
        metrics.set(WATCH_STALENESS, stats.staleness, **labels)
