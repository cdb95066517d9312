"""Decisions that are written, and notices of the state, as Events and log lines, once each."""

from collections import Counter

from global_sched.cache import Notice, State, Topic
from global_sched.dispatch import Action
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.model.ids import split_key
from global_sched.shared.model.plan import Admission, Claiming, Outcome, Withdrawal
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import FORGED_DECISIONS, INVALID_OBJECTS
from global_sched.shared.telemetry.registry import Metrics

log = get_logger(__name__)


class NoticeTeller:
    """Tells of decisions once they are written, and of what was noticed since the last call."""

    def __init__(self, state: State, recorder: EventRecorder, metrics: Metrics) -> None:
        self._state = state
        self._recorder = recorder
        self._metrics = metrics
        self._kinds: set[str] = set()

    def written(self, action: Action, outcome: Outcome | None) -> None:
        """The server has accepted a decision: log it, and record what the job's owner must know."""
        match action:
            case Admission():
                log.info(
                    "admitted",
                    workload=action.workload,
                    clusters=[target.cluster for target in action.targets],
                    decision=action.decision.id,
                )
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
        if claims or reason == Reason.GAVE_UP_SURPLUS:
            self._record(action, str(reason), detail, "MakeRoom", EventKind.NORMAL)

    def _record(self, about: Action, reason: str, note: str, action: str, kind: EventKind) -> None:
        namespace, name = split_key(about.workload)
        resource = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
        self._recorder.record(
            Regarding(resource.api_version, resource.kind, namespace, name, about.uid),
            reason=reason,
            note=note,
            action=action,
            kind=kind,
        )

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
        self._recorder.record(
            Regarding(notice.api_version, notice.kind, notice.namespace, notice.name, notice.uid),
            reason=notice.topic.value,
            note=notice.text,
            action="Schedule",
            kind=EventKind.WARNING,
        )
