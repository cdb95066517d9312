"""Signals of the nodes of a cache, and failed pods of its gangs. Pure."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final

from global_sched.shared.api.base import condition
from global_sched.shared.api.names import OUT_OF_SERVICE
from global_sched.shared.model.printable import printable
from global_sched.shared.model.recovery import Cause
from member_agent.cache import ClusterCache, PodRecord, PodUnit
from member_agent.recovery.trouble import Blame, PodFailure, Signal

_LOST_BY_KUBERNETES: Final = (
    "node.kubernetes.io/not-ready",
    "node.kubernetes.io/unreachable",
)
"""Taints that say no more than the condition Ready does."""
_DETAIL: Final = 120
"""Characters of a detail: names of conditions and taints come from others."""
_BY_OTHERS: Final = frozenset(
    {"Evicted", "NodeLost", "NodeShutdown", "Preempting", "Shutdown", "Terminated"}
)
"""Reasons of failed pods that Kubernetes ended: they say nothing about the program or the node."""


def node_signals(
    cache: ClusterCache,
    *,
    grace: int,
    conditions: Collection[tuple[str, str]],
    dedicated: Collection[str],
) -> list[Signal]:
    """The signals that stand, in order of the nodes: at most one of each cause for a node.

    grace:       how long (µs) Ready may be lost, or a Node object missing, before it counts.
    conditions:  type and status of NodeConditions that report a defect.
    dedicated:   keys of NoExecute taints that reserve nodes and are no trouble.
    """
    found = [
        Signal(node=name, cause=Cause.NODE_GONE, grace=grace)
        for name in sorted(cache.occupied() - cache.nodes.keys())
    ]
    for name, record in sorted(cache.nodes.items()):
        node, own = record.node, dict[Cause, str]()
        for taint in node.spec.taints or ():
            if taint.key == OUT_OF_SERVICE:
                own[Cause.OUT_OF_SERVICE] = ""
            elif taint.effect == "NoExecute" and taint.key not in (
                *_LOST_BY_KUBERNETES,
                *dedicated,
            ):
                _keep(own, Cause.NODE_TAINTED, f"taint {_text(taint.key)}")
        for one in node.status.conditions or ():
            if (one.type, one.status) in conditions:
                _keep(own, Cause.DEVICE_UNHEALTHY, f"{_text(one.type)} is {one.status}")
        found += [Signal(node=name, cause=cause, detail=text) for cause, text in own.items()]
        ready = condition(node.status.conditions, "Ready")
        if ready is None or ready.status != "True":
            state = "missing" if ready is None else _text(ready.status)
            found.append(
                Signal(
                    node=name, cause=Cause.NODE_NOT_READY, detail=f"Ready is {state}", grace=grace
                )
            )
    return found


def _keep(own: dict[Cause, str], cause: Cause, detail: str) -> None:
    """The first detail of a cause: a node may have thousands of conditions and taints."""
    own[cause] = min(own.get(cause, detail), detail)


def _text(given: str) -> str:
    """A name that others wrote, short, and without what a terminal obeys."""
    return printable(given[:_DETAIL])


def failed_pods(units: Iterable[PodUnit]) -> list[PodFailure]:
    """Pods of gangs whose own program failed, and that still stand there."""
    return [
        PodFailure(node=pod.node, namespace=pod.namespace, at=pod.ended_at)
        for unit in units
        if unit.floor > 1
        for pod in unit.failed
        if pod.node and not pod.rejected and pod.phase_reason not in _BY_OTHERS
    ]


def blames(lost: Iterable[PodRecord], codes: Collection[int]) -> list[Blame]:
    """The nodes that the exit codes of lost pods blame, by the Policy's list."""
    return [
        Blame(node=pod.node, code=code, at=pod.ended_at)
        for pod in lost
        if pod.node
        for code in pod.exit_codes
        if code in codes
    ]


def leaf_of(cache: ClusterCache) -> Mapping[str, str]:
    """The smallest HyperNode of every node, empty outside the tree."""
    leaves = cache.tree().leaf_of
    return {name: leaves.get(name) or "" for name in cache.nodes}


def parse_conditions(texts: Sequence[str]) -> frozenset[tuple[str, str]]:
    """`Type=Status` pairs. Raises ValueError naming the text that is none."""
    found = set()
    for text in texts:
        kind, _, status = text.partition("=")
        if not kind or status not in ("True", "False", "Unknown") or kind == "Ready":
            raise ValueError(
                f"{text!r} is not TYPE=STATUS of a node condition other than Ready; "
                "write for example GpuHealthy=False"
            )
        found.add((kind, status))
    return frozenset(found)
