"""Finding the readable parts of JSON that no decoder accepts.

One object nested 5,000 deep, or with a NaN, makes a whole page of a list undecodable. This
module cuts such a page into its items with a flat scan (no recursion, no interpretation), so
that one poisonous object costs only itself. Slow (tens of MB per second), used only then.
"""

import re
from collections.abc import Iterator

import msgspec

_TOKEN = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\],]', re.DOTALL)
_OPEN = frozenset((b"{", b"["))
_CLOSE = frozenset((b"}", b"]"))


class SalvageError(ValueError):
    """Not even brackets and strings make sense."""


def members(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Key and raw value of every member of one JSON object, values unread.

    Raises:  SalvageError when the text is not an object, or its brackets do not match.
    """
    for part in _parts(text, b"{", b"}"):
        key = _TOKEN.match(part)
        colon = part.find(b":", key.end()) if key else -1
        if key is None or colon < 0:
            raise SalvageError("a member has no name")
        yield key.group()[1:-1], part[colon + 1 :].strip()


def elements(text: bytes) -> Iterator[bytes]:
    """Every raw element of one JSON array, unread.

    Raises:  SalvageError when the text is not an array, or its brackets do not match.
    """
    return _parts(text, b"[", b"]")


def _parts(text: bytes, opening: bytes, closing: bytes) -> Iterator[bytes]:
    text = text.strip()
    if not (text.startswith(opening) and text.endswith(closing)):
        raise SalvageError(f"the text does not start with {opening!r} and end with {closing!r}")
    depth, start = 0, 1
    for match in _TOKEN.finditer(text):
        token = match.group()
        if token in _OPEN:
            depth += 1
        elif token in _CLOSE:
            depth -= 1
        if (token == b"," and depth == 1) or depth == 0:
            part = text[start : match.start()].strip()
            if part:
                yield part
            start = match.end()
        if depth == 0:
            break
    if depth != 0 or start != len(text):
        raise SalvageError("the brackets do not match")


class Meta(msgspec.Struct, rename="camel", gc=False):
    """The part of `metadata` that identifies an object."""

    name: str = ""
    namespace: str | None = None
    uid: str = ""
    resource_version: str = ""


def metadata_of(text: bytes) -> Meta:
    """The identity in one raw object, read without looking at the rest; empty if unreadable."""
    try:
        for key, value in members(text):
            if key == b"metadata":
                return _meta_of(value)
    except SalvageError:
        pass
    return Meta()


def _meta_of(value: bytes) -> Meta:
    """Field by field, so that a poisonous annotation or a wrong type hides only itself."""
    found: dict[str, str] = {}
    for key, raw in members(value):
        if key in (b"name", b"namespace", b"uid", b"resourceVersion"):
            try:
                found[key.decode()] = msgspec.json.decode(raw, type=str)
            except (msgspec.MsgspecError, UnicodeDecodeError):
                continue
    return msgspec.convert(found, Meta)
