"""Turns changes into rounds, and rounds into binds, conditions, Events and notes."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass
from typing import Final

from global_sched.shared.clock import Clock
from global_sched.shared.kube.events import EventKind, EventRecorder
from global_sched.shared.model.ids import BindingId, DecisionId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import rules_in
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    GANG_TIER,
    GANGS,
    GANGS_PLACED,
    LOOP_FAILURES,
    PLACE_DURATION,
    PLACEMENTS_UNPROVEN,
)
from global_sched.shared.telemetry.registry import Metrics
from member_agent.cache import ClusterCache, PodUid, PodUnit, find_root, units_of
from member_agent.recovery.health import NodeHealth
from member_agent.scheduler.gang.placement_history import AVOIDED
from member_agent.scheduler.plan.outcome import (
    Placement,
    PlaceSource,
    Reservation,
    Rollback,
    Round,
    Situation,
    SurplusEviction,
)
from member_agent.scheduler.plan.round import plan_round
from member_agent.scheduler.write.annotations import AnnotationWriter
from member_agent.scheduler.write.binder import Binder, BindOutcome
from member_agent.scheduler.write.conditions import (
    ConditionWriter,
    Debounce,
    holder_reference,
    pod_reference,
)
from member_agent.write_gate import BackgroundWriteGate

UNIT_BACKOFF: Final = 1.0
"""Seconds that a unit waits after a failed bind; doubles up to 32 of them."""
GUARD_PAUSE: Final = 5.0
"""Seconds after an unexpected failure."""
FORGIVE: Final = 600.0
"""A node's rejections are forgotten after so many seconds without one."""

MOST_BLAMED: Final = 10_000
"""Owners and nodes that are kept apart by exit codes; the oldest are forgotten first."""

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Tuning:
    """Times of the scheduler, in seconds."""

    interval: float = 0.05
    node_backoff: float = 10.0
    rollback: float = 30.0


@dataclass(slots=True)
class _Pause:
    """Until when something is left alone, and how often in a row that happened."""

    until: float
    failures: int = 1


