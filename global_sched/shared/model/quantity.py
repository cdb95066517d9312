"""Kubernetes quantities to exact ints in base units, and back to text for people."""

import re
from fractions import Fraction

_PATTERN = re.compile(
    r"([+-]?)(\d{1,40}(?:\.\d{0,40})?|\.\d{1,40})(?:([eE])([+-]?\d{1,6})|(n|u|m|k|M|G|T|P|E|[KMGTPE]i)?)"
)
_SUFFIX = {
    "": (1, 1),
    "n": (1, 10**9),
    "u": (1, 10**6),
    "m": (1, 10**3),
    "k": (10**3, 1),
    "M": (10**6, 1),
    "G": (10**9, 1),
    "T": (10**12, 1),
    "P": (10**15, 1),
    "E": (10**18, 1),
    "Ki": (2**10, 1),
    "Mi": (2**20, 1),
    "Gi": (2**30, 1),
    "Ti": (2**40, 1),
    "Pi": (2**50, 1),
    "Ei": (2**60, 1),
}
"""Each suffix as a numerator and a denominator."""
_LIMIT = 2**63

BYTES = ("memory", "ephemeral-storage", "storage")
"""Resources that people read in binary units (hugepages-* too)."""


class QuantityError(ValueError):
    """A text is not a quantity that can be held exactly."""


def split_quantity(text: str) -> tuple[Fraction, str]:
    """The exact value of a quantity, and the suffix it is spelled with (`e3` for an exponent).

    Raises:  QuantityError when it is malformed, or its exponent is beyond 40.
    """
    numerator, denominator, suffix = _ratio(text)
    return Fraction(numerator, denominator), suffix


def _ratio(text: str) -> tuple[int, int, str]:
    """A quantity as numerator and denominator, not reduced, and its suffix."""
    match = _PATTERN.fullmatch(text) if len(text) <= 128 else None
    if match is None:
        shown = text if len(text) <= 40 else text[:40] + "…"
        raise QuantityError(f"{shown!r} is not a quantity such as 500m, 2 or 4Gi")
    sign, digits, exponent_mark, exponent, suffix = match.groups()
    if not exponent_mark:
        suffix = suffix or ""
        scale, denominator = _SUFFIX[suffix]
    elif abs(power := int(exponent)) > 40:
        raise QuantityError(f"{text!r} is out of range: the exponent may not exceed 40")
    else:
        scale, denominator = 10 ** max(power, 0), 10 ** max(-power, 0)
        suffix = exponent_mark + exponent
    whole, _, part = digits.partition(".")
    numerator = int(whole + part) * scale
    return (-numerator if sign == "-" else numerator), denominator * 10 ** len(part), suffix


def parse_quantity(text: str, resource: str) -> int:
    """Base units of a quantity: milli-CPU for `cpu`, whole units (bytes, devices) otherwise.

    Parts of a base unit round up, as Kubernetes does.

    Raises:  QuantityError when it is malformed, negative, or does not fit 63 bits.
    """
    numerator, denominator, _ = _ratio(text.strip())
    if numerator < 0:
        raise QuantityError(f"{text!r} is negative")
    whole = -(-numerator * (1000 if resource == "cpu" else 1) // denominator)
    if whole >= _LIMIT:
        raise QuantityError(f"{text!r} is out of range: it does not fit 63 bits")
    return whole


def format_quantity(value: int, resource: str) -> str:
    """The shortest exact text: `1500m`, `64Gi`, `8`."""
    if resource == "cpu":
        return str(value // 1000) if value % 1000 == 0 else f"{value}m"
    if resource in BYTES or resource.startswith("hugepages-"):
        for suffix in ("Ei", "Pi", "Ti", "Gi", "Mi", "Ki"):
            unit, _ = _SUFFIX[suffix]
            if value and value % unit == 0:
                return f"{value // unit}{suffix}"
    return str(value)


def counted(count: int, noun: str) -> str:
    """`1 pod`, `2 pods`."""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"
