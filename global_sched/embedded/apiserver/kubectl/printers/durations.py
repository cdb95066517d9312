"""Durations and ages as people read them."""

from global_sched.shared.model.instant import SECOND, Instant, InstantError, parse_instant


def age(seconds: int) -> str:
    """A duration: `5s`, `3m20s`, `2h`, `3d4h`, `2y`."""
    if seconds < -1:
        return "<invalid>"
    seconds = max(seconds, 0)
    minutes, hours, days = seconds // 60, seconds // 3600, seconds // 86400
    if seconds < 120:
        return f"{seconds}s"
    if minutes < 10:
        return f"{minutes}m{seconds % 60}s" if seconds % 60 else f"{minutes}m"
    if minutes < 180:
        return f"{minutes}m"
    if hours < 8:
        return f"{hours}h{minutes % 60}m" if minutes % 60 else f"{hours}h"
    if hours < 48:
        return f"{hours}h"
    if hours < 192:
        return f"{days}d{hours % 24}h" if hours % 24 else f"{days}d"
    if days < 730:
        return f"{days}d"
    years = days // 365
    if years < 8:
        return f"{years}y{days % 365}d" if days % 365 else f"{years}y"
    return f"{years}y"


def age_of(text: str | None, now: Instant) -> str:
    """How long ago a time was."""
    if not text:
        return "<unknown>"
    try:
        return age((now - parse_instant(text)) // SECOND)
    except InstantError:
        return "<unknown>"


def between(start: str, end: str) -> str:
    """How long something took."""
    try:
        return age((parse_instant(end) - parse_instant(start)) // SECOND)
    except InstantError:
        return "<unknown>"
