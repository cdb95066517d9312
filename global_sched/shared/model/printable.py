"""Texts of other writers, made safe to show: no character of theirs steers a terminal.

Every text that reaches a reader (a table's cell, a condition, an Event, a log line) passes through
here at its border; names that must be DNS names are refused where they are read.
"""

import re
from typing import Final

# Control characters (C0, DEL, C1), and what reorders, hides or breaks text: bidirectional marks,
# zero-width characters, line and paragraph separators, lone surrogates.
_UNSAFE: Final = re.compile(
    "[\x00-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ud800-\udfff]"
)
_DNS: Final = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*")
_LABEL: Final = re.compile(r"([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_LONGEST_DNS: Final = 253
_LONGEST_LABEL: Final = 63


def printable(text: str) -> str:
    """The text with every unsafe character spelt out: an escape becomes a backslash and x1b."""
    return _UNSAFE.sub(_spelt, text)


def printable_lines(text: str) -> str:
    """The same, with line feeds kept."""
    return "\n".join(printable(line) for line in text.split("\n"))


def _spelt(match: re.Match[str]) -> str:
    code = ord(match.group())
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"


def is_dns_name(text: str) -> bool:
    """Whether it may be the name of an object: a DNS subdomain (RFC 1123)."""
    return len(text) <= _LONGEST_DNS and _DNS.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Whether it may be the value of a label."""
    return len(text) <= _LONGEST_LABEL and _LABEL.fullmatch(text) is not None


def is_label_key(text: str) -> bool:
    """Whether it may be the key of a label: a name, with or without a DNS prefix."""
    prefix, slash, name = text.rpartition("/")
    if slash and not is_dns_name(prefix):
        return False
    return bool(name) and is_label_value(name)
