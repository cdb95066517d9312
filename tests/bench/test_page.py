"""Pages of figures: a group that is measured anew replaces its own rows and no others."""

from bench.harness import at_most, shown
from bench.page import PAGES, kept, rows_of


def test_the_rows_of_other_groups_stay_with_their_commit():
    """A page that is written, read and written again with one group's new figures."""
    page = PAGES["reliability"]
    first, second = page.groups[:2]
    rows = {
        first: rows_of([shown(first, "a | b", None, "", "not run")], first, "1a2b"),
        second: rows_of([at_most(second, "late", 3, "s", 5)], second, "1a2b"),
    }
    text = page.text(rows)
    assert kept(text) == rows

    new = rows_of([at_most(second, "late", 7, "s", 5, "x")], second, "3c4d-dirty")
    again = page.text(kept(text) | {second: new})

    assert kept(again) == {first: rows[first], second: new}
    assert new == [f"| late | 7 s | ≤ 5 | **no** | x | {second} at 3c4d-dirty |"]
