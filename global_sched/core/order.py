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

from global_sched.core.plugins import QUEUE_ORDER, WORKLOAD_ORDER, Place
from global_sched.core.view import View
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.workload import Workload

Key = tuple[object, ...]


def queue_key(name: QueueName, wanted: Collection[str], view: View) -> Key:
    """Where the queue stands now between its brothers; `wanted` is what waits in it."""
    saturated, share = view.queue_standing(name, wanted)
    place = Place(view.queue(name), saturated, share)
    return tuple([rule(place) for rule in QUEUE_ORDER.values()])


def workload_key(workload: Workload, view: View) -> Key:
    """Where the workload stands in its queue now."""
    return tuple([rule(workload, view) for rule in WORKLOAD_ORDER.values()])


class Line:
    """Workloads in the order in which they get their turn; iterate it while admitting."""

    def __init__(self, workloads: Iterable[Workload], view: View) -> None:
        self._view = view
        found: dict[QueueName, dict[TenantName, list[Workload]]] = {}
        for one in workloads:
            found.setdefault(one.queue, {}).setdefault(one.tenant, []).append(one)
        self._spots: dict[QueueName, _Spot] = {}
        self._lines: dict[QueueName, _QueueLine] = {}
        for name, lanes in sorted(found.items()):
            self._lines[name] = _QueueLine(lanes, view)
            self._stand(name)

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
                yield line.position + 1, line.take()
                changed = view.touched_queues()
            if changed:
                for one in self._lines.values():
                    one.changed = True
            if not line:
                changed.add(spot.name)
            for name in sorted(changed):
                self._renew(name)

    def _stand(self, name: QueueName) -> None:
        """Give the queue a spot, and every queue above it.

        A queue that has workloads itself and queues below it is a leaf beside those, too.
        """
        path = self._view.queue_path(name)
        above: _Spot | None = None
        for one in reversed(path):
            spot = self._spots.get(one)
            if spot is None:
                spot = self._spots[one] = _Spot(one, above)
            above = spot
        assert above is not None
        above.own = _Spot(name, above)
        above.own.wanted = dict.fromkeys(self._lines[name].wanted, 1)

    def _first(self) -> "_Spot | None":
        """The leaf whose turn it is: the first of the first, from the root down."""
        found: _Spot | None = None
        spot = next(iter(self._spots.values()), None)
        if spot is None:
            return None
        while spot.above is not None:
            spot = spot.above
        while True:
            found = spot.first()
            if found is None or found.above is None or found.above.own is found:
                return found
            spot = found

    def _renew(self, name: QueueName) -> None:
        """Put a queue, and those above it, where they belong now."""
        top = self._spots.get(name)
        if top is None:
            self._renew_above(name)
            return
        spot = top.own
        if spot is None:
            spot = top
        while spot.above is not None:
            line = self._lines.get(spot.name) if spot.above.own is spot else None
            waits = bool(line) if line is not None else bool(spot.alive)
            self._place(spot, waits=waits)
            spot = spot.above

    def _renew_above(self, name: QueueName) -> None:
        """A queue that has nothing in the line moved: those above it may."""
        for one in self._view.queue_path(name):
            spot = self._spots.get(one)
            if spot is not None:
                while spot.above is not None:
                    self._place(spot, waits=bool(spot.alive))
                    spot = spot.above
                return

    def _place(self, spot: "_Spot", *, waits: bool) -> None:
        """Renew its key, and what it makes its parent want."""
        above = spot.above
        assert above is not None
        if not waits:
            if spot.key is not None:
                spot.key = None
                above.alive -= 1
            above.want(spot, ())
            return
        wanted = spot.wants()
        saturated, share = self._view.queue_standing(spot.name, wanted)
        place = Place(self._view.queue(spot.name), saturated, share)
        key = tuple([rule(place) for rule in QUEUE_ORDER.values()])
        if spot.key is None:
            above.alive += 1
        if key != spot.key:
            spot.key = key
            above.push(spot)
        above.want(spot, () if saturated else wanted)


class _Spot:
    """A queue in the line: a heap of those below it, and its own place between its brothers."""

    __slots__ = ("_heap", "_number", "above", "alive", "key", "name", "own", "tells", "wanted")

    def __init__(self, name: QueueName, above: "_Spot | None") -> None:
        self.name = name
        self.above = above
        self.own: _Spot | None = None
        """The leaf with its own workloads."""
        self.key: Key | None = None
        """The one that counts; None: nothing waits here."""
        self.alive = 0
        """How many below it wait."""
        self.wanted: dict[str, int] = {}
        """What waits here; for one with others below: how many that are not saturated want it."""
        self.tells: tuple[str, ...] = ()
        """What it makes its parent want."""
        self._heap: list[tuple[Key, int, _Spot]] = []
        self._number = 0

    def wants(self) -> Collection[str]:
        """The resources that its share is measured by."""
        return tuple(self.wanted)

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
        for name in below.tells:
            self.wanted[name] -= 1
            if not self.wanted[name]:
                del self.wanted[name]
        below.tells = tuple(wanted)
        for name in below.tells:
            self.wanted[name] = self.wanted.get(name, 0) + 1


class _QueueLine:
    """One queue's workloads: a heap of its tenants' first ones."""

    def __init__(self, lanes: dict[TenantName, list[Workload]], view: View) -> None:
        self._view = view
        self.position = 0
        self.length = sum(len(lane) for lane in lanes.values())
        self.changed = False
        """Whether any share changed since its last turn."""
        self._fallen = view.shares_fallen()
        self._lanes: list[list[Workload]] = []
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
            lane.sort(key=lambda one: workload_key(one, view), reverse=True)
            self._heap.append((workload_key(lane[-1], view), len(self._lanes)))
            self._lanes.append(lane)
        heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def take(self) -> Workload:
        """The next workload, removed."""
        if self.changed:
            self._check()
        lane = self._heap[0][1]
        waiting = self._lanes[lane]
        first = waiting.pop()
        if waiting:
            heapreplace(self._heap, (workload_key(waiting[-1], self._view), lane))
        else:
            heappop(self._heap)
        self.position += 1
        return first

    def _check(self) -> None:
        """Make sure that the first entry is right.

        Shares grow while the line moves, so an entry out of date is too early and goes back with
        its present key. Where a share fell since, all are made anew.
        """
        self.changed = False
        view, fallen = self._view, self._view.shares_fallen()
        if fallen != self._fallen:
            self._fallen = fallen
            self._heap = [
                (workload_key(self._lanes[lane][-1], view), lane) for _, lane in self._heap
            ]
            heapify(self._heap)
            return
        while True:
            key, lane = self._heap[0]
            now = workload_key(self._lanes[lane][-1], view)
            if now == key:
                return
            heapreplace(self._heap, (now, lane))
