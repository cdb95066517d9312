"""A gang: pod sets that start together or not at all, and where they may lie."""

from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass, replace
from enum import StrEnum

from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.lifetime import KeepsAnswers
from global_sched.shared.model.pods import PodShape
from global_sched.shared.model.resources import Resources


class Mode(StrEnum):
    """How strictly a topology constraint holds."""

    HARD = "hard"
    SOFT = "soft"


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class TopologyConstraint:
    """All pods of the unit lie under one HyperNode whose tier is at most the highest allowed.

    Exactly one of the two tier fields is set under `hard`; a hard constraint that names no tier, or
    one that its cluster does not have, is a refusal and never "no constraint". Under `soft` the
    lowest tier that fits is taken and none is refused.
    """

    mode: Mode
    highest_tier: int | None = None
    highest_tier_name: str = ""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Partition:
    """Pods of a pod set in groups of `size`, each group in one domain of its own constraint.

    Of the `total` groups, at least `minimum` must be whole (0: the pod set's minimum decides).
    """

    size: int
    total: int
    minimum: int = 0
    constraint: TopologyConstraint | None = None
    together: str = ""
    """Pod sets with equal names here share their groups: group i of each lies with group i of the
    others in one domain, under the narrowest of their constraints."""


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class PodSet:
    """Equal pods of a gang. `minimum` of the `count` pods must be placed."""

    name: PodSetName
    count: int
    minimum: int
    shape: PodShape
    partition: Partition | None = None

    def least_in_groups(self) -> int:
        """Pods of the groups that must be whole, whatever the gang's minimum is."""
        return self.partition.minimum * self.partition.size if self.partition is not None else 0


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Elastic:
    """Which sizes a gang can use, and how long it rests between two. Sizes count all its pods.

    `sizes` are ascending, from its minimum to all of its pods; empty: the minimum and `step` pods
    more, again and again. For `cooldown` seconds after a resize it gets and gives no surplus, and
    does not leave for another workload.
    """

    sizes: tuple[int, ...] = ()
    step: int = 1
    cooldown: int = 0


