"""Kubernetes quantities to exact ints in base units, and back to text for people."""

import re
from fractions import Fraction
from functools import lru_cache

_PATTERN = re.compile(
    r"([+-]?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:([eE])([+-]?\d{1,6})|(n|u|m|k|M|G|T|P|E|[KMGTPE]i)?)"
)
_SUFFIX: dict[str, Fraction] = {
    "": Fraction(1),
    "n": Fraction(1, 10**9),
    "u": Fraction(1, 10**6),
    "m": Fraction(1, 10**3),
    "k": Fraction(10**3),
    "M": Fraction(10**6),
    "G": Fraction(10**9),
    "T": Fraction(10**12),
    "P": Fraction(10**15),
    "E": Fraction(10**18),
    "Ki": Fraction(2**10),
    "Mi": Fraction(2**20),
    "Gi": Fraction(2**30),
    "Ti": Fraction(2**40),
    "Pi": Fraction(2**50),
    "Ei": Fraction(2**60),
}
_LIMIT = 2**63

BYTES = ("memory", "ephemeral-storage", "storage")
"""Resources that people read in binary units (hugepages-* too)."""


class QuantityError(ValueError):
    """A text is not a quantity that can be held exactly."""


def split_quantity(text: str) -> tuple[Fraction, str]:
    """The exact value of a quantity, and the suffix it is spelled with (`e3` for an exponent).

    Raises:  QuantityError when it is malformed, or its exponent is beyond 40.
    """
    match = _PATTERN.fullmatch(text) if len(text) <= 128 else None
    if match is None:
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise QuantityError(f"{shown!r} is not a quantity such as 500m, 2 or 4Gi")
    sign, digits, exponent_mark, exponent, suffix = match.groups()
    if not exponent_mark:
        scale, spelled = _SUFFIX[suffix or ""], suffix or ""
    elif abs(int(exponent)) > 40:
        raise QuantityError(f"{text!r} is out of range: the exponent may not exceed 40")
    else:
        scale, spelled = Fraction(10) ** int(exponent), exponent_mark + exponent
    value = Fraction(digits) * scale
    return (-value if sign == "-" else value), spelled


@lru_cache(maxsize=8192)
def parse_quantity(text: str, resource: str) -> int:
    """Base units of a quantity: milli-CPU for `cpu`, whole units (bytes, devices) otherwise.

    Parts of a base unit round up, as Kubernetes does.

    Raises:  QuantityError when it is malformed, negative, or does not fit 63 bits.
    """
    value = split_quantity(text.strip())[0] * (1000 if resource == "cpu" else 1)
    if value < 0:
        raise QuantityError(f"{text!r} is negative")
    whole = -(-value.numerator // value.denominator)
    if whole >= _LIMIT:
        raise QuantityError(f"{text!r} is out of range: it does not fit 63 bits")
    return whole


def format_quantity(value: int, resource: str) -> str:
    """The shortest exact text: `1500m`, `64Gi`, `8`."""
    if resource == "cpu":
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if resource in BYTES or resource.startswith("hugepages-"):
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            unit = _SUFFIX[suffix].numerator
            if value and value % unit == 0:
                return f"{value // unit}{suffix}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
