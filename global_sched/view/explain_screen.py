"""The one screen of `gsched explain`: at most 24 lines of 80 columns.

Answer, place in the order, what to do, what came closest, which jobs hold the room; the evidence is
for `-o wide`. Place, reason and remedy stand in the first five lines. A tenant without the right to
read the federation gets the same screen from its binding and its waiting list.
"""

import shutil
import textwrap
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

LINES: Final = 24
"""Lines of the screen."""
_LABEL: Final = 10
"""Columns of the labels."""
_LEAST_WIDTH: Final = 60
_ANSWER: Final = 2
"""Lines of the answer; with its title they end on the fourth line at most."""
_MORE: Final = "…"


@dataclass(frozen=True, slots=True, kw_only=True)
class Screen:
    """What the screen says of one job; empty parts are left out."""

    title: str
    """The job, its place in the order and its reason."""
    answer: str = ""
    enough: Sequence[str] = ()
    """What lets it run, each alone."""
    not_enough: Sequence[str] = ()
    """What does not, alone."""
    closest: str = ""
    holders: Sequence[str] = ()
    """Jobs that hold the room, those first that end first."""
    facts: Sequence[tuple[str, str]] = ()
    """Further labels and their texts: when it was submitted, where it runs."""
    more: str = ""
    """What another form of the command says beyond this."""


def lines(screen: Screen, width: int | None = None) -> list[str]:
    """The screen, line by line, fitted to the terminal.

    Parts of several lines are cut in the order in which they matter least: holders, what is not
    enough alone, remedies.
    """
    width = max(_LEAST_WIDTH, width or shutil.get_terminal_size((80, 24)).columns)
    head = [*wrapped(screen.title, width, 2), *_cut(screen.answer, width, _ANSWER, "  ")]
    facts = [line for label, text in screen.facts for line in _labelled(label, [text], width, 2, 1)]
    tail = [*facts, *([screen.more] if screen.more else [])]
    room = LINES - len(head) - len(tail)
    enough = list(_labelled("runs when", screen.enough, width, 2, 3, join="or"))
    against = list(_labelled("not when", screen.not_enough, width, 2, 2, join="nor"))
    closest = list(_labelled("closest", [screen.closest] * bool(screen.closest), width, 2, 1))
    holders = list(_labelled("held by", screen.holders, width, 2, 3))
    while len(enough) + len(against) + len(closest) + len(holders) > room:
        longest = max((holders, against, closest, enough), key=len)
        longest.pop()
    return [*head, *enough, *against, *closest, *holders, *tail]


def _labelled(
    label: str, texts: Sequence[str], width: int, each: int, most: int, *, join: str = ""
) -> Iterator[str]:
    """The texts behind a label, each on `each` lines at most; what is beyond `most` is counted."""
    for at, text in enumerate(texts[:most]):
        head = label if at == 0 else join
        left = len(texts) - most
        more = f" (and {left} more)" if left > 0 and at == most - 1 else ""
        first = f"{head:<{_LABEL}}"
        yield from _cut(text + more, width, each, first, " " * _LABEL)


def _cut(text: str, width: int, most: int, first: str, rest: str | None = None) -> list[str]:
    """The text in at most so many lines; one that is longer ends with an ellipsis."""
    if not text:
        return []
    found = textwrap.wrap(
        text,
        width,
        initial_indent=first,
        subsequent_indent=first if rest is None else rest,
        break_long_words=False,
        break_on_hyphens=False,
    )
    if len(found) <= most:
        return found
    last = found[most - 1]
    return [*found[: most - 1], (last if len(last) < width else last[: width - 1]) + _MORE]


def wrapped(line: str, width: int, indent: int) -> list[str]:
    """The line, further lines of it indented."""
    return textwrap.wrap(
        line,
        width,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
    ) or [""]
