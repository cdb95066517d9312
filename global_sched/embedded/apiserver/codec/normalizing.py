"""Normalization of a JSON object, as decoding into a Go struct and encoding it again does it.

Unknown fields go, nulls and empty optional fields go, embedded structs are always there, times
and amounts get their canonical spelling.
"""

import base64
import binascii
from functools import lru_cache
from typing import Any, Final

from global_sched.embedded.apiserver.codec.go_types import ZEROES, GoField, Struct, struct_of
from global_sched.embedded.apiserver.codec.quantity import QuantityError, canonical, value_of
from global_sched.shared.model.instant import (
    InstantError,
    format_instant,
    format_micro,
    parse_instant,
)

Obj = dict[str, Any]

_INT_NAMES: Final = {"i": "int32", "l": "int64"}
_GO_NAMES: Final = {"s": "string", "b": "bool", "f": "float64", "B": "[]uint8", **_INT_NAMES}
_INT_BITS: Final = {"i": 31, "l": 63}


class DecodeError(ValueError):
    """A value does not fit its field; the message is the decoder's."""


def _json_type(value: object) -> str:
    match value:
        case bool():
            return "bool"
        case str():
            return "string"
        case int() | float():
            return "number"
        case dict():
            return "object"
        case _:
            return "array"


class _Normalizer:
    """One pass over one object; collects the unknown fields it dropped."""

    __slots__ = ("unknown",)

    def __init__(self) -> None:
        self.unknown: list[str] = []

    def mismatch(self, value: object, owner: str, path: str, wanted: str) -> DecodeError:
        """The decoder's complaint about a value of the wrong type."""
        where = f"{owner}.{path}" if path else owner
        return DecodeError(
            f"json: cannot unmarshal {_json_type(value)} into Go struct field {where}"
            f" of type {wanted}"
        )

    def struct(self, struct: Struct, obj: object, path: str) -> Obj:
        """A struct's fields, encoded."""
        if not isinstance(obj, dict):
            raise self.mismatch(obj, struct.short, path, struct.name.replace("/", "."))
        out: Obj = {}
        fields = struct.fields
        for name, value in obj.items():
            field = fields.get(name)
            if field is None:
                if path or name not in {"kind", "apiVersion"}:
                    self.unknown.append(f"{path}.{name}" if path else name)
                continue
            if value is None:
                continue
            where = f"{path}.{name}" if path else name
            encoded = self.value(field.code, field, value, struct.short, where)
            if not encoded and field.omit and not field.pointer and field.code[0] in "[{siblfBd":
                continue
            if field.omit_zero and not field.pointer and encoded == {}:
                continue
            out[name] = encoded
        for field in struct.always:
            if field.name not in out:
                out[field.name] = self.empty(field)
        return out

    def empty(self, field: GoField) -> Any:
        """What an absent field encodes to."""
        if field.pointer or field.code[0] != "@":
            return field.zero
        return self.struct(struct_of(field.struct), {}, field.name)

    def value(self, code: str, field: GoField, value: Any, owner: str, path: str) -> Any:
        """A value of a field, of a list in it, or of a map in it."""
        head = code[0]
        if head == "@":
            return self.struct(struct_of(field.struct), value, path)
        if head == "[":
            if not isinstance(value, list):
                raise self.mismatch(value, owner, path, f"[]{self._name(code[2:])}")
            inner = code[2:]
            return [
                self._item(inner, field, item, owner, f"{path}[{index}]")
                for index, item in enumerate(value)
            ]
        if head == "{":
            if not isinstance(value, dict):
                raise self.mismatch(value, owner, path, f"map[string]{self._name(code[2:])}")
            inner = code[2:]
            if inner == "q":
                return {k: _amount(v) for k, v in value.items() if v is not None}
            return {key: self._item(inner, field, item, owner, path) for key, item in value.items()}
        return self.scalar(head, value, owner, path)

    def _item(self, code: str, field: GoField, value: Any, owner: str, path: str) -> Any:
        if value is None:
            if code[0] == "@":
                return self.struct(struct_of(field.struct), {}, path)
            return ZEROES.get(code)
        return self.value(code, field, value, owner, path)

    @staticmethod
    def _name(code: str) -> str:
        return _GO_NAMES.get(code, code.rsplit("@", 1)[-1].replace("/", "."))

    def scalar(self, code: str, value: Any, owner: str, path: str) -> Any:
        """A value that is no container."""
        match code:
            case "s":
                if not isinstance(value, str):
                    raise self.mismatch(value, owner, path, "string")
                return value
            case "i" | "l":
                return self._integer(code, value, owner, path)
            case "b":
                if not isinstance(value, bool):
                    raise self.mismatch(value, owner, path, "bool")
                return value
            case "f":
                if isinstance(value, bool) or not isinstance(value, int | float):
                    raise self.mismatch(value, owner, path, "float64")
                return value
            case "q":
                return _checked_quantity(value)
            case "t" | "m":
                return _time(code, value)
            case "B":
                return _base64(value)
            case "I":
                if isinstance(value, bool) or not isinstance(value, int | str):
                    raise DecodeError(
                        "json: cannot unmarshal into Go value of type intstr.IntOrString"
                    )
                return value
            case _:
                return value

    def _integer(self, code: str, value: Any, owner: str, path: str) -> int:
        if isinstance(value, float) and value.is_integer():
            value = int(value)
        if isinstance(value, bool) or not isinstance(value, int):
            raise self.mismatch(value, owner, path, _INT_NAMES[code])
        if not -(1 << _INT_BITS[code]) <= value < 1 << _INT_BITS[code]:
            raise DecodeError(
                f"json: cannot unmarshal number {value} into Go struct field {owner}.{path}"
                f" of type {_INT_NAMES[code]}"
            )
        return value


def _amount(value: Any) -> str:
    try:
        return canonical(value if isinstance(value, str) else _number(value))
    except QuantityError as error:
        raise DecodeError(str(error)) from error


def _number(value: Any) -> str:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise QuantityError
    return format(value, "f").rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def _checked_quantity(value: Any) -> str:
    try:
        text = value if isinstance(value, str) else _number(value)
        value_of(text)
    except QuantityError as error:
        raise DecodeError(str(error)) from error
    return text


def _time(code: str, value: Any) -> str:
    if not isinstance(value, str):
        raise DecodeError("Time.UnmarshalJSON: input is not a JSON string")
    return _canonical_time(code, value)


@lru_cache(maxsize=4096)
def _canonical_time(code: str, value: str) -> str:
    """The time as the server writes it; most of an object's times were there before."""
    try:
        instant = parse_instant(value)
    except InstantError as error:
        raise DecodeError(
            f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}"'
            ' as "2006"'
        ) from error
    return format_instant(instant) if code == "t" else format_micro(instant)


def _base64(value: Any) -> str:
    if not isinstance(value, str):
        raise DecodeError(
            f"json: cannot unmarshal {_json_type(value)} into Go value of type []uint8"
        )
    try:
        decoded = base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError) as error:
        raise DecodeError("illegal base64 data at input byte 0") from error
    return base64.b64encode(decoded).decode()


def normalize(name: str, obj: Obj, path: str = "") -> tuple[Obj, list[str]]:
    """The object as its struct encodes it, and the paths of the fields it does not have.

    `kind` and `apiVersion` of the top level are left to the caller; `path` is where the object is.
    Raises:  DecodeError for a value that does not fit its field.
    """
    normalizer = _Normalizer()
    return normalizer.struct(struct_of(name), obj, path), normalizer.unknown
