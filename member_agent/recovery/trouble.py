"""The state machine of a node: sound, in trouble, on probation. Pure.

A node is in trouble as long as a signal stands: it takes no new pods. When the last signal of a
hardware cause ends, the node is on probation for six hours: gangs use it only where nothing else
holds them. Ready is lost now and then for harmless reasons, so that only its second loss within a
day counts as hardware.

What pods do puts a node on probation, and never in trouble: an exit code that blames a node, by
the Policy, for six hours, and pods of gangs of two namespaces that fail there for an hour. One
tenant may have several namespaces and chooses its exit codes, so that neither may close a node.

Probation is bounded, trouble is not: of all nodes at most one in twenty, of the nodes of a leaf
(the smallest HyperNode) at most a quarter, at least one each; the worst stay. Three nodes of one
leaf that fall within ten minutes, by signals of their own, put the leaf in trouble: its other
nodes are a last resort, too.

Source:  facts on recovery: of 584 faults of 400 GPU servers, 18 % hit a node within six hours of
its repair.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Final

from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.recovery import Cause

HOUR: Final = 3600 * SECOND
PROBATION: Final = 6 * HOUR
REPEAT: Final = 24 * HOUR
"""A second loss of Ready within this time is no accident."""
FAILURES: Final = HOUR
"""For so long a failed pod counts against its node."""
NAMESPACES: Final = 2
"""Pods of gangs of so many namespaces must fail on a node: one job alone blames no node."""
CORRELATED: Final = 600 * SECOND
CORRELATED_NODES: Final = 3
MOST_KEPT: Final = 2000
"""Nodes that are written down, and sound ones that are remembered. Every node in trouble is known:
another agent reads the signals of those that were not written again from the nodes themselves."""
MOST_NAMESPACES: Final = 4
"""Namespaces that are remembered per node, the latest first."""

_BY_PODS: Final = frozenset({Cause.PODS_FAILING, Cause.EXIT_CODE})
"""Causes that pods gave: they never put a leaf in trouble."""
_HARDWARE: Final = frozenset({Cause.NODE_GONE, Cause.OUT_OF_SERVICE, Cause.DEVICE_UNHEALTHY})


@dataclass(frozen=True, slots=True, kw_only=True)
class Signal:
    """Something about a node that stands now. `grace` (µs): it counts when it stands so long."""

    node: str
    cause: Cause
    detail: str = ""
    grace: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class PodFailure:
    """A pod of a gang that failed on a node, and when."""

    node: str
    namespace: str
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class Blame:
    """A pod ended on a node with an exit code that blames the node, by the Policy, and when."""

    node: str
    code: int
    at: Instant


@dataclass(frozen=True, slots=True, kw_only=True)
class NodeTrouble:
    """One node: in trouble while `standing`, then on probation until `until`.

    `count` says how often it fell within a day by signals of its own; `since` when it did so last,
    or when pods put it on probation.
    """

    cause: Cause
    since: Instant
    detail: str = ""
    leaf: str = ""
    standing: bool = True
    until: Instant = Instant(0)
    count: int = 1


@dataclass(frozen=True, slots=True, kw_only=True)
class TroubleState:
    """All nodes that are not simply sound. `suspects` do not survive a restart."""

    nodes: Mapping[str, NodeTrouble] = field(default_factory=dict)
    failures: Mapping[str, Mapping[str, Instant]] = field(default_factory=dict)
    """When a pod of a gang failed last, by node and namespace."""
    suspects: Mapping[str, Instant] = field(default_factory=dict)
    """Since when a signal with a grace stands that does not count yet."""

    def standing(self) -> frozenset[str]:
        """The nodes in trouble now."""
        return frozenset(name for name, one in self.nodes.items() if one.standing)


def step(
    state: TroubleState,
    *,
    signals: Iterable[Signal],
    failures: Iterable[PodFailure],
    leaf_of: Mapping[str, str],
    now: Instant,
    blames: Iterable[Blame] = (),
) -> TroubleState:
    """The state now. A second step on the same world and instant changes nothing."""
    seen = _failures(state.failures, failures, now)
    strongest: dict[str, Signal] = {}
    for signal in signals:
        known = strongest.get(signal.node)
        if known is None or _rank(signal) < _rank(known):
            strongest[signal.node] = signal
    suspects: dict[str, Instant] = {}
    nodes: dict[str, NodeTrouble] = {}
    for name in sorted(strongest.keys() | state.nodes.keys()):
        old = state.nodes.get(name)
        standing: Signal | None = strongest.get(name)
        if standing is not None and standing.grace and not (old is not None and old.standing):
            first = state.suspects.get(name, now)
            if now - first < standing.grace:
                suspects[name] = first
                standing = None
        after = _after(old, standing, leaf_of.get(name, ""), now)
        if after is not None:
            nodes[name] = after
    for blame in sorted(blames, key=lambda one: (one.at, one.node, one.code)):
        if blame.node in leaf_of:
            _blame(nodes, blame, leaf_of[blame.node], now)
    for node, spaces in seen.items():
        if len(spaces) >= NAMESPACES and node in leaf_of:
            _failing(nodes, node, spaces, leaf_of[node], now)
    return TroubleState(nodes=_bounded(nodes), failures=seen, suspects=suspects)


def _rank(signal: Signal) -> tuple[int, str]:
    return list(Cause).index(signal.cause), signal.detail


def _after(
    old: NodeTrouble | None, signal: Signal | None, leaf: str, now: Instant
) -> NodeTrouble | None:
    """What becomes of one node; None when there is nothing to remember."""
    if signal is None:
        if old is None:
            return None
        return _ended(old, now) if old.standing else _remembered(old, now)
    if old is not None and old.standing:
        return replace(old, cause=signal.cause, detail=signal.detail, leaf=leaf or old.leaf)
    again = old is not None and now - old.since < REPEAT
    return NodeTrouble(
        cause=signal.cause,
        detail=signal.detail,
        since=now,
        leaf=leaf or (old.leaf if old is not None else ""),
        count=1 + (old.count if again and old is not None else 0),
    )


def _ended(old: NodeTrouble, now: Instant) -> NodeTrouble:
    """The last signal has ended: probation begins, if the cause deserves it."""
    hardware = old.cause in _HARDWARE or (old.cause is Cause.NODE_NOT_READY and old.count > 1)
    return replace(old, standing=False, until=Instant(now + PROBATION) if hardware else now)


def _blame(nodes: dict[str, NodeTrouble], blame: Blame, leaf: str, now: Instant) -> None:
    """Put a node on probation for an exit code."""
    at = min(blame.at, now)
    old, until = nodes.get(blame.node), Instant(at + PROBATION)
    if until <= now or (old is not None and (old.standing or old.since >= at)):
        return
    until = until if old is None else max(until, old.until)
    detail = f"exit code {blame.code}"
    nodes[blame.node] = _by_pods(old, Cause.EXIT_CODE, detail, leaf, since=at, until=until)


def _failing(
    nodes: dict[str, NodeTrouble],
    node: str,
    spaces: Mapping[str, Instant],
    leaf: str,
    now: Instant,
) -> None:
    """Put a node on probation for pods of several namespaces, or let its probation go on."""
    old, last = nodes.get(node), max(spaces.values())
    until = Instant(last + FAILURES)
    if old is not None and (old.standing or old.until >= until):
        return
    if old is not None and now < old.until:
        nodes[node] = replace(old, until=until)
        return
    detail = f"pods of gangs of {len(spaces)} namespaces failed within an hour"
    nodes[node] = _by_pods(old, Cause.PODS_FAILING, detail, leaf, since=last, until=until)


def _by_pods(
    old: NodeTrouble | None, cause: Cause, detail: str, leaf: str, *, since: Instant, until: Instant
) -> NodeTrouble:
    """A probation for what pods did. It is no fall of the node: `count` stays as it was."""
    again = old is not None and since - old.since < REPEAT
    return NodeTrouble(
        cause=cause,
        detail=detail,
        since=since,
        leaf=leaf,
        standing=False,
        until=until,
        count=old.count if again and old is not None else 0,
    )


def _remembered(old: NodeTrouble, now: Instant) -> NodeTrouble | None:
    """A node after its trouble is remembered for a day, so that a second time is known as one."""
    return old if now < old.until or now - old.since < REPEAT else None


def _bounded(nodes: Mapping[str, NodeTrouble]) -> Mapping[str, NodeTrouble]:
    """All nodes in trouble, and the worst of the others."""
    if len(nodes) <= MOST_KEPT:
        return nodes
    others = [name for name, one in nodes.items() if not one.standing]
    others.sort(key=lambda name: _badness(nodes, name))
    dropped = set(others[MOST_KEPT:])
    return {name: one for name, one in nodes.items() if name not in dropped}


def worst(nodes: Mapping[str, NodeTrouble]) -> Mapping[str, NodeTrouble]:
    """As many as are written down: nodes in trouble first, then those that fell most often."""
    if len(nodes) <= MOST_KEPT:
        return nodes
    order = sorted(nodes, key=lambda name: (not nodes[name].standing, *_badness(nodes, name)))
    return {name: nodes[name] for name in sorted(order[:MOST_KEPT])}


def _badness(nodes: Mapping[str, NodeTrouble], name: str) -> tuple[int, int, str]:
    """Ascending from the worst. Nodes that never fell themselves come last: their `count` is 0.

    Else failing pods on many nodes would fill the caps of probation, and broken nodes be sound.
    """
    return -nodes[name].count, -nodes[name].since, name


# --- failed pods --------------------------------------------------------------------------


def _failures(
    old: Mapping[str, Mapping[str, Instant]], new: Iterable[PodFailure], now: Instant
) -> dict[str, dict[str, Instant]]:
    """The last failed pod by node and namespace, of the last hour."""
    found = {node: dict(spaces) for node, spaces in old.items()}
    for failure in new:
        spaces = found.setdefault(failure.node, {})
        known = spaces.get(failure.namespace)
        # A kubelet's clock may be ahead: its time counts as that of the first look.
        at = failure.at if failure.at <= now else now if known is None else known
        spaces[failure.namespace] = at if known is None else max(known, at)
    fresh: dict[str, dict[str, Instant]] = {}
    for node, spaces in found.items():
        latest = sorted(spaces.items(), key=lambda item: (-item[1], item[0]))
        kept = [(space, at) for space, at in latest[:MOST_NAMESPACES] if now - at < FAILURES]
        if kept:
            fresh[node] = dict(sorted(kept))
    order = sorted(fresh, key=lambda node: (-max(fresh[node].values()), node))
    return {node: fresh[node] for node in sorted(order[:MOST_KEPT])}


# --- what follows for placing ---------------------------------------------------------------


def on_probation(state: TroubleState, leaf_of: Mapping[str, str], now: Instant) -> frozenset[str]:
    """The nodes on probation: the worst first, within the caps. `leaf_of` names every node."""
    candidates = [
        name
        for name, one in state.nodes.items()
        if not one.standing and now < one.until and name in leaf_of
    ]
    left = max(1, len(leaf_of) // 20)
    sizes: dict[str, int] = {}
    for leaf in leaf_of.values():
        sizes[leaf] = sizes.get(leaf, 0) + 1
    room = {leaf: max(1, size // 4) for leaf, size in sizes.items()}
    chosen: set[str] = set()
    for name in sorted(candidates, key=lambda name: _badness(state.nodes, name)):
        leaf = leaf_of[name]
        # Nodes outside the tree are no leaf of their own: only the cluster's cap counts.
        if len(chosen) < left and (not leaf or room[leaf] > 0):
            chosen.add(name)
            room[leaf] -= 1
    return frozenset(chosen)


def leaves_in_trouble(state: TroubleState, now: Instant) -> frozenset[str]:
    """Leaves of which several nodes fell within ten minutes, and still stand so or just did."""
    falls: dict[str, list[Instant]] = {}
    for one in state.nodes.values():
        fresh = one.standing or now - one.since < CORRELATED
        if one.leaf and fresh and one.cause not in _BY_PODS:
            falls.setdefault(one.leaf, []).append(one.since)
    found = set()
    for leaf, times in falls.items():
        times.sort()
        pairs = zip(times, times[CORRELATED_NODES - 1 :], strict=False)
        if any(last - first <= CORRELATED for first, last in pairs):
            found.add(leaf)
    return frozenset(found)


def next_change(state: TroubleState, signals: Iterable[Signal], now: Instant) -> Instant | None:
    """When the state changes by time alone, at the earliest."""
    graces = {one.node: one.grace for one in signals}
    times = [Instant(at + graces.get(node, 0)) for node, at in state.suspects.items()]
    for one in state.nodes.values():
        times += [one.until, Instant(one.since + CORRELATED), Instant(one.since + REPEAT)]
    for spaces in state.failures.values():
        times += [Instant(at + FAILURES) for at in spaces.values()]
    return min((at for at in times if at > now), default=None)
