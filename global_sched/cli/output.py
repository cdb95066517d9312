"""Rows as a table, names, JSON or YAML; the same rows in every form.

A table fits the terminal: columns that matter least are left out first, and the one that holds
sentences is cut. `-o wide` leaves nothing out.
"""

import json
import os
import re
import shutil
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final

import click

from global_sched.shared.model.printable import printable, printable_lines
from global_sched.view.text import Row

FORMATS: Final = ("table", "wide", "json", "yaml")


LIST_FORMATS: Final = ("table", "wide", "name", "json", "yaml")


GAP: Final = 3
"""Spaces between two columns, as kubectl has them."""


SENTENCE: Final = 24
"""Characters below which a column of sentences is left out and not cut further."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its head and the field that it shows; `wide` only with -o wide.

    `text` makes the cell from the row where the field alone is not what people want to read.
    Of several columns the one with the highest `leaves` is left out first where the terminal is
    too narrow; 0 stays. A column of `sentences` is cut to what is left of the line.
    """

    head: str
    field: str = ""
    wide: bool = False
    right: bool = False
    leaves: int = 0
    sentences: bool = False
    text: Callable[[Row], str | None] | None = None
    colour: Callable[[Row], str | None] | None = None

    def cell(self, row: Row) -> str:
        """What the table shows; `-` for nothing."""
        return _text(self.text(row) if self.text is not None else row.get(self.field))


@dataclass(frozen=True, slots=True)
class _Laid:
    """A column with the width that it has in this table."""

    column: Column
    index: int
    width: int


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines for people: no text of other writers reaches the terminal as it is."""
    click.echo(printable_lines(text), err=err)


def show_rows(
    rows: Sequence[Row],
    columns: Sequence[Column],
    output: str,
    *,
    nothing: str = "Nothing found.",
    headers: bool = True,
) -> None:
    """Print rows; for people, `nothing` when there are none.

    With `-o name` a row is its field `object`: `job.batch.volcano.sh/train`.
    """
    if output in ("json", "yaml"):
        show_value(list(rows), output)
        return
    if output == "name":
        for row in rows:
            echo(_text(row["object"]))
        return
    if not rows:
        echo(nothing, err=True)
        return
    shown = [column for column in columns if output == "wide" or not column.wide]
    cells = [[column.cell(row) for column in shown] for row in rows]
    laid = _lay_out(shown, cells, None if output == "wide" else _terminal_width())
    if headers:
        click.echo(_line([_aligned(one, one.column.head) for one in laid]))
    coloured = _coloured()
    for row, line in zip(rows, cells, strict=True):
        parts = []
        for one in laid:
            text = _aligned(one, line[one.index])
            colour = one.column.colour(row) if coloured and one.column.colour else None
            parts.append(click.style(text, fg=colour) if colour else text)
        click.echo(_line(parts), color=coloured)


def _lay_out(
    columns: Sequence[Column], cells: Sequence[Sequence[str]], width: int | None
) -> list[_Laid]:
    """The columns that a line of `width` characters holds; None: all of them, as wide as they are.

    Cost: O(columns^2 + cells).
    """
    laid = [
        _Laid(column, at, max(len(column.head), *(len(line[at]) for line in cells)))
        for at, column in enumerate(columns)
    ]
    if width is None:
        return laid
    while _width(laid, least=True) > width:
        going = max((one.column.leaves for one in laid), default=0)
        if not going:
            break
        laid = [one for one in laid if one.column.leaves != going]
    over = _width(laid) - width
    if over <= 0:
        return laid
    return [
        _Laid(one.column, one.index, max(one.width - over, _least(one)))
        if one.column.sentences
        else one
        for one in laid
    ]


def _least(one: _Laid) -> int:
    return min(one.width, SENTENCE) if one.column.sentences else one.width


def _width(laid: Sequence[_Laid], *, least: bool = False) -> int:
    widths = [_least(one) if least else one.width for one in laid]
    return sum(widths) + GAP * max(0, len(widths) - 1)


def _aligned(one: _Laid, text: str) -> str:
    if len(text) > one.width:
        text = text[: one.width - 1] + "…"
    return text.rjust(one.width) if one.column.right else text.ljust(one.width)


def _line(parts: Sequence[str]) -> str:
    return (" " * GAP).join(parts).rstrip()


def _terminal_width() -> int:
    """$COLUMNS, else that of the terminal, else 80."""
    return shutil.get_terminal_size((80, 24)).columns


def _coloured() -> bool:
    """On a terminal, unless NO_COLOR is set (no-color.org) or the terminal is a dumb one."""
    plain = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return sys.stdout.isatty() and not plain


def show_value(value: Any, output: str) -> None:
    """Print any value as JSON or YAML."""
    if output == "json":
        echo(_UNSAFE.sub(_escape, json.dumps(value, indent=2, ensure_ascii=False)))
        return
    import yaml  # noqa: PLC0415 - only where it is used

    text = yaml.safe_dump(value, sort_keys=False, allow_unicode=True, width=100)
    echo(_UNSAFE.sub(_escape, text).removesuffix("\n"))


def _text(value: Any) -> str:
    if value is None or value == "":
        return "-"
    if isinstance(value, list | tuple):
        return printable(",".join(str(part) for part in value)) or "-"
    return printable(str(value))


_UNSAFE = re.compile("[\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]")


def _escape(match: re.Match[str]) -> str:
    return f"\\u{ord(match.group()):04x}"
