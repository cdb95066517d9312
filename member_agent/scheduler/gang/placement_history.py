"""Placement history on a gang's root owner: where it ran, and which nodes failed it.

The memory stands on the root owner (a Job), since its PodGroup is made anew when the Job restarts,
and in an annotation, since a status that Volcano's CRD does not know would be pruned. A restarted
gang returns to its domain, or else to the closest one that holds it; nodes that failed are avoided
for a while, as long as the gang fits without them.
"""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import msgspec

from global_sched.shared.kinds import ONE_BY_ONE
from global_sched.shared.model.ids import DecisionId, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.cache import ClusterCache, PodRecord, PodUnit

AVOIDED: Final = 600 * SECOND
"""How long a node is avoided after it was last seen to fail."""
_MOST_NODES: Final = 64
_MOST_HOLDERS: Final = 64
_LOST: Final = frozenset({"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity"})


@dataclass(frozen=True, slots=True, kw_only=True)
class PlacementHistory:
    """Where a gang ran under which decision, and until when nodes are avoided.

    `reached` are the uids of PodGroups (or of the owner itself) whose minimum was bound under it.
    """

    decision: DecisionId = DecisionId("")
    domain: DomainId | None = None
    reached: frozenset[str] = frozenset()
    avoid: Mapping[str, Instant] = field(default_factory=dict)

    def avoided(self, now: Instant) -> frozenset[str]:
        """The nodes that are avoided now."""
        return frozenset(node for node, until in self.avoid.items() if until > now)


class _Text(msgspec.Struct):
    """The annotation's JSON."""

    decision: str = ""
    domain: Annotated[str, msgspec.Meta(max_length=253)] = ""
    reached: list[str] = []
    avoid: dict[str, int] = {}


def history_of(unit: PodUnit) -> PlacementHistory:
    """What is remembered of a unit; nothing where that cannot be read."""
    if unit.root is None:
        return PlacementHistory()
    notes = unit.root.notes
    history = notes.parsed.get("memory")
    if not isinstance(history, PlacementHistory):
        history = notes.parsed["memory"] = _parse(notes.memory)
    return history


def _parse(text: str) -> PlacementHistory:
    try:
        value = msgspec.json.decode(text.encode(), type=_Text) if text else _Text()
    except (msgspec.MsgspecError, RecursionError):
        return PlacementHistory()
    return PlacementHistory(
        decision=DecisionId(value.decision),
        domain=DomainId(value.domain) if value.domain else None,
        reached=frozenset(value.reached),
        avoid={node: Instant(until) for node, until in value.avoid.items()},
    )


def render_history(memory: PlacementHistory) -> str:
    """The annotation's text."""
    value = _Text(
        decision=memory.decision,
        domain=memory.domain or "",
        reached=sorted(memory.reached),
        avoid={node: int(until) for node, until in sorted(memory.avoid.items())},
    )
    return msgspec.json.encode(value).decode()


def blamed_nodes(unit: PodUnit, blamed: Collection[tuple[str, str]]) -> set[str]:
    """Nodes that exit codes of the unit's own blame (`Situation.blamed`)."""
    if not blamed:
        return set()
    pods = (*unit.waiting, *unit.placed, *unit.failed)
    owners = {pod.owner.uid for pod in pods if pod.owner is not None}
    return {node for owner, node in blamed if owner in owners}


def failed_nodes(
    cache: ClusterCache, unit: PodUnit, blamed: Collection[tuple[str, str]] = ()
) -> set[str]:
    """Nodes that failed under a unit: gone, not ready, that refused or lost a pod, or blamed."""
    nodes = {cache.node_of(pod) for pod in unit.placed}
    lost = {node for node in nodes if (known := cache.nodes.get(node)) is None or not known.usable}
    refused = {pod.node for pod in unit.failed if _is_lost(pod)}
    return lost | refused | blamed_nodes(unit, blamed)


def _is_lost(pod: PodRecord) -> bool:
    return pod.rejected or pod.phase_reason in _LOST


def keeps_history(unit: PodUnit) -> bool:
    """Whether the unit's root owner is to remember where it runs."""
    return unit.floor > 1 and unit.root is not None and unit.root_kind not in ONE_BY_ONE


def noted(unit: PodUnit, decision: DecisionId) -> bool:
    """Whether it is written down that the unit's minimum was bound under this decision."""
    if unit.holder is None:
        return False
    memory = history_of(unit)
    known = memory.decision == decision and unit.holder.uid in memory.reached
    return known or unit.holder.notes.reached == decision


def has_room(unit: PodUnit) -> bool:
    """Whether one more PodGroup's minimum can be remembered."""
    return len(history_of(unit).reached) < _MOST_HOLDERS


@dataclass(frozen=True, slots=True, kw_only=True)
class Place:
    """Where the minimum of a unit runs; `holder` is set once its whole binding's does."""

    decision: DecisionId
    domain: DomainId | None
    holder: str = ""


def renewed(unit: PodUnit, *, now: Instant, failed: set[str], place: Place | None) -> str:
    """The text that is to be written on the root owner now; empty when nothing is.

    `place` is that of a unit whose minimum runs. A node that fails on is written again when half of
    its time has passed.
    """
    old = history_of(unit)
    new = old if place is None else _placed(old, place)
    fresh = {node for node in failed if old.avoid.get(node, Instant(0)) < now + AVOIDED // 2}
    if fresh:
        kept = {node: until for node, until in old.avoid.items() if until > now}
        kept.update(dict.fromkeys(sorted(fresh), Instant(now + AVOIDED)))
        latest = sorted(kept.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]
        new = replace(new, avoid=dict(latest))
    return "" if new == old else render_history(new)


def _placed(old: PlacementHistory, place: Place) -> PlacementHistory:
    reached = old.reached if old.decision == place.decision else frozenset()
    if place.holder and len(reached) < _MOST_HOLDERS:
        reached |= {place.holder}
    return replace(old, decision=place.decision, domain=place.domain, reached=reached)
