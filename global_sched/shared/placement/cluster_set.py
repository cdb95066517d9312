"""Many clusters asked at once whether a gang fits, and how closely.

Every cluster has its `Space`, made when something is placed there. What all of them hold is counted
in one `FitCounts`, so that a question costs vector operations, not a call per cluster, and most
clusters never need a Space of their own.
"""

from collections.abc import Iterable, Sequence

from global_sched.shared.model.gang import Gang
from global_sched.shared.model.ids import DomainId
from global_sched.shared.model.last_resort import is_last_resort
from global_sched.shared.model.topology import Topology
from global_sched.shared.model.verdict import Verdict
from global_sched.shared.placement.capacity.baseline import (
    NodeClassSet,
    baseline_of,
    share_class_sets,
)
from global_sched.shared.placement.capacity.cluster_counts import ClusterFitCounts
from global_sched.shared.placement.capacity.fit_counts import SUMS, FitCounts, Ints
from global_sched.shared.placement.capacity.node_groups import Rows
from global_sched.shared.placement.capacity.tier_levels import Mask, Near, Nearby, TierLevels
from global_sched.shared.placement.explain.refusals import tied, too_little
from global_sched.shared.placement.request.compile import Task, Unit, one_shape
from global_sched.shared.placement.search.select_domain import glance
from global_sched.shared.placement.space import Space
from global_sched.shared.placement.tree.domain_index import TreeIndex

_FEW_DOMAINS = 64
"""So many domains are looked through one by one faster than as vectors."""
_FEW_CLUSTERS = 7
"""So many clusters are asked one by one faster than all of them as vectors."""
_DOMAINS_PER_QUESTION = 4096
_DOMAINS_PER_CLUSTER = 192
"""All clusters are asked at once where they have at most so many domains for each that is asked.
Where any domain will do that reads one number of each: worth it for some thousands more."""


class ClusterSet:
    """The room of some clusters, by position; changed through the Spaces that it makes."""

    def __init__(self, topologies: Sequence[Topology], *, search_limit: int) -> None:
        self._topologies = topologies
        self._search_limit = search_limit
        self.baselines = [
            baseline_of(one, None if one.label_keys is None else frozenset(one.label_keys))
            for one in topologies
        ]
        self.class_sets = share_class_sets(self.baselines)
        self.fit_counts = FitCounts(self.baselines)
        self._spaces: list[Space | None] = [None] * len(topologies)
        self._class_sets: dict[NodeClassSet, int] = {}
        for at, class_set in enumerate(self.class_sets):
            self._class_sets.setdefault(class_set, at)
        self._changed: set[int] = set()
        self._levels: TierLevels | None = None
        self.verdicts: dict[tuple[object, ...], Verdict] = {}
        """Refusals for lack of room, which many clusters and gangs share."""

    def space(self, at: int) -> Space:
        """The Space of a cluster, to place in or change before the next question is answered.

        Who keeps it for longer calls `touched` after every change.
        """
        self._changed.add(at)
        space = self._spaces[at]
        if space is None:
            space = self._spaces[at] = Space(
                self._topologies[at],
                search_limit=self._search_limit,
                board_of=lambda rows: self._cluster_counts(rows, at),
            )
        return space

    def _cluster_counts(self, rows: Rows, at: int) -> ClusterFitCounts:
        return ClusterFitCounts(rows, self.fit_counts, at)

    def expect(self, gangs: Iterable[Gang]) -> None:
        """Count the shapes of gangs that will be asked for, all at once."""
        self.fit_counts.count(pod_set.shape for gang in gangs for pod_set in gang.pod_sets)

    @property
    def levels(self) -> TierLevels:
        """Where the tiers of all clusters lie among the rows of `FitCounts`."""
        if self._levels is None:
            self._levels = TierLevels(
                [baseline.index for baseline in self.baselines], self.fit_counts.first
            )
        return self._levels

    def has_last_resort(self) -> bool:
        """Whether a cluster has nodes of last resort."""
        kinds = {kind for class_set in self._class_sets for kind in class_set.classes}
        return any(is_last_resort(kind) for kind in kinds)

    def touched(self, at: int) -> None:
        """The cluster's room is counted again before the next answer."""
        self._changed.add(at)

    def follow(self) -> None:
        """Bring the counts up to date."""
        for at in self._changed:
            space = self._spaces[at]
            if space is not None:
                space.count()
        self._changed.clear()

    def free(self, at: int) -> dict[str, int]:
        """All free room of a cluster, on nodes that take pods or not."""
        space = self._spaces[at]
        if space is not None:
            return dict(space.free().entries)
        axis, totals = self._topologies[at].axis, self.baselines[at].free_totals()
        return {name: total for name, total in zip(axis, totals, strict=True) if total}

    def question(self, gang: Gang) -> "GangQuestion":
        """The question whether a gang fits: all of it, or its minimum at least."""
        return GangQuestion(
            self,
            gang,
            {one: self._task(gang, one, at) for one, at in self._class_sets.items()},
        )

    def _task(self, gang: Gang, class_set: NodeClassSet, at: int) -> Task | Verdict:
        """What it compiles to in clusters of that kind; their first one has to say it once."""
        known = class_set.tasks.get(id(gang))
        if known is not None and known[0] is gang:
            return known[1]
        return self.space(at).task(gang)


