"""Snapshots, plans and policies as JSON bytes and back, exactly."""

from typing import TypeVar

import msgspec

T = TypeVar("T")


def to_json(value: object) -> bytes:
    """Deterministic JSON: field order is the class's, mappings are sorted."""
    return msgspec.json.encode(value, order="deterministic")


def from_json(data: bytes, kind: type[T]) -> T:
    """The value that `to_json` wrote. Raises msgspec.ValidationError naming the field."""
    return msgspec.json.decode(data, type=kind)
