"""How lists of names are said to people."""

from collections.abc import Sequence

_SHOWN = 6


def shortened(names: Sequence[str]) -> list[str]:
    """The first few and the last of many names."""
    return list(names) if len(names) <= _SHOWN + 1 else [*names[:_SHOWN], "…", names[-1]]
