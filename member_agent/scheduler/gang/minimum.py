"""The minimum of a unit: what is there of it, which waiting pods it lacks, and in which ways."""

from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import islice, product
from typing import Final

from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.pods import PodShape
from member_agent.cache import PodRecord, PodUnit, count_pods
from member_agent.scheduler.gang.subgroups import (
    Key,
    Subgroup,
    by_index,
    key_of,
    oversized,
    policy_of,
    size_of,
    subgroups_of,
)

MOST_CHOICES: Final = 32
"""So many ways to make up a minimum are tried at most."""
_MOST_KINDS: Final = 16
"""Of more kinds of pods only the first ones are tried."""

_Kind = tuple[str, PodShape, Key]
_Choice = tuple[PodRecord, ...]


def have_of(unit: PodUnit) -> Amounts:
    """Pods that count towards the minimum: bound ones that stay, and those that succeeded."""
    return count_pods(unit.staying()).plus(unit.succeeded)


def reached(unit: PodUnit) -> bool:
    """Whether the minimum is bound."""
    have = have_of(unit)
    return have.covers(unit.minimum) and have.pods() >= unit.floor


def lacking(unit: PodUnit, pods: Sequence[PodRecord]) -> Amounts | str:
    """How many of these waiting pods, by pod set, the minimum lacks; or why they do not suffice.

    Each pod set's own minimum comes first, and the subgroups that must be whole; the rest is made
    up by the first pods in the template's order, which is the order of `pods`.
    """
    chosen = next(_choices(unit, pods, first_only=True))
    return chosen if isinstance(chosen, str) else count_pods(chosen)


def choices(unit: PodUnit, pods: Sequence[PodRecord]) -> Iterator[_Choice | str]:
    """The ways to make up what the minimum lacks: the first pods, then others, small ones first.

    Only ways that differ in more than which of several equal pods they take. One reason instead
    where the pods do not suffice.
    """
    seen: set[frozenset[tuple[_Kind, int]]] = set()
    for number, found in enumerate(_choices(unit, pods, first_only=False)):
        if isinstance(found, str):
            yield found
            return
        if number == 0:
            yield found  # most gangs need no other: what tells ways apart is worked out later
        mark = frozenset(Counter(_kind(unit, pod) for pod in found).items())
        if mark not in seen:
            seen.add(mark)
            if number:
                yield found
        if len(seen) >= MOST_CHOICES:
            return


def _choices(
    unit: PodUnit, pods: Sequence[PodRecord], *, first_only: bool
) -> Iterator[_Choice | str]:
    """As `choices`, with repetitions; the very first is made of the first pods."""
    alone = _owed(unit, pods, set())
    if isinstance(alone, str):
        yield alone
        return
    per_policy: list[list[_Choice]] = []
    for ways in _group_ways(unit, pods, first_only=first_only):
        if isinstance(ways, str):
            yield ways
            return
        per_policy.append(ways)
    for number, groups in enumerate(product(*per_policy)):
        if number >= MOST_CHOICES:
            return
        taken: set[str] = {pod.uid for group in groups for pod in group}
        owed = _owed(unit, pods, taken)
        if isinstance(owed, str):
            yield owed
            return
        taken |= owed
        more = unit.floor - have_of(unit).pods() - len(taken)
        rest = [pod for pod in pods if pod.uid not in taken]
        if more > len(rest):
            got = have_of(unit).pods() + len(pods)
            yield f"the minimum needs {unit.floor} pods, and {got} may start"
            return
        for others in _ways(unit, rest, max(0, more), first_only=first_only):
            whole = taken | others
            yield tuple(pod for pod in pods if pod.uid in whole)


def _owed(unit: PodUnit, pods: Sequence[PodRecord], taken: set[str]) -> set[str] | str:
    """The first pods of each pod set that its own minimum lacks beside those that are taken."""
    found: set[str] = set()
    chosen = count_pods(pod for pod in pods if pod.uid in taken)
    have = have_of(unit)
    for name, wanted in unit.minimum.minus(have).entries:
        own = [pod for pod in pods if pod.pod_set == name]
        if len(own) < wanted:
            total, got = unit.minimum.get(name), have.get(name) + len(own)
            return f"the minimum needs {total} pods of {name}, and {got} may start"
        free = [pod.uid for pod in own if pod.uid not in taken]
        found.update(free[: max(0, wanted - chosen.get(name))])
    return found


def _group_ways(
    unit: PodUnit, pods: Sequence[PodRecord], *, first_only: bool
) -> Iterator[list[_Choice] | str]:
    """For every policy the pods that its `minSubGroups` still needs, in several ways; or why not.

    Of every policy as many subgroups as that must be whole. Nothing is asked where it is 0.
    """
    for policy in unit.subgroups:
        wanted = max(0, policy.min_sub_groups or 0)
        if not wanted:
            continue
        groups = subgroups_of(unit, policy, pods)
        lacks = wanted - sum(group.whole for group in groups.values())
        able = [group for group in groups.values() if not group.whole and group.missing()]
        if len(able) < lacks:
            possible = wanted - lacks + len(able)
            yield (
                f"subgroup policy {policy.name} needs {wanted} subgroups of {size_of(policy)} "
                f"pods, and {possible} may be whole"
            )
            return
        if lacks > 0:
            yield _some_of(unit, able, lacks, first_only=first_only)


