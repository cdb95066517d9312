"""One queue's workloads in the order of their turns: a heap of its tenants' first ones.

Job priority with ageing, the tenant's share in the queue and then of the federation, creation,
UID (`keys.WORKLOAD_ORDER`).
"""

from collections.abc import Callable, Iterator
from heapq import heapify, heappop, heapreplace
from itertools import repeat
from math import inf
from operator import itemgetter

from global_sched.core.order.keys import MOVING, WORKLOAD_ORDER
from global_sched.core.view import CycleView
from global_sched.shared.model.ids import TenantName
from global_sched.shared.model.workload import Demand, Workload

Key = tuple[object, ...]

_AGAIN = inf
"""In place of its creation for one that stands in the line again: behind all others."""

_NAMES = tuple(WORKLOAD_ORDER)
_FIRST = min(_NAMES.index(name) for name in MOVING)
_AFTER = _FIRST + len(MOVING)
"""The rules that move stand next to each other."""
assert frozenset(_NAMES[_FIRST:_AFTER]) == MOVING, "WORKLOAD_ORDER"
_MOVING = tuple([WORKLOAD_ORDER[name] for name in _NAMES[_FIRST:_AFTER]])
_BEFORE = tuple([WORKLOAD_ORDER[name] for name in _NAMES[:_FIRST]])
_BEHIND = tuple([WORKLOAD_ORDER[name] for name in _NAMES[_AFTER:]])


def fixed_keys(lane: list[Workload], view: CycleView) -> Iterator[tuple[Key, Key]]:
    """What of each one's place stays as it is in a cycle: before and behind what may move.

    Rule by rule and not one by one: every workload that waits is asked in every cycle.
    """
    before = [map(rule, lane, repeat(view)) for rule in _BEFORE]
    behind = [map(rule, lane, repeat(view)) for rule in _BEHIND]
    return zip(zip(*before, strict=True), zip(*behind, strict=True), strict=True)


def _names_of(demand: Demand) -> tuple[str, ...]:
    """The resources that any of its pods ask for, by name."""
    if demand.gang is None:
        return ()
    found = {name for one in demand.gang.pod_sets for name in one.shape.requests.names()}
    return tuple(sorted(found))