class GangQuestion:
    """One gang, asked of every cluster. Answers are for the room as it is when they are given."""

    def __init__(
        self, field: ClusterSet, gang: Gang, tasks: dict[NodeClassSet, Task | Verdict]
    ) -> None:
        self._cluster_set = field
        self._tasks = [tasks[class_set] for class_set in field.class_sets]
        units = {
            class_set: one_shape(task)
            for class_set, task in tasks.items()
            if isinstance(task, Task)
        }
        self._units: list[Unit | None] = [units.get(class_set) for class_set in field.class_sets]
        shapes = {unit.key[0] for unit in units.values() if unit is not None}
        self.plain = len(shapes) <= 1 and None not in units.values()
        """Whether every cluster can answer by counting one shape."""
        self._place = field.fit_counts.place(shapes.pop()) if self.plain and shapes else -1
        self._least = max((unit.least for unit in units.values() if unit is not None), default=0)
        self._scatters = gang.constraint is None
        self._counts: Mask | None = None

    def answers(self, clusters: Sequence[int]) -> list[Near | None]:
        """How closely it fits in some clusters (None: not at all); only where it is `plain`."""
        field = self._cluster_set
        field.follow()
        firsts, baselines = field.fit_counts.first, field.baselines
        sums = field.fit_counts.table[:, SUMS, self._place]
        found: list[Near | None] = []
        for at in clusters:
            task, unit = self._tasks[at], self._units[at]
            if unit is None or isinstance(task, Verdict):
                found.append(None)
                continue
            first, after, index = firsts[at], firsts[at + 1], baselines[at].index
            limit, least, whole = task.limit, unit.least, int(sums[after - 1])
            if whole < least:
                found.append(None)
            elif limit.scatter:
                found.append((None, whole))
            elif after - first > _FEW_DOMAINS:
                here = sums[first:after]
                seen = glance(index, _Sums(index, here), least, limit)
                found.append((seen.tier, seen.holds) if seen.fits else None)
            else:
                found.append(_near(index, sums[first:after].tolist(), least, limit.tier))
        return found

    def at_once(self, clusters: int) -> bool:
        """Whether to ask all clusters at once is faster than to ask so many one by one."""
        rows = clusters * _DOMAINS_PER_CLUSTER + (_DOMAINS_PER_QUESTION if self._scatters else 0)
        return clusters > _FEW_CLUSTERS and rows >= len(self._cluster_set.fit_counts.table)

    def nearby(self) -> Nearby:
        """The same for every cluster, as arrays; only where it is `plain`."""
        self._cluster_set.follow()
        if self._counts is None:
            self._counts = self._make_counts()
        levels, sums = (
            self._cluster_set.levels,
            self._cluster_set.fit_counts.table[:, SUMS, self._place],
        )
        if not self._scatters:
            return levels.nearest(sums, self._least, self._counts)
        found = levels.whole(sums, self._least)
        return Nearby(found.fits & self._counts[:, 0], None, found.holds)

    def _make_counts(self) -> Mask:
        """The tiers that count in each cluster: none where it refuses the gang for good."""
        tasks = [None if isinstance(task, Verdict) else task for task in self._tasks]
        highest = [None if task is None else task.limit.tier for task in tasks]
        counts = self._cluster_set.levels.up_to(highest)
        counts[[at for at, unit in enumerate(self._units) if unit is None]] = False
        return counts

    def verdicts(self, clusters: Iterable[int]) -> list[Verdict]:
        """Why clusters refuse that do not fit, as `Space.place` says; only where it is `plain`."""
        self._cluster_set.follow()
        sums = self._cluster_set.fit_counts.table[:, SUMS, self._place].tolist()
        return [self._verdict(at, sums) for at in clusters]

    def _verdict(self, at: int, sums: list[int]) -> Verdict:
        task = self._tasks[at]
        if isinstance(task, Verdict):
            return task
        field, least = self._cluster_set, task.units[0].least
        first, index = field.fit_counts.first[at], field.baselines[at].index
        tier, nearest, holds, level = task.limit.tier, None, 0, -1
        ties: tuple[DomainId, ...] = ()
        if tier is None:
            holds = min(sums[first + index.root], least)
        else:
            end = index.up_to(tier)
            if end:
                here = sums[first : first + end]
                most = max(here)
                holds = min(most, least)
                best = here.index(most)
                nearest, level = index.domains[best].name, index.domains[best].tier
                ties = tied(index, here, best) if most else ()
        key = (tier, nearest, level, holds, least, ties, index.kind_of(tier))
        verdict = field.verdicts.get(key)
        if verdict is None:
            verdict = field.verdicts[key] = too_little(index, task, nearest, holds, ties)
        return verdict


def _near(index: TreeIndex, sums: list[int], least: int, highest: int | None) -> Near | None:
    """`choose.glance` for few domains, of which the whole cluster holds the minimum."""
    for tier, first, after in index.slices:
        if highest is not None and tier > highest:
            return None
        room = [pods for pods in sums[first:after] if pods >= least]
        if room:
            return tier, min(room)
    return (None, sums[-1]) if highest is None else None


class _Sums:
    """One cluster's sums of one shape, to look at."""

    def __init__(self, index: TreeIndex, sums: Ints) -> None:
        self._index, self.sums = index, sums

    def own(self, domain: int) -> int:
        """Pods on the nodes that hang directly on a domain."""
        return int(self.sums[domain]) - int(self.sums[self._index.below(domain)].sum())

    def step(self, domain: int) -> int:
        """Any number of pods may be in a domain."""
        del domain
        return 1
