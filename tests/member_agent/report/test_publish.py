"""Writes of a report, and their failures."""

import asyncio
from contextlib import asynccontextmanager
from pathlib import Path

from global_sched.embedded.apiserver import ApiServer
from global_sched.shared.api.federation import CapacityReport, ReportWorkload
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import CAPACITY_REPORTS, NAMESPACES
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.faults import Fault, FaultKind, FaultPlan, FaultyTransport
from global_sched.shared.kube.transport import AiohttpTransport
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.topology import Topology
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.spec import Program
from member_agent.report.build import Limits, Observation
from member_agent.report.publish import Publisher
from tests.definitions import crds
from tests.virtual_time import virtual_time

NAMESPACE = execution_namespace("m")
CRD = Path(__file__).parents[3] / "crds" / "federation.global-sched.io_capacityreports.yaml"
REPORTS = "capacityreports.federation.global-sched.io"


class Desk:
    """A control plane, what there is to say, and every report that was written."""

    def __init__(self, client: Client, clock: LoopClock) -> None:
        self.client = client
        self.clock = clock
        self.workloads = 1
        self.written: list[tuple[float, int]] = []

    def build(self, generation, now):
        workloads = tuple(
            ReportWorkload(binding=f"b{at:05d}", reason="x" * 100) for at in range(self.workloads)
        )
        return Observation(
            cluster=ClusterName("m"),
            generation=generation,
            observed=now,
            topology=Topology(axis=()),
            workloads=workloads,
        )

    def publisher(self, **fields):
        base = {"period": 10, "interval": 2.0, "limits": Limits()}
        return Publisher(
            self.client,
            cluster="m",
            build=self.build,
            clock=self.clock,
            metrics=Metrics(Program.AGENT),
            **(base | fields),
        )

    async def reports(self):
        found = await self.client.list(CAPACITY_REPORTS, namespace=NAMESPACE, type=CapacityReport)
        return {report.metadata.name: report for report in found.items}

    async def generations(self, seconds):
        """(second, generation) whenever the first slice changed."""
        seen = []
        for at in range(seconds):
            report = (await self.reports()).get("m")
            if report and (not seen or seen[-1][1] != report.spec.generation):
                seen.append((at, report.spec.generation))
            await asyncio.sleep(1)
        return seen


@asynccontextmanager
async def desk(faults=None):
    clock = LoopClock()
    server = ApiServer(clock=clock, seed=1)
    await server.start()
    server.install_crd(*crds("*_capacityreports.yaml"))
    transport = AiohttpTransport(Connection.to(server.url, clock=clock))
    client = Client(FaultyTransport(transport, faults or FaultPlan(), clock=clock), clock=clock)
    await client.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    try:
        yield Desk(client, clock)
    finally:
        await client.close()
        await server.stop()


@asynccontextmanager
async def running(publisher):
    task = asyncio.create_task(publisher.run())
    try:
        yield
    finally:
        task.cancel()
        await asyncio.wait([task])


@virtual_time
async def test_a_quiet_member_reports_every_period():
    """Without any change a report comes shortly before each period is over."""
    async with desk() as table, running(table.publisher()):
        assert await table.generations(30) == [(1, 1), (10, 2), (19, 3), (28, 4)]


@virtual_time
async def test_a_change_is_reported_soon_and_changes_are_collected():
    """At most one report in two seconds, however much happens."""
    async with desk() as table:
        publisher = table.publisher()
        async with running(publisher):
            await asyncio.sleep(5)
            assert publisher.generation == 1
            table.workloads = 2
            publisher.poke()
            await asyncio.sleep(0.5)
            assert publisher.generation == 2

            for change in range(200):
                table.workloads = 3 + change
                publisher.poke()
                await asyncio.sleep(0.05)
            assert 6 <= publisher.generation <= 8


@virtual_time
async def test_a_change_that_changes_nothing_is_not_written():
    """Heartbeats and the like cost no write before the period is over."""
    async with desk() as table:
        publisher = table.publisher()
        async with running(publisher):
            for _ in range(80):
                publisher.poke()
                await asyncio.sleep(0.1)
            assert publisher.generation == 1


@virtual_time
async def test_generations_go_on_after_a_restart():
    """A new agent continues the number, and learns which minimums were reached."""
    async with desk() as table:
        first = table.publisher()
        await first.publish()
        await first.publish()

        second = table.publisher()
        [workload] = await second.resume()
        await second.publish()

        assert workload.binding == "b00000"
        assert (await table.reports())["m"].spec.generation == first.generation + 1


@virtual_time
async def test_slices_come_and_go():
    """A report that grows gets more objects; one that shrinks deletes those it no longer needs."""
    async with desk() as table:
        publisher = table.publisher(limits=Limits(slice_bytes=20_000))
        table.workloads = 400
        await publisher.publish()
        many = await table.reports()
        assert sorted(many) == ["m", "m-1", "m-2"]
        assert {r.spec.generation for r in many.values()} == {1}

        table.workloads = 1
        await publisher.publish()
        assert sorted(await table.reports()) == ["m"]
        assert (await table.reports())["m"].spec.slices == 1


@virtual_time
async def test_failures_are_waited_out():
    """Conflicts, a busy server and lost answers end in a report, without a storm.

    Three failures cost at most three of the longest back-offs (30 s), whatever their jitter.
    """
    plan = FaultPlan(
        Fault("create", REPORTS, kind=FaultKind.LOST_AFTER),
        Fault("patch", REPORTS, kind=FaultKind.THROTTLE, seconds=3),
        Fault("patch", REPORTS, kind=FaultKind.ERROR, nth=2, times=2),
    )
    async with desk(plan) as table:
        publisher = table.publisher()
        async with running(publisher):
            for _ in range(140):
                await asyncio.sleep(1)
                if publisher.generation >= 4:
                    break
        assert publisher.generation >= 4
        assert (await table.reports())["m"].spec.generation == publisher.generation
        assert len([c for c in plan.calls if c.verb in ("patch", "create")]) < 20


@virtual_time
async def test_a_deleted_report_is_written_again():
    """The object is deleted by others: the next report makes it anew."""
    async with desk() as table:
        publisher = table.publisher()
        await publisher.publish()
        await table.client.delete(CAPACITY_REPORTS, "m", namespace=NAMESPACE)
        await asyncio.sleep(20)
        await publisher.publish()

        assert (await table.reports())["m"].spec.generation == 2


@virtual_time
async def test_a_lost_report_does_not_wait_for_the_interval():
    """A deletion is answered at once; further ones within the interval wait until it is over."""
    async with desk() as table:
        publisher = table.publisher(interval=4.0)
        async with running(publisher):
            await publisher.first_written.wait()

            publisher.removed("m")
            await asyncio.sleep(0.5)
            assert publisher.generation == 2
            for _ in range(5):
                publisher.removed("m")
                await asyncio.sleep(0.5)
            assert publisher.generation == 2
            await asyncio.sleep(2)
            assert publisher.generation == 3


@virtual_time
async def test_an_object_that_is_no_longer_needed_is_not_lost():
    """The deletion of a slice beyond the last one writes nothing."""
    async with desk() as table:
        publisher = table.publisher(interval=1.0)
        async with running(publisher):
            await publisher.first_written.wait()
            publisher.removed("m-1")
            await asyncio.sleep(5)

            assert publisher.generation == 1
