"""The metrics table and what a scrape shows of it."""

import re

import pytest

from global_sched.shared.telemetry import metrics as m
from global_sched.shared.telemetry.registry import OTHER, Metrics, reference
from global_sched.shared.telemetry.spec import MetricKind, Program

UNITS = ("_seconds", "_bytes", "_ratio", "_total")
BARE = {
    # counts of things, and flags: Prometheus has no unit for them
    "pending_workloads", "pending_reasons", "admitted_workloads", "dispatch_in_flight",
    "status_writes_deferred", "assumed_pods", "invalid_objects", "queue_usage",
    "queue_capability", "queue_open", "cluster_usable", "cluster_free", "cluster_capacity",
    "leader", "epoch", "gangs", "report_slices", "report_generation", "report_rounded",
    "directive_entries", "nodes", "hypernodes", "hypernodes_invalid", "jobs",
    "informer_objects", "informer_malformed_objects", "informer_synced", "work_queue_depth",
    "ready", "build_info", "copied_objects", "election_blocked", "node_trouble",
    "gangs_not_whole", "event_loop_tasks",
}  # fmt: skip


def shown(metrics: Metrics) -> dict[str, float]:
    """The samples of a scrape without the process's own."""
    lines = metrics.render().decode().splitlines()
    samples = (line.rsplit(" ", 1) for line in lines if not line.startswith(("#", "process_")))
    return {name: float(value) for name, value in samples}


@pytest.mark.parametrize("spec", m.SPECS, ids=lambda spec: spec.name)
def test_names_and_labels(spec):
    """Names end in their unit, counters in _total; labels are words; the help is a sentence."""
    assert re.fullmatch(r"[a-z][a-z0-9_]*", spec.name)
    assert (spec.kind is MetricKind.COUNTER) == spec.name.endswith("_total")
    assert spec.name.endswith(UNITS) or spec.name in BARE
    assert spec.help.endswith(".")
    assert not {"job", "namespace", "user", "pod", "binding"} & set(spec.labels)
    assert bool(spec.buckets) == (spec.kind is MetricKind.HISTOGRAM)


def test_no_name_twice():
    """Each row of the table is its own metric."""
    names = [spec.name for spec in m.SPECS]
    assert len(names) == len(set(names))


def test_each_program_exports_its_own():
    """A program's scrape has its prefix only, and none of the other's metrics."""
    metrics = Metrics(Program.AGENT)
    metrics.inc(m.BINDS, result="bound")
    metrics.set(m.LEADER, 1)

    samples = shown(metrics)

    assert samples['magent_binds_total{result="bound"}'] == 1
    assert samples["magent_leader"] == 1
    assert all(name.startswith("magent_") for name in samples)
    with pytest.raises(KeyError):
        metrics.inc(m.CYCLES, outcome="empty")


def test_distributions():
    """A distribution shows its buckets, sum and count."""
    metrics = Metrics(Program.GLOBAL)
    metrics.observe(m.CYCLE_DURATION, 0.02, phase="decide")

    samples = shown(metrics)

    assert samples['gsched_cycle_duration_seconds_bucket{le="0.01",phase="decide"}'] == 0
    assert samples['gsched_cycle_duration_seconds_bucket{le="0.025",phase="decide"}'] == 1
    assert samples['gsched_cycle_duration_seconds_sum{phase="decide"}'] == 0.02


def test_totals_counted_elsewhere():
    """A counter follows a total, and never goes back."""
    metrics = Metrics(Program.GLOBAL)
    for total in (3, 3, 7, 5):
        metrics.set_total(m.EVENTS, total, outcome="written")

    assert shown(metrics)['gsched_events_total{outcome="written"}'] == 7


def test_replaced_gauges_forget_what_is_gone():
    """A deleted queue does not stay in the scrape for ever."""
    metrics = Metrics(Program.GLOBAL)
    metrics.replace(m.OLDEST_PENDING, {("gold",): 5.0, ("tin",): 6.0})
    metrics.replace(m.OLDEST_PENDING, {("tin",): 7.0, ("new",): 8.0})

    ages = {name: value for name, value in shown(metrics).items() if "oldest" in name}
    assert ages == {
        'gsched_oldest_pending_seconds{queue="tin"}': 7.0,
        'gsched_oldest_pending_seconds{queue="new"}': 8.0,
    }


def test_series_are_bounded():
    """Beyond the limit, further labels are added up under one name."""
    metrics = Metrics(Program.GLOBAL, max_series=2)
    for cluster in ("a", "b", "c", "d", "a"):
        metrics.inc(m.WITHDRAWN, cluster=cluster)

    counts = {
        name: value
        for name, value in shown(metrics).items()
        if name.startswith("gsched_withdrawn_total")
    }
    assert counts == {
        'gsched_withdrawn_total{cluster="a"}': 2,
        'gsched_withdrawn_total{cluster="b"}': 1,
        f'gsched_withdrawn_total{{cluster="{OTHER}"}}': 2,
    }


def test_refresh_runs_before_a_scrape():
    """What is registered is asked at each refresh."""
    metrics = Metrics(Program.GLOBAL)
    asked = []
    metrics.before_scrape(lambda: asked.append(1))

    metrics.refresh()
    metrics.refresh()

    assert asked == [1, 1]


def test_the_reference_names_every_metric():
    """The generated page has one row per program and metric."""
    text = reference()

    for spec in m.SPECS:
        for program in spec.programs:
            assert f"| `{spec.full_name(program)}` | {spec.kind} |" in text
