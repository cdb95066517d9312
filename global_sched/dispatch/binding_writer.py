"""The writes of one action, with the answers taken into the state."""

from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from global_sched.dispatch.carried import carried
from global_sched.dispatch.fewer_pods import shrunk_text
from global_sched.dispatch.patches import (
    Body,
    admission_patch,
    claiming_patch,
    eviction_status,
    failure_status,
    generation_status,
    success_status,
    withdrawal_patch,
)
from global_sched.dispatch.reasons import ReasonWrite
from global_sched.dispatch.results import WriteResult
from global_sched.dispatch.source import Source
from global_sched.dispatch.unadmitted_pods import not_held_back
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.api.names import DECISION
from global_sched.shared.api.reasons import Reason
from global_sched.shared.api.resource import (
    CLUSTER_RESOURCE_BINDINGS,
    RESOURCE_BINDINGS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Conflict, Forbidden
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.ids import DecisionId, WorkloadKey, split_key
from global_sched.shared.model.instant import Instant, InstantError, answered_at, parse_instant
from global_sched.shared.model.plan import Admission, Claiming, Confirmation, Withdrawal


@dataclass(frozen=True, slots=True, kw_only=True)
class StatusUpdate:
    """What the status still has to say of a placement that is written."""

    workload: WorkloadKey
    binding: ResourceBinding
    """As the write of the placement returned it."""
    decision: DecisionId
    affinity: str | None
    disbelieved: str = ""
    """Why the decision that this one replaces was not believed."""


Work = Admission | Withdrawal | Claiming | Confirmation | StatusUpdate | ReasonWrite


@dataclass(frozen=True, slots=True)
class Written:
    """How a write ended, and what has to follow it."""

    result: WriteResult
    then: StatusUpdate | None = None
    told: Withdrawal | None = None
    """The withdrawal with what its message has to say of the write itself."""


STATUS_TRIES: Final = 4
"""A status write that meets another writer is made again on the newer object, so often."""


class BindingWriter:
    """Sends patches of bindings.

    A placement and its status are two pieces of work, so that a burst's placements need not wait
    for its statuses.
    """

    def __init__(self, client: Client, source: Source, *, clock: Clock) -> None:
        self._client = client
        self._source = source
        self._clock = clock

    async def write(self, work: Work) -> Written:
        """Do one piece of work. Raises ApiError when nothing was written."""
        match work:
            case Admission():
                return await self._admit(work)
            case Withdrawal():
                return await self._withdraw(work)
            case Claiming():
                await self._patch(work.workload, claiming_patch(work))
                return Written(WriteResult.OK)
            case Confirmation():
                return Written(await self._confirm(work))
            case StatusUpdate():
                return Written(
                    await self._succeed(
                        work.workload,
                        work.binding,
                        work.decision,
                        affinity=work.affinity,
                        disbelieved=work.disbelieved,
                    )
                )
            case ReasonWrite():
                return Written(await self._explain(work))

    async def read(self, key: WorkloadKey) -> ResourceBinding:
        """The binding as the server has it now."""
        resource, namespace, name = _address(key)
        return await self._client.get(resource, name, namespace=namespace, type=ResourceBinding)

    async def _patch(
        self, key: WorkloadKey, body: Body, *, status: bool = False
    ) -> ResourceBinding:
        resource, namespace, name = _address(key)
        answer = await self._client.patch(
            resource,
            name,
            body,
            namespace=namespace,
            subresource="status" if status else None,
            type=ResourceBinding,
        )
        self._source.refresh(answer)
        return answer

    # --- placements -----------------------------------------------------------------------

    async def _admit(self, admission: Admission) -> Written:
        workload = self._source.workload(admission.workload)
        if workload is None:
            return Written(WriteResult.GONE)
        body = admission_patch(admission, workload.placement_json)
        try:
            written = await self._patch(admission.workload, body)
        except Forbidden as error:
            await self._explain(
                ReasonWrite(
                    workload=admission.workload,
                    reason="QuotaExceeded" if "quota" in error.message.lower() else "Unschedulable",
                    message=f"the control plane refuses the placement: {error.message}"[:1024],
                )
            )
            raise
        update = StatusUpdate(
            workload=admission.workload,
            binding=written,
            decision=admission.decision.id,
            affinity=admission.affinity,
            disbelieved=admission.disbelieved,
        )
        return Written(WriteResult.OK, update)

    async def _withdraw(self, withdrawal: Withdrawal) -> Written:
        resource, namespace, name = _address(withdrawal.workload)
        raw = await self._client.get(resource, name, namespace=namespace)
        if raw["metadata"].get("resourceVersion") != withdrawal.resource_version:
            return Written(WriteResult.CONFLICT)
        tasks: list[Any] = (raw.get("spec") or {}).get("gracefulEvictionTasks") or []
        labels, dropped = self._labels(withdrawal, raw)
        if dropped:
            text = f"{withdrawal.message}; labels that do not travel: {'; '.join(dropped)}"
            withdrawal = replace(withdrawal, message=text)
        await self._patch(withdrawal.workload, withdrawal_patch(withdrawal, tasks, labels))
        recovers = withdrawal.reason == Reason.CANNOT_BE_WHOLE
        if recovers or withdrawal.makes_room_for is not None:
            await self._record_eviction(withdrawal)
        elif not withdrawal.targets:
            known = withdrawal.reason in {reason.value for reason in Reason}
            reason = withdrawal.reason if known else Reason.PLACEMENT_TIMEOUT
            text = f"WAIT {reason}, nearest {withdrawal.cluster}: {withdrawal.message}"
            await self._explain(
                ReasonWrite(
                    workload=withdrawal.workload, reason="Unschedulable", message=text[:1024]
                )
            )
        return Written(WriteResult.OK, told=withdrawal)

    def _labels(
        self, withdrawal: Withdrawal, raw: dict[str, Any]
    ) -> tuple[dict[str, str], tuple[str, ...]]:
        """The labels that travel with a gang that moves, and why others do not."""
        workload = self._source.workload(withdrawal.workload)
        asked = None if workload is None else workload.below_minimum
        if asked is None or not asked.carry or withdrawal.decision.claim is None:
            return {}, ()
        return carried(asked.carry, raw, withdrawal.cluster)

    async def _record_eviction(self, withdrawal: Withdrawal) -> None:
        """Say on the binding why it had to leave; a status that meets another writer waits."""
        workload = self._source.workload(withdrawal.workload)
        if workload is None:
            return
        body = eviction_status(
            workload.resource_version,
            self._source.conditions(withdrawal.workload),
            withdrawal,
            now=self._clock.now(),
        )
        with suppress(Conflict):
            await self._patch(withdrawal.workload, body, status=True)

    async def _confirm(self, confirmation: Confirmation) -> WriteResult:
        if not confirmation.scheduled_now:
            version, generation = confirmation.resource_version, confirmation.generation
            await self._patch(
                confirmation.workload, generation_status(version, generation), status=True
            )
            return WriteResult.OK
        found = await self.read(confirmation.workload)
        if found.metadata.resource_version != confirmation.resource_version:
            self._source.refresh(found)
            return WriteResult.CONFLICT
        return await self._succeed(confirmation.workload, found, None, affinity=None)

    async def _succeed(
        self,
        key: WorkloadKey,
        binding: ResourceBinding,
        decision: DecisionId | None,
        *,
        affinity: str | None,
        disbelieved: str = "",
    ) -> WriteResult:
        """Step two.

        Another writer of the status is no reason to decide again: read and repeat, as long as the
        binding is the one that was decided on.
        """
        generation = binding.metadata.generation
        for _ in range(STATUS_TRIES):
            known = binding.status.scheduler_observed_affinity_name
            body = success_status(
                binding.metadata.resource_version,
                binding.status.conditions or (),
                generation=generation,
                now=self._stamp(binding),
                affinity=affinity if affinity or known else None,
                unheld=not_held_back(binding, self._source.workload(key), self._source),
                disbelieved=disbelieved,
                shrunk=shrunk_text(self._source.workload(key)),
            )
            try:
                await self._patch(key, body, status=True)
            except Conflict:
                binding = await self.read(key)
                self._source.refresh(binding)
                if binding.metadata.generation != generation or not _carries(binding, decision):
                    return WriteResult.OK  # it moved on, and what it is now is decided anew
            else:
                return WriteResult.OK
        return WriteResult.CONFLICT

    def _stamp(self, binding: ResourceBinding) -> Instant:
        """Now, and after the reschedule that this answers."""
        now, asked = self._clock.now(), binding.spec.reschedule_triggered_at
        try:
            return answered_at(now, parse_instant(asked) if asked else None)
        except InstantError:
            return now

    # --- reasons --------------------------------------------------------------------------

    async def _explain(self, write: ReasonWrite) -> WriteResult:
        """Write a reason, also when the binding was written meanwhile."""
        generation: int | None = None
        for _ in range(STATUS_TRIES):
            workload = self._source.workload(write.workload)
            if workload is None:
                return WriteResult.GONE
            if generation is not None and workload.generation != generation:
                return WriteResult.OK  # it moved on, and what it is now is decided anew
            generation = workload.generation
            body = failure_status(
                workload.resource_version,
                self._source.conditions(write.workload),
                reason=write.reason,
                message=write.message,
                now=self._clock.now(),
            )
            try:
                await self._patch(write.workload, body, status=True)
            except Conflict:
                self._source.refresh(await self.read(write.workload))
            else:
                return WriteResult.OK
        return WriteResult.CONFLICT


def _carries(binding: ResourceBinding, decision: DecisionId | None) -> bool:
    """Whether the binding still carries a decision (None: whichever)."""
    if decision is None:
        return True
    try:
        return parse_decision(binding.metadata.annotation(DECISION)).id == decision
    except DecisionError:
        return False


def _address(key: WorkloadKey) -> tuple[Resource, str | None, str]:
    namespace, name = split_key(key)
    if namespace:
        return RESOURCE_BINDINGS, namespace, name
    return CLUSTER_RESOURCE_BINDINGS, None, name
