"""The order in which workloads are considered: down the tree of queues, then inside a leaf.

Between the queues of one parent: priority, unsaturated before saturated, share, name
(`plugins.QUEUE_ORDER`). Inside a leaf: job priority with ageing, the tenant's share in the queue
and then of the federation, creation, UID (`plugins.WORKLOAD_ORDER`). Job priority never compares
across queues, nor does a queue's priority across parents.

Nothing is recomputed that did not change: after a turn, only the queues whose amounts changed get a
new place, they and those above them. Old entries stay in the heaps and are dropped when they come
up, recognised by not being the one that counts.
"""

from collections.abc import Collection, Iterable, Iterator
from heapq import heapify, heappop, heappush, heapreplace
from operator import itemgetter

from global_sched.core.plugins import MOVING, QUEUE_ORDER, WORKLOAD_ORDER, Place
from global_sched.core.view import View
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.workload import Workload

Key = tuple[object, ...]

_BETWEEN = tuple(QUEUE_ORDER.values())
_NAMES = tuple(WORKLOAD_ORDER)
_FIRST = min(_NAMES.index(name) for name in MOVING)
_AFTER = _FIRST + len(MOVING)
"""The rules that move stand next to each other."""
assert frozenset(_NAMES[_FIRST:_AFTER]) == MOVING, "WORKLOAD_ORDER"
_MOVING = tuple([WORKLOAD_ORDER[name] for name in _NAMES[_FIRST:_AFTER]])
_BEFORE = tuple([WORKLOAD_ORDER[name] for name in _NAMES[:_FIRST]])
_BEHIND = tuple([WORKLOAD_ORDER[name] for name in _NAMES[_AFTER:]])


def fixed_key(workload: Workload, view: View) -> tuple[Key, Key]:
    """What of a workload's place stays as it is during a cycle: before and behind what may move."""
    return (
        tuple([rule(workload, view) for rule in _BEFORE]),
        tuple([rule(workload, view) for rule in _BEHIND]),
    )


class Line:
    """Workloads in the order in which they get their turn; iterate it while admitting."""

    def __init__(self, workloads: Iterable[Workload], view: View) -> None:
        self._view = view
        found: dict[QueueName, dict[TenantName, list[Workload]]] = {}
        for one in workloads:
            found.setdefault(one.queue, {}).setdefault(one.tenant, []).append(one)
        self._spots: dict[QueueName, _Spot] = {}
        self._top: _Spot | None = None
        """The root, once anything waits."""
        self._lines: dict[QueueName, _QueueLine] = {}
        self._moves = 0
        """How often any share changed."""
        for name, lanes in sorted(found.items()):
            self._lines[name] = _QueueLine(lanes, view)
        above = {one for name in self._lines for one in view.queue_path(name)[1:]}
        for name in self._lines:
            self._stand(name, shares=name in above or view.queues_below(name))

    def length(self, queue: QueueName) -> int:
        """How many workloads of the queue are in the line."""
        line = self._lines.get(queue)
        return 0 if line is None else line.length

    def __iter__(self) -> Iterator[tuple[int, Workload]]:
        """Each workload with its position in its queue, counting from 1."""
        view = self._view
        view.touched_queues()
        for name in self._lines:
            self._renew(name)
        while (spot := self._first()) is not None:
            line = self._lines[spot.name]
            changed: set[QueueName] = set()
            while line and not changed:
                yield line.position + 1, line.take(self._moves)
                changed = view.touched_queues()
            self._moves += bool(changed)
            if not line:
                changed.add(spot.name)
            for name in sorted(changed):
                self._renew(name)

    def _stand(self, name: QueueName, *, shares: bool) -> None:
        """Give the queue a spot, and every queue above it.

        A queue that has workloads itself and queues below it is a leaf beside those, too.
        """
        path = self._view.queue_path(name)
        above: _Spot | None = None
        for one in reversed(path):
            spot = self._spots.get(one)
            if spot is None:
                spot = self._spots[one] = _Spot(one, above)
                self._top = self._top or spot
            above = spot
        assert above is not None
        leaf = above
        if shares or above.above is None:
            above.own = leaf = _Spot(name, above)
        leaf.line = self._lines[name]
        leaf.wanted = dict.fromkeys(leaf.line.wanted, 1)

    def _first(self) -> "_Spot | None":
        """The leaf whose turn it is: the first of the first, from the root down."""
        found: _Spot | None = None
        spot = self._top
        while spot is not None:
            found = spot.first()
            if found is None or found.line is not None:
                return found
            spot = found
        return None

    def _renew(self, name: QueueName) -> None:
        """Put a queue, and those above it, where they belong now."""
        top = self._spots.get(name)
        if top is None:
            self._renew_above(name)
            return
        spot = top if top.own is None else top.own
        while spot.above is not None:
            self._place(spot)
            spot = spot.above

    def _renew_above(self, name: QueueName) -> None:
        """A queue that has nothing in the line moved: those above it may."""
        for one in self._view.queue_path(name):
            spot = self._spots.get(one)
            if spot is not None:
                while spot.above is not None:
                    self._place(spot)
                    spot = spot.above
                return

    def _place(self, spot: "_Spot") -> None:
        """Renew its key, and what it makes its parent want."""
        above = spot.above
        assert above is not None
        if not (spot.alive if spot.line is None else spot.line):
            if spot.key is not None:
                spot.key = None
                above.alive -= 1
            above.want(spot, ())
            return
        wanted = spot.wants()
        saturated, share = self._view.queue_standing(spot.name, wanted)
        place = Place(self._view.queue(spot.name), saturated, share)
        key = tuple([rule(place) for rule in _BETWEEN])
        if spot.key is None:
            above.alive += 1
        if key != spot.key:
            spot.key = key
            above.push(spot)
        above.want(spot, () if saturated else wanted)


