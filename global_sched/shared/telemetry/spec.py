"""The row type of the table in `metrics`: one metric."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final


class Program(StrEnum):
    """Who exports a metric; the value is the prefix of its name."""

    GLOBAL = "gsched"
    AGENT = "magent"


class MetricKind(StrEnum):
    """Prometheus' kinds that we use."""

    COUNTER = "counter"
    GAUGE = "gauge"
    HISTOGRAM = "histogram"


BOTH: Final = (Program.GLOBAL, Program.AGENT)
GLOBAL: Final = (Program.GLOBAL,)
AGENT: Final = (Program.AGENT,)

FAST: Final = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
"""Buckets for computations and requests, in seconds."""
SLOW: Final = (0.1, 0.5, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0, 3600.0, 14400.0, 86400.0)
"""Buckets for waiting, in seconds."""


@dataclass(frozen=True, slots=True)
class MetricSpec:
    """One metric.

    Labels are bounded by what admins make (queues, clusters, tenants) or by closed sets; never a
    job, a namespace or a user.
    """

    name: str
    """Without the program's prefix; ends in its unit, counters in `_total`."""
    kind: MetricKind
    help: str
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()
    programs: tuple[Program, ...] = GLOBAL

    def full_name(self, program: Program) -> str:
        """The name that a scrape shows."""
        return f"{program.value}_{self.name}"


def counter(
    name: str, help_: str, *labels: str, programs: tuple[Program, ...] = GLOBAL
) -> MetricSpec:
    """A count since the start of the process."""
    return MetricSpec(name, MetricKind.COUNTER, help_, labels, (), programs)


def gauge(
    name: str, help_: str, *labels: str, programs: tuple[Program, ...] = GLOBAL
) -> MetricSpec:
    """A value now."""
    return MetricSpec(name, MetricKind.GAUGE, help_, labels, (), programs)


def histogram(
    name: str,
    help_: str,
    *labels: str,
    buckets: tuple[float, ...] = FAST,
    programs: tuple[Program, ...] = GLOBAL,
) -> MetricSpec:
    """A distribution."""
    return MetricSpec(name, MetricKind.HISTOGRAM, help_, labels, buckets, programs)
