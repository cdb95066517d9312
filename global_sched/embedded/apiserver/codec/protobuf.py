"""Kubernetes protobuf bodies to objects, by the field numbers of the type table.

kubectl's `create namespace` and the like, and Go controllers, send built-in kinds this way.
"""

import base64
import struct
from datetime import UTC, datetime
from functools import cache
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver.codec.go_types import GoField, has_struct, struct_of

Obj = dict[str, Any]

MAGIC: Final = b"k8s\x00"
_GROUPS: Final = {"rbac.authorization.k8s.io": "rbac"}


class ProtobufError(ValueError):
    """The bytes are no Kubernetes protobuf object."""


def _varint(data: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        if at >= len(data) or shift > 63:
            raise ProtobufError("a number is cut off")
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value, at
        shift += 7


def _fields(data: bytes) -> list[tuple[int, int, Any]]:
    """The (number, wire type, value) triples of a message."""
    found: list[tuple[int, int, Any]] = []
    at = 0
    while at < len(data):
        tag, at = _varint(data, at)
        number, wire = tag >> 3, tag & 7
        value: Any
        if wire == 0:
            value, at = _varint(data, at)
        elif wire == 2:
            size, at = _varint(data, at)
            value, at = data[at : at + size], at + size
        elif wire == 1:
            value, at = data[at : at + 8], at + 8
        elif wire == 5:
            value, at = data[at : at + 4], at + 4
        else:
            raise ProtobufError(f"wire type {wire} is not known")
        if at > len(data):
            raise ProtobufError("a field is cut off")
        found.append((number, wire, value))
    return found


@cache
def _by_number(name: str) -> dict[tuple[int, ...], GoField]:
    return {field.numbers: field for field in struct_of(name).fields.values()}


def _signed(value: int) -> int:
    return value - (1 << 64) if value >= 1 << 63 else value


def _time(data: bytes, *, micro: bool) -> str | None:
    seconds = nanos = 0
    for number, _, value in _fields(data):
        if number == 1:
            seconds = _signed(value)
        elif number == 2:
            nanos = value
    if not seconds and not nanos:
        return None
    moment = datetime.fromtimestamp(seconds, UTC)
    text = moment.strftime("%Y-%m-%dT%H:%M:%S")
    return f"{text}.{nanos // 1000:06d}Z" if micro else f"{text}Z"


def _one(data: bytes, number: int) -> Any:
    for found, _, value in _fields(data):
        if found == number:
            return value
    return b""


def _int_or_string(data: bytes) -> int | str:
    kind = number = 0
    text = ""
    for found, _, value in _fields(data):
        if found == 1:
            kind = value
        elif found == 2:
            number = _signed(value)
        elif found == 3:
            text = value.decode()
    return text if kind == 1 else number


def _value(code: str, field: GoField, wire: int, value: Any) -> Any:
    match code[0]:
        case "@":
            return _message(field.struct, value)
        case "s":
            return value.decode()
        case "i" | "l":
            return _signed(value)
        case "b":
            return bool(value)
        case "f":
            return struct.unpack("<d" if wire == 1 else "<f", value)[0]
        case "B":
            return base64.b64encode(value).decode()
        case "q":
            return _one(value, 1).decode()
        case "t" | "m":
            return _time(value, micro=code[0] == "m")
        case "I":
            return _int_or_string(value)
        case "d":
            return f"{_signed(_one(value, 1) or 0)}ns"
        case "R":
            return msgspec.json.decode(_one(value, 1) or b"null")
        case _:
            raise ProtobufError(f"the field {field.name} cannot be read")


def _entry(field: GoField, data: bytes) -> tuple[str, Any]:
    inner = field.code[2:]
    key = ""
    raw: tuple[int, Any] | None = None
    for number, wire, value in _fields(data):
        if number == 1:
            key = value.decode()
        elif number == 2:
            raw = (wire, value)
    if inner.startswith("[]"):
        # Lists of strings in a map are wrapped in a message of their own.
        items = [v.decode() for _, _, v in _fields(raw[1])] if raw else []
        return key, items
    if raw is None:
        return key, "" if inner in {"s", "B"} else None
    return key, _value(inner, field, *raw)


def _message(name: str, data: bytes) -> Obj:
    out: Obj = {}
    table = _by_number(name)
    for number, wire, value in _fields(data):
        field = table.get((number,))
        if field is None:
            _inlined(table, number, value, out)
            continue
        code = field.code
        if code[0] == "[":
            out.setdefault(field.name, []).append(_value(code[2:], field, wire, value))
        elif code[0] == "{":
            key, item = _entry(field, value)
            out.setdefault(field.name, {})[key] = item
        else:
            out[field.name] = _value(code, field, wire, value)
    return out


def _inlined(table: dict[tuple[int, ...], GoField], number: int, value: Any, out: Obj) -> None:
    """Fields of an inlined struct travel in a message of their own."""
    if not isinstance(value, bytes):
        return
    for inner, wire, part in _fields(value):
        field = table.get((number, inner))
        if field is not None:
            out[field.name] = _value(field.code, field, wire, part)


def decode_object(body: bytes) -> Obj:
    """The object in a Kubernetes protobuf envelope.

    Raises:  ProtobufError for anything that is none, or a kind that is not built in.
    """
    if not body.startswith(MAGIC):
        raise ProtobufError("the envelope's magic number is missing")
    api_version = kind = ""
    raw = b""
    for number, _, value in _fields(body[len(MAGIC) :]):
        if number == 1:
            meta = {n: v.decode() for n, _, v in _fields(value)}
            api_version, kind = meta.get(1, ""), meta.get(2, "")
        elif number == 2:
            raw = value
    group, _, version = api_version.rpartition("/")
    package = _GROUPS.get(group) or group.removesuffix(".k8s.io") or "core"
    name = f"{package}/{version}.{kind}"
    if not has_struct(name):
        name = f"meta/v1.{kind}"
    if not has_struct(name):
        raise ProtobufError(f"{kind} in {api_version} has no protobuf form here")
    return {"kind": kind, "apiVersion": api_version, **_message(name, raw)}
