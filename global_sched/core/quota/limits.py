"""Limits of queues and tenants, and guarantees of others: the amounts that they still let in.

A limit names resources; others are unlimited, and an amount of 0 allows none. The minimum of a gang
must fit whole; surplus beyond it is cut to what fits, in the template's order and never inside a
group of a partition. Lowering a limit below what is in use takes nothing away and lets nothing in.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Protocol

from global_sched.core.quota.dominant_share import Amount
from global_sched.core.quota.tree import QueueNode, QueueTree
from global_sched.shared.api.reasons import Reason
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.quantity import format_quantity
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.verdict import Code, Verdict

_KEPT = "; what comes free is kept for a gang that waited longer than its patience"


class Bound(Protocol):
    """One limit at this moment; it follows what is held."""

    def room(self, name: str) -> int | None:
        """How much more of a resource it lets in; None: it does not limit that."""

    def refusal(self, name: str, amount: int) -> Verdict:
        """Why so much more of it is too much."""


class QuotaLimit:
    """Amounts of which no more may be held: a queue's capability, a tenant's limits.

    What is `leaving` is used until its pods have ended. What is set `aside` is kept for another
    workload, however much of it is free. An idle guarantee of a queue `below` the limit, on the
    path of the queue that asks, is not affected by it.
    """

    __slots__ = ("_aside", "_below", "_held", "_leaving", "_limits", "_reason", "_who")

    def __init__(
        self,
        who: str,
        limits: Mapping[str, int],
        held: Amount,
        reason: Reason = Reason.QUEUE_CAPABILITY,
        aside: Amount | None = None,
        below: Sequence[QueueNode] = (),
        leaving: Amount | None = None,
    ) -> None:
        self._who, self._limits, self._held, self._reason = who, limits, held, reason
        self._aside: Amount = {} if aside is None else aside
        self._below = below
        self._leaving: Amount = {} if leaving is None else leaving

    def room(self, name: str) -> int | None:
        """How much more of a resource it lets in."""
        limit = self._limits.get(name)
        if limit is None:
            return None
        free = limit - self._held.get(name, 0) - self._leaving.get(name, 0)
        aside = self._aside.get(name, 0)
        if aside:
            free = min(free, max(free - aside, _idle(self._below, name)))
        return max(0, free)

    def refusal(self, name: str, amount: int) -> Verdict:
        """Why it is too much. What even an empty holder could not take is `NEVER`.

        While something is set aside it is `WAIT`: nothing is evicted for what another gang is to
        have, nor for what comes free by itself, when the pods that are leaving have ended.
        """
        limit, has, aside = self._limits[name], self._held.get(name, 0), self._aside.get(name, 0)
        leaving = self._leaving.get(name, 0)
        shown = [format_quantity(value, name) for value in (amount, has, limit)]
        text = f"{self._who}: {name} {shown[0]} asked, {shown[1]} of {shown[2]} in use"
        code = Code.NEVER if amount > limit else Code.NO_FIT
        if aside and code == Code.NO_FIT:
            code = Code.WAIT
            text += _KEPT
        if leaving:
            shown_leaving = format_quantity(leaving, name)
            text += f", and {shown_leaving} more by pods that are being evicted"
            if has + aside + amount <= limit:
                code = Code.WAIT
        missing = has + leaving + aside + amount - limit
        return Verdict(code=code, reason=self._reason, detail=text, missing=missing)


class Reserve:
    """What is guaranteed to other queues and not lent: their unused part is not there for this one.

    At every queue above, the children together may hold as much as its capability (at the root: as
    the federation has), where each child counts at least its guarantee.
    """

    __slots__ = ("_node", "_root", "_totals")

    def __init__(self, node: QueueNode, tree: QueueTree, totals: Mapping[str, int]) -> None:
        self._node, self._root, self._totals = node, tree.root, totals

    def room(self, name: str) -> int | None:
        """How much more fits beside the guarantees of the others, its own unused part included.

        Where no other queue has an unused part, its own limits and the clusters' room say it all.
        """
        return self._beside(name, now=True)

    def _beside(self, name: str, *, now: bool) -> int | None:
        """The same with what is held `now`, or else as if nothing were held."""
        if name not in self._root.guarantee:
            return None
        least: int | None = None
        own = 0
        for node in self._node.path:
            limit = node.capability.get(name)
            if node is self._root and name in self._totals:
                total = self._totals[name]
                limit = total if limit is None else min(limit, total)
            inner = (node.inner if now else node.promised).get(name, 0)
            held = node.held.get(name, 0) + node.aside.get(name, 0) if now else 0
            if limit is not None and inner - own > held:
                room = max(0, limit - inner) + own
                least = room if least is None else min(least, room)
            own += max(0, node.kept.get(name, 0) - inner)
        return least

    def refusal(self, name: str, amount: int) -> Verdict:
        """Why it is too much. What would be if nothing were held is `NEVER`.

        While something is set aside it is `WAIT`, as for a limit.
        """
        room, most = self.room(name) or 0, self._beside(name, now=False)
        shown = [format_quantity(value, name) for value in (amount, room)]
        code = Code.NEVER if most is not None and amount > most else Code.NO_FIT
        text = (
            f"queue {self._node.queue.name}: {name} {shown[0]} asked, {shown[1]} left beside what "
            "is guaranteed to other queues"
        )
        if code == Code.NO_FIT and self._root.aside.get(name):
            code = Code.WAIT
            text += _KEPT
        elif code == Code.NO_FIT and self._root.leaving.get(name):
            code = Code.WAIT
            text += "; pods that are being evicted still run"
        return Verdict(
            code=code, reason=Reason.GUARANTEE_RESERVED, detail=text, missing=amount - room
        )


Bounds = tuple[Bound, ...]


def queue_limits(node: QueueNode) -> list[Bound]:
    """The capability of a queue and of all above it."""
    return [
        QuotaLimit(
            f"queue {one.queue.name}",
            one.capability,
            one.held,
            aside=one.aside,
            leaving=one.leaving,
            below=_guaranteed_below(node, one),
        )
        for one in node.limits
        if one.capability
    ]


def cluster_limits(node: QueueNode, cluster: ClusterName) -> list[Bound]:
    """Their capability in one cluster."""
    return [
        QuotaLimit(
            f"queue {one.queue.name} in cluster {cluster}",
            one.cluster_capability[cluster],
            one.cluster_held.setdefault(cluster, {}),
            aside=one.cluster_aside.setdefault(cluster, {}),
            leaving=one.cluster_leaving.setdefault(cluster, {}),
            below=_guaranteed_below(node, one),
        )
        for one in node.limits
        if cluster in one.cluster_capability
    ]


def _guaranteed_below(node: QueueNode, limit: QueueNode) -> tuple[QueueNode, ...]:
    """Those on the path below a limit for which anything is kept."""
    if not limit.guarantee:
        return ()
    return tuple([one for one in node.path[: node.depth - limit.depth] if one.kept])


def _idle(nodes: Iterable[QueueNode], name: str) -> int:
    """What is kept for these and not in use."""
    return sum(max(0, one.kept.get(name, 0) - one.inner.get(name, 0)) for one in nodes)


def capability_of(queue: Queue, held: Amount) -> Bounds:
    """The bounds of one queue's capability alone."""
    return (QuotaLimit(f"queue {queue.name}", dict(queue.capability), held),)


