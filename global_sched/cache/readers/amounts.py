"""Amounts by resource as objects spell them, to whole numbers of base units."""

from collections.abc import Mapping

from global_sched.shared.api.base import Quantity
from global_sched.shared.model.quantity import QuantityError, parse_quantity
from global_sched.shared.model.queue import Named


def read_amounts(
    quantities: Mapping[str, Quantity] | None, field: str
) -> tuple[Named, tuple[str, ...]]:
    """The amounts sorted by name, zeros kept, and what cannot be read, with its field."""
    amounts: list[tuple[str, int]] = []
    problems: list[str] = []
    for resource, quantity in sorted((quantities or {}).items()):
        try:
            amount = parse_quantity(str(quantity), resource)
        except QuantityError as error:
            problems.append(f"{field}[{resource}]: {error}; correct it")
            continue
        if amount < 0:
            problems.append(f"{field}[{resource}]: is {quantity}; use 0 or more")
            continue
        amounts.append((resource, amount))
    return tuple(amounts), tuple(problems)
