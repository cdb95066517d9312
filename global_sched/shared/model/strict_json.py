"""Annotations of strict JSON: one object with known keys, refused with field, reason and remedy.

Durations are texts such as `90s`, `10m`, `24h` or `7d`, of one unit, from 0 to 7 days.
"""

from typing import Any, ClassVar, Final

import msgspec

from global_sched.shared.model.instant import parse_seconds
from global_sched.shared.model.printable import printable

TEXT_LIMIT: Final = 4096
"""Bytes of an annotation."""
LONGEST: Final = 7 * 86400
"""Seconds of any duration."""

Json = dict[str, Any]


class AnnotationRefusedError(ValueError):
    """The annotation is refused: the text names the field, the reason and what would help."""

    annotation: ClassVar[str]
    """Its name without the prefix."""

    def __init__(self, where: str, why: str, remedy: str) -> None:
        field = f"{self.annotation}.{where}" if where else self.annotation
        super().__init__(printable(f"{field}: {why}; {remedy}"))


Refused = type[AnnotationRefusedError]


def read_object(text: str, known: tuple[str, ...], refused: Refused) -> Json:
    """The object that an annotation is. Raises `refused`."""
    if len(text.encode()) > TEXT_LIMIT:
        raise refused("", f"has {len(text.encode())} bytes", f"use at most {TEXT_LIMIT}")
    try:
        value = msgspec.json.decode(text.encode())
    except (msgspec.MsgspecError, RecursionError) as error:
        raise refused("", f"is not JSON: {error}", "write one JSON object") from None
    return known_keys(value, "", known, refused)


def known_keys(value: object, where: str, known: tuple[str, ...], refused: Refused) -> Json:
    """A value that is an object with no other keys. Raises `refused`."""
    if not isinstance(value, dict):
        raise refused(where, "is no object", f"use the keys {', '.join(known)}")
    for key in value:
        if key not in known:
            at = f"{where}.{key[:40]}" if where else str(key)[:40]
            raise refused(at, "is no known key", f"use {', '.join(known)}")
    return value


def seconds_of(value: object) -> int | None:
    """The seconds of a duration; None where it is none, or longer than 7 days."""
    if not isinstance(value, str) or value[-1:].isdecimal():
        return None
    seconds = parse_seconds(value)
    return seconds if seconds is not None and seconds <= LONGEST else None


def shown(value: object) -> str:
    """A value as a refusal quotes it."""
    return repr(value)[:60]
