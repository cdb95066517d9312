"""Labels of pods that mean the same for several kinds."""

from collections.abc import Callable
from typing import Final

from global_sched.shared.api.base import Meta

_LONGEST: Final = 9


def number(text: str) -> int | None:
    """A small whole number, None for anything else."""
    good = text.isascii() and text.isdigit() and len(text) <= _LONGEST
    return int(text) if good else None


def index_by(*names: str) -> Callable[[Meta], int | None]:
    """The index that the first of these labels (or annotations) gives."""

    def index(meta: Meta) -> int | None:
        for name in names:
            found = number(meta.label(name) or meta.annotation(name))
            if found is not None:
                return found
        return None

    return index
