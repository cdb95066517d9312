"""One cluster's room during one pass: place, take, give back, undo, explain."""

from collections.abc import Callable, Collection, Mapping, Sequence
from functools import reduce
from typing import NamedTuple

from global_sched.shared.model.gang import Amounts, Gang
from global_sched.shared.model.ids import BindingId, DomainId
from global_sched.shared.model.policy import Policy
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.topology import Leaf, Occupant, Topology, Wanted
from global_sched.shared.model.verdict import DomainVerdict, Verdict
from global_sched.shared.placement.bounded_cache import BoundedCache
from global_sched.shared.placement.capacity.allocations import Allocations
from global_sched.shared.placement.capacity.baseline import MOST_GANGS, baseline_of
from global_sched.shared.placement.capacity.cluster_counts import ClusterFitCounts
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.node_updates import NodeUpdates, all_free, per_tenant
from global_sched.shared.placement.capacity.shape_table import ShapeTable, ShapeTables
from global_sched.shared.placement.explain.domains import domain_verdicts
from global_sched.shared.placement.explain.refusals import not_now, static_refusal
from global_sched.shared.placement.node_assignment import free_in, node_takes, placed_of
from global_sched.shared.placement.request.compile import (
    Limit,
    Task,
    compile_task,
    one_shape,
    only_shape,
)
from global_sched.shared.placement.request.tier_names import readings
from global_sched.shared.placement.result import Glance, Join, NotPlaced, Placed
from global_sched.shared.placement.search.select_domain import SearchScope, glance, room_in
from global_sched.shared.placement.search.single_domain import is_small, place_in_single_domain
from global_sched.shared.placement.search.solver import Solver
from global_sched.shared.placement.search.trial import Trial

Answer = Placed | NotPlaced
Ask = tuple[
    int,
    Amounts | None,
    Amounts | None,
    DomainId | None,
    tuple[DomainId | None, ...],
    BindingId | None,
    tuple[Join, ...],
    bool,
]
"""The gang's identity, amounts, minimum, prefer, bound, binding, joins, nearby."""


class AnswerCache:
    """Answers at one version. Each keeps its gang alive, so that identities stay unique."""

    __slots__ = ("asked", "plain")

    def __init__(self) -> None:
        self.plain: dict[int, tuple[Gang, Answer]] = {}
        self.asked: dict[Ask, tuple[Gang, Answer]] = {}


_MOST_MARKS = 64


class _Where(NamedTuple):
    """A position to try first, one around pods that run, and whether to look near the first."""

    preferred: int | None
    around: int | None
    nearby: bool


