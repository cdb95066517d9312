"""Wire types as structural OpenAPI schemas, the shape that a CRD wants.

Everything is inlined (a CRD has no `$ref`); a type inside itself becomes an open object. Field
descriptions are the docstrings below the fields, read from the source of the type's module.
"""

import ast
import builtins
import functools
import inspect
import textwrap
from typing import Any, Final

import msgspec.inspect as shapes

from global_sched.shared.api.base import Condition, Meta

Schema = dict[str, Any]
OPEN: Final = "x-kubernetes-preserve-unknown-fields"
QUANTITY: Final[Schema] = {
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": (
        r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
        r"(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))))?$"
    ),
    "x-kubernetes-int-or-string": True,
}
DATE_TIME: Final[Schema] = {"type": "string", "format": "date-time"}
INSTANTS: Final = frozenset({"lastTransitionTime", "lastScheduledTime", "rescheduleTriggeredAt"})
"""Fields that hold RFC 3339 instants although their wire type is a string."""


def schema_of(type_: type, *, strict: bool) -> Schema:
    """The schema of one wire type.

    strict: unknown fields are dropped by the server, and wire defaults become CRD defaults.
    Otherwise every object keeps fields that the wire type does not have.
    """
    return _Render(strict=strict).shape(shapes.type_info(type_), ())


@functools.cache
def field_docs(type_: type) -> dict[str, str]:
    """Docstrings of a class's fields, by field name; empty where the source is not at hand."""
    try:
        source = textwrap.dedent(inspect.getsource(type_))
    except (OSError, TypeError):
        return {}
    body = ast.parse(source).body[0]
    docs: dict[str, str] = {}
    if not isinstance(body, ast.ClassDef):
        return docs
    for field, text in zip(body.body, body.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
        ):
            docs[field.target.id] = inspect.cleandoc(str(text.value.value))
    return docs


class _Render:
    def __init__(self, *, strict: bool) -> None:
        self._strict = strict

    def shape(self, info: shapes.Type, inside: tuple[type, ...]) -> Schema:
        match info:
            case shapes.Metadata():
                return self.shape(info.type, inside)
            case shapes.StructType():
                return self._struct(info, inside)
            case shapes.UnionType():
                return self._union(info, inside)
            case shapes.ListType():
                return {"type": "array", "items": self.shape(info.item_type, inside)}
            case shapes.DictType():
                return self._map(info, inside)
            case shapes.IntType():
                bounds = {"minimum": info.ge, "maximum": info.le}
                given = {key: value for key, value in bounds.items() if value is not None}
                return {"type": "integer", "format": "int64", **given}
            case shapes.StrType():
                limits = {"minLength": info.min_length, "maxLength": info.max_length}
                given = {key: value for key, value in limits.items() if value is not None}
                return {"type": "string", **given}
            case shapes.BoolType():
                return {"type": "boolean"}
            case shapes.RawType():
                return {"type": "object", OPEN: True}
            case shapes.AnyType() | shapes.CustomType(cls=builtins.object):
                return {OPEN: True}
            case _:
                raise TypeError(f"no schema for {info}: wire types are JSON shapes")

    def _union(self, info: shapes.UnionType, inside: tuple[type, ...]) -> Schema:
        """`X | None` is X (an absent field); a string or number is a quantity."""
        real = [part for part in info.types if not isinstance(part, shapes.NoneType)]
        if len(real) == 1:
            return self.shape(real[0], inside)
        return dict(QUANTITY)

    def _map(self, info: shapes.DictType, inside: tuple[type, ...]) -> Schema:
        if isinstance(info.value_type, shapes.AnyType | shapes.CustomType):
            return {"type": "object", OPEN: True}
        value = self.shape(info.value_type, inside)
        if isinstance(info.value_type, shapes.UnionType) and info.value_type.includes_none:
            value["nullable"] = True
        return {"type": "object", "additionalProperties": value}

    def _struct(self, info: shapes.StructType, inside: tuple[type, ...]) -> Schema:
        if info.cls is Meta or info.cls in inside:
            return {"type": "object", **({OPEN: True} if inside else {})}
        docs = field_docs(info.cls)
        properties: dict[str, Schema] = {}
        for field in info.fields:
            properties[field.encode_name] = self._field(field, docs, (*inside, info.cls))
        schema: Schema = {"type": "object", "properties": properties}
        if text := inspect.getdoc(info.cls):
            schema["description"] = text
        if not self._strict:
            schema[OPEN] = True
        if info.cls is Condition:
            schema["required"] = ["type", "status"] if self._strict else []
            schema = {key: value for key, value in schema.items() if value != []}
        return schema

    def _field(self, field: shapes.Field, docs: dict[str, str], inside: tuple[type, ...]) -> Schema:
        schema = self.shape(field.type, inside)
        if field.encode_name in INSTANTS:
            schema |= DATE_TIME
        if self._strict and isinstance(field.default, bool | int | str) and field.default:
            schema["default"] = field.default
        if text := docs.get(field.name):
            schema["description"] = text
        return schema
