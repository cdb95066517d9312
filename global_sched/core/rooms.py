"""The clusters' room in a cycle, and the memory of what was asked of it.

Room only shrinks while a cycle admits, so a gang that a cluster refused stays refused there;
what fitted is asked again once the cluster's room has changed. Equal gangs share their answers.
"""

from dataclasses import dataclass, field

import numpy as np
from numpy.typing import NDArray

from global_sched.core.plugins import CLUSTER_SCORES
from global_sched.core.scores import Fill, Subject, fill_of
from global_sched.core.view import View
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, NodeClass, Topology
from global_sched.shared.model.verdict import ClusterVerdict
from global_sched.shared.placement import Glance, NotPlaced, Placed, Space

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


class Room:
    """One cluster: its Space, and how much is free in all."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.total = cluster.capacity.total if cluster.capacity is not None else Resources()
        self._space: Space | None = None
        self._free: dict[str, int] | None = None

    @property
    def space(self) -> Space:
        """The placement engine's view, made when first asked."""
        if self._space is None:
            self._space = Space(self._topology())
        return self._space

    @property
    def free(self) -> dict[str, int]:
        """Free amounts in the whole cluster, for scores."""
        if self._free is None:
            self._free = dict(self.space.free().entries)
        return self._free

    def restore(self, free: dict[str, int]) -> None:
        """Set the free amounts back."""
        self._free = free

    def _topology(self) -> Topology:
        """What is reported, or Karmada's summary as one big node where there is no report."""
        if self.cluster.capacity is not None:
            return self.cluster.capacity.topology
        summary = self.cluster.summary or Resources()
        leaf = Leaf(
            domain=None,
            node_class=NodeClass(),
            free=tuple(amount for _, amount in summary.entries),
            count=1,
        )
        return Topology(axis=summary.names(), leaves=(leaf,), label_keys=())


@dataclass(slots=True)
class RoomsMark:
    """What the rooms that changed since the mark were like: (the Space's mark, free amounts)."""

    spaces: dict[int, tuple[int, dict[str, int]]] = field(default_factory=dict)


class Ask:
    """One question to all clusters: room for `wanted`, or at least `minimum`, of a gang.

    Arrays are by the cluster's position. `may` is False where it was refused; `seen` is the room's
    version that was answered, -1 before; `base` is the weighted score that depends on room only.
    """

    def __init__(self, gang: Gang, wanted: Amounts, minimum: Amounts, rooms: "Rooms") -> None:
        self.gang, self.wanted, self.minimum = gang, wanted, minimum
        self._requests = gang.requests(minimum)
        self._fills: dict[Resources, Fill] = {}
        self.pods = wanted.pods()
        self._plain = wanted == gang.all_amounts() and minimum == gang.minimum_amounts()
        self._rooms = rooms
        size = len(rooms.rooms)
        self.may: Mask = np.ones(size, dtype=np.bool_)
        self.seen: Ints = np.full(size, -1, dtype=np.int64)
        self.base: Ints = np.zeros(size, dtype=np.int64)
        self._refusals: list[ClusterVerdict | None] = [None] * size

    def fitting(self, mask: Mask) -> Mask:
        """Those of the masked clusters which have the room now."""
        fits = mask & self.may
        stale = np.flatnonzero(fits & (self.seen != self._rooms.versions))
        for at in stale.tolist():
            self._answer(at)
        return fits & self.may if len(stale) else fits

    def placed(self, at: int) -> Placed:
        """Where it fits in a cluster that `fitting` just named."""
        found = self._place(at)
        assert isinstance(found, Placed), f"{self._rooms.rooms[at].cluster.name}: {found}"
        return found

    def refusal(self, at: int) -> ClusterVerdict | None:
        """Why `fitting` left a cluster out, in the numbers of when it was first asked for that."""
        refusal = self._refusals[at]
        if refusal is None and not self.may[at]:
            found = self._place(at)
            assert isinstance(found, NotPlaced), f"{self._rooms.rooms[at].cluster.name}: {found}"
            name = self._rooms.rooms[at].cluster.name
            refusal = self._refusals[at] = ClusterVerdict(cluster=name, verdict=found.verdict)
        return refusal

    def fill(self, room: "Room") -> Fill:
        """What filling the room with the gang's minimum is measured by."""
        found = self._fills.get(room.total)
        if found is None:
            found = self._fills[room.total] = fill_of(self._requests, room.total)
        return found

    def forget(self, at: int) -> None:
        """Ask that cluster again: its room went back."""
        self.may[at] = True
        self.seen[at] = -1
        self._refusals[at] = None

    def _answer(self, at: int) -> None:
        rooms = self._rooms
        room = rooms.rooms[at]
        self.seen[at] = rooms.versions[at]
        glance = room.space.glance(self.gang) if self._plain else None
        if glance is None:
            glance = self._tried(at)
        self.may[at] = glance.fits
        if glance.fits:
            self.base[at] = rooms.base_score(room, self, glance)

    def _tried(self, at: int) -> Glance:
        """The same by placing it, where a glance does not tell."""
        found = self._place(at)
        if isinstance(found, NotPlaced):
            return Glance(fits=False)
        tier = found.tier if self.gang.constraint is not None else None
        holds = self._rooms.rooms[at].space.holds(self.gang, found.domain)
        return Glance(fits=True, tier=tier, holds=holds)

    def _place(self, at: int) -> Placed | NotPlaced:
        """The engine's own answer, which it remembers while the room does not change."""
        space = self._rooms.rooms[at].space
        if self._plain:
            return space.place(self.gang)
        return space.place(self.gang, amounts=self.wanted, minimum=self.minimum)


