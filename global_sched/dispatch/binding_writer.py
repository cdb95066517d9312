"""The writes of one action, in order, with the answers taken into the state."""

from typing import Any, Final

from global_sched.dispatch.patches import (
    Body,
    admission_patch,
    failure_status,
    generation_status,
    success_status,
    withdrawal_patch,
)
from global_sched.dispatch.reasons import ReasonWrite
from global_sched.dispatch.results import Result
from global_sched.dispatch.source import Source
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
from global_sched.shared.kube.errors import ApiError, Conflict, Forbidden
from global_sched.shared.model.decision_text import DecisionError, parse_decision
from global_sched.shared.model.ids import DecisionId, WorkloadKey, split_key
from global_sched.shared.model.instant import Instant
from global_sched.shared.model.plan import Admission, Confirmation, Withdrawal
from global_sched.shared.telemetry.logs import get_logger

log = get_logger(__name__)

Work = Admission | Withdrawal | Confirmation | ReasonWrite

STATUS_TRIES: Final = 4
"""A status write that meets another writer is made again on the newer object, so often."""


class BindingWriter:
    """Sends patches of bindings.

    Raises the ApiError of the first write of an action; a status that could not be written after
    it is left to the next cycle.
    """

    def __init__(self, client: Client, source: Source, *, clock: Clock) -> None:
        self._client = client
        self._source = source
        self._clock = clock

    async def write(self, work: Work) -> Result:
        """Do all that one action needs. Raises ApiError when nothing was written."""
        match work:
            case Admission():
                return await self._admit(work)
            case Withdrawal():
                return await self._withdraw(work)
            case Confirmation():
                return await self._confirm(work)
            case ReasonWrite():
                return await self._explain(work)

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

    async def _admit(self, admission: Admission) -> Result:
        workload = self._source.workload(admission.workload)
        if workload is None:
            return Result.GONE
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
        await self._succeed(
            admission.workload, written, admission.decision.id, affinity=admission.affinity
        )
        return Result.OK

    async def _withdraw(self, withdrawal: Withdrawal) -> Result:
        resource, namespace, name = _address(withdrawal.workload)
        raw = await self._client.get(resource, name, namespace=namespace)
        if raw["metadata"].get("resourceVersion") != withdrawal.resource_version:
            return Result.CONFLICT
        tasks: list[Any] = (raw.get("spec") or {}).get("gracefulEvictionTasks") or []
        await self._patch(withdrawal.workload, withdrawal_patch(withdrawal, tasks))
        if not withdrawal.targets:
            await self._explain(
                ReasonWrite(
                    workload=withdrawal.workload,
                    reason="Unschedulable",
                    message=(
                        f"WAIT {Reason.PLACEMENT_TIMEOUT}, nearest {withdrawal.cluster}: "
                        f"{withdrawal.message}"
                    )[:1024],
                )
            )
        return Result.OK

    async def _confirm(self, confirmation: Confirmation) -> Result:
        if not confirmation.scheduled_now:
            version, generation = confirmation.resource_version, confirmation.generation
            await self._patch(
                confirmation.workload, generation_status(version, generation), status=True
            )
            return Result.OK
        found = await self.read(confirmation.workload)
        if found.metadata.resource_version != confirmation.resource_version:
            self._source.refresh(found)
            return Result.CONFLICT
        await self._succeed(confirmation.workload, found, None, affinity=None)
        return Result.OK

    async def _succeed(
        self,
        key: WorkloadKey,
        binding: ResourceBinding,
        decision: DecisionId | None,
        *,
        affinity: str | None,
    ) -> None:
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
                now=self._stamp(key),
                affinity=affinity if affinity or known else None,
            )
            try:
                await self._patch(key, body, status=True)
            except Conflict:
                binding = await self.read(key)
                self._source.refresh(binding)
                if binding.metadata.generation != generation or not _carries(binding, decision):
                    return
            except ApiError as error:
                log.info("status_left_behind", workload=key, error=str(error))
                return
            else:
                return

    def _stamp(self, key: WorkloadKey) -> Instant:
        """Now, and not before the reschedule that this answers."""
        now, workload = self._clock.now(), self._source.workload(key)
        asked = workload.reschedule_at if workload is not None else None
        return now if asked is None else max(now, asked)

    # --- reasons --------------------------------------------------------------------------

    async def _explain(self, write: ReasonWrite) -> Result:
        workload = self._source.workload(write.workload)
        if workload is None:
            return Result.GONE
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
            return Result.CONFLICT
        return Result.OK


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
