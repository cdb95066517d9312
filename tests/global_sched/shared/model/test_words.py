"""Lists of names for people."""

import pytest

from global_sched.shared.model.words import shortened


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
