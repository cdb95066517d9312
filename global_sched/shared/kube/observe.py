"""From clients, informers and events to metrics."""

from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any

from global_sched.shared.kube.channel import Observer
from global_sched.shared.kube.errors import RequestTarget
from global_sched.shared.kube.events import EventRecorder
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.informer_stats import InformerStatistics, ListReason
from global_sched.shared.telemetry import metrics as m
from global_sched.shared.telemetry.registry import Metrics


def request_observer(metrics: Metrics, *, server: str) -> Observer:
    """Counts and times the requests of one client; `server` names the API server's role."""

    def observe(target: RequestTarget, status: int, seconds: float) -> None:
        # Raw requests have their path as resource, which is not a bounded label.
        resource = "raw" if target.resource.startswith("/") else target.resource
        metrics.inc(
            m.API_REQUESTS, server=server, verb=target.verb, resource=resource, code=str(status)
        )
        metrics.observe(m.API_REQUEST_DURATION, seconds, server=server, verb=target.verb)

    return observe


def export_informers(
    metrics: Metrics, informers: Callable[[], Iterable[Informer[Any]]], *, server: str
) -> None:
    """Export what these informers count; they are asked for at each scrape."""

    def refresh() -> None:
        by_resource: dict[str, list[InformerStatistics]] = defaultdict(list)
        for informer in informers():
            stats = informer.statistics()
            by_resource[stats.resource].append(stats)
        for resource, all_stats in by_resource.items():
            _export(metrics, all_stats, {"server": server, "resource": resource})

    metrics.before_scrape(refresh)


def _export(metrics: Metrics, all_stats: list[InformerStatistics], labels: dict[str, str]) -> None:
    """Several informers of one resource (one per namespace) add up."""
    metrics.set(m.INFORMER_OBJECTS, sum(stats.objects for stats in all_stats), **labels)
    metrics.set(m.INFORMER_MALFORMED, sum(stats.malformed for stats in all_stats), **labels)
    metrics.set(m.INFORMER_SYNCED, float(all(stats.synced for stats in all_stats)), **labels)
    metrics.set(m.WATCH_STALENESS, max(stats.staleness for stats in all_stats), **labels)
    metrics.set_total(m.INFORMER_EVENTS, sum(stats.events for stats in all_stats), **labels)
    metrics.set_total(m.INFORMER_FAILURES, sum(stats.failures for stats in all_stats), **labels)
    for reason in ListReason:
        lists = sum(stats.lists[reason] for stats in all_stats)
        metrics.set_total(m.INFORMER_LISTS, lists, **labels, reason=reason.value)


def export_events(metrics: Metrics, recorder: EventRecorder) -> None:
    """Export what became of recorded events."""

    def refresh() -> None:
        stats = recorder.statistics()
        metrics.set_total(m.EVENTS, stats.written, outcome="written")
        metrics.set_total(m.EVENTS, stats.dropped, outcome="dropped")
        metrics.set_total(m.EVENTS, stats.failed, outcome="failed")

    metrics.before_scrape(refresh)
