"""Water-filling in whole numbers, and fractions that compare exactly."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from global_sched.core.quota.water_filling import Portion, Ratio, water_fill

ENDLESS = 10**30


def part(weight, ceiling, floor=0):
    """Who takes part."""
    return Portion(weight=weight, floor=floor, ceiling=ceiling)


@pytest.mark.parametrize(
    ("total", "parts", "want"),
    [
        pytest.param(0, [part(1, 5)], [0], id="nothing is divided into nothing"),
        pytest.param(100, [], [], id="nobody takes part"),
        pytest.param(
            100_000,
            [part(1, 20_000), part(2, 200_000), part(1, 60_000)],
            [20_000, 53_333, 26_667],
            id="Volcano's proportion: one asks for less than its part",
        ),
        pytest.param(
            100, [part(1, 10, floor=40), part(1, 100)], [40, 60], id="a guarantee is not lent"
        ),
        pytest.param(100, [part(1, 1), part(1, 1000)], [1, 99], id="Armada S6: equal weights"),
        pytest.param(100, [part(1, 1000), part(3, 1000)], [25, 75], id="Armada S6: weights 1:3"),
        pytest.param(
            100, [part(1, 1000), part(3, 1)], [99, 1], id="Armada S6: the heavy one sated"
        ),
        pytest.param(100, [part(1, 1), part(1, 40), part(1, 1000)], [1, 40, 59], id="Armada S6"),
        pytest.param(100, [part(1, 0), part(1, 1000)], [0, 100], id="Armada S6: zero demand"),
        pytest.param(4, [part(1, 4), part(3, 4)], [1, 3], id="KAI S8: the rest of 8 over 2 + 2"),
        pytest.param(
            80, [part(3, ENDLESS), part(1, ENDLESS)], [60, 20], id="KAI S8: the rest of 100"
        ),
        pytest.param(12, [part(1, 5), part(1, 6)], [5, 6], id="KAI S8: all have enough, one stays"),
        pytest.param(10, [part(0, 9), part(1, 9)], [0, 9], id="no weight, no part"),
        pytest.param(10, [part(1, 9, floor=8), part(1, 9, floor=8)], [8, 8], id="floors are kept"),
        pytest.param(1, [part(1, 1), part(1, 1)], [1, 0], id="what does not divide goes by place"),
        pytest.param(
            2**70, [part(65535, 2**70), part(1, 2**70)], [2**70 - 2**54, 2**54], id="past 64 bits"
        ),
    ],
)
def test_water_fill(total, parts, want):
    """Each gets the level times its weight, at least its floor and at most its ceiling."""
    assert water_fill(total, parts) == want


@given(
    st.integers(0, 60),
    st.lists(
        st.tuples(st.integers(0, 4), st.integers(0, 15), st.integers(0, 30)).map(
            lambda one: part(one[0], one[2], floor=one[1])
        ),
        max_size=6,
    ),
)
def test_water_fill_is_fair(total, parts):
    """All is given, and no part that lacks anything is a unit smaller than another is over."""
    given_ = water_fill(total, parts)
    tops = [max(one.floor, one.ceiling) for one in parts]
    most = sum(top if one.weight else one.floor for one, top in zip(parts, tops, strict=True))
    assert sum(given_) == min(max(total, sum(one.floor for one in parts)), most)
    for has, one, top in zip(given_, parts, tops, strict=True):
        assert one.floor <= has <= top
    for has, one in zip(given_, parts, strict=True):
        for other, rich in zip(given_, parts, strict=True):
            if one.weight and rich.weight and has < one.ceiling and other > rich.floor:
                assert Fraction(other - 1, rich.weight) < Fraction(has + 1, one.weight)


@given(*[st.integers(0, 50)] * 4)
def test_ratios_compare_like_fractions(a, b, c, d):
    """Exactly, and one without a denominator is more than all others."""
    one, other = Ratio(a, b), Ratio(c, d)
    exact = [Fraction(x, y) if y else Fraction(10**9) for x, y in ((a, b), (c, d))]
    assert (one < other) == (exact[0] < exact[1])
    assert (one == other) == (exact[0] == exact[1])
    assert one != other or hash(one) == hash(other)


@given(*[st.one_of(st.integers(0, 50), st.integers(2**120, 2**120 + 9))] * 4)
def test_keys_of_ratios_compare_like_the_ratios(a, b, c, d):
    """Equal for equal ones and in their order otherwise, however close two large ones are."""
    one, other = Ratio(a, b), Ratio(c, d)
    assert (one.key() < other.key()) == (one < other)
    assert (one.key() == other.key()) == (one == other)
    assert (one > other) == (other < one)
