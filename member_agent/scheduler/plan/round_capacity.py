"""The nodes of a round: held amounts first, then one `Space` from which everything is placed."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from global_sched.shared.model.gang import Amounts, Gang, TopologyConstraint
from global_sched.shared.model.ids import BindingId, DomainId, PodSetName
from global_sched.shared.model.pods import PodShape, tolerated
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.placement import NotPlaced, Placed, Space
from member_agent.cache import ClusterCache, PodUnit, RoomQuery, live_room
from member_agent.scheduler.gang.demand import RemainingDemand
from member_agent.scheduler.plan.assignment import Assignment, PlacementPreferences
from member_agent.scheduler.plan.domain_lookup import DomainLookup
from member_agent.scheduler.plan.outcome import Slot
from member_agent.scheduler.plan.subgroup_affinity import all_at_once, gang_beside

_MOST_RETRIES: Final = 256
"""So many further ways to make up a minimum are tried in one round, for all units together."""


class RoundCapacity:
    """Capacity that is held is not free for anything else in the round.

    `hold`, `release` and `fits` work on single nodes and come before the first `place`: what is
    held from earlier rounds goes before anything new.
    """

    def __init__(
        self,
        cache: ClusterCache,
        units: Sequence[PodUnit],
        closed: frozenset[str],
        label_keys: frozenset[str],
    ) -> None:
        self._cache = cache
        self.tree = DomainLookup(cache)
        self._units = units
        self._closed = closed
        self._label_keys = label_keys
        self._held: dict[str, dict[str, int]] = {}
        self._space: Space | None = None
        self._topology = Topology(axis=())
        self.unproven = 0
        """Answers that the search limit ended before they were certain."""
        self._retries = _MOST_RETRIES
        self._taken: list[Placed] = []
        """What the last `place` took."""
        self._kept: dict[BindingId, tuple[Placed, ...]] = {}

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

    def may_retry(self) -> bool:
        """Whether one more way to make up a minimum may be tried in this round."""
        self._retries -= 1
        return self._retries >= 0

    def keep(
        self,
        demand: RemainingDemand,
        amounts: Amounts,
        preferences: PlacementPreferences,
        binding: BindingId,
    ) -> Assignment:
        """Take as many of the amounts as fit, until `give_back`."""
        assignment = self.place(demand, amounts, preferences, least=Amounts(), binding=binding)
        if isinstance(assignment, str):
            return Assignment()
        self._kept[binding] = tuple(self._taken)
        return assignment

    def give_back(self, binding: BindingId) -> None:
        """What was kept for a binding is kept no more."""
        for placed in self._kept.pop(binding, ()):
            self._opened().give_back(placed)

    def knows_no_tier_of(self, constraint: TopologyConstraint | None) -> bool:
        """Whether a constraint names a tier that the cluster does not have: nothing can keep it."""
        gang = Gang(pod_sets=(), minimum=0, constraint=constraint)
        return isinstance(self._opened().task(gang), Verdict)

    def place(
        self,
        demand: RemainingDemand,
        amounts: Amounts,
        preferences: PlacementPreferences,
        *,
        least: Amounts,
        binding: BindingId | None = None,
    ) -> Assignment | str:
        """Take room for `amounts` of a demand, at least for `least`; or the reason why not."""
        assignment: Assignment | str = ""
        tries = (
            [preferences.never]
            if preferences.avoid <= preferences.never
            else [preferences.avoid | preferences.never, preferences.never]
        )
        for shut in tries:
            assignment = self._place(demand, amounts, preferences, shut, (least, binding))
            if isinstance(assignment, Assignment):
                break
        return assignment

    def _place(
        self,
        demand: RemainingDemand,
        amounts: Amounts,
        preferences: PlacementPreferences,
        shut_nodes: frozenset[str],
        asked: tuple[Amounts, BindingId | None],
    ) -> Assignment | str:
        """One try, with these nodes shut for it."""
        least = asked[0]
        space = self._opened()
        mark = space.mark()
        self._taken = []
        shut = space.shut(shut_nodes)
        if shut.takes:
            space.take(shut)
        found = self._mates_first(demand, amounts, preferences, asked)
        if isinstance(found, NotPlaced) and least.pods():
            found = self._at_once(demand, amounts, preferences, asked) or found
        if isinstance(found, NotPlaced):
            space.rollback(mark)
            self.unproven += not found.proven
            return found.verdict.detail or found.verdict.reason.value
        beside, placed = found
        self.unproven += not placed.exact
        if shut.takes:
            space.give_back(shut)
        space.take(placed)
        self._taken.append(placed)
        assignment = self._slots(demand, amounts, beside, placed)
        if placed.amounts.pods() or not beside:
            return assignment
        domain = self.tree.enclosing([*preferences.around, *(slot.node for slot in beside)])
        tiers = {d.name: d.tier for d in self._topology.domains}
        return replace(assignment, domain=domain, tier=tiers.get(domain) if domain else None)

    def _mates_first(
        self,
        demand: RemainingDemand,
        amounts: Amounts,
        preferences: PlacementPreferences,
        asked: tuple[Amounts, BindingId | None],
    ) -> tuple[list[Slot], Placed] | NotPlaced:
        """Pods beside others of their subgroup, taken; and the rest, not taken yet."""
        least, binding = asked
        space = self._opened()
        mark = space.mark()
        beside = self._beside_mates(demand, amounts, least, binding)
        if isinstance(beside, NotPlaced):
            space.rollback(mark)
            self._taken = []
            return beside
        placed = space.place(
            demand.gang(),
            amounts=amounts,
            minimum=least,
            prefer=preferences.prefer,
            bound=self._bound(demand, [*preferences.around, *(slot.node for slot in beside)]),
            binding=binding,
            nearby=preferences.nearby,
        )
        if isinstance(placed, Placed):
            return beside, placed
        rest = least.minus(
            Amounts.of({part.name: part.count for part in demand.parts if part.mates})
        )
        if beside and not rest.pods():
            return beside, Placed(Amounts(), None, None, "", ())
        space.rollback(mark)
        self._taken = []
        return placed

    def _at_once(
        self,
        demand: RemainingDemand,
        amounts: Amounts,
        preferences: PlacementPreferences,
        asked: tuple[Amounts, BindingId | None],
    ) -> tuple[list[Slot], Placed] | None:
        """Everything in one search, where some pods belong beside others; None when it is none."""
        if not any(part.mates for part in demand.parts):
            return None
        whole = all_at_once(
            demand, lambda part: map(self._cache.node_of, part.mates), self.tree.domains_of
        )
        if whole is None:
            return None
        placed = self._opened().place(
            whole[0],
            amounts=amounts,
            minimum=asked[0],
            bound=self._bound(demand, preferences.around),
            binding=asked[1],
            joins=whole[1],
        )
        return ([], placed) if isinstance(placed, Placed) else None

    def _bound(self, demand: RemainingDemand, nodes: Sequence[str]) -> tuple[DomainId | None, ...]:
        """Where the gang's running pods hold the others to."""
        return self.tree.domains_of(nodes) if demand.constraint is not None else ()

    def _beside_mates(
        self, demand: RemainingDemand, amounts: Amounts, least: Amounts, binding: BindingId | None
    ) -> list[Slot] | NotPlaced:
        """Places for pods of subgroups that run already, each beside its own."""
        space, slots = self._opened(), list[Slot]()
        for part in demand.parts:
            pods = part.pods[: amounts.get(part.name)]
            if not part.mates or not pods:
                continue
            mates = [self._cache.node_of(pod) for pod in part.mates]
            placed = space.place(
                gang_beside(space, part, len(pods), demand.constraint),
                minimum=Amounts.of({part.name: min(len(pods), least.get(part.name))}),
                bound=self.tree.domains_of(mates),
                binding=binding,
            )
            if isinstance(placed, NotPlaced):
                if least.get(part.name):
                    return placed
                continue
            space.take(placed)
            self._taken.append(placed)
            nodes = self._nodes(placed)
            slots += [
                Slot(part.name, at, node, part.shape, pod.uid)
                for at, (pod, (_, node)) in enumerate(zip(pods, nodes, strict=False))
            ]
        return slots

    def _opened(self) -> Space:
        if self._space is None:
            asked = RoomQuery(
                units=self._units,
                held=self._held,
                closed=self._closed,
                order_keys=self._label_keys,
            )
            self._space = live_room(self._cache).open(self._cache, asked)
            self._topology = self._space.topology
        return self._space

    def _nodes(self, placed: Placed) -> list[tuple[PodSetName, str]]:
        """(part, node) of every pod that was placed, in order."""
        return [
            (take.pod_set, self._topology.leaves[take.leaf].node)
            for take in placed.takes
            for _ in range(take.nodes * take.pods_per_node)
        ]

    def _slots(
        self, demand: RemainingDemand, amounts: Amounts, beside: Sequence[Slot], placed: Placed
    ) -> Assignment:
        parts = {part.name: part for part in demand.parts}
        positions: dict[PodSetName, int] = {}
        slots: list[Slot] = list(beside)
        for name, node in self._nodes(placed):
            position = positions.get(name, 0)
            positions[name] = position + 1
            part = parts[name]
            by_name = part.by_name
            pod = part.pods[position].uid if by_name and position < len(part.pods) else ""
            slots.append(Slot(name, position, node, part.shape, pod))
        found = placed.amounts.plus(
            Amounts.of(
                {part.name: sum(s.part == part.name for s in beside) for part in demand.parts}
            )
        )
        missing = amounts.minus(found)
        lacking = " and ".join(f"{pods} pods of {name}" for name, pods in missing.entries)
        return Assignment(
            slots=tuple(slots),
            domain=placed.domain,
            tier=placed.tier,
            short=f"there is no room for {lacking} now" if lacking else "",
        )

    def free_on(self, nodes: frozenset[str]) -> dict[str, dict[str, int]]:
        """What is free on each of these nodes, beside all that was placed in this round."""
        found: dict[str, dict[str, int]] = {name: {} for name in nodes}
        for take in self._opened().shut(nodes).takes:
            found[self._topology.leaves[take.leaf].node] = dict(take.requests.entries)
        return found
