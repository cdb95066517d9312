"""The loop that keeps the nodes' trouble: it looks, writes the ConfigMap, and frees names.

Only the leading replica runs it, and it starts from what was written before it. A world in which
nothing fails makes no writes.
"""

import asyncio
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from global_sched.shared.api.core import Lease
from global_sched.shared.api.federation import ReportWorkload
from global_sched.shared.api.resource import LEASES, PODS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.model.ids import BindingId
from global_sched.shared.model.instant import SECOND, Instant, format_instant
from global_sched.shared.model.recovery import Cause
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import (
    LOOP_FAILURES,
    NAMES_FREED,
    NODE_TROUBLE,
    PODS_LOST,
)
from global_sched.shared.telemetry.registry import Metrics
from member_agent.cache import ClusterCache, OwnerRecord, PodRecord, PodUnit, find_root
from member_agent.recovery.call_writer import write_calls
from member_agent.recovery.freeing import Fencing, LeaseSeen, names_to_free, nodes_off
from member_agent.recovery.health import NodeHealth, health_of
from member_agent.recovery.losses import (
    Book,
    PodLost,
    explained,
    from_reports,
    with_losses,
)
from member_agent.recovery.restarts import GangRestarts
from member_agent.recovery.signals import blames, failed_pods, leaf_of, node_signals
from member_agent.recovery.store import TroubleStore
from member_agent.recovery.trouble import Signal, TroubleState, next_change, step

INTERVAL: Final = 1.0
"""Seconds between two looks."""
SAVE_INTERVAL: Final = 5.0
"""Seconds between two writes of the ConfigMap."""
ASK_PERIOD: Final = 30.0
"""Seconds between two looks for nodes to clear, while there are nodes to clear."""
LEASE_PERIOD: Final = 10.0
"""Seconds between two looks at the Lease of a node that is not ready."""
LEASES_AT_ONCE: Final = 64
FREED_AT_ONCE: Final = 100
"""Pods whose names are freed in one look: the next one is a second later."""
TOLD_AT_ONCE: Final = 20
"""Events of nodes in one look; the log has the number of all."""
PAUSE: Final = 5.0
"""Seconds after a failure."""
LEASE_NAMESPACE: Final = "kube-node-lease"

log = get_logger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class Rules:
    """The administrator's rules, from the settings."""

    grace: int = 20 * SECOND
    conditions: frozenset[tuple[str, str]] = frozenset()
    dedicated: frozenset[str] = frozenset()
    fencing: Fencing = Fencing.OUT_OF_SERVICE


