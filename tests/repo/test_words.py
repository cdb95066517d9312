"""Comments, docstrings and pages name things: no person stands for a job, a queue or a program."""

import ast
import re

import pytest

from tests.repo.words import lines_found
from tools.generate import ROOT

ASKING = re.compile(r"(?:What|Who|Whom|Whose|Which|How|Whether|Where|Why|When|Those|That) ")


@pytest.fixture(scope="module")
def first_lines():
    """The first line of every module's docstring, by path."""
    found = {}
    for folder in ("global_sched", "member_agent", "tools", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
            found[path.relative_to(ROOT).as_posix()] = doc.partition("\n")[0]
    return found


def test_no_word_for_a_person():
    """Name the subject: the preemptor, the victim, the queue, the scheduler, the client."""
    assert lines_found() == {}


def test_module_docstrings_begin_with_their_subject(first_lines):
    """The first line names the subject of the file, not a question about it."""
    assert [path for path, line in first_lines.items() if ASKING.match(line)] == []


def test_no_module_docstring_asks_a_question(first_lines):
    """A first line that ends in a question mark names no subject that a search could find."""
    assert [path for path, line in first_lines.items() if line.endswith("?")] == []
