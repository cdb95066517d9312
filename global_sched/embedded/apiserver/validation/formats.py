"""String formats which a custom resource's schema may name, and how each is checked."""

import base64
import binascii
import ipaddress
import re
import uuid
from collections.abc import Callable, Mapping
from datetime import date
from typing import Final

from global_sched.shared.model.instant import InstantError, parse_instant

_DURATION: Final = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")


def _date_time(text: str) -> bool:
    try:
        parse_instant(text)
    except InstantError:
        return False
    return True


def _date(text: str) -> bool:
    try:
        date.fromisoformat(text)
    except ValueError:
        return False
    return len(text) == 10


def _duration(text: str) -> bool:
    if text in {"0", "+0", "-0"}:
        return True
    body = text.lstrip("+-")
    return bool(body) and bool(re.fullmatch(rf"(?:{_DURATION.pattern})+", body))


def _base64(text: str) -> bool:
    try:
        base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError):
        return False
    return True


def _address(version: int) -> Callable[[str], bool]:
    def check(text: str) -> bool:
        try:
            return ipaddress.ip_address(text).version == version
        except ValueError:
            return False

    return check


def _cidr(text: str) -> bool:
    try:
        ipaddress.ip_interface(text)
    except ValueError:
        return False
    return "/" in text


def _uuid(text: str) -> bool:
    try:
        uuid.UUID(text)
    except ValueError:
        return False
    return True


def _matches(pattern: str) -> Callable[[str], bool]:
    compiled = re.compile(pattern)
    return lambda text: compiled.fullmatch(text) is not None


FORMATS: Final[Mapping[str, Callable[[str], bool]]] = {
    "date-time": _date_time,
    "datetime": _date_time,
    "date": _date,
    "duration": _duration,
    "byte": _base64,
    "ipv4": _address(4),
    "ipv6": _address(6),
    "cidr": _cidr,
    "uuid": _uuid,
    "email": _matches(r"[^@\s]+@[^@\s]+\.[^@\s]+|[^@\s]+@[^@\s]+"),
    "hostname": _matches(r"(?=.{1,253}$)[A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?"),
    "uri": _matches(r"[A-Za-z][-+.A-Za-z0-9]*:.*|/.*"),
    "mac": _matches(r"([0-9A-Fa-f]{2}[:-]){5}[0-9A-Fa-f]{2}"),
}
