"""The loop around `state.step`: watch, step, write.

One key at a time per Job, several Jobs at once. The status goes first and only onto the version
of the Job that the step saw; when it was written in between, the step is thrown away. Only what a
new Job needs is made before its first status, which then counts it.

A phase, a retry or a reason is written at once. Counts alone wait a moment for more of them, or
for the phase that they lead to; so does the first phase of a PodGroup, which says nothing new.
"""

import asyncio
import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any, Final

from global_sched.shared.api.core import Pod
from global_sched.shared.api.names import AGENT_SCHEDULER, BINDING_ID, JOB_NAME
from global_sched.shared.api.resource import POD_GROUPS, PODS, VOLCANO_JOBS
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.informer import Informer
from global_sched.shared.kube.objects import ObjectKey
from global_sched.shared.kube.retry import retry
from global_sched.shared.kube.workqueue import QueueStatistics, WorkQueue
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND
from global_sched.shared.model.recovery import Cause
from global_sched.shared.model.recovery_spec import RecoveryPolicy, Scope
from global_sched.shared.telemetry.logs import get_logger
from member_agent.jobs.memory import Memory
from member_agent.jobs.outcome import JobOutcome, JobView, Note
from member_agent.jobs.phases import ENDED
from member_agent.jobs.pods import group_name
from member_agent.jobs.state import step
from member_agent.jobs.status import may_wait
from member_agent.jobs.store import GroupHandler, JobHandler, JobStore, PodHandler
from member_agent.jobs.volcano import VolcanoRunsError, volcano_controller_lease
from member_agent.jobs.wire import RunJob
from member_agent.jobs.writes import JobWriter, WriteRefusedError
from member_agent.write_gate import BackgroundWriteGate

WORKERS: Final = 8
"""Jobs that are worked on at once."""
ASK_AGAIN: Final = 30.0
"""Seconds after which it is asked again who runs Volcano Jobs here."""
REASON_LIMIT: Final = 300
"""Characters of a refusal that are kept."""
AT_ONCE: Final = 0.001
"""Seconds that are not worth waiting."""
GATHER: Final = 0.05
"""Seconds in which changes of one Job's pods are gathered to one step."""

log = get_logger(__name__)


