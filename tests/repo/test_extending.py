"""docs/extending.md leads to files that are there."""

import re

from tools.generate import ROOT

TEXT = (ROOT / "docs/extending.md").read_text(encoding="utf-8")
CHANGES = ("a column", "a metric", "a score", "a field of the report", "a placement method")


def test_each_change_names_the_file_to_begin_with():
    """One row per change: the file to change first, and what follows; all of them exist."""
    rows = dict(re.findall(r"(?m)^\| (an? [a-z ]+?)(?: of `[^`]*`)? \| `([^`]+)` \|", TEXT))

    assert [change for change in CHANGES if change not in rows] == []
    assert [path for path in rows.values() if not (ROOT / path).is_file()] == []


def test_every_path_of_the_table_exists():
    """Files and folders of the table's last column, too."""
    table = re.findall(r"(?m)^\| an? .*$", TEXT)
    paths = [
        path
        for row in table
        for path in re.findall(r"`((?:global_sched|member_agent|tests)/[^`]*|member_agent)`", row)
    ]

    assert len(paths) >= 10
    assert [path for path in paths if not (ROOT / path).exists()] == []
