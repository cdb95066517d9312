"""The clusters' room in a cycle, and the memory of what was asked of it.

Room only shrinks while a cycle admits, so a gang that a cluster refused stays refused there;
what fitted is asked again once the cluster's room has changed. Equal gangs share their answers.

Room grows in two ways, and both make every ask forget what that cluster answered: `Rooms.give` (a
trial eviction) and `Rooms.rollback`. Marks nest, so that a trial may hold trials.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from math import gcd

import numpy as np
from numpy.typing import NDArray

from global_sched.core.fit.fills import Fills, Free
from global_sched.core.fit.plugins import CLUSTER_SCORES, WeightedScore
from global_sched.core.fit.room import Room, topology_of
from global_sched.core.fit.scores import Numbers, ScoreInput
from global_sched.core.view import CycleView
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.decision import Grant
from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.values import InvariantError
from global_sched.shared.model.verdict import ClusterVerdict, Verdict
from global_sched.shared.model.workload import Demand
from global_sched.shared.placement import (
    NO_TIER,
    ClusterSet,
    GangQuestion,
    Near,
    NotPlaced,
    Placed,
    Space,
)

Mask = NDArray[np.bool_]
Ints = NDArray[np.int64]


@dataclass(slots=True, eq=False)
class RoomsMark:
    """What the rooms that changed since the mark were like: (the Space's mark, free amounts)."""

    spaces: dict[int, tuple[int, Ints]] = field(default_factory=dict)


class Ask:
    """One question to all clusters: room for `wanted`, or at least `minimum`, of a gang.

    Arrays are by the cluster's position. `may` is False where it was refused; `seen` is the room's
    version that was answered, -1 before; `base` is the weighted score that depends on room only.
    """

    def __init__(self, gang: Gang, wanted: Amounts, minimum: Amounts, rooms: "Rooms") -> None:
        self.gang, self.wanted, self.minimum = gang, wanted, minimum
        self.pods = wanted.pods()
        self._requests = gang.requests(minimum)
        self._plain = wanted == gang.all_amounts() and minimum == gang.minimum_amounts()
        self._constrained = gang.constraint is not None
        self._rooms = rooms
        question = rooms.field.question(gang) if self._plain else None
        self._question = question if question is not None and question.plain else None
        size = len(rooms.rooms)
        self._fills: Fills | None = None
        self.evenness: Ints | None = None
        """How well each cluster's resources go with it; None where that is to make no choice."""
        self.may: Mask = np.ones(size, dtype=np.bool_)
        self.seen: Ints = np.full(size, -1, dtype=np.int64)
        self.base: Ints = np.zeros(size, dtype=np.int64)
        self._refusals: list[ClusterVerdict | None] = [None] * size
        self._grown = len(rooms.grown)

    def fitting(self, mask: Mask) -> Mask:
        """Those of the masked clusters which have the room now."""
        self._notice_growth()
        fits = mask & self.may
        stale = fits & (self.seen != self._rooms.versions)
        asked = stale.nonzero()[0]
        if self._question is not None and self._question.at_once(len(asked)):
            self._ask_all(self._question, stale, fits)
        elif len(asked):
            self._ask_each(asked.tolist(), fits)
        return fits

    def placed(self, at: int) -> Placed:
        """Where it fits in a cluster that `fitting` just named."""
        found = self._place(at)
        assert isinstance(found, Placed), f"{self._rooms.rooms[at].cluster.name}: {found}"
        return found

    def refusal(self, at: int) -> ClusterVerdict | None:
        """Why `fitting` left a cluster out, in the numbers of when it was first asked for that."""
        return self.refusals((at,))[0]

    def refusals(self, clusters: Sequence[int]) -> list[ClusterVerdict | None]:
        """The same for several clusters; None for those that were not left out."""
        self._notice_growth()
        new = [at for at in clusters if self._refusals[at] is None and not self.may[at]]
        if new:
            if self._question is None:
                told = [self._not_placed(at) for at in new]
            else:
                told = self._question.verdicts(new)
            for at, verdict in zip(new, told, strict=True):
                self._refusals[at] = self._rooms.rooms[at].refusal(verdict)
        return [self._refusals[at] for at in clusters]

    def _not_placed(self, at: int) -> Verdict:
        found = self._place(at)
        assert isinstance(found, NotPlaced), f"{self._rooms.rooms[at].cluster.name}: {found}"
        return found.verdict

    def _notice_growth(self) -> None:
        """Forget what clusters answered whose room has grown since."""
        grown = self._rooms.grown
        if self._grown == len(grown):
            return
        for at in set(grown[self._grown :]):
            self.may[at] = True
            self.seen[at] = -1
            self._refusals[at] = None
        self._grown = len(grown)

    def _ask_each(self, clusters: list[int], fits: Mask) -> None:
        """Ask some clusters one by one, and score those where it fits; the others are no fit."""
        if self._question is None:
            found = [self._tried(at) for at in clusters]
        else:
            found = self._question.answers(clusters)
        for at, near in zip(clusters, found, strict=True):
            self.seen[at] = self._rooms.versions[at]
            if near is None:
                fits[at] = self.may[at] = False
            else:
                self.base[at] = self._score(at, near)

    def _ask_all(self, question: GangQuestion, stale: Mask, fits: Mask) -> None:
        """The same for many clusters, by vectors over all of them."""
        near = question.nearby()
        np.copyto(self.seen, self._rooms.versions, where=stale)
        known = near.fits | ~stale
        fits &= known
        self.may &= known
        if np.count_nonzero(fits):
            fill, free = self._measured_by().every()
            subject = ScoreInput(near.tier, self.pods, near.holds, fill, free)
            self.base[:] = self._rooms.base_scores(subject)

    def _tried(self, at: int) -> Near | None:
        """What a cluster answers by placing it, where counting does not tell."""
        found = self._place(at)
        if isinstance(found, NotPlaced):
            return None
        return found.tier, self._rooms.rooms[at].space.holds(self.gang, found.domain)

    def _score(self, at: int, near: Near) -> int:
        """What depends on room only, in one cluster where it fits."""
        tier: Numbers | None = NO_TIER if near[0] is None else near[0]
        fill, free = self._measured_by().one(at)
        subject = ScoreInput(tier if self._constrained else None, self.pods, near[1], fill, free)
        return int(self._rooms.base_scores(subject))

    def _measured_by(self) -> Fills:
        """What filling the clusters with it is measured by, made when it fits somewhere first."""
        if self._fills is None:
            self._fills = self._rooms.fills(self._requests)
            if self._fills.unlike and not self._constrained:
                self.evenness = self._fills.evenness
        return self._fills

    def _place(self, at: int) -> Placed | NotPlaced:
        """The engine's own answer, which it remembers while the room does not change."""
        self._rooms.field.touched(at)
        space = self._rooms.rooms[at].space
        if self._plain:
            return space.place(self.gang)
        return space.place(self.gang, amounts=self.wanted, minimum=self.minimum)


class Rooms:
    """All clusters by position (ascending by name), with undo."""

    def __init__(self, clusters: tuple[Cluster, ...], view: CycleView) -> None:
        self._view = view
        ordered = sorted(clusters, key=lambda c: c.name)
        limit = view.policy.placement_search_limit
        self.field = ClusterSet([topology_of(c) for c in ordered], search_limit=limit)
        self.last_resort = self.field.has_last_resort()
        """Whether a cluster has nodes that are counted only for what fits nowhere else."""
        self.rooms = [
            Room(cluster, at, self.field, lambda: self.free) for at, cluster in enumerate(ordered)
        ]
        self.position = {room.cluster.name: at for at, room in enumerate(self.rooms)}
        self.versions: Ints = np.zeros(len(self.rooms), dtype=np.int64)
        self._asks: dict[tuple[object, ...], Ask] = {}
        self._gangs: dict[Gang, Gang] = {}
        self._same: dict[int, tuple[Gang, Gang]] = {}
        self._marks: list[RoomsMark] = []
        self.grown: list[int] = []
        """The clusters whose room grew, one entry each time."""
        self._free: Free | None = None
        self._fills: dict[tuple[tuple[str, int], ...], Fills] = {}
        self._score_of = WeightedScore(CLUSTER_SCORES, view.policy.score_weights)

    @property
    def free(self) -> Free:
        """Free amounts of all clusters, read when first needed."""
        if self._free is None:
            each = [self.field.free(at) for at in range(len(self.rooms))]
            self._free = Free(each, [room.total for room in self.rooms])
        return self._free

    @contextmanager
    def aside(self) -> Iterator[None]:
        """Answers given meanwhile are not remembered, and trials make no answer be forgotten.

        Everything that is changed meanwhile is to be undone by then.
        """
        asks, grown = self._asks, len(self.grown)
        self._asks = {}
        yield
        self._asks = asks
        del self.grown[grown:]

    def expect(self, demands: Iterable[Demand]) -> None:
        """Count what these demands will ask for, all of them at once."""
        gangs = {id(one.gang): one.gang for one in demands if one.gang is not None}
        self.field.expect(gangs.values())

    def ask(self, gang: Gang, wanted: Amounts, minimum: Amounts) -> Ask:
        """The ask for this question, shared by equal gangs."""
        known = self._same.get(id(gang))
        if known is None:
            known = (gang, self._gangs.setdefault(gang, gang))
            self._same[id(gang)] = known  # keeps the gang alive, so that its id stays its own
        key = (id(known[1]), wanted.entries, minimum.entries)
        ask = self._asks.get(key)
        if ask is None:
            ask = self._asks[key] = Ask(known[1], wanted, minimum, self)
        return ask

    def take(self, at: int, placed: Placed, amount: Resources) -> None:
        """Give that room away, so much in all."""
        self.touch(at)
        self.rooms[at].space.take(placed)
        self.field.touched(at)
        self._charge(at, amount, -1)

    def give(self, at: int, change: Callable[[Space], object], amount: Resources) -> None:
        """Make room: `change` frees it in the cluster's Space, `amount` is how much it is in all.

        Between `mark` and `rollback` or `commit` this is a trial eviction; then ask and place as
        ever, the answers count with the room that was made. For room taken in this cycle the change
        is `lambda space: space.give_back(placed)`; for pods that run, whatever the Space frees
        occupants with, as long as its `rollback` undoes it.
        """
        self.touch(at)
        change(self.rooms[at].space)
        self.field.touched(at)
        self._charge(at, amount, 1)
        self.grown.append(at)

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
        self.field.touched(at)
        found = self.rooms[at].space.place(
            gang,
            amounts=amounts,
            minimum=Amounts() if minimum is None else minimum,
            bound=() if grant is None or not grant.amounts.entries else (grant.domain,),
        )
        if isinstance(found, NotPlaced) or (minimum is None and not found.amounts.entries):
            return None
        return found

    def holds(self, at: int, gang: Gang, grant: Grant | None) -> int:
        """How many more pods like the gang's one there is room for, whatever number it asks for.

        Beside those of a grant, under the same constraint.
        """
        self.field.touched(at)
        beside = () if grant is None or not grant.amounts.entries else (grant.domain,)
        return self.rooms[at].space.room(gang, beside)

    def mark(self) -> "RoomsMark":
        """A point that all rooms can go back to. Marks nest: the last one is ended first."""
        mark = RoomsMark()
        self._marks.append(mark)
        return mark

    def touch(self, at: int) -> None:
        """Remember how the room was, the first time it changes after a mark."""
        free = self.free  # what is read after the first change would count that twice
        if self._marks and at not in self._marks[-1].spaces:
            self._marks[-1].spaces[at] = (self.rooms[at].space.mark(), free.kept(at))

    def rollback(self, mark: "RoomsMark") -> None:
        """Go back, past the marks that were made since too.

        Whatever was answered in between is asked again.
        """
        while self._marks:
            last = self._marks.pop()
            for at, (space_mark, free) in last.spaces.items():
                self.rooms[at].space.rollback(space_mark)
                self.field.touched(at)
                self.free.put_back(at, free)
                self.versions[at] += 1
                self.grown.append(at)
            if last is mark:
                return
        raise InvariantError("a mark of the rooms was ended twice")

    def commit(self) -> None:
        """Keep what was done since the last mark; a mark around it can still undo it."""
        last = self._marks.pop()
        if self._marks:
            for at, before in last.spaces.items():
                self._marks[-1].spaces.setdefault(at, before)

    def base_scores(self, subject: ScoreInput) -> Numbers:
        """The weighted sums of the scores that depend on the room only."""
        return self._score_of.of(subject, self._view)

    def fills(self, requests: Resources) -> Fills:
        """What filling each cluster with so much is measured by.

        Gangs that ask for the same in other sizes share it: only the ratios count.
        """
        divisor = gcd(*(amount for _, amount in requests.entries)) or 1
        key = tuple((name, amount // divisor) for name, amount in requests.entries)
        found = self._fills.get(key)
        if found is None:
            totals = [room.total for room in self.rooms]
            found = self._fills[key] = Fills(requests, totals, self.free)
        return found

    def _charge(self, at: int, amount: Resources, sign: int) -> None:
        self.free.add(at, amount, sign)
        self.versions[at] += 1
