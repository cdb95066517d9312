"""Lists of names in sentences."""

from collections.abc import Iterable, Sequence
from difflib import get_close_matches
from itertools import takewhile

_SHOWN = 6


def shortened(names: Sequence[str]) -> list[str]:
    """The first few and the last of many names."""
    return list(names) if len(names) <= _SHOWN + 1 else [*names[:_SHOWN], "…", names[-1]]


_COMPARED = 64
"""So many names are compared letter by letter, those with the longest beginning in common: a name
of the cycle's input costs a bounded time."""


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """`; did you mean research?`: the known name that is nearest; empty where none is near."""
    found = nearest_name(name, known)
    return f"; did you mean {found}?" if found else ""


def nearest_name(name: str, known: Iterable[str]) -> str:
    """The known name that is nearest to one that is not among them; empty where none is near."""
    near = [one for one in known if _may_be(name, one)]
    if name in near:
        return ""
    found = [one for one in near if one.rpartition("/")[2] == name][:1]
    near.sort(key=lambda one: (-_in_common(name, one), one))
    found = found or get_close_matches(name, near[:_COMPARED], n=1, cutoff=0.7)
    return found[0] if found else ""


def _may_be(name: str, known: str) -> bool:
    """Whether comparing them is worth it: as long, with an end in common; or the end of a path."""
    alike = known[:1] == name[:1] or known[-1:] == name[-1:]
    return (alike and abs(len(known) - len(name)) <= 3) or known.rpartition("/")[2] == name


def _in_common(one: str, other: str) -> int:
    """How many letters at their beginning are the same."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def in_ranges(names: Sequence[str]) -> str:
    """`west-1`, `east-1 to east-4`, `a, b and c`: names that only differ in their number at once.

    The names in the order of their numbers; a few of many.
    """
    if len(names) == 1:
        return names[0]
    parts: list[str] = []
    run: list[str] = []
    before = ("", -2)
    for key, name in sorted([(_numbered(one), one) for one in names]):
        if key != (before[0], before[1] + 1):
            parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
            run = []
        run.append(name)
        before = key if key[1] >= 0 else ("", -2)
    parts += [f"{run[0]} to {run[-1]}"] if len(run) > 2 else run
    return listed(shortened(parts))


def listed(names: Sequence[str]) -> str:
    """`a, b and c`."""
    return " and ".join(one for one in (", ".join(names[:-1]), *names[-1:]) if one)


def _numbered(name: str) -> tuple[str, int]:
    """What stands before the number at its end, and that; -1 for none."""
    stem = name.rstrip("0123456789")
    digits = name[len(stem) :]
    return (stem, int(digits)) if digits and (digits == "0" or digits[0] != "0") else (name, -1)
