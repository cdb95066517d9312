"""`make check` runs every part, says what failed, and how long each took."""

import sys

from tools.check import STATIC, Part, Result, check, summary

FINE = Part("fine", (sys.executable, "-c", "print('said by fine')"))
BROKEN = Part("broken", (sys.executable, "-c", "print('why it is broken'); raise SystemExit(3)"))


def test_a_part_that_fails_stops_none_of_the_others(capfd):
    """All is run to its end, and the reason is printed as soon as it is known."""
    results = check([BROKEN, FINE], FINE)

    assert [(one.name, one.status) for one in results] == [("broken", 3), ("fine", 0), ("fine", 0)]
    assert "broken FAILED\nwhy it is broken" in capfd.readouterr().out


def test_the_summary_has_the_seconds_of_each_part_and_the_failures_once_more():
    """A reader of the end of the output finds both."""
    said = summary([Result("lint", 1, "a.py:3 E501", 1.26), Result("tests", 0, "", 99.94)], 100.0)

    assert said.splitlines() == [
        "",
        "seconds  part",
        "    1.3  lint  FAILED",
        "   99.9  tests",
        "  100.0  in all, the tests beside the rest",
        "a.py:3 E501",
    ]


def test_what_is_checked():
    """Format, lint, imports and types; the tests are beside them, those of generated files too."""
    assert [one.name for one in STATIC] == ["format", "lint", "imports", "types"]
