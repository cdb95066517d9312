"""Decisions that are written, and notices of the state, as Events and log lines, once each."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

from global_sched.cache import Notice, State, Topic
from global_sched.core import next_step, place_text
from global_sched.dispatch import Action
from global_sched.dispatch.reasons import ReasonWrite
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from global_sched.shared.kube.events import NOTE_LIMIT, EventKind, EventRecorder, Regarding
from global_sched.shared.model.ids import WorkloadKey, split_key
from global_sched.shared.model.plan import Admission, Claiming, Outcome, Withdrawal
from global_sched.shared.model.quantity import counted
from global_sched.shared.model.verdict import Code
from global_sched.shared.model.workload import Workload
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import FORGED_DECISIONS, INVALID_OBJECTS
from global_sched.shared.telemetry.registry import Metrics

WAITS_BEHIND: Final = 200
"""Events to be written beyond which none is made of a job that waits."""

_SAID: Final = {Reason.CHECKPOINT_CALLED, Reason.GAVE_UP_SURPLUS, Reason.GOES_ON_WITH_FEWER}
"""Reasons of what runs that are Events, too."""
_FOR_THE_JOB: Final = {
    Topic.CHECKPOINT_GRACE_REFUSED,
    Topic.FAILOVER_BESIDE,
    Topic.NOWHERE_TO_MOVE,
    Topic.RECOVERY_REFUSED,
}
"""Notices about what a job's own annotation asks for: said on its template, too."""

log = get_logger(__name__)


def _placed(action: Admission) -> str:
    """`4 pods in west, domain rack-3 (tier 1)`: what a decision grants, cluster by cluster."""
    parts = []
    for grant in action.decision.grants:
        pods = counted(grant.amounts.pods(), "pod") if grant.amounts.pods() else "a copy"
        domain = f", domain {grant.domain} (tier {grant.tier})" if grant.domain else ""
        parts.append(f"{pods} in {grant.cluster}{domain}")
    return "; ".join(parts) or f"in {', '.join(target.cluster for target in action.targets)}"


def waiting_note(workload: Workload, outcome: Outcome) -> str:
    """Place, what the job waits for, and what lets it run: all that an Event has room for."""
    detail = outcome.verdict.detail
    step = next_step(workload, outcome)
    runs = f"; runs when {step}" if step else ""
    room = NOTE_LIMIT - len(runs.encode()) - 100
    if len(detail.encode()) > room:
        detail = detail.encode()[:room].decode(errors="ignore") + "…"
    return f"{place_text(outcome)}: {detail}{runs}"


class NoticeTeller:
    """Tells of decisions once they are written, and of what was noticed since the last call."""

    def __init__(self, state: State, recorder: EventRecorder, metrics: Metrics) -> None:
        self._state = state
        self._recorder = recorder
        self._metrics = metrics
        self._kinds: set[str] = set()

    def written(self, action: Action | ReasonWrite, outcome: Outcome | None) -> None:
        """The server has accepted a decision or a reason: log it, and tell the job's owner.

        Events stand on the binding and on its template, where `kubectl describe` shows them.
        """
        match action:
            case ReasonWrite():
                self._refused(action)
                return
            case Admission():
                log.info(
                    "admitted",
                    workload=action.workload,
                    clusters=[target.cluster for target in action.targets],
                    decision=action.decision.id,
                )
                if action.targets:
                    note = _placed(action)
                    self._record(action, str(Reason.ADMITTED), note, "Schedule", EventKind.NORMAL)
            case Withdrawal():
                log.info(
                    "withdrawn",
                    workload=action.workload,
                    cluster=action.cluster,
                    reason=action.reason,
                )
                self._record(action, action.reason, action.message, "Withdraw", EventKind.WARNING)
        if outcome is None:
            return
        reason, detail = outcome.verdict.reason, outcome.verdict.detail
        claims = isinstance(action, Claiming) and reason == Reason.ROOM_BEING_MADE
        if claims or reason in _SAID:
            self._record(action, str(reason), detail, "MakeRoom", EventKind.NORMAL)

    def _refused(self, write: ReasonWrite) -> None:
        """The condition of a job that waits has changed: its sentence, once per change.

        Decisions come first: while many Events are to be written, the condition alone says it.
        """
        outcome, workload = write.outcome, self._state.workload(write.workload)
        crowded = self._recorder.statistics().pending > WAITS_BEHIND
        if outcome is None or workload is None or crowded:
            return
        verdict = outcome.verdict
        kind = EventKind.NORMAL if verdict.code == Code.WAIT else EventKind.WARNING
        note = waiting_note(workload, outcome)
        self._record(workload, str(verdict.reason), note, "Schedule", kind)

    def _record(
        self, about: Action | Workload, reason: str, note: str, action: str, kind: EventKind
    ) -> None:
        key = about.key if isinstance(about, Workload) else about.workload
        for regarding in self._regarding(key, about.uid):
            self._recorder.record(regarding, reason=reason, note=note, action=action, kind=kind)

    def _regarding(self, key: WorkloadKey, uid: str) -> Iterator[Regarding]:
        """The binding, then its template."""
        namespace, name = split_key(key)
        resource = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
        yield Regarding(resource.api_version, resource.kind, namespace, name, uid)
        found = self._state.template_of(key)
        if found is not None and found[1]:
            template, template_uid = found
            yield Regarding(*template, template_uid)

    def tell(self) -> None:
        """Record Events and log lines for new notices; cheap without any."""
        fresh = self._state.notices.take()
        for notice in fresh:
            self._tell(notice)
        if fresh:
            counts = Counter(
                one.kind for one in self._state.notices.standing() if one.topic == Topic.MALFORMED
            )
            for kind in self._kinds | counts.keys():
                self._metrics.set(INVALID_OBJECTS, counts[kind], kind=kind)
            self._kinds |= counts.keys()

    def _tell(self, notice: Notice) -> None:
        log.warning(
            "notice",
            topic=notice.topic.value,
            kind=notice.kind,
            object=f"{notice.namespace}/{notice.name}",
            text=notice.text,
        )
        if notice.topic == Topic.DECISION_NOT_BELIEVED:
            self._metrics.inc(FORGED_DECISIONS)
        about = [
            Regarding(notice.api_version, notice.kind, notice.namespace, notice.name, notice.uid)
        ]
        if notice.topic in _FOR_THE_JOB:
            key = WorkloadKey(f"{notice.namespace}/{notice.name}")
            about = list(self._regarding(key, notice.uid))
        for regarding in about:
            self._recorder.record(
                regarding,
                reason=notice.topic.value,
                note=notice.text,
                action="Schedule",
                kind=EventKind.WARNING,
            )
