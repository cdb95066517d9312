"""Comments, docstrings and pages name things: no person stands for a job, a queue or a program."""

import ast
import re
from collections import defaultdict

import pytest

from tests.repo.words import lines_found
from tools.generate import ROOT

ASKING = re.compile(r"(?:What|Who|Whom|Whose|Which|How|Whether|Where|Why|When|Those|That) ")

LIVE = ("core", "cache", "dispatch", "propagation", "controllers", "shared")
"""Rooms of the leader in which a class name has one meaning, with those of the agent."""
WIRE = ("global_sched/shared/api/", "global_sched/shared/kinds/")
"""Their names are those of other projects: a Volcano Queue, a PyTorchJob's RunPolicy."""
EACH_PROGRAM_ITS_OWN = {"Settings"}


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


def test_a_class_name_has_one_meaning():
    """No two modules of the programs define public classes of one name."""
    found = defaultdict(list)
    for folder in (*(f"global_sched/{room}" for room in LIVE), "member_agent"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            place = path.relative_to(ROOT).as_posix()
            if place.startswith(WIRE):
                continue
            for node in ast.parse(path.read_text(encoding="utf-8")).body:
                if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                    found[node.name].append(place)
    twice = {name: places for name, places in found.items() if len(places) > 1}
    assert set(twice) <= EACH_PROGRAM_ITS_OWN, twice
