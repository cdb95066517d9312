"""Kubernetes quantities: an exact value, and the canonical spelling a real server stores."""

import re
from fractions import Fraction
from functools import lru_cache
from math import ceil
from typing import Final

_TEXT: Final = re.compile(
    r"([+-]?)(\d+\.?\d*|\.\d+)(Ki|Mi|Gi|Ti|Pi|Ei|n|u|m|k|M|G|T|P|E|[eE][+-]?\d+)?"
)
_BINARY: Final = {"Ki": 1, "Mi": 2, "Gi": 3, "Ti": 4, "Pi": 5, "Ei": 6}
_DECIMAL: Final = {
    "n": -9,
    "u": -6,
    "m": -3,
    "": 0,
    "k": 3,
    "M": 6,
    "G": 9,
    "T": 12,
    "P": 15,
    "E": 18,
}
_SPELL: Final = {power: suffix for suffix, power in _DECIMAL.items()}
_SPELL_BINARY: Final = {power: suffix for suffix, power in _BINARY.items()}


class QuantityError(ValueError):
    """A text is not a quantity; the message is the real server's."""

    def __init__(self) -> None:
        super().__init__(
            "quantities must match the regular expression "
            "'^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
        )


def _split(text: str) -> tuple[Fraction, str]:
    match = _TEXT.fullmatch(text)
    if match is None:
        raise QuantityError
    sign, number, suffix = match.groups()
    value = Fraction(number)
    suffix = suffix or ""
    if suffix in _BINARY:
        value *= 1024 ** _BINARY[suffix]
    elif suffix[:1] in {"e", "E"} and len(suffix) > 1:
        value *= Fraction(10) ** int(suffix[1:])
    else:
        value *= Fraction(10) ** _DECIMAL[suffix]
    return (-value if sign == "-" else value), suffix


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
    if suffix in _BINARY and abs(value) >= 1024 and value.denominator == 1:
        amount, power = int(value), 0
        while power < 6 and amount % 1024 == 0:
            amount //= 1024
            power += 1
        return f"{amount}{_SPELL_BINARY[power] if power else ''}"
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