class RecoveryKeeper:
    """Keeps `health` in step with the cache. `changed` is called whenever it is another one."""

    def __init__(  # noqa: PLR0913 - one parameter per part that it works with
        self,
        client: Client,
        *,
        cache: ClusterCache,
        units: Callable[[], Sequence[PodUnit]],
        store: TroubleStore,
        restarts: GangRestarts,
        recorder: EventRecorder,
        clock: Clock,
        metrics: Metrics,
        rules: Rules,
        schedulers: frozenset[str],
        unwatched: Callable[[], frozenset[tuple[str, str]]],
        may_write: Callable[[], bool],
        changed: Callable[[], None],
    ) -> None:
        self._client = client
        self._cache = cache
        self._units = units
        self._store = store
        self._restarts = restarts
        self._recorder = recorder
        self._clock = clock
        self._metrics = metrics
        self._rules = rules
        self._schedulers = schedulers
        self._unwatched = unwatched
        self._may_write = may_write
        self._changed = changed
        self._wake = asyncio.Event()
        self._leases: dict[str, LeaseSeen] = {}
        self._asked_leases = 0.0
        self._asked_clear = 0.0
        self._saved_at = -SAVE_INTERVAL
        self._unsaved = False
        self.state = TroubleState()
        self.health = NodeHealth()
        self.losses: Book = {}
        """Losses of workloads within a day."""

    def poke(self) -> None:
        """Something in the cache changed."""
        self._wake.set()

    def causes(self) -> Mapping[str, Cause]:
        """The nodes in trouble now, with the cause."""
        return {name: one.cause for name, one in self.state.nodes.items() if one.standing}

    def resume(self, reported: Iterable[ReportWorkload]) -> None:
        """Go on with the losses that the last report had."""
        self.losses = from_reports(reported, self._clock.now())

    async def load(self) -> None:
        """Start from what was written last; asked until there is an answer."""
        while True:
            try:
                self.state, gangs = await self._store.load(self._clock.now())
            except ApiError as error:
                log.warning("node_trouble_not_read", error=str(error))
                await self._clock.sleep(PAUSE)
            else:
                self._restarts.load(gangs)
                self._look()
                return

    async def run(self) -> None:
        """Keep until cancelled. `load` comes first."""
        while True:
            self._wake.clear()
            try:
                pause = await self._once()
            except Exception as error:  # noqa: BLE001 - the loop guard: counts, logs, backs off
                self._metrics.inc(LOOP_FAILURES, loop="recovery")
                log.warning("recovery_failed", error=f"{type(error).__name__}: {error}")
                pause = PAUSE
            try:
                async with asyncio.timeout(pause):
                    await self._wake.wait()
            except TimeoutError:
                pass
            await self._clock.sleep(INTERVAL)

    async def _once(self) -> float | None:
        """One look; seconds after which another is due without any change."""
        signals = self._look()
        now = self._clock.monotonic()
        await self._look_for_clears(now)
        await self._look_at_leases(now)
        await self._free_names()
        await self._save(now)
        units = self._units()
        unwritten = self._may_write() and await write_calls(
            self._client, self._cache.entries(), units
        )
        pause = self._next(signals, now, await self._restarts.look(units))
        return min(PAUSE, pause or PAUSE) if unwritten else pause

    def _next(self, signals: Sequence[Signal], now: float, gang: Instant | None) -> float | None:
        instant = self._clock.now()
        waits: list[float] = [] if gang is None else [(gang - instant) / SECOND + 0.001]
        if (due := next_change(self.state, signals, instant)) is not None:
            waits.append((due - instant) / SECOND + 0.001)
        if self.state.nodes:
            waits.append(self._asked_clear + ASK_PERIOD - now)
        if self._unsaved:
            waits.append(self._saved_at + SAVE_INTERVAL - now)
        if self._fenced_by_lease():
            waits.append(self._asked_leases + LEASE_PERIOD - now)
        return max(0.0, min(waits)) if waits else None

    # --- the state ------------------------------------------------------------------------

    def _look(self) -> list[Signal]:
        """Bring state and health up to date."""
        rules, now = self._rules, self._clock.now()
        signals = node_signals(
            self._cache, grace=rules.grace, conditions=rules.conditions, dedicated=rules.dedicated
        )
        leaves = leaf_of(self._cache)
        taken = self._cache.take_losses()
        before = self.state
        self.state = step(
            before,
            signals=signals,
            failures=failed_pods(self._units()),
            leaf_of=leaves,
            now=now,
            blames=blames(taken, self._cache.recovery().node_exit_codes),
        )
        changed = (before.nodes, before.failures) != (self.state.nodes, self.state.failures)
        self._unsaved = self._unsaved or changed
        if changed:
            self._say(before)
        health = health_of(self.state, leaves, now)
        self._restarts.note(taken)
        lost = self._note_losses(taken)
        if health != self.health or lost:
            self.health = health
            self._changed()
        self._metrics.set(NODE_TROUBLE, len(self.state.standing()), state="trouble")
        self._metrics.set(NODE_TROUBLE, len(health.probation), state="probation")
        return signals

    # --- losses ---------------------------------------------------------------------------

    def _note_losses(self, pods: Iterable[PodRecord]) -> bool:
        """Write down which workloads lost pods, with an Event on each job; whether any did."""
        now, troubled = self._clock.now(), self.causes()
        new: list[tuple[BindingId, PodLost]] = []
        for pod in pods:
            root = find_root(self._cache, pod.owner, self._unwatched())
            binding = root.binding or pod.binding
            if binding is None or pod.cause is None:
                continue
            cause = explained(pod.cause, pod.node, troubled)
            lost = PodLost(
                uid=pod.uid, pod=pod.name, node=pod.node, cause=cause, detail=pod.detail, at=now
            )
            if any(one.uid == pod.uid for one in self.losses.get(binding, ())):
                continue
            new.append((binding, lost))
            self._metrics.inc(PODS_LOST, cause=cause.value)
            if root.owner is not None:
                self._record_loss(root.owner, lost)
        if new:
            self.losses = with_losses(self.losses, new, now)
        return bool(new)

    def _record_loss(self, owner: OwnerRecord, lost: PodLost) -> None:
        detail = f" {lost.detail}" if lost.detail else ""
        self._recorder.record(
            Regarding(owner.api_version, owner.kind, owner.namespace, owner.name, owner.uid),
            kind=EventKind.WARNING,
            reason="PodLost",
            action="Monitoring",
            note=f"pod {lost.pod} on node {lost.node} was lost: {lost.cause}{detail}",
        )

    def _say(self, before: TroubleState) -> None:
        """Log and Events of nodes that fell, or whose trouble ended."""
        told = 0
        for name, one in self.state.nodes.items():
            old = before.nodes.get(name)
            if old is not None and (old.standing, old.cause) == (one.standing, one.cause):
                continue
            told += 1
            if told > TOLD_AT_ONCE:
                continue
            detail = f" ({one.detail})" if one.detail else ""
            if one.standing:
                text, reason = f"in trouble: {one.cause}{detail}; no new pods go there", "InTrouble"
            elif one.until > self._clock.now():
                until = format_instant(one.until)
                after = "ended with" if one.cause is Cause.EXIT_CODE else "sound again after"
                if name not in self._cache.nodes:
                    after = "named by no pod any more after"
                text = f"{after} {one.cause}{detail}; on probation until {until}"
                reason = "OnProbation"
            else:
                text, reason = f"sound again after {one.cause}{detail}", "Recovered"
            log.info("node_health", node=name, state=reason, cause=one.cause.value)
            self._recorder.record(
                Regarding("v1", "Node", "", name, self._uid(name)),
                kind=EventKind.WARNING if one.standing else EventKind.NORMAL,
                reason=reason,
                action="Monitoring",
                note=text,
            )
        if told > TOLD_AT_ONCE:
            log.warning("many_nodes_changed", nodes=told, told=TOLD_AT_ONCE)

    def _uid(self, name: str) -> str:
        record = self._cache.nodes.get(name)
        return "" if record is None else record.node.metadata.uid

    async def _save(self, now: float) -> None:
        if not self._unsaved or now - self._saved_at < SAVE_INTERVAL or not self._may_write():
            return
        await self._store.save(self.state)
        self._saved_at, self._unsaved = now, False

    async def _look_for_clears(self, now: float) -> None:
        """Forget the probation of nodes that an administrator cleared."""
        if not self.state.nodes or now - self._asked_clear < ASK_PERIOD:
            return
        self._asked_clear = now
        names = await self._store.asked_to_clear()
        if not names or not self._may_write():
            return
        self.state = cleared(self.state, names)
        await self._store.save(self.state, cleared=True)
        self._saved_at, self._unsaved = now, False
        log.info("nodes_cleared", nodes=sorted(names)[:TOLD_AT_ONCE])
        self._look()

    # --- names ----------------------------------------------------------------------------

    def _fenced_by_lease(self) -> list[str]:
        """Nodes whose Lease decides whether their machine is off."""
        if self._rules.fencing is not Fencing.LEASE:
            return []
        used = self._cache.occupied()
        return [
            name
            for name, one in self.state.nodes.items()
            if one.standing and one.cause is Cause.NODE_NOT_READY and name in used
        ]

    async def _look_at_leases(self, now: float) -> None:
        names = self._fenced_by_lease()
        self._leases = {name: seen for name, seen in self._leases.items() if name in names}
        if not names or now - self._asked_leases < LEASE_PERIOD:
            return
        self._asked_leases = now
        # Those that were asked least: a member may have more such nodes than are asked at once.
        names.sort(key=lambda name: (name in self._leases, name))
        for name in names[:LEASES_AT_ONCE]:
            try:
                lease = await self._client.get(LEASES, name, namespace=LEASE_NAMESPACE, type=Lease)
            except NotFound:
                continue  # nothing is known of its kubelet
            renewed, seconds = str(lease.spec.renew_time), lease.spec.lease_duration_seconds
            known = self._leases.get(name)
            if renewed and seconds and (known is None or known.renewed != renewed):
                self._leases[name] = LeaseSeen(
                    renewed=renewed, seen=self._clock.now(), duration=seconds * SECOND
                )

    async def _free_names(self) -> None:
        off = nodes_off(
            self._cache,
            self.state,
            fencing=self._rules.fencing,
            leases=self._leases,
            now=self._clock.now(),
        )
        pods = names_to_free(self._cache, off, self._schedulers)
        for pod, cause in pods[:FREED_AT_ONCE]:
            if not self._may_write():
                return
            await self._free(pod, cause)
        if len(pods) > FREED_AT_ONCE:
            self._wake.set()

    async def _free(self, pod: PodRecord, cause: Cause) -> None:
        """Delete one very pod without grace: no kubelet will."""
        try:
            await self._client.delete(
                PODS, pod.name, namespace=pod.namespace, uid=pod.uid, grace_seconds=0
            )
        except (NotFound, Conflict):
            return  # gone, or another pod has its name by now
        self._metrics.inc(NAMES_FREED, cause=cause.value)
        freed = replace(pod, cause=cause, detail="")
        self._restarts.note([freed])
        self._note_losses([freed])
        log.warning("name_freed", pod=pod.name, namespace=pod.namespace, node=pod.node)
        self._recorder.record(
            Regarding("v1", "Pod", pod.namespace, pod.name, pod.uid),
            kind=EventKind.WARNING,
            reason="NameFreed",
            action="Deleting",
            note=f"deleted without grace, since its node {pod.node} is off ({cause})",
        )


def cleared(state: TroubleState, names: frozenset[str]) -> TroubleState:
    """The state without these nodes, but for those whose signal still stands."""
    return replace(
        state,
        nodes={n: one for n, one in state.nodes.items() if one.standing or n not in names},
        failures={n: spaces for n, spaces in state.failures.items() if n not in names},
    )
