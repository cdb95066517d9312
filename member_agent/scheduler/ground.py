"""The nodes of a round: held amounts first, then one `Space` from which everything is placed."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from global_sched.shared.model.gang import Amounts, Gang, PodSet
from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from global_sched.shared.model.pods import PodShape, tolerated
from global_sched.shared.model.topology import Topology
from global_sched.shared.placement import NotPlaced, Placed, Space
from member_agent.cache import ClusterCache, Unit, room_of
from member_agent.scheduler.demand import Demand
from member_agent.scheduler.round import Slot


@dataclass(frozen=True, slots=True, kw_only=True)
class Seats:
    """Places for pods of a demand, and the smallest domain around all pods."""

    slots: tuple[Slot, ...] = ()
    domain: DomainId | None = None
    tier: int | None = None
    short: str = ""
    """Why surplus pods have no place, empty when all have one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Wish:
    """Where a demand should lie, besides its own constraint.

    `prefer` is tried first, then with `nearby` the domains around it. `around` are nodes with pods
    of the unit already: under a constraint the others lie in one allowed domain with them. Nodes to
    `avoid` are only used when it does not fit without them, those of `never` not at all.
    """

    prefer: DomainId | None = None
    nearby: bool = False
    around: tuple[str, ...] = ()
    avoid: frozenset[str] = frozenset()
    never: frozenset[str] = frozenset()


