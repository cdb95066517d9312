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
from global_sched.cache import State
from global_sched.core import run_cycle
from global_sched.dispatch.patches import admission_patch, success_status
from global_sched.shared.api import karmada
from global_sched.shared.api.federation import CapacityReport, ReportWorkload, Tenant
from global_sched.shared.api.names import BINDING_ID, DECISION
from global_sched.shared.api.volcano import Queue, VolcanoJob
from global_sched.shared.kinds import KINDS
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision_text import parse_decision
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.policy import Policy

GROUP = "snapshot"
PENDING = 100_000
RUNNING = 2_000
EVENTS = 1_000
SIZE = Size(filled=0.5)
_READER = KINDS["batch.volcano.sh/v1alpha1", "Job"]
_CREATED = Instant(NOW - 3600 * SECOND)
_Event = tuple[bytes, Callable[[bytes], None]]


class _World:
    """A state with running and pending work, and the bytes of events on it."""

    def __init__(self) -> None:
        self.state = State(frozenset({"global-sched"}))
        self.members = clusters(SIZE)
        self.running: list[Obj] = []
        self._counted: dict[str, list[ReportWorkload]] = {}
        self._generation = 1
        for queue in queue_objects(SIZE):
            self.state.upsert_queue(decoded(queue, Queue))
        for tenant in tenant_objects(SIZE):
            self.state.upsert_tenant(decoded(tenant, Tenant))
        for member in self.members:
            self.state.upsert_cluster(decoded(cluster_object(member), karmada.Cluster))
            self._report(self._next_report(member))
        self._start(Jobs(SIZE, _CREATED, prefix="run"))
        self._wait(Jobs(SIZE, _CREATED), PENDING)
        self.state.snapshot()

    def count(self) -> None:
        """All members report what runs in them as bound."""
        for stored in self.running:
            decision = parse_decision(stored["metadata"]["annotations"][DECISION])
            for grant in decision.grants:
                seen = ReportWorkload(
                    binding=stored["metadata"]["labels"][BINDING_ID],
                    bound=dict(grant.amounts.entries),
                    decision=decision.id,
                    minimum_reached=True,
                )
                self._counted.setdefault(grant.cluster, []).append(seen)
        for member in self.members:
            self._report(self._next_report(member))
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
            stored["status"] = success_status("", (), generation=1, now=NOW, affinity=None)[
                "status"
            ]
            self.state.upsert_binding(decoded(stored, karmada.ResourceBinding))
            self.running.append(stored)

    def most_in_one(self) -> int:
        """The most gangs that one member holds."""
        return max(len(found) for found in self._counted.values())

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
        for stored in self.running[:EVENTS]:
            self._generation += 1
            stored["metadata"]["resourceVersion"] = str(PENDING * 3 + self._generation)
            stored["status"]["aggregatedStatus"] = [
                {"clusterName": cluster["name"], "applied": True,
                 "status": {"state": {"phase": "Completed"}}}
                for cluster in stored["spec"]["clusters"]
            ]  # fmt: skip
            yield msgspec.json.encode(stored), self._binding

    def reports(self, events: int = EVENTS) -> Iterator[_Event]:
        """A member's next report: nodes of one leaf have less free than before."""
        for at in range(events):
            member = self.members[at % len(self.members)]
            yield self._next_report(_busier(member, at)), self._report

    def _next_report(self, member: Cluster) -> bytes:
        self._generation += 1
        workloads = self._counted.get(member.name, ())
        when = Instant(NOW + self._generation)
        [report] = report_objects(member, when, self._generation, workloads)
        return msgspec.json.encode(report)

    def _binding(self, event: bytes) -> None:
        self.state.upsert_binding(_BINDING.decode(event))

    def _report(self, event: bytes) -> None:
        self.state.upsert_report(_REPORT.decode(event), NOW)


_BINDING = msgspec.json.Decoder(karmada.ResourceBinding)
_REPORT = msgspec.json.Decoder(CapacityReport)


def _busier(member: Cluster, event: int) -> Cluster:
    """The member with less CPU on the nodes of one leaf, another leaf and amount each time."""
    assert member.capacity is not None
    topology = member.capacity.topology
    leaves = list(topology.leaves)
    at = event % len(leaves)
    free = leaves[at].free
    leaves[at] = replace(leaves[at], free=(max(0, free[0] - 1000 - event), *free[1:]))
    changed = replace(topology, leaves=tuple(leaves))
    return replace(member, capacity=replace(member.capacity, topology=changed))


def _times(world: _World, events: Iterator[_Event]) -> tuple[list[float], list[float]]:
    """Milliseconds of each event: of this thread's CPU, and on the wall.

    Nothing here waits, so the two differ by what other programs on the machine take.
    """
    used, passed = [], []
    for body, take in events:
        start, begin = time.perf_counter(), time.thread_time()
        take(body)
        world.state.snapshot()
        used.append((time.thread_time() - begin) * 1000)
        passed.append((time.perf_counter() - start) * 1000)
    return used, passed


def figures() -> list[Figure]:
    """p99 of each kind of event."""
    try:
        world = _World()
    except TraceMissingError as error:
        return [shown(GROUP, "one event on 100,000 pending", None, "ms", str(error))]
    held = f"{PENDING:,} pending, {len(world.running):,} running, {len(world.members)} clusters"
    with quiet_collector():
        early, _ = _times(world, world.reports(events=100))
    world.count()
    found = []
    kinds = (
        ("arrival", world.arrivals, "a binding of 2.6 KB"),
        ("report", world.reports, "96 nodes, one leaf changed"),
        ("finish", world.finishes, "aggregatedStatus says Completed"),
    )
    for name, events, what in kinds:
        with quiet_collector():
            times, passed = _times(world, events())
        note = (
            f"CPU time, decoding included; {what}; {held}; median {percentile(times, 0.5):.2f} ms; "
            f"p99 on the wall of this shared machine {percentile(passed, 0.99):.2f} ms"
        )
        title = f"{name} to snapshot: p99 of {len(times):,}"
        found.append(at_most(GROUP, title, percentile(times, 0.99), "ms", 1, note))
    note = (
        "all that runs is assumed and placed again on the new topology: up to "
        f"{world.most_in_one()} gangs in one member; median {percentile(early, 0.5):.2f} ms"
    )
    title = "report to snapshot while no report counts anything: p99 of 100"
    return [*found, shown(GROUP, title, percentile(early, 0.99), "ms", note)]
