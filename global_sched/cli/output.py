"""Rows as a table, JSON or YAML; the same rows in every form."""

import json
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import click

from global_sched.shared.model.printable import printable, printable_lines

FORMATS = ("table", "wide", "json", "yaml")
Row = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """A column of a table: its head and the field that it shows; `wide` only with -o wide.

    `text` makes the cell from the row where the field alone is not what people want to read.
    """

    head: str
    field: str = ""
    wide: bool = False
    right: bool = False
    text: Callable[[Row], str | None] | None = None

    def cell(self, row: Row) -> str:
        """What the table shows; `-` for nothing."""
        return _text(self.text(row) if self.text is not None else row.get(self.field))


def echo(text: str = "", *, err: bool = False) -> None:
    """Print lines for people: no text of other writers reaches the terminal as it is."""
    click.echo(printable_lines(text), err=err)


def show_rows(
    rows: Sequence[Row], columns: Sequence[Column], output: str, *, nothing: str = "Nothing found."
) -> None:
    """Print rows; for people, `nothing` when there are none."""
    if output in ("json", "yaml"):
        show_value(list(rows), output)
        return
    if not rows:
        echo(nothing, err=True)
        return
    shown = [column for column in columns if output == "wide" or not column.wide]
    cells = [[column.cell(row) for column in shown] for row in rows]
    widths = [
        max(len(column.head), *(len(line[i]) for line in cells)) for i, column in enumerate(shown)
    ]
    for line in ([column.head for column in shown], *cells):
        parts = [
            text.rjust(width) if column.right else text.ljust(width)
            for text, width, column in zip(line, widths, shown, strict=True)
        ]
        echo("   ".join(parts).rstrip())


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


def amounts(quantities: Mapping[str, str]) -> str:
    """Quantities by resource in one cell: `cpu 382, nvidia.com/gpu 0`."""
    return ", ".join(f"{name} {quantity}" for name, quantity in quantities.items())


def percent(share: float) -> str:
    """A share for people."""
    return f"{share * 100:.2f}%"


def duration(seconds: float) -> str:
    """As kubectl spells ages: 45s, 12m, 3h5m, 4d."""
    whole = max(0, int(seconds))
    if whole < 120:
        return f"{whole}s"
    minutes = whole // 60
    if minutes < 120:
        return f"{minutes}m"
    hours = minutes // 60
    if hours < 48:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    return f"{hours // 24}d"
