"""One screen: never more than 24 lines, and what matters most is on the first five."""

import pytest

from global_sched.view.explain_screen import LINES, Screen, lines

LONG = "waits for a rack with room for 5 pods; no rack has room for any of them now; " * 4
TITLE = "Job vision/too-wide waits, 1 of 4 in queue research: TopologyDoesNotFit"
FULL = Screen(
    title=TITLE,
    answer=LONG,
    enough=[f"change {at}: {LONG}" for at in range(5)],
    not_enough=[f"attempt {at}: {LONG}" for at in range(5)],
    closest=LONG,
    holders=[f"holder {at}: {LONG}" for at in range(9)],
    facts=[(f"fact {at}", LONG) for at in range(4)],
    more="More with -o wide.",
)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_it_fits(width):
    """The fullest screen has 24 lines, none of them longer than the terminal."""
    found = lines(FULL, width)

    assert len(found) == LINES
    assert max(len(line) for line in found) <= width
    assert found[-1] == "More with -o wide."


@pytest.mark.parametrize("width", [80, 120])
def test_the_first_five_lines(width):
    """Place, reason and remedy."""
    text = "\n".join(lines(FULL, width)[:5])

    assert "1 of 4 in queue research" in text
    assert "TopologyDoesNotFit" in text
    assert "runs when change 0: waits for a rack" in text


def test_every_part_in_its_order():
    """Answer, remedies, what is not enough, what came closest, holders, facts."""
    screen = Screen(
        title=TITLE,
        answer="no room",
        enough=["a", "b"],
        not_enough=["c"],
        closest="west",
        holders=["d", "e", "f", "g"],
        facts=[("submitted", "5m ago")],
    )

    assert lines(screen, 80) == [
        TITLE,
        "  no room",
        "runs when a",
        "or        b",
        "not when  c",
        "closest   west",
        "held by   d",
        "          e",
        "          f (and 1 more)",
        "submitted 5m ago",
    ]