class Rooms:
    """All clusters by position (ascending by name), with undo."""

    def __init__(self, clusters: tuple[Cluster, ...], view: View) -> None:
        self._view = view
        self.rooms = [Room(c) for c in sorted(clusters, key=lambda c: c.name)]
        self.position = {room.cluster.name: at for at, room in enumerate(self.rooms)}
        self.versions: Ints = np.zeros(len(self.rooms), dtype=np.int64)
        self._asks: dict[tuple[int, Amounts, Amounts], Ask] = {}
        self._gangs: dict[Gang, Gang] = {}
        self._same: dict[int, tuple[Gang, Gang]] = {}
        self._marked: RoomsMark | None = None
        weights = view.policy.score_weights
        self._weights = {name: getattr(weights, name) for name in CLUSTER_SCORES}

    def ask(self, gang: Gang, wanted: Amounts, minimum: Amounts) -> Ask:
        """The ask for this question, shared by equal gangs."""
        known = self._same.get(id(gang))
        if known is None:
            known = (gang, self._gangs.setdefault(gang, gang))
            self._same[id(gang)] = known  # keeps the gang alive, so that its id stays its own
        key = (id(known[1]), wanted, minimum)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = Ask(known[1], wanted, minimum, self)
        return ask

    def take(self, at: int, placed: Placed, amount: Resources) -> None:
        """Give that room away, so much in all."""
        self.touch(at)
        self.rooms[at].space.take(placed)
        self._charge(at, amount)

    def grow(
        self,
        at: int,
        gang: Gang,
        amounts: Amounts,
        grant: Grant | None,
        *,
        minimum: Amounts | None = None,
    ) -> Placed | None:
        """Room for more pods beside those of a grant, as many as fit; None for none.

        With a `minimum`, that many at least.
        """
        found = self.rooms[at].space.place(
            gang,
            amounts=amounts,
            minimum=Amounts() if minimum is None else minimum,
            bound=() if grant is None or not grant.amounts.entries else (grant.domain,),
        )
        if isinstance(found, NotPlaced) or (minimum is None and not found.amounts.entries):
            return None
        return found

    def mark(self) -> "RoomsMark":
        """A point that all rooms can go back to."""
        self._marked = RoomsMark()
        return self._marked

    def touch(self, at: int) -> None:
        """Remember how the room was, the first time it changes after a mark."""
        if self._marked is not None and at not in self._marked.spaces:
            room = self.rooms[at]
            self._marked.spaces[at] = (room.space.mark(), dict(room.free))

    def rollback(self, mark: "RoomsMark") -> None:
        """Go back; whatever was answered from less room is asked again."""
        for at, (space_mark, free) in mark.spaces.items():
            self.rooms[at].space.rollback(space_mark)
            self.rooms[at].restore(free)
            self.versions[at] += 1
            for ask in self._asks.values():
                ask.forget(at)
        self.commit()

    def commit(self) -> None:
        """Forget the mark."""
        self._marked = None

    def base_score(self, room: Room, ask: Ask, glance: Glance) -> int:
        """The weighted sum of the scores that depend on the room only."""
        fill = ask.fill(room)
        subject = Subject(
            tier=glance.tier,
            pods=ask.pods,
            holds=glance.holds,
            fill=fill,
            free=room.free.get(fill.resource, 0),
        )
        return sum(
            self._weights[name] * score(subject, self._view)
            for name, score in CLUSTER_SCORES.items()
        )

    def _charge(self, at: int, amount: Resources) -> None:
        free = self.rooms[at].free
        for name, value in amount.entries:
            free[name] = free.get(name, 0) - value
        self.versions[at] += 1
