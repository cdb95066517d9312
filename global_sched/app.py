"""Puts global-sched together; nothing else constructs its parts."""

import asyncio
import gc
from collections.abc import AsyncIterator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from functools import partial

from global_sched.cache import State
from global_sched.controllers.bootstrap import ensure_namespace, keep_default_queue, prepare
from global_sched.controllers.eviction_tasks import EvictionTasks
from global_sched.controllers.gauges import refresh_gauges
from global_sched.controllers.notices import NoticeTeller
from global_sched.controllers.preflight import SERVER as SERVER_WORDS
from global_sched.controllers.preflight import check_server, served_now
from global_sched.controllers.scheduling import SchedulingLoop
from global_sched.controllers.scheduling_timer import Wake
from global_sched.controllers.statuses import StatusLoop
from global_sched.controllers.waiting_lists import WaitingLists
from global_sched.controllers.watching import Watches
from global_sched.dispatch import BindingWriter, DirectiveWriter, Dispatcher
from global_sched.settings import Settings
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import ApiError, ConfigError, WentBack, gone_back
from global_sched.shared.kube.events import EventRecorder
from global_sched.shared.kube.lease import LeaderElection, LeaseLost, Term
from global_sched.shared.kube.observe import export_events, export_informers, request_observer
from global_sched.shared.kube.preflight import StartupWait
from global_sched.shared.kube.transport import Transport
from global_sched.shared.model.plan import Plan
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    ELECTION_BLOCKED,
    EPOCH,
    LEADER,
    LEADER_TRANSITIONS,
)
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.serve import serving
from global_sched.shared.telemetry.spec import Program

COMPONENT = "global-sched"
SERVER = "control"
"""The API server's role, as metrics name it."""
LATE_KINDS_PERIOD = 60.0
"""Seconds between two looks for kinds that were not served at the start."""

RESTORED_PATIENCE = 60.0
"""Seconds that a restored control plane waits for reports of its members."""

log = get_logger(__name__)


