"""Quantities as an API server stores them: its refusal, and the canonical spelling."""

from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

from global_sched.shared.model.quantity import QuantityError as Malformed
from global_sched.shared.model.quantity import split_quantity

_SUFFIXES: Final = ("n", "u", "m", "", "k", "M", "G", "T", "P", "E")
_SPELL: Final = {3 * at - 9: suffix for at, suffix in enumerate(_SUFFIXES)}
_SPELL_BINARY: Final = ("", "Ki", "Mi", "Gi", "Ti", "Pi", "Ei")


class QuantityError(ValueError):
    """A text is not a quantity; the message is the real server's."""

    def __init__(self) -> None:
        super().__init__(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )


def _split(text: str) -> tuple[Fraction, str]:
    try:
        return split_quantity(text)
    except Malformed as error:
        raise QuantityError from error


@lru_cache(maxsize=4096)
def value_of(text: str) -> Fraction:
    """The exact value of a quantity."""
    return _split(text)[0]


def _scaled_up(value: Fraction, factor: Fraction) -> int:
    scaled = abs(value) / factor
    rounded = ceil(scaled)
    return -rounded if value < 0 else rounded


@lru_cache(maxsize=4096)
def canonical(text: str) -> str:
    """The spelling of a resource amount in a stored object: rounded up to thousandths."""
    value, suffix = _split(text)
    if suffix.endswith("i") and abs(value) >= 1024 and value.denominator == 1:
        amount, power = int(value), 0
        while power < 6 and amount % 1024 == 0:
            amount //= 1024
            power += 1
        return f"{amount}{_SPELL_BINARY[power]}"
    milli = _scaled_up(value, Fraction(1, 1000))
    if milli == 0:
        return "0"
    power = -3
    while milli % 1000 == 0 and power < 18:
        milli //= 1000
        power += 3
    if suffix[:1] in {"e", "E"} and len(suffix) > 1:
        return f"{milli}e{power}" if power else str(milli)
    return f"{milli}{_SPELL[power]}"
