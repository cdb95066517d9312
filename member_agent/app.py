"""Constructs the agent and runs it: the only place where its parts meet."""

import asyncio
from collections.abc import Callable
from contextlib import AsyncExitStack
from typing import Final

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.federation import ReportWorkload
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import (
    CAPACITY_REPORTS,
    POD_GROUPS,
    PODS,
    VOLCANO_JOBS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, gone_back
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.lease import LeaderElection, LeaseLost, Term
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId, DecisionId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import Scope
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    ELECTION_BLOCKED,
    EPOCH,
    LEADER,
    LEADER_TRANSITIONS,
    PODS_DISTURBED,
    RECOVERY_DURATION,
)
from global_sched.shared.telemetry.registry import Metrics
from global_sched.shared.telemetry.serve import serving
from global_sched.shared.telemetry.spec import Program
from member_agent.cache import ClusterCache, Kind, PodRecord
from member_agent.feeds import Feeds
from member_agent.gauges import refresh_gauges
from member_agent.jobs.controller import JobController
from member_agent.jobs.outcome import JobOutcome
from member_agent.jobs.store import GroupHandler, JobStore, PodHandler
from member_agent.preflight import check_servers
from member_agent.recovery.health import NodeHealth
from member_agent.recovery.keeper import RecoveryKeeper, Rules
from member_agent.recovery.restarts import GangRestarts
from member_agent.recovery.signals import parse_conditions
from member_agent.recovery.store import TroubleStore
from member_agent.recovery.trouble import TroubleState
from member_agent.report.build import Limits, Observation, ReportHeader
from member_agent.report.observe import Facts, Placing, below_of, label_keys, observe, short_of
from member_agent.report.publish import OwnReports, Publisher
from member_agent.scheduler.loop import Scheduler, Tuning
from member_agent.scheduler.write.binder import Binder
from member_agent.scheduler.write.conditions import ConditionWriter
from member_agent.settings import Settings
from member_agent.tree_status import TreeStatus
from member_agent.version import agent_version
from member_agent.volcano import Volcano, find_volcano
from member_agent.write_gate import BackgroundWriteGate

COMPONENT: Final = "member-agent"
LOOK_PERIOD: Final = 60.0
"""Seconds between two looks for Volcano."""

log = get_logger(__name__)


