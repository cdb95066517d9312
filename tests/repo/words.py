"""Finds words that stand for persons where a job, a queue or a program is meant."""

import io
import re
import tokenize
from collections.abc import Iterator
from pathlib import Path

from tools.generate import ROOT

# In parts, so that this file is not found itself.
PATTERN = re.compile(
    r"\b(?:who(?:m)?ever|(?:some|any|every)body|no(?:body)|some(?:one)|those (?:who)|t(?:old))\b",
    re.IGNORECASE,
)
FOLDERS = ("global_sched", "member_agent", "tests", "bench", "tools", "deploy", "docs")
ROOMS = ("global_sched/shared", "global_sched/embedded", "tests/global_sched")
"""Folders that are counted by the folders in them."""


def lines_found() -> dict[str, list[str]]:
    """By room the lines with such a word, as `path:line`: comments, docstrings, pages, cases."""
    found: dict[str, list[str]] = {}
    pages = [*ROOT.glob("*.md"), *(p for f in FOLDERS for p in (ROOT / f).rglob("*.md"))]
    pages += (ROOT / "tests/scenarios").rglob("*.yaml")
    sources = [p for f in FOLDERS for p in (ROOT / f).rglob("*.py")]
    for path in sorted({*pages, *sources}):
        lines = _in_source(path) if path.suffix == ".py" else _in_page(path)
        for line in sorted(set(lines)):
            found.setdefault(room_of(path), []).append(f"{path.relative_to(ROOT)}:{line}")
    return found


def room_of(path: Path) -> str:
    """The folder that a file counts to."""
    parts = path.relative_to(ROOT).parts[:-1]
    depth = 3 if "/".join(parts[:2]) in ROOMS else 2
    return "/".join(parts[:depth])


def _in_page(path: Path) -> Iterator[int]:
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if PATTERN.search(line):
            yield number


def _in_source(path: Path) -> Iterator[int]:
    """Comments and docstrings: strings that stand alone on their lines."""
    text = path.read_text(encoding="utf-8")
    if not PATTERN.search(text):
        return
    before = tokenize.NEWLINE
    starts = (tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.NL, tokenize.ENCODING)
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        alone = token.type == tokenize.STRING and before in starts
        if alone or token.type == tokenize.COMMENT:
            for number, line in enumerate(token.string.splitlines(), token.start[0]):
                if PATTERN.search(line):
                    yield number
        if token.type != tokenize.COMMENT:
            before = token.type
