"""One event on 100,000 pending bindings: from the bytes of the event to the next snapshot."""

import time
from collections.abc import Callable, Iterator
from dataclasses import replace

import msgspec

from bench.harness import Figure, at_most, percentile, quiet_collector, shown
from bench.traces import TraceMissingError
from bench.wires import (
    Jobs,
    Obj,
    cluster_object,
    clusters,
    decoded,
    queue_objects,
    report_objects,
    tenant_objects,
)
from bench.worlds import NOW, Size
from global_sched.cache import READERS, State
from global_sched.core import run_cycle
from global_sched.dispatch.patches import admission_patch, success_status
from global_sched.shared.api import karmada
from global_sched.shared.api.federation import CapacityReport, Tenant
from global_sched.shared.api.volcano import Queue, VolcanoJob
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.topology import Leaf

GROUP = "snapshot"
PENDING = 100_000
RUNNING = 2_000
EVENTS = 1_000
SIZE = Size(filled=0.5)
_READER = READERS["batch.volcano.sh/v1alpha1", "Job"]
_CREATED = Instant(NOW - 3600 * SECOND)
_Event = tuple[bytes, Callable[[bytes], None]]


class _World:
    """A state with running and pending work, and the bytes of events on it."""

    def __init__(self) -> None:
        self.state = State(frozenset({"global-sched"}))
        self.members = clusters(SIZE)
        self.running: list[Obj] = []
        for queue in queue_objects(SIZE):
            self.state.upsert_queue(decoded(queue, Queue))
        for tenant in tenant_objects(SIZE):
            self.state.upsert_tenant(decoded(tenant, Tenant))
        for member in self.members:
            self.state.upsert_cluster(decoded(cluster_object(member), karmada.Cluster))
            for report in report_objects(member, NOW):
                self.state.upsert_report(decoded(report, CapacityReport), NOW)
        self._start(Jobs(SIZE, _CREATED, prefix="run"))
        self._wait(Jobs(SIZE, _CREATED), PENDING)
        self.state.snapshot()

    def _wait(self, jobs: Jobs, count: int) -> None:
        for index in range(count):
            self.state.upsert_template(_READER, decoded(jobs.template(index), VolcanoJob))
            self.state.upsert_binding(decoded(jobs.binding(index), karmada.ResourceBinding))

    def _start(self, jobs: Jobs) -> None:
        """Admit what a cycle admits, as its writes come back from the server."""
        self._wait(jobs, RUNNING)
        known = {f"{o['metadata']['namespace']}/{o['metadata']['name']}": o
                 for o in map(jobs.binding, range(RUNNING))}  # fmt: skip
        for one in run_cycle(self.state.snapshot(), Policy(), NOW).admissions:
            stored = known[one.workload]
            patch = admission_patch(one, msgspec.json.encode(stored["spec"]["placement"]).decode())
            stored["metadata"]["annotations"] |= patch["metadata"]["annotations"]
            stored["metadata"]["resourceVersion"] = str(PENDING * 2 + len(self.running))
            stored["spec"] |= patch["spec"]
            stored["status"] = success_status("", (), generation=1, now=NOW, affinity=None)["status"]
            self.state.upsert_binding(decoded(stored, karmada.ResourceBinding))
            self.running.append(stored)

    # --- events ---------------------------------------------------------------------------

    def arrivals(self) -> Iterator[_Event]:
        """A new binding; its template was seen just before."""
        jobs = Jobs(SIZE, Instant(NOW - SECOND), prefix="new")
        for index in range(EVENTS):
            self.state.upsert_template(_READER, decoded(jobs.template(index), VolcanoJob))
            self.state.snapshot()
            yield msgspec.json.encode(jobs.binding(index)), self._binding

    def finishes(self) -> Iterator[_Event]:
        """Karmada has collected that a running job is complete."""
        for at, stored in enumerate(self.running[:EVENTS]):
            stored["metadata"]["resourceVersion"] = str(PENDING * 3 + at)
            stored["status"]["aggregatedStatus"] = [
                {"clusterName": cluster["name"], "applied": True,
                 "status": {"state": {"phase": "Completed"}}}
                for cluster in stored["spec"]["clusters"]
            ]  # fmt: skip
            yield msgspec.json.encode(stored), self._binding

    def reports(self) -> Iterator[_Event]:
        """A member's next report: a node of it has less free than before."""
        for at in range(EVENTS):
            member = self.members[at % len(self.members)]
            generation = 2 + at // len(self.members)
            when = Instant(NOW + at * SECOND // 100)
            [report] = report_objects(_busier(member, generation), when, generation)
            yield msgspec.json.encode(report), self._report

    def _binding(self, event: bytes) -> None:
        self.state.upsert_binding(_BINDING.decode(event))

    def _report(self, event: bytes) -> None:
        self.state.upsert_report(_REPORT.decode(event), NOW)


_BINDING = msgspec.json.Decoder(karmada.ResourceBinding)
_REPORT = msgspec.json.Decoder(CapacityReport)


def _busier(member: Cluster, generation: int) -> Cluster:
    """The member with one CPU less on the nodes of one leaf, another one each time."""
    assert member.capacity is not None
    topology = member.capacity.topology
    leaves: list[Leaf] = list(topology.leaves)
    at = generation % len(leaves)
    free = leaves[at].free
    leaves[at] = replace(leaves[at], free=(max(0, free[0] - 1000 - generation), *free[1:]))
    changed = replace(topology, leaves=tuple(leaves))
    return replace(member, capacity=replace(member.capacity, topology=changed))


def _times(world: _World, events: Iterator[_Event]) -> list[float]:
    """Milliseconds of each event."""
    times = []
    for body, take in events:
        start = time.perf_counter()
        take(body)
        world.state.snapshot()
        times.append((time.perf_counter() - start) * 1000)
    return times


def figures() -> list[Figure]:
    """p99 of each kind of event."""
    try:
        world = _World()
    except TraceMissingError as error:
        return [shown(GROUP, "one event on 100,000 pending", None, "ms", str(error))]
    found = []
    held = f"{PENDING:,} pending, {len(world.running):,} running, {len(world.members)} clusters"
    kinds = (
        ("arrival", world.arrivals, "a binding of 2.7 KB"),
        ("finish", world.finishes, "aggregatedStatus says Completed"),
        ("report", world.reports, "96 nodes, one leaf of it changed"),
    )
    for name, events, what in kinds:
        with quiet_collector():
            times = _times(world, events())
        note = f"{what}, decoding included; {held}; median {percentile(times, 0.5):.2f} ms"
        title = f"{name} to snapshot: p99 of {len(times):,}"
        found.append(at_most(GROUP, title, percentile(times, 0.99), "ms", 1, note))
    return found
