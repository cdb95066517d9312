"""What of a gang grows together."""

from collections.abc import Iterator

from global_sched.shared.model.gang import Amounts, Gang


def units(gang: Gang, lacking: Amounts) -> Iterator[tuple[Amounts, int]]:
    """What grows together, in the template's order, and how often it is lacking.

    A pod alone, or a group of a partition with those that share its groups.
    """
    seen: set[str] = set()
    for pod_set in gang.pod_sets:
        partition = pod_set.partition
        if partition is None:
            if lacking.get(pod_set.name):
                yield Amounts.of({pod_set.name: 1}), lacking.get(pod_set.name)
            continue
        if partition.together and partition.together in seen:
            continue
        seen.add(partition.together)
        mates = [(pod_set.name, partition.size)]
        if partition.together:
            mates = [
                (one.name, one.partition.size)
                for one in gang.pod_sets
                if one.partition is not None and one.partition.together == partition.together
            ]
        groups = min(lacking.get(name) // size for name, size in mates)
        if groups:
            yield Amounts.of(dict(mates)), groups
