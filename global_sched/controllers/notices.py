"""Notices of the state as Events and log lines, once each."""

from collections import Counter

from global_sched.cache import Notice, State, Topic
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.model.ids import split_key
from global_sched.shared.model.plan import Outcome, Plan, Withdrawal
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import FORGED_DECISIONS, INVALID_OBJECTS
from global_sched.shared.telemetry.registry import Metrics

log = get_logger(__name__)


class NoticeTeller:
    """Tells what was noticed since the last call."""

    def __init__(self, state: State, recorder: EventRecorder, metrics: Metrics) -> None:
        self._state = state
        self._recorder = recorder
        self._metrics = metrics
        self._kinds: set[str] = set()

    def tell(self, plan: Plan) -> None:
        """Record Events and log lines for new notices and withdrawals; cheap without any."""
        for withdrawal in plan.withdrawals:
            self._withdrawn(withdrawal)
        if plan.claims:
            told = {claiming.workload for claiming in plan.claims}
            for outcome in plan.outcomes:
                reason = outcome.verdict.reason
                gave = reason == Reason.GAVE_UP_SURPLUS
                if gave or (reason == Reason.ROOM_BEING_MADE and outcome.workload in told):
                    self._outcome(outcome)
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

    def _withdrawn(self, withdrawal: Withdrawal) -> None:
        namespace, name = split_key(withdrawal.workload)
        resource = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
        self._recorder.record(
            Regarding(resource.api_version, resource.kind, namespace, name, withdrawal.uid),
            reason=withdrawal.reason,
            note=withdrawal.message,
            action="Withdraw",
            kind=EventKind.WARNING,
        )

    def _outcome(self, outcome: Outcome) -> None:
        """Room that is made for a workload, and surplus that was given up for another one."""
        workload = self._state.workload(outcome.workload)
        if workload is None:
            return
        namespace, name = split_key(outcome.workload)
        resource = RESOURCE_BINDINGS if namespace else CLUSTER_RESOURCE_BINDINGS
        self._recorder.record(
            Regarding(resource.api_version, resource.kind, namespace, name, workload.uid),
            reason=str(outcome.verdict.reason),
            note=outcome.verdict.detail,
            action="MakeRoom",
            kind=EventKind.NORMAL,
        )

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