@dataclass(frozen=True, slots=True, order=True, kw_only=True)
class Gang(KeepsAnswers):
    """What a workload needs in one cluster: its pod sets, in the template's order.

    `minimum` is the whole gang's (a Volcano Job's minAvailable). When it is below the sum of the
    pod sets' minimums, those do not bind and the first pods in template order make it up
    (Volcano's rule; the groups that a partition needs whole do bind); when above, pods beyond the
    pod sets' minimums make it up in that order. Of a partition it is always whole groups: part of
    a group is of no use.
    """

    pod_sets: tuple[PodSet, ...]
    minimum: int
    constraint: TopologyConstraint | None = None
    elastic: Elastic | None = None
    """None: any size from the minimum on. With one, a single pod set has surplus and none has a
    partition."""

    def pods(self) -> int:
        """All pods."""
        return sum(pod_set.count for pod_set in self.pod_sets)

    def minimum_amounts(self) -> "Amounts":
        """How many pods of each pod set the minimum is, in template order."""
        return self.kept("minimum", self._minimum_amounts)

    def _minimum_amounts(self) -> "Amounts":
        floor = sum(pod_set.minimum for pod_set in self.pod_sets)
        binds = self.minimum >= floor
        amounts = {p.name: p.minimum if binds else p.least_in_groups() for p in self.pod_sets}
        lacking = self.minimum - sum(amounts.values())
        for pod_set in self.pod_sets:
            more = max(0, min(lacking, pod_set.count - amounts[pod_set.name]))
            amounts[pod_set.name] += more
            lacking -= more
        if any(one.partition is not None for one in self.pod_sets):
            amounts = self._in_whole_groups(amounts)
        return Amounts.of(amounts)

    def _in_whole_groups(self, amounts: "dict[PodSetName, int]") -> "dict[PodSetName, int]":
        """So many pods and those that make their groups whole, with what shares these groups."""
        found = dict(amounts)
        for unit in self.units():
            groups = max(-(-amounts[name] // size) for name, size in unit.entries)
            found |= {name: groups * size for name, size in unit.entries}
        return {one.name: min(one.count, found[one.name]) for one in self.pod_sets}

    def units(self) -> "Iterator[Amounts]":
        """What starts together, in the template's order.

        A pod alone, or a group of a partition with those that share its groups.
        """
        seen: set[str] = set()
        for pod_set in self.pod_sets:
            partition = pod_set.partition
            together = partition.together if partition is not None else ""
            if together and together in seen:
                continue
            seen.add(together)
            mates = [pod_set]
            if together:
                mates = [
                    p for p in self.pod_sets if p.partition and p.partition.together == together
                ]
            sizes = {p.name: p.partition.size if p.partition else 1 for p in mates}
            yield Amounts.of({name: max(1, size) for name, size in sizes.items()})

    def first_of(self, wanted: "Amounts", has: "Amounts | None" = None) -> "Amounts":
        """The first unit of these pods: the least of them that is of use. Nothing of nothing.

        Of an elastic gang that `has` pods it is what makes its next larger size of them.
        """
        if self.elastic is not None and has is not None and wanted.entries:
            chunk = self._larger(has.pods()) - has.pods()
            surplus = self._surplus_of()
            return Amounts.of({surplus: chunk}) if wanted.get(surplus) >= chunk > 0 else Amounts()
        found = (unit.within(wanted) for unit in self.units())
        return next((one for one in found if one.entries), Amounts())

    def sized(self, more: "Amounts", has: "Amounts | None" = None) -> "Amounts":
        """The most of `more` that makes an allowed size of the pods that it `has`."""
        if self.elastic is None or not more.entries:
            return more
        total = more.pods() + (0 if has is None else has.pods())
        over, surplus = total - self.size_within(total), self._surplus_of()
        if over > more.get(surplus):
            return Amounts()
        return more.minus(Amounts.of({surplus: over}))

    def size_within(self, pods: int) -> int:
        """The largest allowed size of at most so many pods; 0 where the minimum is more."""
        elastic, least = self.elastic, self.minimum
        if elastic is None or pods < least:
            return pods if elastic is None else 0
        if elastic.sizes:
            return elastic.sizes[bisect_right(elastic.sizes, pods) - 1]
        return pods - (pods - least) % elastic.step

    def _larger(self, pods: int) -> int:
        """The next allowed size above so many pods; as many where there is none."""
        elastic, least = self.elastic, self.minimum
        assert elastic is not None
        if pods < least:
            return least
        if elastic.sizes:
            return next((size for size in elastic.sizes if size > pods), pods)
        return self.size_within(pods) + elastic.step

    def _surplus_of(self) -> PodSetName:
        """The pod set of an elastic gang that may have more pods than the minimum takes of it."""
        least = self.minimum_amounts()
        return next(p.name for p in self.pod_sets if p.count > least.get(p.name))

    def all_amounts(self) -> "Amounts":
        """Every pod of each pod set."""
        return self.kept("all", lambda: Amounts.of({p.name: p.count for p in self.pod_sets}))

    def only(self, amounts: "Amounts") -> "Gang":
        """A gang of exactly these pods, under the same constraint."""
        return replace(
            self,
            pod_sets=tuple(
                replace(p, count=pods, minimum=pods)
                for p in self.pod_sets
                if (pods := amounts.get(p.name))
            ),
            minimum=amounts.pods(),
            elastic=None,
        )

    def requests(self, amounts: "Amounts") -> Resources:
        """The resources of that many pods."""
        return self.kept(amounts.entries, lambda: self._requests(amounts))

    def _requests(self, amounts: "Amounts") -> Resources:
        return Resources.total(p.shape.requests.times(amounts.get(p.name)) for p in self.pod_sets)


@dataclass(frozen=True, slots=True, order=True)
class Amounts:
    """Pods by pod set, ascending by name; absent means 0. Build with `Amounts.of`."""

    entries: tuple[tuple[PodSetName, int], ...] = ()

    @classmethod
    def of(cls, amounts: dict[PodSetName, int]) -> "Amounts":
        """Pods by pod set; zeros are dropped."""
        return cls(tuple(sorted((name, n) for name, n in amounts.items() if n > 0)))

    def get(self, name: PodSetName) -> int:
        """Pods of one pod set."""
        for entry, pods in self.entries:
            if entry == name:
                return pods
        return 0

    def pods(self) -> int:
        """All pods."""
        return sum(pods for _, pods in self.entries)

    def minus(self, other: "Amounts") -> "Amounts":
        """What is left of each pod set; never below 0."""
        return Amounts.of({name: pods - other.get(name) for name, pods in self.entries})

    def plus(self, other: "Amounts") -> "Amounts":
        """The sum."""
        amounts = dict(self.entries)
        for name, pods in other.entries:
            amounts[name] = amounts.get(name, 0) + pods
        return Amounts.of(amounts)

    def within(self, other: "Amounts") -> "Amounts":
        """What of it the other has as well."""
        return self.minus(self.minus(other))

    def covers(self, other: "Amounts") -> bool:
        """Whether there are at least that many of each."""
        return all(self.get(name) >= pods for name, pods in other.entries)
