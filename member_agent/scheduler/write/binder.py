"""Carries a decision out: the plan on its holder first, then one bind per pod.

A bind is idempotent: after any failure the pod itself says where it is. What could not be bound
stays in the plan, and the next round completes it, finds a variant, or rolls back. Nothing here
decides where a pod goes.
"""

import asyncio
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from global_sched.shared.api.core import Pod
from global_sched.shared.api.names import MEMORY, MINIMUM_REACHED, PLAN
from global_sched.shared.api.resource import POD_GROUPS, PODS, Resource
from global_sched.shared.api.volcano import PodGroup
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict, Forbidden, NotFound
from global_sched.shared.model.ids import DecisionId
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import BINDS, ROLLBACKS
from global_sched.shared.telemetry.registry import Metrics
from member_agent.cache import ClusterCache, NoteHolder, PodRecord, owner_type
from member_agent.scheduler.gang.bind_plan import render_plan
from member_agent.scheduler.plan.outcome import Placement, Rollback

FIELD_MANAGER: Final = "member-agent"

REFUSAL_LIMIT: Final = 300
"""Characters of a refusal."""

log = get_logger(__name__)


def refusal(error: ApiError) -> str:
    """What a report and a condition say of an error that lasts; empty for one that may pass."""
    passes = error.transient or isinstance(error, (Conflict, NotFound))
    return "" if passes else f"the member refuses it: {error}"[:REFUSAL_LIMIT]


class BindResult(StrEnum):
    """How one bind ended."""

    BOUND = "bound"
    CONFLICT = "conflict"
    """The pod is on another node: another scheduler bound it."""
    GONE = "gone"
    """The pod does not exist any more."""
    FAILED = "failed"
    """It may be tried again."""


@dataclass(slots=True)
class BindOutcome:
    """What became of a placement."""

    bound: list[PodRecord] = field(default_factory=list)
    failed: list[tuple[PodRecord, str]] = field(default_factory=list)
    """Pods without a node, each with the error."""
    stopped: str = ""
    """Why no bind was even tried, empty when some were."""
    refused: str = ""
    """What the API server refused, in its words: trying again helps only when that changes."""


