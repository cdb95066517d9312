"""Carries out the restart of whole gangs (`whole_gang`): Events, deletions, and what is written."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from global_sched.shared.api.resource import PODS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Conflict, NotFound
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery_spec import RecoverySpec, Scope
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import PODS_DISTURBED, RECOVERY_DURATION
from global_sched.shared.telemetry.registry import Metrics
from member_agent.cache import ClusterCache, NoteHolder, PodRecord, PodUnit, find_root
from member_agent.recovery.store import TroubleStore
from member_agent.recovery.whole_gang import (
    GangRestart,
    GangStep,
    gang_rules,
    look_at_gang,
)

AT_ONCE = 200
"""Pods that are deleted in one look: the next one is a second later."""

log = get_logger(__name__)


@dataclass(slots=True)
class _Gang:
    """All units of one root owner."""

    root: NoteHolder
    recovery: str
    units: list[PodUnit] = field(default_factory=list)

    @property
    def binding(self) -> BindingId | None:
        """The workload that it belongs to."""
        return next((unit.binding for unit in self.units if unit.binding is not None), None)


class GangRestarts:
    """Only the leading replica runs it, and begins with what the last leader has written.

    `run_here` are the API groups whose ladders another part of the agent carries out. `waits_at`
    takes the step of the federation's leader to which a ladder has come.
    """

    def __init__(  # noqa: PLR0913 - one parameter per part that it works with
        self,
        client: Client,
        *,
        cache: ClusterCache,
        store: TroubleStore,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
        unwatched: Callable[[], frozenset[tuple[str, str]]],
        may_write: Callable[[], bool],
        waits_at: Callable[[BindingId, Scope | None], None],
        run_here: frozenset[str],
    ) -> None:
        self._client = client
        self._cache = cache
        self._store = store
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._unwatched = unwatched
        self._may_write = may_write
        self._waits_at = waits_at
        self._run_here = run_here
        self._states: Mapping[str, GangRestart] = {}
        self._lost: dict[str, list[PodRecord]] = {}
        self._said: dict[str, str] = {}
        self._checked: dict[str, str] = {}
        self._waiting: dict[str, BindingId] = {}

    def load(self, states: Mapping[str, GangRestart]) -> None:
        """Go on with what was written last."""
        self._states = dict(states)

    def note(self, pods: Iterable[PodRecord]) -> None:
        """Pods that were seen to be lost, with their causes."""
        for pod in pods:
            root = find_root(self._cache, pod.owner, self._unwatched()).owner
            if root is not None and root.recovery and pod.cause is not None:
                self._lost.setdefault(root.uid, []).append(pod)

    async def look(self, units: Sequence[PodUnit]) -> Instant | None:
        """Take the steps that are due; when the next one is. Raises ApiError."""
        gangs, owners = self._gangs(units), self._cache.owners
        if not self._may_write():
            return None
        self._check(gangs)
        now, lost = self._clock.now(), self._lost
        steps: dict[str, tuple[_Gang, GangStep]] = {}
        for uid, gang in gangs.items():
            if uid not in self._states and uid not in lost:
                continue
            rules, _ = self._rules(gang)
            if rules.scopes:
                steps[uid] = gang, self._step(gang, rules, lost.get(uid, ()), now)
        # A gang whose pods are all gone for a moment is still known by its owner.
        states = {
            uid: one for uid, one in self._states.items() if uid in owners and uid not in gangs
        }
        states |= {uid: one.state for uid, (_, one) in steps.items() if one.state != GangRestart()}
        await self._store.save_gangs(states)
        self._states, self._lost = states, {}
        for gang, one in steps.values():
            self._tell(gang, one, now)
        for uid in [uid for uid in self._waiting if uid not in steps]:
            self._waits_at(self._waiting.pop(uid), None)
        deletes = [pod for _, one in steps.values() for pod in one.deletes]
        for pod in deletes[:AT_ONCE]:
            await self._delete(pod)
        wakes = [one.wake for _, one in steps.values() if one.wake is not None]
        if len(deletes) > AT_ONCE:
            wakes.append(now)
        return min(wakes, default=None)

    def _gangs(self, units: Sequence[PodUnit]) -> dict[str, _Gang]:
        """Gangs whose pods other controllers make, by the uid of their root owner."""
        found: dict[str, _Gang] = {}
        for unit in units:
            if unit.root is None or not unit.recovery or unit.floor <= 1:
                continue
            if unit.root.api_version.partition("/")[0] in self._run_here:
                continue
            gang = found.setdefault(unit.root.uid, _Gang(unit.root, unit.recovery))
            gang.units.append(unit)
        return found

    def _check(self, gangs: Mapping[str, _Gang]) -> None:
        """Say once of each annotation that is refused why it is."""
        checked, self._checked = self._checked, {u: one.recovery for u, one in gangs.items()}
        for uid, gang in gangs.items():
            if checked.get(uid) != gang.recovery and (why := self._rules(gang)[1]):
                self._event(gang, "RecoveryRefused", f"{why}; until then nothing is restarted")

    def _rules(self, gang: _Gang) -> tuple[RecoverySpec, str]:
        return gang_rules(gang.recovery, self._cache.recovery(), gang.root.kind)

    def _step(
        self, gang: _Gang, rules: RecoverySpec, lost: Sequence[PodRecord], now: Instant
    ) -> GangStep:
        entry = self._cache.entries().get(gang.binding) if gang.binding is not None else None
        floor = sum(unit.floor for unit in gang.units)
        done = sum(unit.succeeded.pods() for unit in gang.units)
        return look_at_gang(
            rules,
            self._cache.recovery(),
            self._states.get(gang.root.uid, GangRestart()),
            pods=[pod for u in gang.units for pod in (*u.waiting, *u.placed, *u.failed)],
            lost=lost,
            wanted=(floor if entry is None else entry.admitted.pods()) - done,
            now=now,
        )

    def _tell(self, gang: _Gang, one: GangStep, now: Instant) -> None:
        for reason, text in one.notes:
            self._event(gang, reason, text)
        if one.waits:
            self._say(gang, "RecoveryWaits", one.waits)
        elif not one.state.ladder.faults:
            self._said.pop(gang.root.uid, None)
        for fault in one.healed:
            scope = Scope.POD if fault.level < 0 else Scope.JOB
            took = (now - fault.since) / SECOND
            self._metrics.observe(
                RECOVERY_DURATION, took, scope=scope.value, cause=fault.cause.value
            )
        if any(reason == "RestartsGang" for reason, _ in one.notes):
            self._metrics.inc(PODS_DISTURBED, len([p for p in one.deletes if not p.ended]))
        if gang.binding is not None and one.waits_at is not None:
            self._waiting[gang.root.uid] = gang.binding
            self._waits_at(gang.binding, one.waits_at)
        elif (told := self._waiting.pop(gang.root.uid, None)) is not None:
            self._waits_at(told, None)

    def _say(self, gang: _Gang, reason: str, text: str) -> None:
        """Something that stays so, once."""
        if self._said.get(gang.root.uid) != text:
            self._said[gang.root.uid] = text
            self._event(gang, reason, text)

    def _event(self, gang: _Gang, reason: str, text: str) -> None:
        root = gang.root
        log.info("gang_recovery", owner=f"{root.kind} {root.namespace}/{root.name}", reason=reason)
        self._recorder.record(
            Regarding(root.api_version, root.kind, root.namespace, root.name, root.uid),
            kind=EventKind.WARNING,
            reason=reason,
            action="Restarting",
            note=text,
        )

    async def _delete(self, pod: PodRecord) -> None:
        if not self._may_write():
            return
        try:
            await self._client.delete(PODS, pod.name, namespace=pod.namespace, uid=pod.uid)
        except (NotFound, Conflict):
            return  # gone, or another pod has its name by now