def _some_of(
    unit: PodUnit, able: Sequence[Subgroup], lacks: int, *, first_only: bool
) -> list[_Choice]:
    """Pods that make so many of these subgroups whole: the first ones, then smaller ones."""
    found = list(_whole(unit, able[:lacks], first_only=first_only))
    alike: dict[object, list[Subgroup]] = {}
    for group in able:
        mark = frozenset(Counter((pod.pod_set, pod.shape) for pod in group.waiting).items())
        alike.setdefault(mark, []).append(group)
    if first_only or not 1 < len(alike) <= _MOST_KINDS:
        return found
    kinds = sorted(alike.values(), key=lambda groups: sum(map(_size, groups[0].missing())))
    for counts in _shares([len(groups) for groups in kinds], lacks):
        chosen = [g for groups, n in zip(kinds, counts, strict=True) for g in groups[:n]]
        found.extend(_whole(unit, chosen, first_only=False))
        if len(found) >= MOST_CHOICES:
            break
    return found


def _whole(unit: PodUnit, groups: Sequence[Subgroup], *, first_only: bool) -> Iterator[_Choice]:
    """Pods that make all of these subgroups whole, in several ways."""
    each = [
        list(_ways(unit, one.waiting, one.size - one.running, first_only=first_only))
        for one in groups
    ]
    for ways in islice(product(*each), 1 if first_only else MOST_CHOICES):
        uids: set[str] = set().union(*ways)
        yield tuple(pod for group in groups for pod in group.waiting if pod.uid in uids)


def _ways(
    unit: PodUnit, pods: Sequence[PodRecord], wanted: int, *, first_only: bool
) -> Iterator[set[str]]:
    """So many of these pods: the first ones, then by kind, small ones first."""
    yield {pod.uid for pod in pods[:wanted]}
    if first_only or not 0 < wanted < len(pods):
        return
    kinds: dict[_Kind, list[PodRecord]] = {}
    for pod in pods:
        kinds.setdefault(_kind(unit, pod), []).append(pod)
    if len(kinds) > _MOST_KINDS:
        return
    ordered = sorted(kinds.values(), key=lambda alike: _size(alike[0]))
    for number, counts in enumerate(_shares([len(alike) for alike in ordered], wanted)):
        if number >= MOST_CHOICES:
            return
        parts = zip(ordered, counts, strict=True)
        yield {pod.uid for alike, n in parts for pod in alike[:n]}


def in_whole_groups(
    unit: PodUnit, pods: Sequence[PodRecord], chosen: Sequence[PodRecord]
) -> list[PodRecord]:
    """The chosen pods and as many more, small ones first, as make their subgroups whole."""
    taken = {pod.uid for pod in chosen}
    for policy in unit.subgroups:
        for group in subgroups_of(unit, policy, pods).values():
            own = [pod for pod in group.waiting if pod.uid in taken]
            lacks = group.size - group.running - len(own) if own else 0
            others = sorted((p for p in group.waiting if p.uid not in taken), key=_size)
            taken |= {pod.uid for pod in others[: max(0, lacks)]}
    return [pod for pod in pods if pod.uid in taken]


def by_kind(unit: PodUnit, pods: Sequence[PodRecord]) -> Iterator[list[PodRecord]]:
    """The pods with one kind only of each subgroup that holds several and is larger than it need.

    Small kinds first.
    """
    large = oversized(unit, pods)
    kinds = {_kind(unit, pod): _size(pod) for pod in pods if key_of(unit, pod) in large}
    if len({key for _, _, key in kinds}) == len(kinds):
        return
    for kind in islice(sorted(kinds, key=kinds.__getitem__), _MOST_KINDS):
        yield [
            pod
            for pod in pods
            if key_of(unit, pod) not in large or _kind(unit, pod)[:2] == kind[:2]
        ]


def _shares(counts: Sequence[int], wanted: int) -> Iterator[tuple[int, ...]]:
    """Every way to take so many from these, as many as possible from the first ones first."""
    if not counts:
        if wanted == 0:
            yield ()
        return
    others = sum(counts[1:])
    for taken in range(min(counts[0], wanted), max(0, wanted - others) - 1, -1):
        for rest in _shares(counts[1:], wanted - taken):
            yield (taken, *rest)


def _kind(unit: PodUnit, pod: PodRecord) -> _Kind:
    """Pods of a kind can stand for each other."""
    policy = policy_of(unit.subgroups, pod)
    plain = policy is None or by_index(policy)
    return pod.pod_set, pod.shape, () if plain else key_of(unit, pod)


def _size(pod: PodRecord) -> int:
    """How much a pod asks for, as far as amounts of different resources can be compared."""
    return sum(amount for _, amount in pod.shape.requests)