class Agent:
    """One member agent: `await Agent(member, control, settings, clock).run()` until cancelled.

    `member` and `control` are clients of the member's API server and of the control plane's; the
    caller closes them. Several agents may run in one event loop. `ready` is set when this replica
    leads and has published its first report.
    """

    def __init__(self, member: Client, control: Client, settings: Settings, clock: Clock) -> None:
        self.settings = settings
        self.metrics = Metrics(Program.AGENT)
        self.cache = ClusterCache(settings.cluster)
        self.ready = asyncio.Event()
        self._election: LeaderElection | None = None
        self.volcano = Volcano()
        self.scheduler: Scheduler | None = None
        self.publisher: Publisher | None = None
        self.refusals: dict[BindingId, str] = {}
        self._below: dict[BindingId, Instant] = {}
        self._short: dict[BindingId, Instant] = {}
        """Why pods of Volcano Jobs that run here were not made."""
        self.waiting: dict[BindingId, Scope] = {}
        """The step of the leader at which ladders of recovery wait."""
        self._member = member
        self._control = control
        self.clock = clock
        self._term: Term | None = None
        self._write_gate = BackgroundWriteGate(clock)
        self._recorder = EventRecorder(
            member,
            component=COMPONENT,
            instance=settings.replica,
            clock=clock,
            give_way=self._write_gate.give_way,
        )
        self._tree_status = TreeStatus(member, cache=self.cache, clock=clock)
        self.feeds = Feeds(member, control, cache=self.cache, watcher=self, clock=clock)
        self._keeper: RecoveryKeeper | None = None
        self._job_store = JobStore()
        self.jobs: JobController | None = None
        if settings.run_volcano_jobs:
            self.feeds.also_handle(PODS, PodHandler(self._job_store))
            self.feeds.also_handle(POD_GROUPS, GroupHandler(self._job_store))
        self.metrics.before_scrape(lambda: refresh_gauges(self.metrics, self))
        self.metrics.before_scrape(
            lambda: self.metrics.set(
                ELECTION_BLOCKED, bool(self._election is not None and self._election.blocked)
            )
        )

    # --- running ----------------------------------------------------------------------------

    async def run(self) -> None:
        """Work until cancelled.

        Raises:  ConfigError when a server does not answer or lacks our kinds, or Volcano Jobs
                 are to be run where Volcano's own controller does; WentBack when a server was
                 restored to an older state.
        """
        await check_servers(self._member, self._control, self.settings, self.clock)
        async with AsyncExitStack() as stack:
            if self.settings.metrics_port:
                await stack.enter_async_context(
                    serving(
                        self.metrics,
                        host=self.settings.metrics_host,
                        port=self.settings.metrics_port,
                        ready=self._readiness,
                        clock=self.clock,
                    )
                )
            try:
                async with asyncio.TaskGroup() as tasks:
                    tasks.create_task(self.feeds.run(), name="feeds")
                    tasks.create_task(self._campaign(), name="lease")
            except BaseExceptionGroup as group:
                if (back := gone_back(group)) is not None:
                    raise back from None
                raise

    async def _campaign(self) -> None:
        """Lead whenever the Lease can be had; a lost Lease ends the term, not the process."""
        settings = self.settings
        while True:
            election = self._election = LeaderElection(
                self._member,
                namespace=settings.namespace,
                name=settings.lease_name,
                identity=settings.replica,
                clock=self.clock,
                lease=settings.lease_seconds,
                renew=settings.lease_seconds * 2 / 3,
                retry=settings.lease_seconds * 2 / 15,
            )
            try:
                await election.run(self._lead)
            except LeaseLost as error:
                log.warning("lease_lost", error=str(error))

    async def _lead(self, term: Term) -> None:
        self._term = term
        self.metrics.inc(LEADER_TRANSITIONS)
        self.metrics.set(LEADER, 1)
        self.metrics.set(EPOCH, term.epoch)
        try:
            await self.feeds.synced.wait()
            self.volcano = await self._find_volcano()
            await self._act(term)
        finally:
            self._term = None
            self.ready.clear()
            self.scheduler = self.publisher = self.jobs = self._keeper = None
            self.refusals.clear()
            self.waiting.clear()
            self.metrics.set(LEADER, 0)

    async def _act(self, term: Term) -> None:
        """Everything that only one replica may do."""
        self._write_gate.reset()
        publisher = self._make_publisher()
        reported = await self._resume(publisher)
        conditions = ConditionWriter(
            self._member,
            cache=self.cache,
            recorder=self._recorder,
            clock=self.clock,
            interval=self.settings.condition_interval_seconds,
        )
        keeper = self._keeper = self._make_keeper(term)
        scheduler = self._make_scheduler(term, conditions, publisher.poke)
        scheduler.reached.update(
            (BindingId(w.binding), DecisionId(w.decision)) for w in reported if w.minimum_reached
        )
        self.scheduler, self.publisher = scheduler, publisher
        self._below, self._short = below_of(reported), short_of(reported)
        keeper.resume(reported)
        await keeper.load()
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(self._recorder.run(), name="events")
            tasks.create_task(scheduler.run(), name="scheduler")
            tasks.create_task(keeper.run(), name="recovery")
            tasks.create_task(conditions.run(), name="conditions")
            tasks.create_task(publisher.run(), name="report")
            tasks.create_task(self._own_reports(publisher).run(), name="own reports")
            tasks.create_task(self._tree_status.run(), name="tree")
            tasks.create_task(self._look_for_volcano(), name="volcano")
            tasks.create_task(self._say_ready(), name="ready")
            if self.settings.run_volcano_jobs:
                self.jobs = JobController(
                    self._member,
                    clock=self.clock,
                    recorder=self._recorder,
                    store=self._job_store,
                    write_gate=self._write_gate,
                    default_scheduler=self.settings.job_scheduler_name,
                    refused=self._refused,
                    recovery=self.cache.recovery,
                    troubled=keeper.causes,
                    measured=self._measured,
                    waits_at=self._waits_at,
                    admitted=self._admitted,
                )
                tasks.create_task(self.jobs.run(), name="jobs")

    async def _resume(self, publisher: Publisher) -> list[ReportWorkload]:
        """What the last report said; without it generations would start again."""
        while True:
            try:
                return await publisher.resume()
            except ApiError as error:
                log.warning("report_not_read", error=str(error))
                await self.clock.sleep(LOOK_PERIOD / 12)

    async def _say_ready(self) -> None:
        assert self.publisher is not None
        await self.publisher.first_written.wait()
        self.ready.set()

    def _make_publisher(self) -> Publisher:
        settings = self.settings
        return Publisher(
            self._control,
            cluster=settings.cluster,
            build=self._observe,
            clock=self.clock,
            metrics=self.metrics,
            limits=Limits(rows=settings.report_rows, slice_bytes=settings.report_slice_bytes),
            period=settings.report_period_seconds,
            interval=settings.report_interval_seconds,
        )

    def _own_reports(self, publisher: Publisher) -> Informer[KubeObject]:
        return Informer(
            self._control,
            CAPACITY_REPORTS,
            KubeObject,
            handler=OwnReports(publisher),
            clock=self.clock,
            namespace=execution_namespace(self.settings.cluster),
        )

    def _make_scheduler(
        self, term: Term, conditions: ConditionWriter, view: Callable[[], None]
    ) -> Scheduler:
        settings = self.settings
        binder = Binder(
            self._member,
            cache=self.cache,
            metrics=self.metrics,
            at_once=settings.binds_at_once,
            may_write=term.valid,
            resource_of=self.feeds.resource_of,
            going=self._going,
        )
        return Scheduler(
            cache=self.cache,
            binder=binder,
            conditions=conditions,
            recorder=self._recorder,
            write_gate=self._write_gate,
            clock=self.clock,
            metrics=self.metrics,
            tuning=Tuning(
                interval=settings.place_interval_seconds,
                node_backoff=settings.node_backoff_seconds,
                rollback=settings.rollback_seconds,
            ),
            schedulers=frozenset(settings.scheduler_names),
            unwatched=lambda: self.feeds.unwatched,
            label_keys=self._reported_keys,
            health=self.health,
            view=view,
        )

    def _make_keeper(self, term: Term) -> RecoveryKeeper:
        settings = self.settings
        store = TroubleStore(self._member, settings.namespace)
        return RecoveryKeeper(
            self._member,
            cache=self.cache,
            units=lambda: self.scheduler.units() if self.scheduler is not None else (),
            store=store,
            restarts=GangRestarts(
                self._member,
                cache=self.cache,
                store=store,
                recorder=self._recorder,
                clock=self.clock,
                metrics=self.metrics,
                unwatched=lambda: self.feeds.unwatched,
                may_write=term.valid,
                waits_at=self._waits_at,
                run_here=frozenset({VOLCANO_JOBS.group} if settings.run_volcano_jobs else ()),
            ),
            recorder=self._recorder,
            clock=self.clock,
            metrics=self.metrics,
            rules=Rules(
                grace=round(settings.node_grace_seconds * SECOND),
                conditions=parse_conditions(settings.node_conditions),
                dedicated=frozenset(settings.dedicated_taints),
                fencing=settings.fencing,
            ),
            schedulers=frozenset(settings.scheduler_names),
            unwatched=lambda: self.feeds.unwatched,
            may_write=term.valid,
            changed=self._poke,
        )

    def health(self) -> NodeHealth:
        """Which nodes take no new pods now, and which are a last resort."""
        return NodeHealth() if self._keeper is None else self._keeper.health

    def _going(self, pod: PodRecord) -> None:
        """A pod goes by our own doing: no policy of its Job may answer it."""
        if self.jobs is not None and pod.owner is not None:
            self.jobs.expect(pod.owner.uid, (pod.uid,))

    def _reported_keys(self) -> frozenset[str]:
        settings = self.settings
        kept, _ = label_keys(self.cache, settings.label_keys, settings.label_keys_limit)
        return frozenset(kept)

    # --- reporting --------------------------------------------------------------------------

    def _observe(self, generation: int, now: Instant) -> Observation:
        assert self.scheduler is not None
        settings, scheduler = self.settings, self.scheduler
        seen = observe(
            self.cache,
            scheduler.units(),
            facts=Facts(
                header=ReportHeader(
                    period_seconds=settings.report_period_seconds,
                    agent_version=agent_version(),
                    scheduler_names=settings.scheduler_names,
                    volcano_scheduler=self.volcano.scheduler,
                    volcano_topology=self.volcano.topology,
                ),
                label_keys=settings.label_keys,
                label_keys_limit=settings.label_keys_limit,
                unwatched=self.feeds.unwatched,
                health=self.health(),
                trouble=TroubleState() if self._keeper is None else self._keeper.state,
                losses={} if self._keeper is None else self._keeper.losses,
                waiting=self.waiting,
                below=self._below,
                short=self._short,
            ),
            placing=Placing(
                reached=scheduler.reached, reasons={**scheduler.last.reasons, **self.refusals}
            ),
            generation=generation,
            now=now,
        )
        self._below, self._short = below_of(seen.workloads), short_of(seen.workloads)
        return seen

    async def _look_for_volcano(self) -> None:
        while True:
            await self.clock.sleep(LOOK_PERIOD)
            found = await self._find_volcano()
            if found != self.volcano:
                log.info("volcano_found", scheduler=found.scheduler, topology=found.topology)
                self.volcano = found
                self.changed()

    async def _find_volcano(self) -> Volcano:
        """What runs here, where the settings do not say it; or what was last known."""
        settings = self.settings
        try:
            found = await find_volcano(self._member, settings.volcano_namespaces, clock=self.clock)
        except ApiError as error:
            log.warning("volcano_not_looked_for", error=str(error))
            return self.volcano
        scheduler, topology = settings.volcano_scheduler, settings.volcano_topology
        return Volcano(
            scheduler=found.scheduler if scheduler is None else scheduler,
            topology=found.topology if topology is None else topology,
        )

    def _measured(self, outcome: JobOutcome) -> None:
        """What the ladders of jobs took and cost."""
        for one in outcome.healed:
            self.metrics.observe(
                RECOVERY_DURATION, one.took / SECOND, scope=one.scope, cause=one.cause.value
            )
        if outcome.disturbed:
            self.metrics.inc(PODS_DISTURBED, outcome.disturbed)

    def _admitted(self, binding: BindingId) -> Amounts | None:
        """The pods of a workload that the Directive lets in; None for what it does not name."""
        entry = self.cache.entries().get(binding)
        return None if entry is None else entry.admitted

    def _waits_at(self, binding: BindingId, scope: Scope | None) -> None:
        """The ladder of a workload has come to a step of the leader, or (None) has left it."""
        if self.waiting.get(binding) == scope:
            return
        self.waiting.pop(binding, None)
        if scope is not None:
            self.waiting[binding] = scope
        if self.publisher is not None:
            self.publisher.poke()

    def _refused(self, binding: BindingId, reason: str) -> None:
        """The API server refuses pods of a Job, or (no reason) does not any more."""
        if self.refusals.get(binding, "") == reason:
            return
        self.refusals.pop(binding, None)
        if reason:
            self.refusals[binding] = reason
        if self.publisher is not None:
            self.publisher.poke()

    # --- callbacks --------------------------------------------------------------------------

    def changed(self) -> None:
        """The cache changed."""
        self._poke()
        if self._keeper is not None:
            self._keeper.poke()
        self._tree_status.poke()

    def _poke(self) -> None:
        """Place and report again."""
        if self.scheduler is not None:
            self.scheduler.poke()
        if self.publisher is not None:
            self.publisher.poke()

    def set_aside(
        self, kind: Kind, resource: Resource, key: ObjectKey, uid: str, problem: str
    ) -> None:
        """An object cannot be used: its owner gets an Event."""
        log.info("object_set_aside", kind=kind.value, key=str(key), problem=problem)
        if kind is Kind.DIRECTIVE:
            return  # it lives on the control plane; the report names it
        self._recorder.record(
            Regarding(resource.api_version, resource.kind, key.namespace, key.name, uid),
            kind=EventKind.WARNING,
            reason="SetAside",
            action="Reading",
            note=problem,
        )

    def _readiness(self) -> str | None:
        """None when ready: a follower that is up to date is, too."""
        if not self.feeds.synced.is_set():
            return "the first lists are not complete"
        if self._term is not None and not self.ready.is_set():
            return "the first report is not written"
        if self._election is not None and self._election.blocked:
            return f"cannot be elected: {self._election.blocked}"
        return None