class GlobalSched:
    """One process: watches, and the loops that run while it leads."""

    def __init__(
        self,
        client: Client,
        settings: Settings,
        *,
        clock: Clock,
        metrics: Metrics,
        served: frozenset[Resource],
        restored: bool = False,
    ) -> None:
        """`restored`: the control plane has just gone back to an older state."""
        self._restored_at = clock.now() if restored else None
        self.settings = settings
        self.clock = clock
        self.client = client
        self.metrics = metrics
        self.state = State(frozenset(settings.scheduler_names))
        self.wake = Wake(clock)
        self.recorder = EventRecorder(
            client, component=COMPONENT, instance=settings.replica, clock=clock
        )
        self.term = _CurrentTerm()
        self.directives = DirectiveWriter(
            client, self.state, clock=clock, term=self.term, metrics=self.metrics
        )
        self.eviction_tasks = EvictionTasks(
            client,
            self.state,
            clock=clock,
            term=self.term,
            metrics=self.metrics,
            recorder=self.recorder,
        )
        self.watches = Watches(
            client,
            self.state,
            clock=clock,
            wake=self.wake,
            directives=self.directives,
            served=served,
            eviction_tasks=self.eviction_tasks,
        )
        self.election = LeaderElection(
            client,
            namespace=settings.namespace,
            name=settings.lease_name,
            identity=settings.replica,
            clock=clock,
            lease=settings.lease_seconds,
            renew=settings.renew_seconds,
            retry=settings.retry_seconds,
        )
        self.loop: SchedulingLoop | None = None
        """The scheduling loop of the present term."""
        self.on_listed: Callable[[], None] = lambda: None
        """Called once everything has been listed for the first time."""
        export_informers(self.metrics, self.watches.all, server=SERVER)
        export_events(self.metrics, self.recorder)
        self.metrics.before_scrape(lambda: refresh_gauges(self.metrics, self.state, clock))
        self.metrics.before_scrape(
            lambda: self.metrics.set(ELECTION_BLOCKED, bool(self.election.blocked))
        )

    def _again(self) -> None:
        """A write was dropped: decide again, though no event says so."""
        self.state.request_cycle()
        self.wake.ring()

    def not_ready(self) -> str | None:
        """What is missing before this replica may serve, None when nothing is."""
        missing = self.watches.missing()
        if missing:
            return f"not listed yet: {', '.join(missing)}"
        return f"cannot be elected: {self.election.blocked}" if self.election.blocked else None

    async def run(self, stop: asyncio.Event) -> None:
        """Watch and, whenever elected, lead; until `stop` is set.

        Raises:  WentBack when the control plane was restored to an older state.
        """
        try:
            await self._run(stop)
        except BaseExceptionGroup as group:
            if (back := gone_back(group)) is not None:
                raise back from None
            raise

    async def _run(self, stop: asyncio.Event) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(informer.run()) for informer in self.watches.all()]
            tasks.append(group.create_task(self.recorder.run()))
            tasks.append(group.create_task(self._watch_late_kinds()))
            candidate = group.create_task(self._candidate(stop))
            await stop.wait()
            if self.loop is None:
                candidate.cancel()
            await asyncio.wait([candidate])
            for task in tasks:
                task.cancel()

    async def _watch_late_kinds(self) -> None:
        """Watch kinds whose CRD is installed after our start."""
        async with asyncio.TaskGroup() as group:
            while True:
                await self.clock.sleep(LATE_KINDS_PERIOD)
                if not self.watches.unserved:
                    continue
                try:
                    served = await served_now(self.client)
                except ApiError as error:
                    log.info("kinds_unknown", error=str(error))
                    continue
                for informer in self.watches.add(served):
                    log.info("kind_watched", kind=informer.resource.group_kind)
                    group.create_task(informer.run())

    async def _candidate(self, stop: asyncio.Event) -> None:
        await self.watches.synced()
        self.on_listed()
        while not stop.is_set():
            try:
                await self.election.run(lambda term: self._lead(term, stop))
            except LeaseLost as lost:
                log.warning("lease_lost", error=str(lost))

    async def _lead(self, term: Term, stop: asyncio.Event) -> None:
        settings = self.settings
        self.term.current = term
        self.state.begin_term(term.epoch)
        self.metrics.set(LEADER, 1)
        self.metrics.set(EPOCH, term.epoch)
        self.metrics.inc(LEADER_TRANSITIONS)
        try:
            await prepare(
                self.client,
                namespace=settings.namespace,
                policy=settings.policy,
                scheduler_names=settings.scheduler_names,
                clock=self.clock,
            )
            await self._until_members_reported()
            await self._loops(stop)
        finally:
            self.loop = None
            self.term.current = None
            self.state.end_term()
            self.metrics.set(LEADER, 0)
            self.metrics.set(EPOCH, 0)
            self.metrics.inc(LEADER_TRANSITIONS)

    async def _until_members_reported(self) -> None:
        """After a restore: decide nothing before each member has said what runs there.

        A gang of which its binding knows nothing any more may run in the one that reports last. One
        that says nothing is waited for `RESTORED_PATIENCE` seconds.
        """
        if self._restored_at is None:
            return
        end = self.clock.monotonic() + RESTORED_PATIENCE
        while self.clock.monotonic() < end:
            reports = [self.state.reports.get(one) for one in self.state.builder.clusters()]
            known = [one.capacity.observed for one in reports if one is not None]
            if all(observed >= self._restored_at for observed in known):
                break
            await self.clock.sleep(1.0)
        self._restored_at = None

    async def _loops(self, stop: asyncio.Event) -> None:
        settings = self.settings
        teller = NoticeTeller(self.state, self.recorder, self.metrics)
        dispatcher = Dispatcher(
            BindingWriter(self.client, self.state, clock=self.clock),
            self.state,
            clock=self.clock,
            term=self.term,
            metrics=self.metrics,
            wake=self._again,
            written=teller.written,
            concurrency=settings.writes_at_once,
        )
        waiting = WaitingLists(
            self.client, self.state, clock=self.clock, term=self.term, metrics=self.metrics
        )

        def after_cycle(plan: Plan) -> None:
            teller.tell()
            waiting.planned(plan)

        self.loop = SchedulingLoop(
            self.state,
            dispatcher,
            self.directives,
            clock=self.clock,
            wake=self.wake,
            term=self.term,
            confirm=self.election.confirm,
            policy=settings.policy,
            metrics=self.metrics,
            staleness=self.watches.staleness,
            after_cycle=after_cycle,
            debounce=settings.debounce_seconds,
            budget=settings.cycle_budget_seconds,
            max_age=settings.max_age_seconds,
        )
        statuses = StatusLoop(
            self.client,
            self.state,
            clock=self.clock,
            term=self.term,
            metrics=self.metrics,
            policy=settings.policy,
            interval=settings.status_interval_seconds,
        )
        async with asyncio.TaskGroup() as group:
            deciding = group.create_task(self.loop.run())
            others = [
                group.create_task(dispatcher.run()),
                group.create_task(self.directives.run()),
                group.create_task(statuses.run()),
                group.create_task(waiting.run()),
                group.create_task(self.eviction_tasks.run()),
                group.create_task(
                    keep_default_queue(self.client, self.state, clock=self.clock, term=self.term)
                ),
            ]
            await stop.wait()
            deciding.cancel()
            try:
                async with asyncio.timeout(settings.drain_seconds):
                    await dispatcher.drain()
            except TimeoutError:
                log.warning("drain_incomplete", in_flight=dict(dispatcher.in_flight))
            for task in others:
                task.cancel()