class Ground:
    """Room that is held is gone for everybody else in the round.

    `hold`, `release` and `fits` work on single nodes and come before the first `place`: what is
    held from earlier rounds goes before anything new.
    """

    def __init__(
        self,
        cache: ClusterCache,
        units: Sequence[Unit],
        closed: frozenset[str],
        label_keys: frozenset[str],
    ) -> None:
        self._cache = cache
        self._units = units
        self._closed = closed
        self._label_keys = label_keys
        self._held: dict[str, dict[str, int]] = {}
        self._space: Space | None = None
        self._topology = Topology(axis=())
        self.unproven = 0
        """Answers that the search limit ended before they were certain."""

    # --- single nodes -----------------------------------------------------------------------

    def fits(self, node: str, shape: PodShape) -> bool:
        """Whether a node that was chosen before still takes such a pod."""
        record = self._cache.nodes.get(node)
        if record is None or not record.usable or not record.node_class.schedulable:
            return False
        if tolerated(record.node_class.taints, shape.tolerations) is not None:
            return False
        if node in self._closed or node in self._cache.unreadable_on:
            return False
        used, held = self._cache.used(node), self._held.get(node, {})
        return all(
            used.get(name, 0) + held.get(name, 0) + amount <= record.room.get(name, 0)
            for name, amount in shape.requests
        )

    def hold(self, node: str, shape: PodShape) -> None:
        """Keep room for one pod."""
        assert self._space is None, "what is held comes before anything new is placed"
        held = self._held.setdefault(node, {})
        for name, amount in shape.requests:
            held[name] = held.get(name, 0) + amount

    def release(self, node: str, shape: PodShape) -> None:
        """Give the room of one pod back."""
        held = self._held[node]
        for name, amount in shape.requests:
            held[name] -= amount

    # --- placing ----------------------------------------------------------------------------

    def place(
        self,
        demand: Demand,
        amounts: Amounts,
        wish: Wish,
        *,
        least: Amounts,
        binding: BindingId | None = None,
    ) -> Seats | str:
        """Take room for `amounts` of a demand, at least for `least`; or the reason why not."""
        seats: Seats | str = ""
        tries = [wish.never] if wish.avoid <= wish.never else [wish.avoid | wish.never, wish.never]
        for shut in tries:
            seats = self._place(demand, amounts, wish, shut, (least, binding))
            if isinstance(seats, Seats):
                break
        return seats

    def _place(
        self,
        demand: Demand,
        amounts: Amounts,
        wish: Wish,
        shut_nodes: frozenset[str],
        asked: tuple[Amounts, BindingId | None],
    ) -> Seats | str:
        """One try, with these nodes shut for it."""
        least, binding = asked
        space = self._opened()
        mark = space.mark()
        shut = space.shut(shut_nodes)
        if shut.takes:
            space.take(shut)
        beside = self._beside_mates(demand, amounts, least, binding)
        if isinstance(beside, str):
            space.rollback(mark)
            return beside
        around = [*wish.around, *(slot.node for slot in beside)]
        placed = space.place(
            demand.gang(),
            amounts=amounts,
            minimum=least,
            prefer=wish.prefer,
            bound=self._domains(around) if demand.constraint is not None else (),
            binding=binding,
            nearby=wish.nearby,
        )
        if isinstance(placed, NotPlaced):
            space.rollback(mark)
            self.unproven += not placed.proven
            return placed.verdict.detail or placed.verdict.reason.value
        self.unproven += not placed.exact
        if shut.takes:
            space.give_back(shut)
        space.take(placed)
        seats = self._seats(demand, amounts, beside, placed)
        if placed.amounts.pods() or not beside:
            return seats
        domain = self.enclosing(around)
        tiers = {d.name: d.tier for d in self._topology.domains}
        return replace(seats, domain=domain, tier=tiers.get(domain) if domain else None)

    def _beside_mates(
        self, demand: Demand, amounts: Amounts, least: Amounts, binding: BindingId | None
    ) -> list[Slot] | str:
        """Places for pods of subgroups that run already, each beside its own."""
        space, slots = self._opened(), list[Slot]()
        for lot in demand.lots:
            pods = lot.pods[: amounts.get(lot.name)]
            if not lot.mates or not pods:
                continue
            one = PodSet(name=lot.name, count=len(pods), minimum=0, shape=lot.shape)
            limit = lot.partition.constraint if lot.partition else None
            mates = [self._cache.node_of(pod) for pod in lot.mates]
            placed = space.place(
                Gang(pod_sets=(one,), minimum=0, constraint=limit or demand.constraint),
                minimum=Amounts.of({lot.name: min(len(pods), least.get(lot.name))}),
                bound=self._domains(mates),
                binding=binding,
            )
            if isinstance(placed, NotPlaced):
                if least.get(lot.name):
                    return placed.verdict.detail or placed.verdict.reason.value
                continue
            space.take(placed)
            nodes = self._nodes(placed)
            slots += [
                Slot(lot.name, at, node, lot.shape, pod.uid)
                for at, (pod, (_, node)) in enumerate(zip(pods, nodes, strict=False))
            ]
        return slots

    def _domains(self, nodes: Iterable[str]) -> tuple[DomainId | None, ...]:
        """The domains of these nodes; one that is gone holds nobody to any place."""
        leaf_of = self._cache.tree().leaf_of
        there = {leaf_of.get(n) for n in nodes if n in self._cache.nodes}
        return tuple(sorted(there, key=lambda domain: domain or ""))

    def _opened(self) -> Space:
        if self._space is None:
            self._topology = room_of(
                self._cache, self._units, held=self._held, closed=self._closed, placing=True
            )
            self._space = Space(self._topology, order_keys=sorted(self._label_keys))
        return self._space

    def _nodes(self, placed: Placed) -> list[tuple[PodSetName, str]]:
        """(lot, node) of every pod that was placed, in order."""
        return [
            (take.pod_set, self._topology.leaves[take.leaf].node)
            for take in placed.takes
            for _ in range(take.nodes * take.pods_per_node)
        ]

    def _seats(
        self, demand: Demand, amounts: Amounts, beside: Sequence[Slot], placed: Placed
    ) -> Seats:
        lots = {lot.name: lot for lot in demand.lots}
        positions: dict[PodSetName, int] = {}
        slots: list[Slot] = list(beside)
        for name, node in self._nodes(placed):
            position = positions.get(name, 0)
            positions[name] = position + 1
            lot = lots[name]
            pod = lot.pods[position].uid if lot.in_order and position < len(lot.pods) else ""
            slots.append(Slot(name, position, node, lot.shape, pod))
        found = placed.amounts.plus(
            Amounts.of({lot.name: sum(s.lot == lot.name for s in beside) for lot in demand.lots})
        )
        missing = amounts.minus(found)
        lacking = " and ".join(f"{pods} pods of {name}" for name, pods in missing.entries)
        return Seats(
            slots=tuple(slots),
            domain=placed.domain,
            tier=placed.tier,
            short=f"there is no room for {lacking} now" if lacking else "",
        )

    # --- the tree ---------------------------------------------------------------------------

    def enclosing(self, nodes: Iterable[str]) -> DomainId | None:
        """The smallest domain around these nodes; None when there is none."""
        common: list[DomainId] | None = None
        for domain in self._domains(nodes):
            chain = self._chain(domain)
            common = chain if common is None else [name for name in common if name in chain]
        return common[0] if common else None

    def _chain(self, domain: DomainId | None) -> list[DomainId]:
        """A domain and its ancestors, upwards."""
        parents = {d.name: d.parent for d in self._cache.tree().domains}
        chain: list[DomainId] = []
        while domain is not None and domain not in chain:
            chain.append(domain)
            domain = parents.get(domain)
        return chain

    def lies_in(self, domain: DomainId | None, around: DomainId | None) -> bool:
        """Whether a domain is within another, or the same; None is the whole cluster."""
        return around is None or around in self._chain(domain)

    def nodes_in(self, domains: frozenset[DomainId | None]) -> frozenset[str]:
        """The nodes of these domains; None is the whole cluster."""
        if None in domains:
            return frozenset(self._cache.nodes)
        if not domains:
            return frozenset()
        leaf_of = self._cache.tree().leaf_of
        inside = {
            leaf
            for leaf in set(leaf_of.values())
            if any(self.lies_in(leaf, domain) for domain in domains)
        }
        return frozenset(name for name, leaf in leaf_of.items() if leaf in inside)