class Scheduler:
    """Places the pods of one member, for the scheduler names it answers for.

    `view` is called after each round, so that a report can follow.
    """

    def __init__(  # noqa: PLR0913 - one parameter per part that it works with
        self,
        *,
        cache: ClusterCache,
        binder: Binder,
        conditions: ConditionWriter,
        recorder: EventRecorder,
        write_gate: BackgroundWriteGate,
        clock: Clock,
        metrics: Metrics,
        tuning: Tuning,
        schedulers: frozenset[str],
        unwatched: Callable[[], frozenset[tuple[str, str]]],
        label_keys: Callable[[], frozenset[str]],
        health: Callable[[], NodeHealth],
        view: Callable[[], None],
    ) -> None:
        self._cache = cache
        self._binder = binder
        self._annotations = AnnotationWriter(binder)
        self._write_gate = write_gate
        self._conditions = conditions
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._tuning = tuning
        self._schedulers = schedulers
        self._unwatched = unwatched
        self._label_keys = label_keys
        self._health = health
        self._view = view
        self._wake = asyncio.Event()
        self._tasks: asyncio.TaskGroup | None = None
        self._units: list[PodUnit] = []
        self._units_of: tuple[int, frozenset[tuple[str, str]]] | None = None
        self._being_bound: dict[str, Placement] = {}
        self._rolling: set[str] = set()
        self._units_paused: dict[str, _Pause] = {}
        self._refused: dict[str, str] = {}
        self._nodes_paused: dict[str, _Pause] = {}
        self._broken_since: dict[str, float] = {}
        self._rejections: set[PodUid] = set()
        self._blamed: dict[tuple[str, str], Instant] = {}
        """Until when the pods of an owner (by uid) avoid a node, by exit codes of its own."""
        self._reservations: dict[BindingId, Reservation] = {}
        self._debounce = Debounce()
        self._reported: dict[str, str] = {}
        self.last = Round()
        """What the latest round decided."""
        self.reached: dict[BindingId, DecisionId] = {}
        """Managed units whose minimum was bound, with the decision; survives restarts by the
        notes on their holders and by the report."""

    def poke(self) -> None:
        """Something changed."""
        self._wake.set()

    def units(self) -> list[PodUnit]:
        """The units of the cache as it is now."""
        seen = (self._cache.changes, self._unwatched())
        if self._units_of != seen:
            self._units = units_of(self._cache, self._schedulers, seen[1])
            self._units_of = seen
        return self._units

    async def run(self) -> None:
        """Place until cancelled. Start it when the cache is complete, never before."""
        self._rejections = set(self._cache.rejections)
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            while True:
                self._wake.clear()
                started = self._clock.monotonic()
                pause = self._guarded_round()
                spent = self._clock.monotonic() - started
                self._view()
                try:
                    async with asyncio.timeout(pause):
                        await self._wake.wait()
                except TimeoutError:
                    pass
                # In a large member a round takes a while: half of the time is for everything else.
                await self._clock.sleep(max(self._tuning.interval, spent))

    def _guarded_round(self) -> float | None:
        """One round; seconds after which another is due without any change."""
        try:
            return self._round()
        except Exception:  # the loop guard: counts, logs, backs off
            self._metrics.inc(LOOP_FAILURES, loop="place")
            log.exception("round_failed")
            return GUARD_PAUSE

    def _round(self) -> float | None:
        now = self._clock.monotonic()
        self._note_rejections(now)
        self._note_crashes()
        started = now
        situation = Situation(
            reservations=self._reservations,
            reached=self.reached,
            closed=frozenset(n for n, pause in self._nodes_paused.items() if pause.until > now)
            | self._health().closed,
            last_resort=self._health().last_resort,
            blamed=frozenset(self._blamed),
            paused=frozenset(k for k, pause in self._units_paused.items() if pause.until > now)
            | self._rolling,
            refused=self._refused,
            being_bound={key: placement.nodes for key, placement in self._being_bound.items()},
            overdue=frozenset(
                key
                for key, since in self._broken_since.items()
                if now - since >= self._tuning.rollback
            ),
            now=self._clock.now(),
            label_keys=self._label_keys(),
        )
        self.last = plan_round(self._cache, self.units(), situation)
        self._metrics.observe(PLACE_DURATION, self._clock.monotonic() - started)
        if self.last.unproven:
            self._metrics.inc(PLACEMENTS_UNPROVEN, self.last.unproven)
        self._keep(self.last, now)
        assert self._tasks is not None
        for placement in self.last.placements:
            self._being_bound[placement.unit.key] = placement
            self._write_gate.begin()
            self._tasks.create_task(self._carry_out(placement))
        for rollback in self.last.rollbacks:
            self._rolling.add(rollback.unit.key)
            self._tasks.create_task(self._roll_back(rollback))
        for giving in self.last.given:
            self._rolling.add(giving.unit.key)
            self._tasks.create_task(self._give_up(giving))
        if not self._write_gate.left():
            self._annotations.write(self.last, self._tasks, self._being_bound)
        self._report_waits(self.last, now)
        return self._next_due(now)

    def _keep(self, round_: Round, now: float) -> None:
        self._reservations = dict(round_.reservations)
        self.reached = dict(round_.reached)
        partially_bound = set(round_.partially_bound)
        self._broken_since = {key: self._broken_since.get(key, now) for key in partially_bound}
        keys = {unit.key for unit in self.units()}
        self._units_paused = {k: p for k, p in self._units_paused.items() if k in keys}
        self._refused = {k: text for k, text in self._refused.items() if k in keys}
        self._reported = {k: text for k, text in self._reported.items() if k in keys}

    def _next_due(self, now: float) -> float | None:
        """When a back-off or a deadline ends."""
        times = [p.until for p in (*self._units_paused.values(), *self._nodes_paused.values())]
        times += [since + self._tuning.rollback for since in self._broken_since.values()]
        times += [now + (at - self._clock.now()) / SECOND for at in self.last.held_until]
        times += self._debounce.dues()
        times.append(now + self._write_gate.left())
        ahead = [at - now for at in times if at > now]
        return min(ahead) + 0.001 if ahead else None

    # --- rejections ---------------------------------------------------------------------------

    def _note_rejections(self, now: float) -> None:
        """A node that refused a pod gets no new ones for a while."""
        fresh = {u: node for u, node in self._cache.rejections.items() if u not in self._rejections}
        self._rejections = set(self._cache.rejections)
        for uid, node in sorted(fresh.items()):
            before = self._nodes_paused.get(node)
            failures = before.failures + 1 if before and now - before.until < FORGIVE else 1
            wait = self._tuning.node_backoff * min(16, 2 ** (failures - 1))
            self._nodes_paused[node] = _Pause(now + wait, failures)
            pod = self._cache.pods[uid]
            log.warning("pod_rejected", pod=pod.name, node=node, reason=pod.phase_reason)
            self._recorder.record(
                pod_reference(pod),
                kind=EventKind.WARNING,
                reason="RejectedByNode",
                action="Binding",
                note=f"{node} refused it ({pod.phase_reason}): no pods go there for {wait:g} s",
            )

    def _note_crashes(self) -> None:
        """A job avoids for a while the nodes that exit codes of its own or of the Policy blame."""
        now = self._clock.now()
        self._blamed = {one: until for one, until in self._blamed.items() if until > now}
        policy = self._cache.recovery()
        for pod in self._cache.take_crashes():
            if pod.owner is None:
                continue
            root = find_root(self._cache, pod.owner, self._unwatched()).owner
            rules, _ = rules_in(root.recovery if root else "", policy)
            if rules.node_codes.union(policy.node_exit_codes).intersection(pod.exit_codes):
                self._blamed[pod.owner.uid, pod.node] = Instant(now + AVOIDED)
        if len(self._blamed) > MOST_BLAMED:
            latest = sorted(self._blamed.items(), key=lambda item: (-item[1], item[0]))
            self._blamed = dict(latest[:MOST_BLAMED])

    # --- carrying out -------------------------------------------------------------------------

    async def _carry_out(self, placement: Placement) -> None:
        key = placement.unit.key
        try:
            outcome = await self._binder.carry_out(placement)
        except Exception as error:  # the loop guard: counts, logs, backs off
            self._metrics.inc(LOOP_FAILURES, loop="bind")
            log.exception("bind_crashed", unit=key)
            outcome = BindOutcome(stopped=repr(error))
        finally:
            self._write_gate.end()
            self._being_bound.pop(key, None)
            self.poke()
        self._note_refusal(key, outcome)
        if outcome.failed or outcome.stopped:
            self._back_off(key)
            log.info("placement_incomplete", unit=key, stopped=outcome.stopped)
        else:
            self._units_paused.pop(key, None)
        if outcome.bound:
            self._record_bound(placement, len(outcome.bound))

    def _note_refusal(self, key: str, outcome: BindOutcome) -> None:
        """What the API server refused of the unit last, until something of it succeeds."""
        self._refused.pop(key, None)
        if outcome.refused:
            self._refused[key] = outcome.refused

    def _back_off(self, key: str) -> None:
        failures = self._units_paused[key].failures + 1 if key in self._units_paused else 1
        wait = UNIT_BACKOFF * min(32, 2 ** (failures - 1))
        self._units_paused[key] = _Pause(self._clock.monotonic() + wait, failures)

    def _record_bound(self, placement: Placement, pods: int) -> None:
        unit = placement.unit
        domain = f" in {placement.domain} (tier {placement.tier})" if placement.domain else ""
        log.info(
            "pods_bound", unit=unit.key, pods=pods, domain=placement.domain, where=placement.where
        )
        if placement.starts:
            self._metrics.inc(GANGS_PLACED, where=placement.where.value)
            self._metrics.inc(GANG_TIER, tier=str(placement.tier))
        if unit.holder is None or not (placement.starts or placement.note):
            return
        elsewhere = placement.where is PlaceSource.ELSEWHERE
        self._recorder.record(
            holder_reference(unit.holder),
            kind=EventKind.NORMAL,
            reason="PlacedElsewhere" if elsewhere else "Placed",
            action="Binding",
            note=f"{pods} pods bound{domain}" + (f": {placement.note}" if placement.note else ""),
        )

    async def _roll_back(self, rollback: Rollback) -> None:
        key, outcome = rollback.unit.key, BindOutcome()
        try:
            deleted = await self._binder.roll_back(rollback, outcome)
        finally:
            self._note_refusal(key, outcome)
            self._rolling.discard(key)
            self._broken_since.pop(key, None)
            self._back_off(key)
            self.poke()
        if not deleted:
            return  # the first deletion failed, or every pod had ended: nothing was taken back
        log.warning("rolled_back", unit=key, pods=deleted, reason=rollback.reason)
        if rollback.unit.holder is not None:
            self._recorder.record(
                holder_reference(rollback.unit.holder),
                kind=EventKind.WARNING,
                reason="RolledBack",
                action="Binding",
                note=f"{deleted} bound pods were deleted, since {rollback.reason}",
            )

    async def _give_up(self, giving: SurplusEviction) -> None:
        key, outcome = giving.unit.key, BindOutcome()
        try:
            deleted = await self._binder.delete_pods(giving.pods, outcome)
        finally:
            self._note_refusal(key, outcome)
            self._rolling.discard(key)
            self.poke()
        if len(deleted) < len(giving.pods):
            self._back_off(key)
        for pod in deleted:
            log.info("pod_given_up", unit=key, pod=pod.name)
            self._recorder.record(
                pod_reference(pod),
                kind=EventKind.NORMAL,
                reason="GivenUp",
                action="Deleting",
                note=giving.reason,
            )

    # --- saying why ---------------------------------------------------------------------------

    def _report_waits(self, round_: Round, now: float) -> None:
        waits = self._debounce.of(round_.waits, now)
        self._conditions.wanted(waits)
        for wait in waits:
            unit = wait.unit
            if unit.holder is None or self._reported.get(unit.key) == wait.reason:
                continue
            self._reported[unit.key] = wait.reason
            self._recorder.record(
                holder_reference(unit.holder),
                kind=EventKind.WARNING,
                reason="Waiting",
                action="Scheduling",
                note=wait.reason,
            )
        states = {
            "waiting": len(round_.waits),
            "binding": len(self._being_bound),
            "bound": sum(1 for unit in self.units() if unit.placed and not unit.waiting),
            "failed": len(self._broken_since),
        }
        for state, units in states.items():
            self._metrics.set(GANGS, units, state=state)