class LeafOrder:
    """One queue's workloads: a heap of its tenants' first ones.

    Those of one tenant share all that moves, so their order among each other stays.
    """

    def __init__(self, lanes: dict[TenantName, list[Workload]], view: CycleView) -> None:
        self._view = view
        self.position = 0
        self.length = sum(len(lane) for lane in lanes.values())
        self._moves = 0
        """How often any share had changed at its last turn."""
        self._fallen = view.shares_fallen()
        self._lanes: list[list[tuple[tuple[Key, Key], Workload]]] = []
        """By tenant the fixed key and the workload, last ones first."""
        self._moving: list[tuple[int, Key]] = []
        """By tenant how often its amounts had changed, and what of its key moves."""
        self._heap: list[tuple[Key, int]] = []
        demands = {id(one.demand): one.demand for lane in lanes.values() for one in lane}
        self._wants = {key: _names_of(demand) for key, demand in demands.items()}
        """What each demand asks for."""
        self.mixed = len(lanes) > 1 and len(set(self._wants.values())) > 1
        """Whether what the next one asks for depends on whose turn it is."""
        for _, lane in sorted(lanes.items()):
            waiting = zip(fixed_keys(lane, view), lane, strict=True)
            self._lanes.append(sorted(waiting, key=itemgetter(0), reverse=True))
            self._moving.append((-1, ()))
            self._heap.append((self._key(len(self._lanes) - 1), len(self._lanes) - 1))
        heapify(self._heap)
        self._last: tuple[int, Workload] | None = None
        """The last that was taken, and its lane."""
        self._fixed: tuple[Key, Key] = ((), ())
        """Its fixed key."""
        self._known = [0] * len(self._lanes)
        """By lane: how often any share had changed when its entry was made."""

    def __bool__(self) -> bool:
        return bool(self._heap)

    def wants(self, moves: int) -> tuple[str, ...]:
        """The resources that the next workload asks for."""
        if self.mixed and len(self._heap) > 1:
            self._check(moves)
        return self._wants[id(self._lanes[self._heap[0][1]][-1][1].demand)]

    def _key(self, lane: int) -> Key:
        """Where the first of a tenant's workloads stands now."""
        (before, behind), workload = self._lanes[lane][-1]
        changes = self._view.tenant_changes(workload.tenant)
        seen, moving = self._moving[lane]
        if seen != changes:
            view = self._view
            moving = tuple([rule(workload, view) for rule in _MOVING])
            self._moving[lane] = (changes, moving)
        return before + moving + behind

    def _moved(self, lane: int) -> bool:
        """Whether the tenant's amounts changed since its entry was made."""
        tenant = self._lanes[lane][-1][1].tenant
        return self._moving[lane][0] != self._view.tenant_changes(tenant)

    def take(self, moves: int) -> Workload:
        """The next workload, removed; `moves` is how often any share has changed."""
        if len(self._heap) > 1:
            self._check(moves)
        lane = self._heap[0][1]
        waiting = self._lanes[lane]
        self._fixed, first = waiting.pop()
        self._last = (lane, first)
        if waiting and len(self._heap) > 1:
            heapreplace(self._heap, (self._key(lane), lane))
        elif not waiting:
            heappop(self._heap)
        self.position += 1
        return first

    def repeats(self) -> bool:
        """Whether the next of the last one's tenant has its demand."""
        if self._last is None:
            return False
        lane, last = self._last
        waiting = self._lanes[lane]
        return bool(waiting) and waiting[-1][1].demand is last.demand

    def take_while(self, wanted: Callable[[Workload], bool]) -> list[tuple[int, Workload]]:
        """The next ones of the same tenant while they are wanted and no other goes before them."""
        if self._last is None:
            return []
        lane, heap = self._last[0], self._heap
        waiting, found = self._lanes[lane], []
        if not waiting or heap[0][1] != lane:
            return []
        others = min(heap[1:3], default=None)
        while waiting and wanted(waiting[-1][1]):
            if others is not None and (self._key(lane), lane) > others:
                break
            self.position += 1
            found.append((self.position, waiting.pop()[1]))
        if not waiting:
            heappop(heap)
        elif others is not None and found:
            heapreplace(heap, (self._key(lane), lane))
        return found

    def again(self) -> None:
        """Put the last one back, behind all of its tenant's that have its priority."""
        assert self._last is not None
        lane, workload = self._last
        waiting, (before, behind) = self._lanes[lane], self._fixed
        fixed = (before, behind if behind[0] is _AGAIN else (_AGAIN, behind))
        at, end = 0, len(waiting)
        while at < end:
            middle = (at + end) // 2
            if waiting[middle][0] > fixed:
                at = middle + 1
            else:
                end = middle
        waiting.insert(at, (fixed, workload))
        others = [one for _, one in self._heap if one != lane]
        self._heap = [(self._key(one), one) for one in (lane, *others)]
        heapify(self._heap)

    def _check(self, moves: int) -> None:
        """Make sure that the first entry is right.

        Shares grow while the line moves, so an entry out of date is too early and goes back with
        its present key, until the first one is of now. Where a share fell since, all are made anew.
        """
        if moves != self._moves:
            self._moves = moves
            fallen = self._view.shares_fallen()
            if fallen != self._fallen:
                self._fallen = fallen
                self._heap = [(self._key(lane), lane) for _, lane in self._heap]
                heapify(self._heap)
                self._known = [moves] * len(self._lanes)
        while self._known[(first := self._heap[0])[1]] != moves:
            key, lane = first
            self._known[lane] = moves
            if self._moved(lane) and (now := self._key(lane)) != key:
                heapreplace(self._heap, (now, lane))
