"""docs/extending.md leads to files that are there."""

import ast
import re

from tools.generate import ROOT

TEXT = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
TABLE, _, PATHS = TEXT.partition("## Three paths through the code")
CHANGES = ("a column", "a metric", "a score", "a field of the report", "a placement method")


def test_each_change_names_the_file_to_begin_with():
    """One row per change: the file to change first, and what follows; all of them exist."""
    rows = dict(re.findall(r"(?m)^\| (an? [a-z ]+?)(?: of `[^`]*`)? \| `([^`]+)` \|", TABLE))

    assert [change for change in CHANGES if change not in rows] == []
    assert [path for path in rows.values() if not (ROOT / path).is_file()] == []


def test_every_path_of_the_table_exists():
    """Files and folders of the table's last column, too."""
    table = re.findall(r"(?m)^\| an? .*$", TABLE)
    paths = [
        path
        for row in table
        for path in re.findall(r"`((?:global_sched|member_agent|tests)/[^`]*|member_agent)`", row)
    ]

    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []


def test_the_three_paths_name_functions_that_exist():
    """Every step of a path is a function or method of the file that it names."""
    paths = PATHS.split("\n### ")[1:]
    steps = [re.findall(r"(?m)^\| .* \| `([^`:]+):([^`]+)` \|$", path) for path in paths]

    assert [len(found) >= 9 for found in steps] == [True, True, True]
    assert [
        f"{file}:{name}"
        for file, name in (step for found in steps for step in found)
        if name not in functions(file)
    ] == []


def functions(file):
    """The functions of a file and the methods of its classes, by qualified name."""
    body = ast.parse((ROOT / file).read_text(encoding="utf-8")).body
    classes = [one for one in body if isinstance(one, ast.ClassDef)]
    kinds = (ast.FunctionDef, ast.AsyncFunctionDef)
    found = {one.name for one in body if isinstance(one, kinds)}
    return found | {
        f"{holder.name}.{one.name}"
        for holder in classes
        for one in holder.body
        if isinstance(one, kinds)
    }
