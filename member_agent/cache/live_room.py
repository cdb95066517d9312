"""The room on the nodes while they change: one `Space` for all rounds, changed node by node."""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace

from global_sched.shared.model.topology import Domain, Leaf, Wanted
from global_sched.shared.placement import Space
from member_agent.cache.records import PodUnit
from member_agent.cache.room import Held, RoomView, is_there, limited, room_of, wants_ports
from member_agent.cache.state import ClusterCache

_MOST_AT_ONCE = 4
"""Where more than one node in so many changed, a Space made anew takes less time."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RoomQuery:
    """What a round wants to see: see `room_of`."""

    units: Sequence[PodUnit]
    held: Held = field(default_factory=dict)
    closed: frozenset[str] = frozenset()
    order_keys: frozenset[str] = frozenset()
    """Node label keys by which ties between nodes go first."""


class LiveRoom:
    """The `Space` of a cache, which answers as one made of `room_of` would.

    There is one of each: what was taken in a round is undone when the next one opens it.
    """

    def __init__(self, cache: ClusterCache) -> None:
        self._touched = cache.watch()
        self._space: Space | None = None
        self._frame: tuple[object, ...] = ()
        self._domains: tuple[Domain, ...] = ()
        self._special: set[str] = set()
        """Nodes that the last round saw otherwise than they are."""
        self._at: dict[str, int] = {}
        self._leaves: list[Leaf | None] = []
        self._resources: dict[str, tuple[str, ...]] = {}
        self._having: Counter[str] = Counter()
        """How many nodes have some of a resource."""
        self.made = 0
        """How often a Space was made anew."""

    def open(self, cache: ClusterCache, asked: RoomQuery) -> Space:
        """The Space for a round, with nothing taken from it."""
        occupied = limited(cache, asked.units)
        keys = asked.order_keys | selected_keys(cache, asked.units) | mixed_keys(cache, asked)
        frame = (keys, asked.order_keys, wants_ports(asked.units))
        special = {*asked.held, *asked.closed, *occupied}
        touched = self._touched | special | self._special
        view = RoomView(
            cache=cache,
            axis=self._count(cache, self._touched),
            held=asked.held,
            closed=asked.closed,
            keys=keys,
            occupied=occupied,
            ports=wants_ports(asked.units),
        )
        self._special = special
        self._touched.clear()
        space = self._space
        same = frame == self._frame and cache.tree().domains is self._domains
        few = len(touched) * _MOST_AT_ONCE <= len(self._leaves) + 64
        if space is None or not same or not few or view.axis != space.topology.axis:
            return self._anew(cache, asked, frame)
        if not self._renew(space, view, touched, cache.demand(asked.order_keys)):
            return self._anew(cache, asked, frame)
        return space

    def _count(self, cache: ClusterCache, touched: Iterable[str]) -> tuple[str, ...]:
        """Every resource that some node has, ascending."""
        for name in touched:
            self._having.subtract(self._resources.pop(name, ()))
            if is_there(cache, name):
                own = tuple([r for r, amount in cache.nodes[name].room.items() if amount])
                self._resources[name] = own
                self._having.update(own)
        return tuple(sorted([name for name, nodes in self._having.items() if nodes]))

    def _renew(
        self, space: Space, view: RoomView, touched: Iterable[str], demand: tuple[Wanted, ...]
    ) -> bool:
        changes: dict[int, Leaf | None] = {}
        for name in sorted(touched):
            at, leaf = self._at.get(name), view.leaf(name)
            if at is None:
                if leaf is not None:
                    return False
            elif leaf != self._leaves[at]:
                changes[at] = leaf
        if not space.renew(changes, demand):
            return False
        for at, leaf in changes.items():
            self._leaves[at] = leaf
        return True

    def _anew(self, cache: ClusterCache, asked: RoomQuery, frame: tuple[object, ...]) -> Space:
        keys = asked.order_keys | selected_keys(cache, asked.units) | mixed_keys(cache, asked)
        topology = room_of(
            cache, asked.units, held=asked.held, closed=asked.closed, keys=keys, placing=True
        )
        topology = replace(topology, demand=cache.demand(asked.order_keys))
        space = Space(topology, order_keys=sorted(asked.order_keys))
        self._space, self._frame, self._domains = space, frame, topology.domains
        self._leaves = list(topology.leaves)
        self._at = {leaf.node: at for at, leaf in enumerate(topology.leaves)}
        self._having, self._resources = Counter(), {}
        self._count(cache, cache.nodes)
        self.made += 1
        return space


def mixed_keys(cache: ClusterCache, asked: RoomQuery) -> frozenset[str]:
    """The node label keys that the demand profile selects on, by which places are chosen."""
    demand = cache.demand(asked.order_keys)
    return frozenset(key for wanted in demand for key in wanted.shape.label_keys())


def selected_keys(cache: ClusterCache, units: Iterable[PodUnit]) -> frozenset[str]:
    """The node label keys that anything which may be placed selects on."""
    # Pods share their shapes, so that few are looked at.
    shapes = {id(pod.shape): pod.shape for unit in units for pod in unit.waiting}
    for entry in cache.entries().values():
        for pod_set in entry.gang.pod_sets if entry.gang is not None else ():
            shapes[id(pod_set.shape)] = pod_set.shape
    return frozenset(key for shape in shapes.values() for key in shape.label_keys())


def live_room(cache: ClusterCache) -> LiveRoom:
    """The live room of a cache, which keeps it."""
    if not isinstance(cache.live_room, LiveRoom):
        cache.live_room = LiveRoom(cache)
    return cache.live_room
