"""The order in which workloads are considered: queues, and in each queue its workloads.

Between queues: priority, then weighted share (less first), then name. In a queue: job priority,
then the tenant's weighted share, then creation, then UID. Job priority never compares across
queues. Shares change with every admission, so both levels are heaps whose entries are
checked when they come up: shares only grow while the line moves, hence an entry that is out of date
can only be too early, and it goes back with its present key.
"""

from collections.abc import Iterable, Iterator
from heapq import heapify, heappop, heappush

from global_sched.core.plugins import QUEUE_ORDER, WORKLOAD_ORDER
from global_sched.core.view import View
from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.workload import Workload

Key = tuple[object, ...]


def queue_key(name: QueueName, view: View) -> Key:
    """Where the queue stands now."""
    queue = view.queue(name)
    return tuple(rule(queue, view) for rule in QUEUE_ORDER.values())


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
        self._queues = {name: _QueueLine(lanes, view) for name, lanes in found.items()}

    def length(self, queue: QueueName) -> int:
        """How many workloads of the queue are in the line."""
        line = self._queues.get(queue)
        return 0 if line is None else line.length

    def __iter__(self) -> Iterator[tuple[int, Workload]]:
        """Each workload with its position in its queue, counting from 1."""
        view = self._view
        heap = [(queue_key(name, view), name) for name in self._queues]
        heapify(heap)
        while heap:
            key, name = heappop(heap)
            now = queue_key(name, view)
            if now == key:
                line = self._queues[name]
                while line and queue_key(name, view) == key:
                    yield line.position + 1, line.take()
                if not line:
                    continue
                now = queue_key(name, view)
            heappush(heap, (now, name))


class _QueueLine:
    """One queue's workloads: a heap of its tenants' first ones."""

    def __init__(self, lanes: dict[TenantName, list[Workload]], view: View) -> None:
        self._view = view
        self.position = 0
        self.length = sum(len(lane) for lane in lanes.values())
        self._lanes: list[list[Workload]] = []
        self._heap: list[tuple[Key, int]] = []
        for _, lane in sorted(lanes.items()):
            lane.sort(key=lambda one: workload_key(one, view), reverse=True)
            self._heap.append((workload_key(lane[-1], view), len(self._lanes)))
            self._lanes.append(lane)
        heapify(self._heap)

    def __bool__(self) -> bool:
        return bool(self._heap)

    def take(self) -> Workload:
        """The next workload, removed."""
        view = self._view
        while True:
            key, lane = heappop(self._heap)
            waiting = self._lanes[lane]
            now = workload_key(waiting[-1], view)
            if now == key:
                break
            heappush(self._heap, (now, lane))
        first = waiting.pop()
        if waiting:
            heappush(self._heap, (workload_key(waiting[-1], view), lane))
        self.position += 1
        return first