class _CurrentTerm:
    """The term that we are in now, if any; outlives each of them."""

    def __init__(self) -> None:
        self.current: Term | None = None

    def valid(self) -> bool:
        """Whether we may write."""
        return self.current is not None and self.current.valid()


def _keep_what_was_listed() -> None:
    """What was listed stays; scanning it again and again would hold up every cycle."""
    gc.collect()
    gc.freeze()


async def run(settings: Settings, stop: asyncio.Event) -> None:
    """Run global-sched against the configured control plane until `stop` is set.

    When the control plane goes back to an older state, the program starts anew, remembering
    nothing else.

    Raises:  ConfigError with one line; OSError when the metrics port is taken.
    """
    clock = SystemClock()
    restored = False
    while not stop.is_set():
        transport = await connect(
            kubeconfig=settings.kubeconfig,
            context=settings.context,
            in_cluster=settings.in_cluster,
            clock=clock,
        )
        try:
            async with assembled(settings, transport, clock=clock, restored=restored) as program:
                program.on_listed = _keep_what_was_listed
                await program.run(stop)
        except WentBack as back:
            gc.unfreeze()
            log.warning("control_plane_restored", error=str(back))
            restored = True


@asynccontextmanager
async def assembled(
    settings: Settings, transport: Transport, *, clock: Clock, restored: bool = False
) -> AsyncIterator[GlobalSched]:
    """The program over any transport, its port open; closes both. Raises ConfigError."""
    async with AsyncExitStack() as stack:
        metrics = Metrics(Program.GLOBAL)
        client = Client(
            transport,
            clock=clock,
            user_agent=COMPONENT,
            observer=request_observer(metrics, server=SERVER),
        )
        stack.push_async_callback(client.close)
        patience = StartupWait(clock=clock, seconds=settings.start_patience_seconds)
        served = await check_server(client, patience)
        try:
            await patience.ask(
                partial(ensure_namespace, client, settings.namespace),
                client=client,
                server=SERVER_WORDS,
            )
        except ApiError as error:
            raise ConfigError(
                f"the namespace {settings.namespace} cannot be made sure of: {error}; create it, "
                "or allow us to get and create namespaces (the RBAC of deploy/)"
            ) from error
        program = GlobalSched(
            client, settings, clock=clock, metrics=metrics, served=served, restored=restored
        )
        if settings.metrics_port:
            port = await stack.enter_async_context(
                serving(
                    program.metrics,
                    host=settings.metrics_host,
                    port=settings.metrics_port,
                    ready=program.not_ready,
                    clock=clock,
                )
            )
            log.info("serving", port=port)
        yield program
