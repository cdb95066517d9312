"""Units of growth: the pods of a gang that grow together."""

from collections.abc import Iterator

from global_sched.shared.model.gang import Amounts, Gang


def units(gang: Gang, lacking: Amounts) -> Iterator[tuple[Amounts, int]]:
    """What grows together, in the template's order, and how often it is lacking.

    A pod alone, or a group of a partition with those that share its groups.
    """
    for unit in gang.units():
        times = min(lacking.get(name) // size for name, size in unit.entries)
        if times:
            yield unit, times
