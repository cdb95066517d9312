"""Lists of names for people."""

import pytest

from global_sched.shared.model.words import did_you_mean, in_ranges, listed, shortened


@pytest.mark.parametrize(
    ("count", "want"),
    [
        pytest.param(2, "0 1", id="a few are all named"),
        pytest.param(7, "0 1 2 3 4 5 6", id="one more than is shown is no reason to leave it out"),
        pytest.param(999, "0 1 2 3 4 5 … 998", id="of many the first few and the last"),
    ],
)
def test_many_names(count, want):
    """A list of names stays short, however many there are."""
    assert " ".join(shortened([str(number) for number in range(count)])) == want


@pytest.mark.parametrize(
    ("name", "known", "want"),
    [
        pytest.param("reserch", ["prod", "research"], "; did you mean research?", id="a letter"),
        pytest.param("gpu", ["nvidia.com/gpu"], "; did you mean nvidia.com/gpu?", id="a prefix"),
        pytest.param(
            "team-9o",
            [f"team-{at}" for at in range(100)],
            "; did you mean team-9?",
            id="among many that are alike",
        ),
        pytest.param("research", ["research"], "", id="the name itself"),
        pytest.param("batch", ["prod", "research"], "", id="none is near"),
        pytest.param("a", [], "", id="there is none"),
    ],
)
def test_the_nearest_name(name, known, want):
    """A name that does not exist is followed by the nearest one that does."""
    assert did_you_mean(name, known) == want


@pytest.mark.parametrize(
    ("names", "want"),
    [
        pytest.param(["east-2", "east-1", "east-3"], "east-1 to east-3", id="a run of numbers"),
        pytest.param(["r1", "r2"], "r1 and r2", id="two are named"),
        pytest.param(["r9", "r10", "r11", "s"], "r9 to r11 and s", id="by number, not by letter"),
        pytest.param(["r-01", "r-02", "r-03"], "r-01, r-02 and r-03", id="leading zeros are names"),
        pytest.param([], "", id="none"),
    ],
)
def test_ranges(names, want):
    """Names that only differ in their number are said as one range."""
    assert in_ranges(names) == want


def test_a_list():
    """Commas, and a word before the last one."""
    assert listed(["a", "b", "c"]) == "a, b and c"
