"""What a gang's root owner remembers of its placement: where it ran, and which nodes failed it.

The memory stands on the root owner (a Job), since its PodGroup is made anew when the Job restarts,
and in an annotation, since a status that Volcano's CRD does not know would be pruned. A restarted
gang returns to its domain, or else to the closest one that holds it; nodes that failed are avoided
for a while, as long as the gang fits without them.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Annotated, Final

import msgspec

from global_sched.shared.model.ids import DecisionId, DomainId
from global_sched.shared.model.instant import SECOND, Instant
from member_agent.cache import SERVICES, ClusterCache, PodRecord, Unit

AVOIDED: Final = 600 * SECOND
"""How long a node is avoided after it was last seen to fail."""
_MOST_NODES: Final = 64
_LOST: Final = frozenset({"NodeLost", "NodeShutdown", "Shutdown", "Terminated", "NodeAffinity"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Memory:
    """Where a gang ran under which decision, and until when nodes are avoided."""

    decision: DecisionId = DecisionId("")
    domain: DomainId | None = None
    avoid: Mapping[str, Instant] = field(default_factory=dict)

    def avoided(self, now: Instant) -> frozenset[str]:
        """The nodes that are avoided now."""
        return frozenset(node for node, until in self.avoid.items() if until > now)


class _Text(msgspec.Struct):
    """The annotation's JSON."""

    decision: str = ""
    domain: Annotated[str, msgspec.Meta(max_length=253)] = ""
    avoid: dict[str, int] = {}


def memory_of(unit: Unit) -> Memory:
    """What is remembered of a unit; nothing where that cannot be read."""
    text = unit.root.notes.memory if unit.root is not None else ""
    try:
        value = msgspec.json.decode(text.encode(), type=_Text) if text else _Text()
    except (msgspec.MsgspecError, RecursionError):
        return Memory()
    return Memory(
        decision=DecisionId(value.decision),
        domain=DomainId(value.domain) if value.domain else None,
        avoid={node: Instant(until) for node, until in value.avoid.items()},
    )


def render_memory(memory: Memory) -> str:
    """The annotation's text."""
    value = _Text(
        decision=memory.decision,
        domain=memory.domain or "",
        avoid={node: int(until) for node, until in sorted(memory.avoid.items())},
    )
    return msgspec.json.encode(value).decode()


def failed_nodes(cache: ClusterCache, unit: Unit) -> set[str]:
    """Nodes that failed under a unit: gone, not ready, or with a pod that they refused or lost."""
    nodes = {cache.node_of(pod) for pod in unit.placed}
    lost = {node for node in nodes if (known := cache.nodes.get(node)) is None or not known.usable}
    return lost | {pod.node for pod in unit.failed if _is_lost(pod)}


def _is_lost(pod: PodRecord) -> bool:
    return pod.rejected or pod.phase_reason in _LOST


def renewed(
    unit: Unit, *, now: Instant, failed: set[str], place: tuple[DecisionId, DomainId | None] | None
) -> str:
    """The text that is to be written on the root owner now; empty when nothing is.

    `place` is the decision and domain of a unit whose minimum runs. A node that fails on is written
    again when half of its time has passed.
    """
    if unit.root is None or unit.root_kind in SERVICES:
        return ""
    old = memory_of(unit)
    new = old
    if place is not None and (old.decision, old.domain) != place:
        new = replace(new, decision=place[0], domain=place[1])
    fresh = {node for node in failed if old.avoid.get(node, Instant(0)) < now + AVOIDED // 2}
    if fresh:
        kept = {node: until for node, until in old.avoid.items() if until > now}
        kept.update(dict.fromkeys(sorted(fresh), Instant(now + AVOIDED)))
        latest = sorted(kept.items(), key=lambda item: (-item[1], item[0]))[:_MOST_NODES]
        new = replace(new, avoid=dict(latest))
    return "" if new == old else render_memory(new)
