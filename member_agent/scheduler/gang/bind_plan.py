"""The plan of a unit: which pod goes to which node, as the annotation on its holder says."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Final

import msgspec

from global_sched.shared.model.ids import DecisionId
from member_agent.cache import PodUid, PodUnit

TEXT_LIMIT: Final = 200_000
"""Bytes of a plan; the API server takes 262144 for all annotations of an object."""
_SHORTEST: Final = 8


class PlanError(ValueError):
    """A plan annotation is not one of ours."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BindPlan:
    """Pod uid to node, under one decision (empty for units that did not come through Karmada)."""

    decision: DecisionId = DecisionId("")
    nodes: Mapping[PodUid, str] = field(default_factory=dict)

    def node_of(self, uid: PodUid) -> str:
        """The pod's node, empty when it is not in the plan."""
        if uid in self.nodes:
            return self.nodes[uid]
        width = len(next(iter(self.nodes), uid))
        return self.nodes.get(PodUid(uid[:width]), "")


class _Text(msgspec.Struct):
    """The annotation's JSON."""

    hash: str
    decision: str = ""
    pods: dict[str, Annotated[str, msgspec.Meta(max_length=253)]] = {}


def plan_hash(nodes: Mapping[PodUid, str]) -> str:
    """The hash of a plan's pods and nodes: 16 hexadecimal digits."""
    text = "\n".join(f"{uid} {node}" for uid, node in sorted(nodes.items()))
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def render_plan(plan: BindPlan) -> str:
    """The annotation's text; very large plans shorten the uids as far as they stay unique."""
    text = _render(plan.nodes, plan.decision)
    if len(text) <= TEXT_LIMIT:
        return text
    for width in range(_SHORTEST, 36, 4):
        short = {PodUid(uid[:width]): node for uid, node in plan.nodes.items()}
        if len(short) == len(plan.nodes):
            return _render(short, plan.decision)
    return text


def _render(nodes: Mapping[PodUid, str], decision: DecisionId) -> str:
    pods = {str(uid): node for uid, node in sorted(nodes.items())}
    value = _Text(hash=plan_hash(nodes), decision=decision, pods=pods)
    return msgspec.json.encode(value).decode()


def parse_plan(text: str) -> BindPlan | None:
    """The plan of an annotation; None when there is none.

    Raises:  PlanError when it does not parse or its hash does not match (it was edited).
    """
    if not text:
        return None
    try:
        value = msgspec.json.decode(text.encode(), type=_Text)
    except (msgspec.MsgspecError, RecursionError) as error:
        raise PlanError(f"the plan annotation cannot be read: {error}") from error
    nodes = {PodUid(uid): node for uid, node in value.pods.items()}
    if value.hash != plan_hash(nodes):
        raise PlanError("the plan annotation does not match its hash; it is written anew")
    return BindPlan(decision=DecisionId(value.decision), nodes=nodes)


def plan_of(unit: PodUnit) -> BindPlan | None:
    """The unit's plan; None without one, and for one that was edited."""
    if unit.holder is None:
        return None
    notes = unit.holder.notes
    if "plan" not in notes.parsed:
        try:
            notes.parsed["plan"] = parse_plan(notes.plan)
        except PlanError:
            notes.parsed["plan"] = None
    plan = notes.parsed["plan"]
    return plan if isinstance(plan, BindPlan) else None


def begun(plan: BindPlan, unit: PodUnit) -> bool:
    """Whether some of the plan is bound."""
    return any(plan.node_of(pod.uid) for pod in unit.staying())
