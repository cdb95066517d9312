"""Comments, docstrings and pages name things: no person stands for a job, a queue or a program."""

import ast
import re
from collections import defaultdict

from tests.repo.words import lines_found
from tools.generate import ROOT

ASKING = re.compile(r"(?:What|Who|Whom|Whose|Which|How|Whether|Where|Why|When|Those|That) ")

LIVE = ("core", "cache", "dispatch", "propagation", "controllers", "shared")
"""Rooms of the leader in which a class name has one meaning, with those of the agent."""
WIRE = ("global_sched/shared/api/", "global_sched/shared/kinds/")
"""Their names are those of other projects: a Volcano Queue, a PyTorchJob's RunPolicy."""
EACH_PROGRAM_ITS_OWN = {"Settings"}


def test_no_word_for_a_person():
    """Name the subject: the preemptor, the victim, the queue, the scheduler, the client."""
    assert lines_found() == {}


def test_module_docstrings_begin_with_their_subject():
    """The first line names the subject of the file, as a search would; it asks no question."""
    found = []
    for folder in ("global_sched", "member_agent", "tools", "bench", "tests"):
        for path in sorted((ROOT / folder).rglob("*.py")):
            line = path.read_text(encoding="utf-8").partition("\n")[0].strip('"')
            if ASKING.match(line) or line.endswith("?"):
                found.append(path.relative_to(ROOT).as_posix())
    assert found == []


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
