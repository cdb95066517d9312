"""The order in which workloads are considered: down the tree of queues, then inside a leaf.

Between the queues of one parent: priority, unsaturated before saturated, share, name
(`keys.QUEUE_ORDER`). Inside a leaf: job priority with ageing, the tenant's share in the queue
and then of the federation, creation, UID (`keys.WORKLOAD_ORDER`). Job priority never compares
across queues, nor does a queue's priority across parents.

Nothing is recomputed that did not change: after a turn, only the queues whose amounts changed get a
new place, they and those above them. Old entries stay in the heaps and are dropped when they come
up, recognised by not being the one that counts.
"""

from collections.abc import Callable, Iterable, Iterator
from heapq import heappop, heappush

from global_sched.core.order.keys import QUEUE_ORDER, Sibling
from global_sched.core.order.leaf_order import Key, LeafOrder
from global_sched.core.view import CycleView
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.queue import Queue
from global_sched.shared.model.workload import Workload

_BETWEEN = tuple(QUEUE_ORDER.values())


class QueueOrder:
    """Workloads in the order in which they get their turn; iterate it while admitting."""

    def __init__(self, workloads: Iterable[Workload], view: CycleView) -> None:
        self._view = view
        found: dict[QueueName, dict[TenantName, list[Workload]]] = {}
        for one in workloads:
            found.setdefault(one.queue, {}).setdefault(one.tenant, []).append(one)
        self._spots: dict[QueueName, _Level] = {}
        self._top: _Level | None = None
        """The root, once anything waits."""
        self._lines: dict[QueueName, LeafOrder] = {}
        self._turn: LeafOrder | None = None
        """The queue whose turn it is."""
        self._moves = 0
        """How often any share changed."""
        self._mixed: dict[TenantName, list[QueueName]] = {}
        """Queues whose workloads ask for different resources: their tenants' shares decide which
        is next, wherever these move."""
        for name, lanes in sorted(found.items()):
            self._lines[name] = LeafOrder(lanes, view)
            for tenant in lanes if self._lines[name].mixed else ():
                self._mixed.setdefault(tenant, []).append(name)
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
        view.touched()
        for name in self._lines:
            self._renew(name)
        while (spot := self._first()) is not None:
            line = self._turn = self._lines[spot.name]
            touched: set[tuple[QueueName, TenantName]] = set()
            wants = line.wants(self._moves)
            while line and not touched and line.wants(self._moves) == wants:
                yield line.position + 1, line.take(self._moves)
                touched = view.touched()
            self._moves += bool(touched)
            changed = {spot.name}
            for queue, tenant in touched:
                changed.add(queue)
                changed.update(self._mixed.get(tenant, ()))
            for name in sorted(changed):
                self._renew(name)

    def repeats(self) -> bool:
        """Whether the next of the same tenant asks for the same as the one whose turn it is."""
        return self._turn is not None and self._turn.repeats()

    def take_while(self, wanted: Callable[[Workload], bool]) -> list[tuple[int, Workload]]:
        """Those that follow the one whose turn it is, with their positions, out of the line.

        Up to the first that is not wanted, or is of another tenant. Nothing has changed since.
        """
        return [] if self._turn is None else self._turn.take_while(wanted)

    def again(self) -> None:
        """The one whose turn it is has another: behind all of its tenant's with its priority."""
        assert self._turn is not None
        self._turn.again()

    def waits(self) -> bool:
        """Whether any workload is behind the one whose turn it is."""
        return any(self._lines.values())

    def _stand(self, name: QueueName, *, shares: bool) -> None:
        """Give the queue a spot, and every queue above it.

        A queue that has workloads itself and queues below it is a leaf beside those, too.
        """
        path = self._view.queue_path(name)
        above: _Level | None = None
        for one in reversed(path):
            spot = self._spots.get(one)
            if spot is None:
                spot = self._spots[one] = _Level(self._view.queue(one), above)
                self._top = self._top or spot
            above = spot
        assert above is not None
        leaf = above
        if shares or above.above is None:
            above.own = leaf = _Level(above.queue, above)
        leaf.line = self._lines[name]

    def _first(self) -> "_Level | None":
        """The leaf whose turn it is: the first of the first, from the root down."""
        found: _Level | None = None
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

    def _place(self, spot: "_Level") -> None:
        """Renew its key, and what it makes its parent want."""
        above = spot.above
        assert above is not None
        if not (spot.alive if spot.line is None else spot.line):
            if spot.key is not None:
                spot.key = None
                above.alive -= 1
            return
        wants = self._wants(spot)
        saturated, share = self._view.queue_standing(spot.name, wants)
        spot.tells = None if saturated else wants
        place = Sibling(spot.queue, saturated, share)
        key = tuple([rule(place) for rule in _BETWEEN])
        if spot.key is None:
            above.alive += 1
        if key != spot.key:
            spot.key = key
            above.push(spot)

    def _wants(self, spot: "_Level") -> tuple[str, ...] | None:
        """What the first below it asks for; None where no queue below it lacks anything."""
        if spot.line is not None:
            return spot.line.wants(self._moves)
        first = spot.first()
        return None if first is None else first.tells


class _Level:
    """A queue in the line: a heap of those below it, and its own place between its brothers."""

    __slots__ = (
        "_heap",
        "_number",
        "above",
        "alive",
        "key",
        "line",
        "name",
        "own",
        "queue",
        "tells",
    )

    def __init__(self, queue: Queue, above: "_Level | None") -> None:
        self.queue, self.name = queue, queue.name
        self.above = above
        self.own: _Level | None = None
        """The leaf with its own workloads, where there are queues below it."""
        self.line: LeafOrder | None = None
        """Its workloads; None for one that has only others below it."""
        self.key: Key | None = None
        """The one that counts; None: nothing waits here."""
        self.alive = 0
        """How many below it wait."""
        self.tells: tuple[str, ...] | None = None
        """What the first workload in it asks for; None: it has what it deserves of that."""
        self._heap: list[tuple[Key, int, _Level]] = []
        self._number = 0

    def push(self, below: "_Level") -> None:
        """One below it has a new key."""
        assert below.key is not None
        self._number += 1
        heappush(self._heap, (below.key, self._number, below))

    def first(self) -> "_Level | None":
        """The first of those below it that wait."""
        while self._heap:
            key, _, below = self._heap[0]
            if below.key is key:
                return below
            heappop(self._heap)
        return None