class _Spot:
    """A queue in the line: a heap of those below it, and its own place between its brothers."""

    __slots__ = (
        "_heap",
        "_number",
        "_wants",
        "above",
        "alive",
        "key",
        "line",
        "name",
        "own",
        "tells",
        "wanted",
    )

    def __init__(self, name: QueueName, above: "_Spot | None") -> None:
        self.name = name
        self.above = above
        self.own: _Spot | None = None
        """The leaf with its own workloads, where there are queues below it."""
        self.line: _QueueLine | None = None
        """Its workloads; None for one that has only others below it."""
        self.key: Key | None = None
        """The one that counts; None: nothing waits here."""
        self.alive = 0
        """How many below it wait."""
        self.wanted: dict[str, int] = {}
        """What waits here; for one with others below: how many that are not saturated want it."""
        self.tells: tuple[str, ...] = ()
        """What it makes its parent want."""
        self._wants: tuple[str, ...] | None = None
        self._heap: list[tuple[Key, int, _Spot]] = []
        self._number = 0

    def wants(self) -> tuple[str, ...]:
        """The resources that its share is measured by."""
        if self._wants is None:
            self._wants = tuple(self.wanted)
        return self._wants

    def push(self, below: "_Spot") -> None:
        """One below it has a new key."""
        assert below.key is not None
        self._number += 1
        heappush(self._heap, (below.key, self._number, below))

    def first(self) -> "_Spot | None":
        """The first of those below it that wait."""
        while self._heap:
            key, _, below = self._heap[0]
            if below.key is key:
                return below
            heappop(self._heap)
        return None

    def want(self, below: "_Spot", wanted: Collection[str]) -> None:
        """One below it wants these now."""
        if below.tells == wanted:
            return
        self._wants = None
        for name in below.tells:
            self.wanted[name] -= 1
            if not self.wanted[name]:
                del self.wanted[name]
        below.tells = tuple(wanted)
        for name in below.tells:
            self.wanted[name] = self.wanted.get(name, 0) + 1


class _QueueLine:
    """One queue's workloads: a heap of its tenants' first ones.

    Those of one tenant share all that moves, so their order among each other stays.
    """

    def __init__(self, lanes: dict[TenantName, list[Workload]], view: View) -> None:
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
        self.wanted = sorted(
            {
                name
                for demand in demands.values()
                if demand.gang is not None
                for pod_set in demand.gang.pod_sets
                for name in pod_set.shape.requests.names()
            }
        )
        for _, lane in sorted(lanes.items()):
            waiting = [(fixed_key(one, view), one) for one in lane]
            waiting.sort(key=itemgetter(0), reverse=True)
            self._lanes.append(waiting)
            self._moving.append((-1, ()))
            self._heap.append((self._key(len(self._lanes) - 1), len(self._lanes) - 1))
        heapify(self._heap)
        self._known = [0] * len(self._lanes)
        """By lane: how often any share had changed when its entry was made."""

    def __bool__(self) -> bool:
        return bool(self._heap)

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

    def take(self, moves: int) -> Workload:
        """The next workload, removed; `moves` is how often any share has changed."""
        if len(self._heap) > 1:
            self._check(moves)
        lane = self._heap[0][1]
        waiting = self._lanes[lane]
        _, first = waiting.pop()
        if waiting and len(self._heap) > 1:
            heapreplace(self._heap, (self._key(lane), lane))
        elif not waiting:
            heappop(self._heap)
        self.position += 1
        return first

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
            now = self._key(lane)
            if now != key:
                heapreplace(self._heap, (now, lane))
