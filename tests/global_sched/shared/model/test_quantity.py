"""Quantities, amounts and instants: exact ints, and refusals for everything else."""

import re

import pytest

from global_sched.shared.model.instant import (
    Instant,
    InstantError,
    format_instant,
    format_micro,
    parse_instant,
)
from global_sched.shared.model.quantity import QuantityError, format_quantity, parse_quantity
from global_sched.shared.model.resources import Resources
from global_sched.shared.model.values import InvariantError


@pytest.mark.parametrize(
    ("text", "resource", "want"),
    [
        pytest.param("2", "cpu", 2000, id="CPUs are counted in thousandths"),
        pytest.param("500m", "cpu", 500, id="half a CPU"),
        pytest.param("1.5", "cpu", 1500, id="a decimal"),
        pytest.param(".5", "cpu", 500, id="a decimal without a leading digit"),
        pytest.param("1n", "cpu", 1, id="parts of a base unit round up"),
        pytest.param("4Gi", "memory", 4 * 2**30, id="binary units"),
        pytest.param("1k", "memory", 1000, id="decimal units"),
        pytest.param("1500m", "memory", 2, id="a byte and a half is two"),
        pytest.param("1e3", "memory", 1000, id="an exponent"),
        pytest.param("2E2", "memory", 200, id="a large exponent mark"),
        pytest.param("1E", "memory", 10**18, id="exa, not an exponent"),
        pytest.param("+8", "nvidia.com/gpu", 8, id="a plus sign"),
        pytest.param("-0", "cpu", 0, id="minus nothing"),
        pytest.param(" 8 ", "nvidia.com/gpu", 8, id="spaces around"),
    ],
)
def test_parse_quantity(text, resource, want):
    """Kubernetes' spelling, exactly, in base units."""
    assert parse_quantity(text, resource) == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("", "is not a quantity", id="nothing"),
        pytest.param("NaN", "is not a quantity", id="not a number"),
        pytest.param("4GB", "is not a quantity", id="an unknown unit"),
        pytest.param("1e2e3", "is not a quantity", id="two exponents"),
        pytest.param("-1", "is negative", id="less than nothing"),
        pytest.param("1e200000", "exponent may not exceed 40", id="an absurd exponent"),
        pytest.param("1e41", "exponent may not exceed 40", id="too large an exponent"),
        pytest.param("9e18", "does not fit 63 bits", id="thousandths of it overflow"),
        pytest.param("9" * 39, "does not fit 63 bits", id="too many digits to hold"),
        pytest.param(
            "1" * 200, "'1111111111111111111111111111111111111111…'", id="shown shortened"
        ),
    ],
)
def test_parse_quantity_refuses(text, want):
    """What cannot be held exactly is refused with what is wrong."""
    with pytest.raises(QuantityError, match=re.escape(want)):
        parse_quantity(text, "cpu")


@pytest.mark.parametrize(
    ("value", "resource", "want"),
    [
        pytest.param(2000, "cpu", "2", id="whole CPUs"),
        pytest.param(1500, "cpu", "1500m", id="parts of a CPU"),
        pytest.param(64 * 2**30, "memory", "64Gi", id="the largest exact unit"),
        pytest.param(1536, "memory", "1536", id="no unit is exact"),
        pytest.param(2**20, "hugepages-2Mi", "1Mi", id="huge pages are bytes"),
        pytest.param(0, "memory", "0", id="nothing"),
        pytest.param(8, "nvidia.com/gpu", "8", id="devices"),
    ],
)
def test_format_quantity(value, resource, want):
    """The shortest exact text."""
    assert format_quantity(value, resource) == want
    assert parse_quantity(want, resource) == value


class TestResources:
    """Vectors of amounts by name."""

    A = Resources.of({"cpu": 2, "memory": 8})

    def test_of(self):
        """Sorted, without zeros, and never negative."""
        assert Resources.of({"b": 1, "a": 2, "c": 0}).entries == (("a", 2), ("b", 1))
        with pytest.raises(InvariantError, match="resource cpu would be -1"):
            Resources.of({"cpu": -1})

    def test_arithmetic(self):
        """Sum, difference, multiple, larger of each, and comparison."""
        b = Resources.of({"memory": 3, "gpu": 1})

        assert self.A.plus(b) == Resources.of({"cpu": 2, "memory": 11, "gpu": 1})
        assert self.A.minus(Resources.of({"cpu": 2})) == Resources.of({"memory": 8})
        assert self.A.times(3) == Resources.of({"cpu": 6, "memory": 24})
        assert self.A.times(0) == Resources()
        assert self.A.at_least(b) == Resources.of({"cpu": 2, "memory": 8, "gpu": 1})
        assert Resources.of({"cpu": 1}).within(self.A)
        assert not b.within(self.A)
        with pytest.raises(InvariantError, match="gpu"):
            self.A.minus(b)

    def test_reading(self):
        """By name, in order, and as truth."""
        assert (self.A.get("cpu"), self.A.get("gpu")) == (2, 0)
        assert list(self.A) == [("cpu", 2), ("memory", 8)]
        assert self.A.names() == ("cpu", "memory")
        assert self.A
        assert not Resources()

    @pytest.mark.parametrize(
        ("amounts", "want"),
        [
            pytest.param({"cpu": 2000, "memory": 2**32, "pods": 3}, "cpu 2, memory 4Gi", id="both"),
            pytest.param({"pods": 3}, "pods 3", id="only pods"),
            pytest.param({}, "nothing", id="nothing"),
        ],
    )
    def test_text(self, amounts, want):
        """For people; the pod count is left out beside anything else."""
        assert Resources.of(amounts).text() == want


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param("1970-01-01T00:00:01Z", 1_000_000, id="a second after the epoch"),
        pytest.param("1970-01-01t00:00:00.5z", 500_000, id="lower case and a fraction"),
        pytest.param("1970-01-01T00:00:00.123456789Z", 123_456, id="nanoseconds are cut"),
        pytest.param("1970-01-01T01:00:00+01:00", 0, id="a zone east"),
        pytest.param("1969-12-31T22:30:00-01:30", 0, id="a zone west"),
        pytest.param("1969-12-31T23:59:59Z", -1_000_000, id="before the epoch"),
    ],
)
def test_parse_instant(text, want):
    """RFC 3339 to microseconds since the epoch."""
    assert parse_instant(text) == want


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="nothing"),
        pytest.param("2026-01-31 12:00:00Z", id="a space for the T"),
        pytest.param("2026-01-31T12:00:00", id="no zone"),
        pytest.param("2026-02-30T12:00:00Z", id="a day that does not exist"),
        pytest.param("2026-01-31T25:00:00Z", id="an hour that does not exist"),
    ],
)
def test_parse_instant_refuses(text):
    """Anything else is an error, and zones are not guessed."""
    with pytest.raises(InstantError, match="is not"):
        parse_instant(text)


def test_format_instant():
    """Kubernetes' Time and MicroTime."""
    instant = Instant(1_769_860_800_123_456)

    assert format_instant(instant) == "2026-01-31T12:00:00Z"
    assert format_micro(instant) == "2026-01-31T12:00:00.123456Z"
    assert parse_instant(format_micro(instant)) == instant
