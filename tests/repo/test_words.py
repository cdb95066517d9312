"""Comments, docstrings and pages name things: no person stands for a job, a queue or a program."""

import ast
import re

import pytest

from tests.repo.words import lines_found, room_of
from tools.generate import ROOT

ALLOWED = {
    "global_sched/core": 15,
}
"""Lines that are still to be reworded, by folder. A number may fall and never rises: write the new
one here when lines are reworded. Folders that are not named have none."""

SLACK = 5
"""So far an allowance may be above its folder, so that changes side by side do not collide."""

ASKING = {
    "global_sched/core": 9,
    "tests/global_sched/core": 22,
}
"""Module docstrings that still begin with a question word, by folder. A number never rises."""


@pytest.fixture(scope="module")
def found():
    """By folder the lines with such a word."""
    return lines_found()


def test_no_folder_has_more_of_them_than_before(found):
    """Name the subject: the preemptor, the victim, the queue, the scheduler, the client."""
    too_many = {room: lines for room, lines in found.items() if len(lines) > ALLOWED.get(room, 0)}

    assert too_many == {}


def test_the_allowance_shrinks_with_the_lines(found):
    """What was reworded cannot come back: no allowance is far above what is there."""
    loose = {
        room: (allowed, len(found.get(room, ())))
        for room, allowed in ALLOWED.items()
        if allowed > len(found.get(room, ())) + SLACK
    }

    assert loose == {}


def test_module_docstrings_begin_with_their_subject():
    """The first line names the subject of the file, not a question about it."""
    asking = re.compile(r"(?:What|Who|Whom|Whose|Which|How|Whether|Where|Why|When|Those|That) ")
    found: dict[str, int] = {}
    for path, line in first_lines("global_sched", "member_agent", "tools", "bench", "tests"):
        if asking.match(line):
            room = room_of(path)
            found[room] = found.get(room, 0) + 1

    assert {room: n for room, n in found.items() if n > ASKING.get(room, 0)} == {}


def test_no_module_docstring_asks_a_question():
    """A first line that ends in a question mark names no subject that a search could find."""
    folders = ("global_sched", "member_agent", "tools", "bench", "tests")
    asked = [
        path.relative_to(ROOT).as_posix()
        for path, line in first_lines(*folders)
        if line.endswith("?")
    ]

    assert asked == []


def first_lines(*folders):
    """The first line of every module's docstring, with its path."""
    for folder in folders:
        for path in sorted((ROOT / folder).rglob("*.py")):
            doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            yield path, doc.partition("\n")[0]
