"""An instant is an int: microseconds since the Unix epoch, UTC."""

import re
from datetime import UTC, datetime, timedelta
from typing import NewType

Instant = NewType("Instant", int)

SECOND = 1_000_000
"""Microseconds in a second; durations in the model are ints of microseconds too."""

DAY = 24 * 3600
"""Seconds in a day."""

_DURATION = re.compile(r"(\d{1,9})(s|m|h|d)?")
_UNITS = {None: 1, "s": 1, "m": 60, "h": 3600, "d": DAY}
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_RFC3339 = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d{1,9}))?([Zz]|[+-]\d\d:\d\d)"
)


class InstantError(ValueError):
    """A text is not an RFC 3339 time."""


def parse_seconds(text: str) -> int | None:
    """The seconds that a duration such as 90m, 2h, 7d or 3600 has; None for anything else."""
    match = _DURATION.fullmatch(text)
    return None if match is None else int(match[1]) * _UNITS[match[2]]


def answered_at(now: Instant, asked: Instant | None) -> Instant:
    """The time to stamp on an answer: now, and a second at least after what was asked for.

    Kubernetes' times are whole seconds: only so can a request of the second of an answer be
    distinguished from one that was answered.
    """
    return now if asked is None else max(now, Instant(asked + SECOND))


def parse_instant(text: str) -> Instant:
    """Read an RFC 3339 time (Kubernetes' Time and MicroTime).

    Raises:  InstantError for anything else; no guessing about missing zones.
    """
    match = _RFC3339.fullmatch(text)
    if match is None:
        raise InstantError(f"{text!r} is not an RFC 3339 time such as 2026-01-31T12:00:00Z")
    year, month, day, hour, minute, second, fraction, zone = match.groups()
    try:
        moment = datetime(
            int(year), int(month), int(day), int(hour), int(minute), int(second), tzinfo=UTC
        )
    except ValueError as error:
        raise InstantError(f"{text!r} is not a time: {error}") from error
    if zone not in ("Z", "z"):
        offset = timedelta(hours=int(zone[1:3]), minutes=int(zone[4:6]))
        moment = moment - offset if zone[0] == "+" else moment + offset
    micros = int((fraction or "0").ljust(6, "0")[:6])
    return Instant((moment - _EPOCH) // timedelta(seconds=1) * SECOND + micros)


def format_instant(instant: Instant) -> str:
    """Write Kubernetes' Time: whole seconds, `2026-01-31T12:00:00Z`."""
    return (_EPOCH + timedelta(seconds=instant // SECOND)).strftime("%Y-%m-%dT%H:%M:%SZ")


def format_micro(instant: Instant) -> str:
    """Write Kubernetes' MicroTime: `2026-01-31T12:00:00.000000Z`."""
    return (_EPOCH + timedelta(microseconds=instant)).strftime("%Y-%m-%dT%H:%M:%S.%fZ")