def over(bounds: Bounds, asked: Resources) -> Verdict | None:
    """Why the bounds do not let in that much more, or None when they do.

    One that never will goes before one that does not now.
    """
    found: Verdict | None = None
    for bound in bounds:
        for name, amount in asked.entries:
            room = bound.room(name)
            if room is None or amount <= room:
                continue
            refusal = bound.refusal(name, amount)
            if refusal.code == Code.NEVER:
                return refusal
            found = found or refusal
    return found


def cut(bounds: Bounds, gang: Gang, minimum: Amounts, wanted: Amounts) -> Amounts:
    """The part of `wanted` that the bounds let in, which is at least `minimum`.

    The caller has asked that the minimum fits. Pod sets grow in the template's order; what is left
    out are whole groups of a partition, with those that share them.
    """
    if not bounds or fits(bounds, gang.requests(wanted)):
        return wanted
    floor = gang.requests(minimum)
    room: dict[str, int] = {}
    for name, _ in gang.requests(wanted).entries:
        rooms = [left for bound in bounds if (left := bound.room(name)) is not None]
        if rooms:
            room[name] = min(rooms) - floor.get(name)
    found = minimum
    for unit in gang.units():
        part = _largest(unit, gang, room, wanted.minus(minimum))
        found = found.plus(part)
        for name, amount in gang.requests(part).entries:
            if name in room:
                room[name] -= amount
    return found


def _largest(unit: Amounts, gang: Gang, room: Mapping[str, int], wanted: Amounts) -> Amounts:
    """The most of the unit's pod sets that the room holds, where whole units are left out."""
    members = [(one, unit.get(one.name)) for one in gang.pod_sets if unit.get(one.name)]
    if len(members) == 1:
        pod_set, size = members[0]
        more = wanted.get(pod_set.name)
        asked = pod_set.shape.requests.entries
        held = min([more, *(room[name] // amount for name, amount in asked if name in room)])
        return Amounts.of({pod_set.name: more + (held - more) // size * size})
    fewest, most = 0, max(-(-wanted.get(one.name) // size) for one, size in members)
    while fewest < most:
        middle = (fewest + most) // 2
        asked = gang.requests(_without(unit, middle, wanted)).entries
        if all(amount <= room.get(name, amount) for name, amount in asked):
            most = middle
        else:
            fewest = middle + 1
    return _without(unit, fewest, wanted)


def _without(unit: Amounts, number: int, wanted: Amounts) -> Amounts:
    """What is wanted of the pod sets of a unit, without so many such units."""
    return Amounts.of({name: wanted.get(name) - number * size for name, size in unit.entries})


def fits(bounds: Bounds, asked: Resources) -> bool:
    """Whether the bounds let in that much more."""
    for bound in bounds:
        for name, amount in asked.entries:
            room = bound.room(name)
            if room is not None and amount > room:
                return False
    return True