class Space:
    """The room of one cluster, from a topology. Answers depend on values, never on input order.

    `order_keys` are the node label keys that decide ties between nodes first (default: the
    topology's own). A side that sees whole labels passes the keys that the other side knows, and
    then both choose alike.
    """

    def __init__(
        self,
        topology: Topology,
        *,
        order_keys: Sequence[str] | None = None,
        search_limit: int = Policy().placement_search_limit,
        board_of: Callable[[Rows], ClusterFitCounts] = ClusterFitCounts,
    ) -> None:
        keys = topology.label_keys if order_keys is None else order_keys
        self.topology = topology
        self._search_limit = search_limit
        self.version = 0
        """Changes with every take and give_back; equal versions of a Space give equal answers."""
        self._baseline = baseline_of(topology, None if keys is None else frozenset(keys))
        self._rows = Rows(self._baseline)
        self._allocations = Allocations(self._rows)
        self._cluster_counts = board_of(self._rows)
        self._tables = ShapeTables(self._rows, self._cluster_counts)
        self._seen = BoundedCache[int, tuple[Gang, ShapeTable, int, Limit]](MOST_GANGS)
        self._small = is_small(self._rows)
        self._answers = AnswerCache()
        self._plain = self._answers.plain
        self._last_version = 0
        self._marks = BoundedCache[int, tuple[int, AnswerCache]](_MOST_MARKS)
        self._free: tuple[int, Resources] | None = None
        self._node_updates: NodeUpdates | None = None

    def place(
        self,
        gang: Gang,
        *,
        amounts: Amounts | None = None,
        minimum: Amounts | None = None,
        prefer: DomainId | None = None,
        bound: tuple[DomainId | None, ...] = (),
        binding: BindingId | None = None,
        joins: tuple[Join, ...] = (),
        nearby: bool = False,
    ) -> Answer:
        """Where the gang goes, or why it does not. Takes nothing.

        The minimum decides the domain; surplus up to `amounts` follows as far as it fits under the
        constraint. Choice: the lowest tier of the enclosing domain, then the least mean tier over
        all pairs of pods, then the tightest domain, then the name.

        amounts:  the most to place per pod set (default: all pods).
        minimum:  what must be placed (default: the gang's minimum); empty: as many as fit.
        prefer:   a domain that is tried first.
        nearby:   after it the domains around it are tried, from the smallest to the largest.
        bound:    domains of pods of the gang that run already: the whole gang obeys its constraint.
        binding:  whose occupants count for one-per-node pod sets.
        joins:    groups of partitions that lack pods; these pods come first of their pod set's.
        """
        plain = amounts is None and minimum is None and prefer is None
        if plain and not bound and binding is None and not joins:
            hit = self._plain.get(id(gang))
            if hit is not None:
                return hit[1]
            return self._plain_answer(gang)
        ask = (id(gang), amounts, minimum, prefer, bound, binding, joins, nearby)
        found = self._answers.asked.get(ask)
        if found is None:
            answer = self._answer(gang, ask)
            found = self._answers.asked[ask] = (gang, answer)
        return found[1]

    def _plain_answer(self, gang: Gang) -> Answer:
        """An answer that this version does not know yet; untouched room answers for all Spaces."""
        shared = self._baseline.answers
        known = shared.get(id(gang)) if self.version == 0 else None
        if known is None:
            ask: Ask = (id(gang), None, None, None, (), None, (), False)
            known = (gang, self._lone(gang) or self._answer(gang, ask))
            if self.version == 0 and self._is_shareable(known[1]):
                shared.keep(id(gang), known)
        self._plain[id(gang)] = known
        return known[1]

    def _lone(self, gang: Gang) -> Placed | None:
        """The answer where it can be found without a search."""
        task = self._task(gang, None, None)
        if isinstance(task, Verdict) or not task.lone or not self._small:
            return None
        return place_in_single_domain(self._rows, self._tables.of_task(task)[0], task)

    def _is_shareable(self, answer: Answer) -> bool:
        """Whether an answer is final and names only rows that every Space of this topology has."""
        rows = len(self._baseline.count)
        if isinstance(answer, NotPlaced):
            return answer.proven
        return answer.exact and all(take.leaf < rows for take in answer.takes)

    def _answer(self, gang: Gang, ask: Ask) -> Answer:
        _, amounts, minimum, prefer, bound, binding, joins, nearby = ask
        task = self._task(gang, amounts, minimum, binding, joins)
        if isinstance(task, Verdict):
            return NotPlaced(task)
        if task.most == 0:
            return Placed(Amounts(), None, None, "", ())
        index = self._rows.index
        around = None
        for domain in bound:
            at = index.at(domain)
            around = at if around is None else index.common(around, at)
        preferred = index.position.get(prefer) if prefer is not None else None
        where = _Where(preferred, around, nearby)
        refused: list[NotPlaced] = []
        most: Placed | None = None
        for one, tree in self._read(gang, task, ask, where):
            answer = self._solved(gang, one, where, tree)
            if isinstance(answer, NotPlaced):
                refused.append(answer)
            elif not task.any_number or answer.amounts.pods() == task.most:
                return answer
            elif most is None or answer.amounts.pods() > most.amounts.pods():
                most = answer
        return most or max(refused, key=lambda one: (not one.proven, one.verdict.holds or 0))

    def _read(
        self, gang: Gang, task: Task, ask: Ask, where: "_Where"
    ) -> list[tuple[Task, int | None]]:
        """The ways to read its tier names: for all trees, and for those where one means more.

        What is to be tried first goes by its own tree; so do pods beside others that run.
        """
        _, amounts, minimum, _, _, binding, joins, _ = ask
        index = self._rows.index
        found: list[tuple[Task, int | None]] = [(task, None)]
        for reading, tree in readings(index, gang):
            there = self._task(reading, amounts, minimum, binding, joins)
            if isinstance(there, Verdict):
                continue
            if where.around is not None:
                if index.tree_of(where.around) == tree:
                    return [(there, tree)]
                continue
            first = where.preferred is not None and index.tree_of(where.preferred) == tree
            found.insert(0 if first else len(found), (there, tree))
        return found

    def _solved(
        self, gang: Gang, task: Task, where: "_Where", tree: int | None
    ) -> Placed | NotPlaced:
        """The task placed, in one tree or anywhere; or why it is not."""
        index = self._rows.index
        preferred, around = where.preferred, where.around
        if tree is not None and preferred is not None and index.tree_of(preferred) != tree:
            preferred = None
        solver = Solver(self._rows, self._tables.of_task(task), task, self._search_limit)
        trial = solver.solve(preferred, around, nearby=where.nearby, within=tree)
        if isinstance(trial, Trial):
            placed = placed_of(
                self._rows, self._allocations, trial, gang, around, exact=solver.exact
            )
            trial.undo()
            return placed
        within = index.root if tree is None else tree
        scope = SearchScope(limit=task.limit, within=within, around=around)
        tables = self._tables.of_task(task)
        return NotPlaced(
            not_now(self._rows, task, tables, scope, proven=trial.proven), trial.proven
        )

    def _task(
        self,
        gang: Gang,
        amounts: Amounts | None,
        minimum: Amounts | None,
        binding: BindingId | None = None,
        joins: tuple[Join, ...] = (),
    ) -> Task | Verdict:
        """The compiled gang, or a verdict that no change of room can mend."""
        plain = amounts is None and minimum is None and binding is None and not joins
        kept = self._baseline.class_set.tasks
        known = kept.get(id(gang)) if plain else None
        if known is not None and known[0] is gang:
            return known[1]
        task = compile_task(
            self._rows.index,
            gang,
            gang.all_amounts() if amounts is None else amounts,
            gang.minimum_amounts() if minimum is None else minimum,
            binding,
            joins,
        )
        if isinstance(task, Task):
            task = static_refusal(self._baseline, task) or task
        if plain:
            kept.keep(id(gang), (gang, task))
        return task

    def take(self, placed: Placed) -> None:
        """Use the room. Raises InvariantError when it is not there (a Placed of another state)."""
        self._allocations.take(placed)
        self._changed()

    def give_back(self, placed: Placed) -> None:
        """Free the room of a take, whatever was taken since. InvariantError if it is not taken."""
        self._allocations.give_back(placed)
        self._changed()

    def vacate(self, freed: Mapping[tuple[Occupant, ...], Resources]) -> None:
        """Try what would be free without some of the pods that run here.

        Every node with these occupants gets so much back. Only `rollback` undoes it.
        """
        self._allocations.vacate(per_tenant(self._baseline, freed))
        self._changed()

    def all_free(
        self,
        *,
        occupants: Collection[tuple[Occupant, ...]] = (),
        domain: DomainId | None = None,
        beyond: DomainId | None = None,
    ) -> Placed:
        """All free room of nodes with these occupants, under a domain, beyond one: to be taken."""
        takes = all_free(self._rows, self._allocations, occupants, domain, beyond)
        return Placed(Amounts(), domain, None, "", takes)

    def nodes_of(self, freed: Mapping[tuple[Occupant, ...], Resources]) -> tuple[Leaf, ...]:
        """The nodes with these occupants as they are now, alike ones together; without names."""
        return self._allocations.counted(per_tenant(self._baseline, freed))

    def shut(self, nodes: Collection[str]) -> Placed:
        """Everything that is free on named nodes: to be taken, so that nothing else goes there."""
        takes = node_takes(self._rows, self._allocations, nodes) if nodes else ()
        return Placed(Amounts(), None, None, "", takes)

    def renew(
        self, changes: Mapping[int, Leaf | None], demand: tuple[Wanted, ...] | None = None
    ) -> bool:
        """Undo everything, then let named nodes (by leaf; None: gone) be as given.

        demand:  what pods ask for now (None: the same as before).

        The Space then answers as one made anew. False where it has to be: nothing is changed then.
        """
        self._allocations.rollback(0)
        self._marks.clear()
        if self._node_updates is None:
            self._node_updates = NodeUpdates(self._rows, self._allocations)
        done = self._baseline.named and self._node_updates.apply(changes)
        if done and demand is not None:
            self._rows.weigh(demand)
        self._changed()
        return done

    def _changed(self) -> None:
        self._last_version += 1
        self.version = self._last_version
        self._answers = AnswerCache()
        self._plain = self._answers.plain

    def mark(self) -> int:
        """A point to roll back to."""
        point = self._allocations.mark()
        self._marks.keep(point, (self.version, self._answers))
        return point

    def rollback(self, mark: int) -> None:
        """Undo all takes and give_backs since a mark; the version of then is back, too."""
        if mark >= self._allocations.mark():
            return
        self._allocations.rollback(mark)
        for point in [point for point in self._marks if point > mark]:
            del self._marks[point]
        if mark not in self._marks:
            self._changed()
            return
        self.version, self._answers = self._marks[mark]
        self._plain = self._answers.plain

    def glance(self, gang: Gang) -> Glance | None:
        """Whether `place(gang)` would find room, and how close, for a fraction of its cost.

        None for gangs of several shapes or groups: those have to be placed to know.
        """
        shared = self._baseline.glances if self.version == 0 else None
        known = shared.get(id(gang)) if shared is not None else None
        if known is not None and known[0] is gang:
            return known[1]
        if shared is None:
            seen = self._seen.get(id(gang))
            if seen is not None:
                seen[1].follow()
                return glance(self._rows.index, seen[1], seen[2], seen[3])
        return self._first_glance(gang)

    def _first_glance(self, gang: Gang) -> Glance | None:
        """A glance at a gang that this Space has not seen since its room changed first."""
        task = self._task(gang, None, None)
        if isinstance(task, Verdict):
            return Glance(fits=False)
        unit = one_shape(task)
        if unit is None:
            return None
        table = self._tables.of(unit.key)
        found = glance(self._rows.index, table, unit.least, task.limit)
        if self.version == 0:
            self._baseline.glances.keep(id(gang), (gang, found))
        else:
            self._seen.keep(id(gang), (gang, table, unit.least, task.limit))
        return found

    def task(self, gang: Gang) -> Task | Verdict:
        """What `place(gang)` would place, or the verdict that no change of room can mend."""
        return self._task(gang, None, None)

    def count(self) -> None:
        """Bring the counts of all shapes up to date, where clusters share them."""
        self._cluster_counts.follow()

    def holds(self, gang: Gang, domain: DomainId | None) -> int:
        """Pods of the gang's shapes that a domain has room for, each shape counted alone.

        None is the whole cluster. Says how tight a domain is for a gang, not whether it fits.
        """
        task = self._task(gang, None, None)
        if isinstance(task, Verdict):
            return 0
        at = self._rows.index.at(domain)
        return sum([int(table.sums[at]) for table in self._tables.of_task(task)])

    def room(self, gang: Gang, beside: tuple[DomainId | None, ...] = ()) -> int:
        """The most pods of a gang of one shape that an allowed domain holds, however few it wants.

        beside:  domains of pods that run: only what is allowed around those counts.
        """
        index = self._rows.index
        around = reduce(index.common, [index.at(one) for one in beside]) if beside else None
        most = 0
        for reading, tree in ((gang, index.root), *readings(index, gang)):
            task = self._task(reading, None, None)
            unit = None if isinstance(task, Verdict) else only_shape(task)
            if unit is None or isinstance(task, Verdict):
                continue
            if around is not None and tree not in (index.root, index.tree_of(around)):
                continue
            table = self._tables.of_task(task)[unit.at]
            scope = SearchScope(limit=task.limit, within=tree, around=around)
            most = max(most, room_in(index, table, scope))
        return most

    def remaining(self) -> Topology:
        """The topology as it is now. Counted leaves are split and merged in canonical order."""
        return self._allocations.remaining(self.topology)

    def explain(self, gang: Gang, *, minimum: Amounts | None = None) -> tuple[DomainVerdict, ...]:
        """For every domain of the allowed tiers how much of the minimum it holds, nearest first.

        Empty when the cluster refuses the gang before any domain matters: see `place`.
        """
        task = self._task(gang, None, minimum)
        if isinstance(task, Verdict):
            return ()
        tables = self._tables.of_task(task)
        found = domain_verdicts(self._rows, task, tables) if tables else ()
        index = self._rows.index
        for reading, tree in readings(index, gang):
            there = self._task(reading, None, minimum)
            if isinstance(there, Verdict):
                continue
            inside = index.under(tree)
            more = domain_verdicts(self._rows, there, self._tables.of_task(there))
            found = (
                *(one for one in found if not inside[index.at(one.domain)]),
                *(one for one in more if inside[index.at(one.domain)]),
            )
        return tuple(sorted(found, key=lambda one: (-one.holds, one.tier, one.domain)))

    def free(self) -> Resources:
        """All free room, on nodes that take pods or not."""
        if self._free is None or self._free[0] != self.version:
            self._free = (self.version, free_in(self._rows, changed=bool(self.version)))
        return self._free[1]