class JobController:
    """Runs the Volcano Jobs of one cluster.

    `default_scheduler` stands on pods whose template and Job name none. `group_status` False
    leaves the PodGroups' status to Volcano's scheduler, where it runs without its controllers.
    `refused` is called with what the API server refuses of the Job of a binding, and without a
    reason once it refuses nothing any more. `recovery` gives the defaults and bounds in force,
    `troubled` the nodes in trouble with their causes, `measured` takes what a ladder did, and
    `waits_at` the step of the leader to which one has come (None: none any more). `admitted` gives
    the pods that a binding's Directive lets in (None: there is none). Other feeds put
    pods and PodGroups into `store`, all of them before `run`; without one they are
    watched here.
    """

    def __init__(  # noqa: PLR0913 - what it works with, and what it shares
        self,
        client: Client,
        *,
        clock: Clock,
        recorder: EventRecorder,
        store: JobStore | None = None,
        write_gate: BackgroundWriteGate | None = None,
        default_scheduler: str = AGENT_SCHEDULER,
        group_status: bool = True,
        workers: int = WORKERS,
        refused: Callable[[BindingId, str], None] = lambda _binding, _reason: None,
        recovery: Callable[[], RecoveryPolicy] = RecoveryPolicy,
        troubled: Callable[[], Mapping[str, Cause]] = dict,
        measured: Callable[[JobOutcome], None] = lambda _outcome: None,
        waits_at: Callable[[BindingId, Scope | None], None] = lambda _binding, _scope: None,
        admitted: Callable[[BindingId], Amounts | None] = lambda _binding: None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._recorder = recorder
        self._write_gate = write_gate or BackgroundWriteGate(clock)
        self._default_scheduler = default_scheduler
        self._workers = workers
        self._refused = refused
        self._recovery = recovery
        self._troubled = troubled
        self._measured = measured
        self._waits_at = waits_at
        self._admitted = admitted
        self._bindings: dict[ObjectKey, BindingId] = {}
        """Of Jobs that were refused something."""
        self._waiting: dict[ObjectKey, BindingId] = {}
        """Of Jobs whose ladder waits for the leader."""
        self._behind: dict[ObjectKey, float] = {}
        """Until when (monotonic) the counts of a Job may wait to be written."""
        self._queue: WorkQueue[ObjectKey] = WorkQueue(clock=clock, base=0.5, cap=60.0)
        self.store = JobStore() if store is None else store
        self._writer = JobWriter(client, self.store, group_status=group_status)
        self.informers: list[Informer[Any]] = [
            Informer(client, VOLCANO_JOBS, RunJob, handler=JobHandler(self.store), clock=clock)
        ]
        if store is None:
            self._watch_owned()

    def queue_statistics(self) -> QueueStatistics:
        """How many keys of Jobs are ready, delayed, processed and failing now."""
        return self._queue.statistics()

    def _watch_owned(self) -> None:
        client, clock, store = self._client, self._clock, self.store
        self.informers += [
            Informer(
                client,
                PODS,
                Pod,
                handler=PodHandler(store),
                clock=clock,
                label_selector=JOB_NAME,
            ),
            Informer(client, POD_GROUPS, PodGroup, handler=GroupHandler(store), clock=clock),
        ]

    def expect(self, job_uid: str, pod_uids: tuple[str, ...]) -> None:
        """These pods go by our own doing (a rollback): no policy of their Job may answer it."""
        if self.store.knows(job_uid):
            self.store.memories[job_uid] = self.store.memory(job_uid).settle(pod_uids)

    async def run(self) -> None:
        """Run Jobs until cancelled.

        Raises:  VolcanoRunsError at once when Volcano's controllers run here.
        """
        if (line := await self._who_runs_jobs()) is not None:
            raise VolcanoRunsError(line)
        self.store.start(self._queue.add, lambda key: self._queue.add_after(key, GATHER))
        try:
            async with asyncio.TaskGroup() as group:
                for informer in self.informers:
                    group.create_task(informer.run())
                for informer in self.informers:
                    await informer.synced.wait()
                for _ in range(self._workers):
                    group.create_task(self._work())
        finally:
            self.store.stop()

    async def _who_runs_jobs(self) -> str | None:
        """Volcano's controllers, as one line; asked until there is an answer."""
        ask = partial(volcano_controller_lease, self._client, clock=self._clock)
        while True:
            try:
                return await retry(ask, clock=self._clock)
            except ApiError as error:
                log.warning("jobs_not_run_yet", error=str(error))
                await self._clock.sleep(ASK_AGAIN)

    async def _work(self) -> None:
        while True:
            async with self._queue.item() as key:
                try:
                    await self._process(key)
                except Conflict:
                    # It was written in between: the watch brings what, and the step is done again.
                    self._queue.retry(key)
                except (ApiError, WriteRefusedError) as error:
                    self._tell_error(key, error)
                    delay = self._queue.retry(key, at_least=getattr(error, "retry_after", None))
                    log.warning(
                        "job_step_failed", job=str(key), error=str(error), retry_seconds=delay
                    )
                except Exception:
                    self._queue.retry(key)
                    log.exception("job_step_broken", job=str(key))
                else:
                    self._queue.forget(key)

    async def _process(self, key: ObjectKey) -> None:
        job = self.store.job(key)
        if job is None:
            self._behind.pop(key, None)
            if (gone := self._bindings.pop(key, None)) is not None:
                self._refused(gone, "")
            if (gone := self._waiting.pop(key, None)) is not None:
                self._waits_at(gone, None)
            return
        view, outcome = self._decide(job)
        if job.status.state.phase or not outcome.creates or outcome.deletes:
            await self._carry_out(key, job, view, self._thrifty(key, view, outcome))
            return
        made = replace(outcome, status=None, group_status=None)
        try:
            with self._write_gate.urgent():
                await self._carry_out(key, job, view, made)
        except (ApiError, WriteRefusedError):
            # What was made counts all the same. Never on cancellation: a write then could fail,
            # and its error would take the cancellation's place.
            await self._say(job)
            raise
        await self._say(job)

    async def _say(self, job: RunJob) -> None:
        """Write the status of what is there now, and do nothing else."""
        _, outcome = self._decide(job)
        if outcome.status is not None:
            await self._writer.write_status(job, outcome.status)

    def _decide(self, job: RunJob) -> tuple[JobView, JobOutcome]:
        owned = self.store.owned(job, group_name(job))
        memory = self.store.memory(job.metadata.uid)
        view = JobView(
            job=job,
            pods=owned.pods,
            group=owned.group,
            memory=memory,
            recovery=self._recovery(),
            troubled=self._troubled(),
            admitted=self._admitted(BindingId(job.metadata.label(BINDING_ID))),
        )
        return view, step(view, self._clock.now(), default_scheduler=self._default_scheduler)

    def _thrifty(self, key: ObjectKey, view: JobView, outcome: JobOutcome) -> JobOutcome:
        """The outcome, without statuses that may still wait."""
        patience = may_wait(view, outcome)
        if patience is None:
            self._behind.pop(key, None)
            return outcome
        now = self._clock.monotonic()
        due = min(self._behind.get(key, math.inf), now + patience)
        if due - now < AT_ONCE:
            self._behind.pop(key, None)
            return outcome
        self._behind[key] = due
        self._queue.add_after(key, due - now)
        return replace(outcome, status=None, group_status=None)

    async def _carry_out(
        self, key: ObjectKey, job: RunJob, view: JobView, outcome: JobOutcome
    ) -> None:
        if outcome.status is not None:
            job = await self._writer.write_status(job, outcome.status)
        self._keep(job.metadata.uid, view.memory, outcome)
        if outcome.healed or outcome.disturbed:
            self._measured(outcome)
        self._tell_waiting(key, job, outcome.memory.waits_at)
        for note in outcome.notes:
            self._record(job, note)
        if outcome.wake is not None:
            wait = (outcome.wake - self._clock.now()) / SECOND
            self._queue.add_after(key, max(0.0, wait))
        notes = await self._writer.carry_out(job, view, outcome)
        for note in notes:
            self._record(job, note)
        warnings = [note.message for note in notes if note.warning]
        self._tell_refused(key, job, warnings)
        if warnings:
            raise WriteRefusedError(warnings[-1])

    def _tell_waiting(self, key: ObjectKey, job: RunJob, scope: Scope | None) -> None:
        binding = BindingId(job.metadata.label(BINDING_ID))
        if binding and scope is not None and job.status.state.phase not in ENDED:
            self._waiting[key] = binding
            self._waits_at(binding, scope)
        elif self._waiting.pop(key, None) is not None:
            self._waits_at(binding, None)

    def _tell_error(self, key: ObjectKey, error: ApiError | WriteRefusedError) -> None:
        """An error that lasts is said like a refused pod; refused pods were said already."""
        job = self.store.job(key)
        if job is not None and isinstance(error, ApiError) and not error.transient:
            self._tell_refused(key, job, [str(error)])

    def _tell_refused(self, key: ObjectKey, job: RunJob, warnings: list[str]) -> None:
        binding = BindingId(job.metadata.label(BINDING_ID))
        if not binding:
            return
        if warnings:
            self._bindings[key] = binding
            more = f" (and {len(warnings) - 1} more)" if len(warnings) > 1 else ""
            self._refused(binding, f"the member refuses it: {warnings[0]}{more}"[:REASON_LIMIT])
        elif self._bindings.pop(key, None) is not None:
            self._refused(binding, "")

    def _keep(self, uid: str, before: Memory, outcome: JobOutcome) -> None:
        """Take the step's memory, and what happened while its status was written."""
        now = self.store.memory(uid)
        memory = outcome.memory.settle(now.settled - before.settled)
        for pod in now.lost[len(before.lost) :]:
            memory = memory.lose(pod)
        self.store.memories[uid] = memory

    def _record(self, job: RunJob, note: Note) -> None:
        meta = job.metadata
        self._recorder.record(
            Regarding(job.api_version, job.kind, meta.namespace, meta.name, meta.uid),
            reason=note.reason,
            note=note.message,
            action="RunJob",
            kind=EventKind.WARNING if note.warning else EventKind.NORMAL,
        )
        log.info(
            "job_note", job=f"{meta.namespace}/{meta.name}", reason=note.reason, note=note.message
        )
