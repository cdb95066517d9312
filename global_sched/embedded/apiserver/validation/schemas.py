"""The schema of a custom resource as a tree, compiled once per definition."""

import re
from functools import cache
from typing import Any, Final

from global_sched.embedded.apiserver.codec.go_types import shape_of
from global_sched.embedded.apiserver.codec.shape import Form, Shape

Json = Any
Obj = dict[str, Any]

MISSING: Final = object()
"""What a field without a default has."""


_PLAIN: Final = frozenset({"type", "description", "title", "default", "example"})
_SIMPLE: Final[dict[str, type]] = {"string": str, "integer": int, "boolean": bool}


class Schema:
    """One node of a compiled schema."""

    __slots__ = (
        "accepted",
        "additional",
        "all_of",
        "any_of",
        "default",
        "defaults",
        "embedded",
        "int_or_string",
        "items",
        "negated",
        "nullable",
        "one_of",
        "pattern",
        "preserve",
        "properties",
        "prunes",
        "raw",
        "ruled",
        "rules",
        "simple",
        "type",
    )

    def __init__(self, raw: Obj) -> None:
        self.raw = raw
        self.accepted: set[bytes] = set()
        """Values of this node in which nothing was wrong, as JSON: see `structural`."""
        self.type: str = raw.get("type", "")
        self.properties = {
            key: Schema(value) for key, value in (raw.get("properties") or {}).items()
        }
        extra = raw.get("additionalProperties")
        self.additional: Schema | bool | None = Schema(extra) if isinstance(extra, dict) else extra
        items = raw.get("items")
        self.items = Schema(items) if isinstance(items, dict) else None
        self.preserve = bool(raw.get("x-kubernetes-preserve-unknown-fields"))
        self.int_or_string = bool(raw.get("x-kubernetes-int-or-string"))
        self.embedded = bool(raw.get("x-kubernetes-embedded-resource"))
        self.nullable = bool(raw.get("nullable"))
        self.default = raw.get("default", MISSING)
        pattern = raw.get("pattern")
        self.pattern = _pattern(pattern) if pattern else None
        self.all_of = [Schema(part) for part in raw.get("allOf") or ()]
        self.any_of = [Schema(part) for part in raw.get("anyOf") or ()]
        self.one_of = [Schema(part) for part in raw.get("oneOf") or ()]
        self.negated = Schema(raw["not"]) if isinstance(raw.get("not"), dict) else None
        self.rules: list[Obj] = raw.get("x-kubernetes-validations") or []
        self.simple = _SIMPLE.get(self.type) if raw.keys() <= _PLAIN else None
        self.prunes = self._any_part("prunes") or self.type == "object" or bool(self.properties)
        self.ruled = self._any_part("ruled") or bool(self.rules)
        self.defaults = self._any_part("defaults") or any(
            part.default is not MISSING for part in self.properties.values()
        )

    def _any_part(self, flag: str) -> bool:
        """Whether a part has something to do in that pass."""
        parts = [*self.properties.values(), self.items, self.additional]
        return any(isinstance(part, Schema) and getattr(part, flag) for part in parts)

    def child(self, key: str) -> "Schema | None":
        """The schema of a field, or of a map's values."""
        found = self.properties.get(key)
        if found is not None:
            return found
        return self.additional if isinstance(self.additional, Schema) else None


@cache
def _pattern(text: str) -> re.Pattern[str]:
    # Go's \z is Python's \Z; the rest of the syntax that schemas use is shared.
    return re.compile(text.replace("\\z", "\\Z"))


def compile_schema(raw: Obj) -> Schema:
    """The tree for a schema."""
    return Schema(raw)


def shape_of_schema(schema: Schema, *, top: bool = False) -> Shape:
    """The shape of a schema's values, for merging and field ownership."""
    raw = schema.raw
    if schema.items is not None or schema.type == "array":
        kind = raw.get("x-kubernetes-list-type", "atomic")
        return Shape(
            Form.LIST,
            value=shape_of_schema(schema.items) if schema.items is not None else None,
            list_type=kind,
            keys=tuple(raw.get("x-kubernetes-list-map-keys") or ()),
            atomic=kind == "atomic",
        )
    if schema.type == "object" or schema.properties or top:
        fields = {key: shape_of_schema(part) for key, part in schema.properties.items()}
        if top or schema.embedded:
            fields["metadata"] = shape_of("meta/v1.ObjectMeta")
        extra = schema.additional
        return Shape(
            Form.OBJECT,
            fields=fields,
            value=shape_of_schema(extra) if isinstance(extra, Schema) else None,
            atomic=raw.get("x-kubernetes-map-type") == "atomic",
        )
    return Shape(Form.ANY if schema.preserve else Form.LEAF)
