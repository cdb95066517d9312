"""Averages that forget: exact values, and the annotation that carries them."""

from dataclasses import replace
from math import isqrt

import pytest

from global_sched.shared.model.ids import QueueName, TenantName
from global_sched.shared.model.instant import SECOND, Instant
from global_sched.shared.model.past import FINE, Past, what_is_left, whole
from global_sched.shared.model.past_text import MOST, parse_past, render_past
from global_sched.shared.model.resources import Resources

ONE = 2**64
QUEUE = QueueName("q")


def past(tenant="t", held=None, average=None, at=0):
    """A record; `average` in base units."""
    return Past(
        queue=QUEUE,
        tenant=TenantName(tenant),
        at=Instant(at),
        held=Resources.of(held or {}),
        average=Resources.of({n: v * FINE for n, v in (average or {}).items()}),
    )


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        pytest.param(0, ONE, id="nothing is forgotten at once"),
        pytest.param(-5, ONE, id="a clock that went back forgets nothing"),
        pytest.param(60, ONE // 2, id="half after a half-life"),
        pytest.param(180, ONE // 8, id="an eighth after three"),
        pytest.param(30, isqrt(2**127), id="the root of a half after half of it"),
        pytest.param(90, isqrt(2**127) // 2, id="both, for one and a half"),
        pytest.param(60 * 64, 0, id="nothing is left after 64 half-lives"),
    ],
)
def test_what_is_left(seconds, want):
    """The part of the old average that still counts, exactly."""
    assert what_is_left(Instant(0), Instant(seconds * SECOND), 60) == want


@pytest.mark.parametrize("parts", [3, 7, 100])
def test_many_steps_are_one(parts):
    """Written often or once: a record says the same later, but for the rounding of each write."""
    once = past(held={"cpu": 2000}, average={"cpu": 8000}).averaged(
        what_is_left(Instant(0), Instant(60 * SECOND), 60)
    )
    record = past(held={"cpu": 2000}, average={"cpu": 8000})
    for at in range(1, parts + 1):
        now = Instant(60 * SECOND * at // parts)
        found = record.averaged(what_is_left(record.at, now, 60))
        record = replace(record, at=now, average=Resources.of(found))

    assert once == {"cpu": 5000 * FINE}
    assert abs(record.average.get("cpu") - once["cpu"]) <= parts


def test_the_average_arrives():
    """What is held long enough is the average, from below and from above, to the last unit."""
    for before in (0, 9):
        record = past(held={"gpu": 4}, average={"gpu": before})
        left = what_is_left(Instant(0), Instant(60 * 40 * SECOND), 60)
        assert record.averaged(left) == {"gpu": 4 * FINE}


def test_text():
    """A record comes back from its annotation as it was."""
    records = (
        past("a", {"cpu": 3, "memory": 2**40}, {"cpu": 1}, at=7),
        past("b", {}, {"gpu": 2}, at=7),
    )

    assert parse_past(QUEUE, render_past(records)) == records
    assert render_past(()) == ""


@pytest.mark.parametrize(
    "text",
    [
        "",
        "no JSON",
        "[]",
        '{"at": "yesterday"}',
        '{"at": "2026-01-01T00:00:00Z", "more": 1}',
        '{"at":"2026-01-01T00:00:00Z","tenants":{"a":{"held":{"cpu":-1}}}}',
        '{"at":"2026-01-01T00:00:00Z","tenants":{"a":{"held":{"cpu":1.5}}}}',
    ],
)
def test_unreadable_text(text):
    """Whatever else stands there counts as no past."""
    assert parse_past(QUEUE, text) == ()


def test_as_many_as_fit():
    """Of too many tenants the smallest parts are forgotten; the text stays within its bounds."""
    records = [past(f"t{at:05}", average={"cpu": at}) for at in range(1, MOST + 501)]

    text = render_past(records)

    assert len(text) < 128 * 1024
    kept = parse_past(QUEUE, text)
    assert [one.tenant for one in kept] == [f"t{at:05}" for at in range(501, MOST + 501)]


def test_for_people():
    """Rounded to whole units."""
    assert whole({"cpu": 2_600_000, "gpu": 400_000}) == Resources.of({"cpu": 3})
