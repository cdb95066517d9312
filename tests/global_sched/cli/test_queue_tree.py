"""`gsched queues --tree`."""

import pytest

from global_sched.cli import queues
from global_sched.cli.output import show_rows
from tests.global_sched.cli.worlds import scenario_view

WORLD = """
scenario: a team borrows from another one, and one queue is in trouble
world:
  clusters:
  - {name: m1, nodes: [{name: n, allocatable: {cpu: 8}}]}
  queues:
  - {name: org, capability: {cpu: 7}}
  - {name: red, parent: org, deserved: {cpu: 2}}
  - {name: blue, parent: org, deserved: {cpu: 4}, guarantee: {cpu: 1}}
  - {name: lost, parent: gone}
  jobs:
  - {name: one, queue: red, tasks: [{requests: {cpu: 3}}]}
  - {name: two, queue: red, tasks: [{requests: {cpu: 5}}], created: 1}
"""

FIELDS = ("deserved", "allocated", "borrowed", "guarantee", "capability")


def test_the_tree_shows_what_each_deserves_holds_and_borrows(capsys, monkeypatch):
    """Each queue is indented under its parent; empty columns are left out."""
    monkeypatch.setenv("COLUMNS", "240")
    rows = queues.tree_rows(scenario_view(WORLD))

    show_rows(rows, queues.tree_columns(rows), "table")

    lines = capsys.readouterr().out.splitlines()
    names = [line[:10].rstrip() for line in lines]
    assert names == ["QUEUE", "root", "  default", "  lost", "  org", "    blue", "    red"]
    cpus = {row["name"]: [row[field].get("cpu") for field in FIELDS] for row in rows}
    assert cpus == {
        "root": ["8", "3", None, "1", None],
        "default": [None] * 5,
        "lost": [None] * 5,
        "org": ["7", "3", None, "1", "7"],
        "blue": ["4", None, None, "1", None],
        "red": ["2", "3", "1", None, None],
    }
    assert [row["share"] for row in rows if row["name"] == "red"] == [1.5]
    waiting = {row["name"]: row["pending"] for row in rows}
    assert waiting == {"root": 1, "default": 0, "lost": 0, "org": 1, "blue": 0, "red": 1}
    assert "spec.parent: queue gone does not exist" in lines[3]


def test_guarantees_that_nobody_can_keep():
    """They show on the queue itself; above it counts only what is kept free."""
    text = """
scenario: one guarantee is more than all clusters have
world:
  clusters: [{name: m1, nodes: [{name: n, allocatable: {cpu: 8}}]}]
  queues: [{name: much, guarantee: {cpu: 800}}, {name: some, guarantee: {cpu: 2}}]
"""

    rows = {row["name"]: row for row in queues.tree_rows(scenario_view(text))}

    found = {name: row["guarantee"].get("cpu") for name, row in rows.items()}
    assert found == {"root": "2", "default": None, "much": "800", "some": "2"}


@pytest.mark.parametrize(
    ("deserved", "cpu", "want"),
    [
        pytest.param("{cpu: 4}", 1, 0.25, id="a part of it"),
        pytest.param("{cpu: 4}", 6, 1.5, id="more than it deserves"),
        pytest.param("{cpu: 0}", 2, 1.0, id="anything of which it deserves nothing is all of it"),
        pytest.param("{memory: 4Gi}", 2, 0.0, id="what its deserved does not name is not counted"),
    ],
)
def test_the_share_of_what_is_deserved(deserved, cpu, want):
    """A queue that holds what it does not deserve is not shown as one that holds nothing."""
    text = f"""
scenario: one queue
world:
  clusters: [{{name: m1, nodes: [{{name: n, allocatable: {{cpu: 8, memory: 8Gi}}}}]}}]
  queues: [{{name: q, deserved: {deserved}}}]
  jobs: [{{name: one, queue: q, tasks: [{{requests: {{cpu: {cpu}}}}}]}}]
"""

    rows = {row["name"]: row for row in queues.tree_rows(scenario_view(text))}

    assert rows["q"]["share"] == want


@pytest.mark.parametrize(("width", "want"), [(80, ["SHARE", "ALLOCATED"]), (120, ["BORROWED"])])
def test_the_tree_fits_the_terminal(capsys, monkeypatch, width, want):
    """Amounts that say least are left out first; what is held and the share stay."""
    monkeypatch.setenv("COLUMNS", str(width))
    rows = queues.tree_rows(scenario_view(WORLD))

    show_rows(rows, queues.tree_columns(rows), "table")

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines)) <= width
    assert set(want) <= set(lines[0].split())


def test_without_anything_special_the_tree_is_narrow():
    """No guarantee, capability, borrowing or problem anywhere: no such columns."""
    rows = queues.tree_rows(scenario_view())

    heads = [column.head for column in queues.tree_columns(rows)]

    assert not {"GUARANTEE", "CAPABILITY", "BORROWED", "PROBLEM"} & set(heads)
