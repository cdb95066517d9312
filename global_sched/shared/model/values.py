"""Values of the model: JSON bytes and back, exactly, and the error of one that must never exist."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


def to_json(value: object) -> bytes:
    """Deterministic JSON: field order is the class's, mappings are sorted."""
    return msgspec.json.encode(value, order="deterministic")


def from_json(data: bytes, kind: type[T]) -> T:
    """The value that `to_json` wrote. Raises msgspec.ValidationError naming the field."""
    return msgspec.json.decode(data, type=kind)


class InvariantError(AssertionError):
    """A bug of ours: the message names the object and what was violated."""
