"""The metrics of one process: typed access to the table, and its text for Prometheus."""

from collections.abc import Callable, Mapping
from importlib.metadata import PackageNotFoundError, version

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    generate_latest,
)
from prometheus_client.metrics import MetricWrapperBase

from global_sched.shared.telemetry.metrics import BUILD_INFO, SPECS
from global_sched.shared.telemetry.spec import MetricKind, MetricSpec, Program

OTHER = "_other"
"""The label value that stands for all beyond the limit."""


def _version() -> str:
    """The installed version of the package."""
    try:
        return version("global-sched")
    except PackageNotFoundError:
        return "unknown"


class Metrics:
    """Counts, values and distributions of one program, on a registry of its own.

    A metric has at most `max_series` combinations of label values; further ones are added up
    under `_other`, so that a thousand queues too many cannot fill a monitoring system.
    """

    def __init__(self, program: Program, *, max_series: int = 1000) -> None:
        self.program = program
        self.registry = CollectorRegistry(auto_describe=True)
        self._max_series = max_series
        self._before: list[Callable[[], None]] = []
        self._totals: dict[tuple[str, tuple[str, ...]], float] = {}
        self._known: dict[str, set[tuple[str, ...]]] = {}
        self._collectors = {
            spec.name: _collector(spec, program, self.registry)
            for spec in SPECS
            if program in spec.programs
        }
        ProcessCollector(registry=self.registry)
        self.set(BUILD_INFO, 1, version=_version())

    def inc(self, spec: MetricSpec, amount: float = 1, **labels: str) -> None:
        """Count."""
        child = self._child(spec, labels)
        assert isinstance(child, Counter)
        child.inc(amount)

    def set_total(self, spec: MetricSpec, total: float, **labels: str) -> None:
        """Bring a counter to a total that is counted elsewhere; totals never go back."""
        key = (spec.name, tuple(labels.values()))
        before = self._totals.get(key, 0.0)
        if total > before:
            self._totals[key] = total
            self.inc(spec, total - before, **labels)

    def set(self, spec: MetricSpec, value: float, **labels: str) -> None:
        """Set a gauge."""
        child = self._child(spec, labels)
        assert isinstance(child, Gauge)
        child.set(value)

    def observe(self, spec: MetricSpec, value: float, **labels: str) -> None:
        """Add to a distribution."""
        child = self._child(spec, labels)
        assert isinstance(child, Histogram)
        child.observe(value)

    def replace(self, spec: MetricSpec, values: Mapping[tuple[str, ...], float]) -> None:
        """Set a gauge for exactly these label values; all others vanish (deleted queues)."""
        collector = self._collectors[spec.name]
        for gone in self._known.get(spec.name, set()) - values.keys():
            collector.remove(*gone)
        self._known[spec.name] = self._known.get(spec.name, set()) & values.keys()
        for labels, value in values.items():
            self.set(spec, value, **dict(zip(spec.labels, labels, strict=True)))

    def _child(self, spec: MetricSpec, labels: dict[str, str]) -> MetricWrapperBase:
        collector = self._collectors[spec.name]
        if not spec.labels:
            return collector
        values = tuple(labels[name] for name in spec.labels)
        known = self._known.setdefault(spec.name, set())
        if values not in known:
            if len(known) >= self._max_series:
                values = (OTHER,) * len(values)
            known.add(values)
        child: MetricWrapperBase = collector.labels(*values)
        return child

    def before_scrape(self, refresh: Callable[[], None]) -> None:
        """Call `refresh` before each scrape: for values that are cheap to read, not to follow."""
        self._before.append(refresh)

    def refresh(self) -> None:
        """Run what was registered with `before_scrape`; on the event loop's thread."""
        for refresh in self._before:
            refresh()

    def render(self) -> bytes:
        """The text that Prometheus reads; may run in a thread."""
        return generate_latest(self.registry)


def _collector(
    spec: MetricSpec, program: Program, registry: CollectorRegistry
) -> MetricWrapperBase:
    name = spec.full_name(program)
    match spec.kind:
        case MetricKind.COUNTER:
            return Counter(name, spec.help, spec.labels, registry=registry)
        case MetricKind.GAUGE:
            return Gauge(name, spec.help, spec.labels, registry=registry)
        case MetricKind.HISTOGRAM:
            return Histogram(name, spec.help, spec.labels, buckets=spec.buckets, registry=registry)


def reference() -> str:
    """The table as Markdown, for docs/reference."""
    lines = ["| metric | kind | labels | meaning |", "|---|---|---|---|"]
    for program in Program:
        for spec in SPECS:
            if program in spec.programs:
                labels = ", ".join(f"`{label}`" for label in spec.labels)
                lines.append(
                    f"| `{spec.full_name(program)}` | {spec.kind} | {labels} | {spec.help} |"
                )
    return "\n".join(lines) + "\n"