class Binder:
    """Writes plans and binds to the member.

    `may_write` is asked before every write: it turns False when another replica may act.
    `resource_of` finds where the kind of a holder lives. `going` is called with a pod before we
    delete it, so that it is not taken for a loss.
    """

    def __init__(
        self,
        client: Client,
        *,
        cache: ClusterCache,
        metrics: Metrics,
        at_once: int,
        may_write: Callable[[], bool],
        resource_of: Callable[[str, str], Resource | None],
        going: Callable[[PodRecord], None] = lambda _pod: None,
    ) -> None:
        self._client = client
        self._cache = cache
        self._metrics = metrics
        self._slots = asyncio.Semaphore(at_once)
        self._may_write = may_write
        self._resource_of = resource_of
        self._going = going

    # --- placements -------------------------------------------------------------------------

    async def carry_out(self, placement: Placement) -> BindOutcome:
        """Write the plan and bind the pods, as far as they still fit.

        Pods that start a unit are bound all or none, as far as the cache can tell; what fails
        after that is for the next round.
        """
        holder = placement.unit.holder
        text = render_plan(placement.plan)
        if holder is not None and holder.notes.plan != text:
            outcome = BindOutcome()
            outcome.stopped = await self._annotate(holder, {PLAN: text}, outcome)
            if outcome.stopped:
                return outcome
        if not self._may_write():
            return BindOutcome(stopped="this replica no longer leads")
        fitting, lost = self._still_fit(placement)
        if lost and (placement.starts or not fitting):
            pod, why = lost[0]
            return BindOutcome(stopped=f"pod {pod.name}: {why}")
        outcome = BindOutcome(failed=lost)
        async with asyncio.TaskGroup() as tasks:
            for pod, node in fitting:
                tasks.create_task(self._bind_into(outcome, pod, node))
        return outcome

    def _still_fit(
        self, placement: Placement
    ) -> tuple[list[tuple[PodRecord, str]], list[tuple[PodRecord, str]]]:
        """Pods that are still there with room on their node; and the others, with the reason.

        The plan was made before it was written; the nodes are looked at once more.
        """
        fitting: list[tuple[PodRecord, str]] = []
        lost: list[tuple[PodRecord, str]] = []
        taken: dict[str, dict[str, int]] = {}
        for pod, node in placement.nodes:
            known = self._cache.pods.get(pod.uid)
            if known is None or known.deleting or known.ended or self._cache.node_of(known):
                lost.append((pod, "it is gone, ending or bound already"))
                continue
            on_node = taken.setdefault(node, dict(self._cache.used(node)))
            problem = self._lacks(node, on_node, pod)
            if problem:
                lost.append((pod, problem))
                continue
            for name, amount in pod.shape.requests:
                on_node[name] = on_node.get(name, 0) + amount
            fitting.append((pod, node))
        return fitting, lost

    def _lacks(self, node: str, used: Mapping[str, int], pod: PodRecord) -> str:
        record = self._cache.nodes.get(node)
        if record is None or not record.usable or not record.node_class.schedulable:
            return f"node {node} is gone, cordoned or not ready"
        for name, amount in pod.shape.requests:
            if used.get(name, 0) + amount > record.room.get(name, 0):
                return f"node {node} has no room for its {name} any more"
        return ""

    async def _bind_into(self, outcome: BindOutcome, pod: PodRecord, node: str) -> None:
        async with self._slots:
            result, error = await self._bind(pod, node, outcome)
        self._metrics.inc(BINDS, result=result.value)
        if result is BindResult.BOUND:
            outcome.bound.append(pod)
        elif result is BindResult.FAILED:
            outcome.failed.append((pod, error))

    async def _bind(
        self, pod: PodRecord, node: str, outcome: BindOutcome
    ) -> tuple[BindResult, str]:
        if not self._may_write():
            return BindResult.FAILED, "this replica no longer leads"
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": pod.name, "namespace": pod.namespace, "uid": pod.uid},
            "target": {"apiVersion": "v1", "kind": "Node", "name": node},
        }
        try:
            await self._client.post_subresource(
                PODS, pod.name, "binding", body, namespace=pod.namespace
            )
        except NotFound:
            return BindResult.GONE, "it is gone"
        except ApiError as error:
            log.info("bind_failed", pod=pod.name, namespace=pod.namespace, error=str(error))
            outcome.refused = outcome.refused or refusal(error)
            return await self._look(pod, node, error)
        self._cache.assume(pod.uid, node)
        return BindResult.BOUND, ""

    async def _look(self, pod: PodRecord, node: str, error: ApiError) -> tuple[BindResult, str]:
        """Where the pod is after a bind that failed or whose answer was lost."""
        if not (error.transient or isinstance(error, Conflict)):
            return BindResult.FAILED, str(error)
        try:
            found = await self._client.get(PODS, pod.name, namespace=pod.namespace, type=Pod)
        except NotFound:
            return BindResult.GONE, "it is gone"
        except ApiError:
            return BindResult.FAILED, str(error)
        if found.metadata.uid != pod.uid:
            return BindResult.GONE, "another pod has its name"
        if found.spec.node_name == node:
            self._cache.assume(pod.uid, node)
            return BindResult.BOUND, ""
        if found.spec.node_name:
            self._cache.upsert_pod(found)
            return BindResult.CONFLICT, f"it is on {found.spec.node_name}"
        return BindResult.FAILED, str(error)

    # --- notes ------------------------------------------------------------------------------

    async def note_reached(self, holder: NoteHolder, decision: DecisionId) -> bool:
        """Write down that the minimum was bound under this decision; True when written."""
        return not await self._annotate(holder, {MINIMUM_REACHED: decision})

    async def write_history(self, root: NoteHolder, text: str) -> bool:
        """Write down on a root owner where its gang runs; True when written."""
        return not await self._annotate(root, {MEMORY: text})

    async def _annotate(
        self,
        holder: NoteHolder,
        annotations: Mapping[str, str | None],
        outcome: BindOutcome | None = None,
    ) -> str:
        """Write annotations on a holder that has not changed since; what went wrong, or empty."""
        outcome = outcome or BindOutcome()
        resource = self._resource_of(holder.api_version, holder.kind)
        if resource is None:
            return f"the kind {holder.api_version} {holder.kind} is not served"
        if not self._may_write():
            return "this replica no longer leads"
        metadata = {"resourceVersion": holder.resource_version, "annotations": dict(annotations)}
        kind = PodGroup if resource == POD_GROUPS else owner_type(holder.api_version, holder.kind)
        try:
            async with self._slots:
                stored = await self._client.patch(
                    resource,
                    holder.name,
                    {"metadata": metadata},
                    namespace=holder.namespace or None,
                    field_manager=FIELD_MANAGER,
                    type=kind,
                )
        except (Conflict, NotFound):
            return f"{holder.kind} {holder.name} changed meanwhile"
        except Forbidden as error:
            outcome.refused = refusal(error)
            return f"the agent may not write its plan: {error.message}"
        except ApiError as error:
            outcome.refused = refusal(error)
            log.warning("note_not_written", kind=holder.kind, name=holder.name, error=str(error))
            return f"the plan could not be written: {error}"
        if isinstance(stored, PodGroup):
            self._cache.upsert_group(stored)
        else:
            self._cache.upsert_owner(stored, holder.api_version, holder.kind)
        return ""

    # --- rollback ---------------------------------------------------------------------------

    async def roll_back(self, rollback: Rollback, outcome: BindOutcome) -> int:
        """Delete the bound pods (their controller makes new ones), then the plan; how many.

        The plan goes last: a crash in between finds it, and decides again.
        """
        gone = await self.delete_pods(rollback.pods, outcome)
        if len(gone) < len(rollback.pods):
            return len(gone)
        self._metrics.inc(ROLLBACKS)
        if rollback.unit.holder is not None:
            await self._annotate(rollback.unit.holder, {PLAN: None})
        return len(gone)

    async def delete_pods(self, pods: Sequence[PodRecord], outcome: BindOutcome) -> list[PodRecord]:
        """Delete these very pods, in order; those that are gone now. It ends at the first error.

        A refusal stands in `outcome`.
        """
        gone: list[PodRecord] = []
        for pod in pods:
            if not self._may_write():
                return gone
            self._going(pod)
            try:
                async with self._slots:
                    await self._client.delete(PODS, pod.name, namespace=pod.namespace, uid=pod.uid)
            except (NotFound, Conflict):
                pass  # gone, or another pod has its name by now
            except ApiError as error:
                log.warning("pod_not_deleted", pod=pod.name, error=str(error))
                outcome.refused = refusal(error)
                return gone
            gone.append(pod)
        return gone
