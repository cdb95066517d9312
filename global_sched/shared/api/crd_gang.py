"""The schemas of a gang in a Directive and a shape in a report, so that a wrong type is refused.

The wire type keeps it as plain JSON, because the layer of values lies above this one; a test holds
this schema to the fields of the values, because the server drops a field that it lacks.
"""

from typing import Any, Final

Schema = dict[str, Any]
_TEXT: Final[Schema] = {"type": "string"}
_NUMBER: Final[Schema] = {"type": "integer", "format": "int64", "minimum": 0}
_PAIR: Final[Schema] = {"type": "array", "items": _TEXT, "minItems": 2, "maxItems": 2}
_AMOUNT: Final[Schema] = {
    "type": "array",
    "items": {"anyOf": [{"type": "integer"}, _TEXT], "x-kubernetes-int-or-string": True},
    "minItems": 2,
    "maxItems": 2,
}
"""A resource's name and how much of it, in base units."""


def _object(**properties: Schema) -> Schema:
    return {"type": "object", "properties": properties}


def _list(items: Schema) -> Schema:
    return {"type": "array", "items": items}


def _or_null(schema: Schema) -> Schema:
    return {**schema, "nullable": True}


_CONSTRAINT: Final = _or_null(
    _object(
        mode={"type": "string", "enum": ["hard", "soft"]},
        highest_tier=_or_null(_NUMBER),
        highest_tier_name=_TEXT,
    )
)
SHAPE_RULE: Final = _object(
    requests=_object(entries=_list(_AMOUNT)),
    selector=_list(_PAIR),
    affinity=_list(_list(_object(key=_TEXT, operator=_TEXT, values=_list(_TEXT)))),
    tolerations=_list(
        _object(key=_TEXT, exists={"type": "boolean"}, value=_TEXT, effect=_or_null(_TEXT))
    ),
    anti_affine={"type": "boolean"},
    per_node=_NUMBER,
    apart=_TEXT,
    ports=_list(_TEXT),
)
_PARTITION: Final = _or_null(
    _object(size=_NUMBER, total=_NUMBER, minimum=_NUMBER, constraint=_CONSTRAINT, together=_TEXT)
)
GANG_RULE: Final = _object(
    pod_sets=_list(
        _object(name=_TEXT, count=_NUMBER, minimum=_NUMBER, shape=SHAPE_RULE, partition=_PARTITION)
    ),
    minimum=_NUMBER,
    constraint=_CONSTRAINT,
)
