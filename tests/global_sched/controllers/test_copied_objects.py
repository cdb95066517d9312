"""The metric that tells which kinds are copied past queue and quota."""

from global_sched.controllers.gauges import refresh_gauges
from global_sched.shared.clock import SystemClock
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from tests.global_sched.cache.worlds import state_of
from tests.wire import batch_job, binding


def thing(name):
    meta = {"name": name, "namespace": "team-a", "uid": f"uid-{name}", "resourceVersion": "1"}
    return {"apiVersion": "example.org/v1", "kind": "Thing", "metadata": meta}


def test_objects_in_clusters_are_counted_by_kind():
    """Those that wait do not count, nor do jobs, and a kind of which the last goes is not shown."""
    job = batch_job("job")
    copies = [binding(thing(name), clusters=["m1", "m2"]) for name in ("a", "b")]
    state = state_of(job, binding(job, clusters=["m1"]), binding(thing("waits")), *copies)
    metrics = Metrics(Program.GLOBAL)

    refresh_gauges(metrics, state, SystemClock())
    shown = metrics.render().decode()
    assert 'gsched_copied_objects{kind="Thing.example.org"} 2.0' in shown
    assert shown.count("gsched_copied_objects{") == 1

    for one in copies:
        meta = one["metadata"]
        state.delete_binding(meta["namespace"], meta["name"], meta["uid"])
    refresh_gauges(metrics, state, SystemClock())
    assert "gsched_copied_objects{" not in metrics.render().decode()
