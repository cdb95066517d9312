"""One member cluster: what is bound on its nodes, by the placement engine of the agents."""

from collections import Counter
from dataclasses import dataclass, field, replace
from typing import Final

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import MAIN, BindingId, ClusterName, DomainId
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, Occupant, Topology
from global_sched.shared.model.values import InvariantError
from global_sched.shared.placement import (
    LeafKey,
    Placed,
    Space,
    Take,
    counted_leaves,
    histogram,
    reduce_class,
)
from global_sched.sim.jobs import GPU

_RENEW: Final = 20_000
"""After so many takes and returns the Space is made anew: it remembers each of them."""


@dataclass(slots=True)
class _Bound:
    """The pods of one gang: what was taken for them, in the order in which they were bound."""

    gang: Gang
    placed: list[Placed]
    pods: int = 0
    turns: dict[int, tuple[int, ...]] = field(default_factory=dict)
    """By node, see `_turns`."""


class Member:
    """Nodes by name and the gangs on them. Gangs have one pod set, as traces do.

    topology:  one leaf for each node, all of it free.
    gpu_sizes: how often a pod of so many GPUs comes, for fragmentation; sums to 1.
    """

    def __init__(
        self, name: str, topology: Topology, gpu_sizes: tuple[tuple[int, float], ...] = ()
    ) -> None:
        self.name = ClusterName(name)
        self._empty = topology
        self._space = Space(topology)
        self._steps = 0
        self._gpu = topology.axis.index(GPU) if GPU in topology.axis else None
        node_classes = [leaf.node_class for leaf in topology.leaves]
        self._empty_report = histogram(topology, ())
        alike = {one: reduce_class(one, frozenset()) for one in node_classes}
        self._classes = [alike[one] for one in node_classes]
        self._leaves: list[LeafKey] = [
            (leaf.domain, kind, leaf.free, ())
            for leaf, kind in zip(topology.leaves, self._classes, strict=True)
        ]
        """Each node as reports show it."""
        self._on: list[dict[BindingId, int]] = [{} for _ in topology.leaves]
        self._dirty: set[int] = set()
        self._report: Topology | None = None
        self._bound: dict[BindingId, _Bound] = {}
        self._kept: dict[BindingId, Placed] = {}
        self._refused: dict[int, Gang] = {}
        self._holds: dict[int, tuple[Gang, bool]] = {}
        self.total = Resources.total(
            Resources.of(dict(zip(topology.axis, leaf.free, strict=True)))
            for leaf in topology.leaves
        )
        self.largest = Resources.of(
            {
                name: max((leaf.free[at] for leaf in topology.leaves), default=0)
                for at, name in enumerate(topology.axis)
            }
        )
        self.gpu_of_node = [
            0 if self._gpu is None else leaf.free[self._gpu] for leaf in topology.leaves
        ]
        self.gpus = sum(self.gpu_of_node)
        self.free_of_node = list(self.gpu_of_node)
        self.free = self.gpus
        most = max(self.gpu_of_node, default=0)
        self._useless = [
            free * sum(share for size, share in gpu_sizes if size > free)
            for free in range(most + 1)
        ]
        self.useless = sum(self._useless[free] for free in self.free_of_node)
        """Free GPUs times the share of pods that are too large for their node (FGD's F, ATC'23)."""

    # --- what there is ------------------------------------------------------------------------

    def fits(self, gang: Gang) -> bool:
        """Whether the whole gang could be bound now."""
        if id(gang) in self._refused:
            return False
        glance = self._space.glance(gang)  # gangs have one shape: there always is one
        if glance is not None and glance.fits:
            return True
        self._refused[id(gang)] = gang  # until something ends: what is bound makes no room
        return False

    def holds(self, gang: Gang) -> bool:
        """Whether it could be bound if nothing ran here."""
        known = self._holds.get(id(gang))
        if known is None:
            known = (gang, isinstance(Space(self._empty).place(gang), Placed))
            self._holds[id(gang)] = known
        return known[1]

    def pods(self, key: BindingId) -> int:
        """The pods of a gang that are bound here."""
        bound = self._bound.get(key)
        return 0 if bound is None else bound.pods

    def nodes(self, key: BindingId) -> tuple[tuple[int, int], ...]:
        """(node, GPUs on it) of a gang, in the order in which they were bound."""
        return tuple(
            (take.leaf, take.pods_per_node * take.requests.get(GPU))
            for placed in self._bound[key].placed
            for take in placed.takes
        )

    def leaf(self, node: int) -> Leaf:
        """One node, as it was without pods."""
        return self._empty.leaves[node]

    # --- what happens -------------------------------------------------------------------------

    def bind(
        self, key: BindingId, gang: Gang, pods: int | None = None, domain: DomainId | None = None
    ) -> bool:
        """Bind so many pods (None: all), more of a gang that runs; False where there is no room.

        Where it finds none beside what is kept for others, they lose that, the last one first.
        """
        placed = self._place(key, gang, pods, domain)
        while placed is None and self._kept:
            self.let_go(next(reversed(self._kept)))
            placed = self._place(key, gang, pods, domain)
        if placed is None:
            return False
        bound = self._bound.get(key)
        if bound is None:
            bound = self._bound[key] = _Bound(gang, [])
        self._take(key, bound, placed)
        self._turn(bound)
        return True

    def _place(
        self, key: BindingId, gang: Gang, pods: int | None, domain: DomainId | None
    ) -> Placed | None:
        bound = self._bound.get(key)
        if bound is None and pods in (None, gang.pods()):
            placed = self._space.place(gang, prefer=domain) if domain else self._space.place(gang)
        else:
            placed = self._space.place(
                gang,
                amounts=Amounts.of({MAIN: gang.pods() if pods is None else pods}),
                minimum=None if bound is None else Amounts(),
                prefer=domain,
                bound=self._beside(bound),
                binding=key,
            )
        return placed if isinstance(placed, Placed) and placed.takes else None

    def keep(
        self, key: BindingId, gang: Gang, pods: int, domain: DomainId | None, *, drains: bool
    ) -> None:
        """Keep free room of a domain for a claim, as many pods as fit, until `let_go`.

        drains: all of the domain, which takes nothing else (the whole cluster never drains).
        """
        if drains and domain is not None:
            found = self._space.all_free(domain=domain)
        else:
            mark = self._space.mark()
            self._space.take(self._space.all_free(beyond=domain))
            placed = self._space.place(
                gang,
                amounts=Amounts.of({MAIN: pods}),
                minimum=Amounts(),
                prefer=domain,
                bound=self._beside(self._bound.get(key)),
            )
            self._space.rollback(mark)
            if not isinstance(placed, Placed):
                return
            found = placed
        if found.takes:
            self._space.take(found)
            self._kept[key] = found

    def let_go(self, key: BindingId) -> None:
        """Nothing is kept for it any more."""
        kept = self._kept.pop(key, None)
        if kept is not None:
            self._space.give_back(kept)

    def _beside(self, bound: _Bound | None) -> tuple[DomainId | None, ...]:
        return () if bound is None or bound.gang.constraint is None else self._domains(bound)

    def release(self, key: BindingId) -> None:
        """All its pods end."""
        bound = self._bound.pop(key)
        for placed in bound.placed:
            self._give_back(key, placed)
        self._refused.clear()

    def shrink(self, key: BindingId, pods: int) -> None:
        """Its last pods end until so many are left."""
        bound = self._bound[key]
        while bound.pods > pods:
            last = bound.placed.pop()
            self._give_back(key, last)
            bound.pods -= last.amounts.pods()
            if bound.pods < pods:
                self._take(key, bound, _first(last, pods - bound.pods))
        self._turn(bound)
        self._refused.clear()

    def _turn(self, bound: _Bound) -> None:
        """Its pods leave in other turns now, on nodes where nothing else changed, too."""
        self._dirty.update(bound.turns)
        bound.turns = _turns(bound)
        self._dirty.update(bound.turns)

    def _domains(self, bound: _Bound) -> tuple[DomainId | None, ...]:
        leaves = self._empty.leaves
        found = {leaves[take.leaf].domain for one in bound.placed for take in one.takes}
        return tuple(sorted(found, key=lambda domain: domain or ""))

    def _take(self, key: BindingId, bound: _Bound, placed: Placed) -> None:
        self._space.take(placed)
        bound.placed.append(placed)
        bound.pods += placed.amounts.pods()
        self._count(key, placed, 1)

    def _give_back(self, key: BindingId, placed: Placed) -> None:
        self._space.give_back(placed)
        self._count(key, placed, -1)

    def _count(self, key: BindingId, placed: Placed, sign: int) -> None:
        for take in placed.takes:
            node, pods = take.leaf, take.pods_per_node * sign
            on = self._on[node]
            on[key] = on.get(key, 0) + pods
            if not on[key]:
                del on[key]
            self._dirty.add(node)
            gpus = pods * take.requests.get(GPU)
            self.free -= gpus
            before = self.free_of_node[node]
            self.free_of_node[node] = before - gpus
            self.useless += self._useless[before - gpus] - self._useless[before]
        self._steps += 1
        if self._steps >= _RENEW:
            self._renew()

    def _renew(self) -> None:
        """The same room without its history."""
        self._steps = 0
        self._space = Space(self._empty)
        for bound in self._bound.values():
            for placed in bound.placed:
                self._space.take(placed)
        for placed in self._kept.values():
            self._space.take(placed)

    # --- what the agent reports ---------------------------------------------------------------

    def report(self) -> Topology:
        """The room that is left, with occupants, as a capacity report has it."""
        if self._report is None or self._dirty:
            for node in self._dirty:
                self._leaves[node] = self._leaf_now(node)
            self._dirty.clear()
            leaves = counted_leaves(Counter(self._leaves))
            self._report = replace(self._empty_report, leaves=leaves)
        return self._report

    def _leaf_now(self, node: int) -> LeafKey:
        empty = self._empty.leaves[node]
        used = dict.fromkeys(self._empty.axis, 0)
        occupants = []
        for key, pods in sorted(self._on[node].items()):
            bound = self._bound[key]
            for name, amount in bound.gang.pod_sets[0].shape.requests:
                used[name] += amount * pods
            turns = bound.turns.get(node, ())
            occupants.append(Occupant(binding=key, pod_set=MAIN, pods=pods, surplus=turns))
        free = tuple(
            has - used[name] for name, has in zip(self._empty.axis, empty.free, strict=True)
        )
        if any(amount < 0 for amount in free):
            raise InvariantError(f"node {empty.node} of {self.name} holds more than it has")
        return empty.domain, self._classes[node], free, tuple(occupants)


def _turns(bound: _Bound) -> dict[int, tuple[int, ...]]:
    """By node the turns in which its pods beyond the minimum may leave: the last bound goes first.

    One bound more or less changes the turns of all.
    """
    surplus, turn = bound.pods - bound.gang.minimum, 0
    found: dict[int, list[int]] = {}
    for placed in reversed(bound.placed):
        for take in reversed(placed.takes):
            for _ in range(min(take.nodes * take.pods_per_node, surplus - turn)):
                turn += 1
                found.setdefault(take.leaf, []).append(turn)
    return {node: tuple(turns) for node, turns in found.items()}


def _first(placed: Placed, pods: int) -> Placed:
    """The first pods of what was taken."""
    takes: list[Take] = []
    left = pods
    for take in placed.takes:
        if left:
            kept = min(left, take.pods_per_node)
            takes.append(take._replace(pods_per_node=kept))
            left -= kept
    return replace(placed, amounts=Amounts.of({MAIN: pods}), takes=tuple(takes))
