"""One object of a custom resource against its schema: `prune`, `default` and `validate` it.

Each is one pass; on an update the parts that did not change are let be.
"""

from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver import field_errors
from global_sched.embedded.apiserver.status_error import StatusCause
from global_sched.embedded.apiserver.validation.formats import FORMATS
from global_sched.embedded.apiserver.validation.schemas import MISSING, Schema
from global_sched.shared.json_values import copied, equal

Json = Any
Obj = dict[str, Any]

_TOP: Final = frozenset({"apiVersion", "kind", "metadata"})
_LONG: Final = 16
"""Items from which on a list's items are remembered when nothing is wrong with them."""
_MANY: Final = 4096
"""Items that are remembered."""
_LARGE: Final = 4096
"""Bytes of an item that is remembered."""

encode: Final = msgspec.json.Encoder().encode


def prune(
    schema: Schema, value: Json, path: str = "", *, top: bool = True, old: Json = None
) -> list[str]:
    """Remove the fields that the schema does not have, in place; their paths.

    Parts that are the old object's own are let be: they were pruned when they were written.
    """
    dropped: list[str] = []
    if isinstance(value, dict):
        keep_top = top or schema.embedded
        before = old if isinstance(old, dict) else {}
        for key in list(value):
            if keep_top and key in _TOP:
                continue
            child = schema.child(key)
            if child is not None:
                part = value[key]
                if child.prunes and part is not before.get(key):
                    where = f"{path}.{key}" if path else key
                    dropped += prune(child, part, where, top=False, old=before.get(key))
                continue
            where = f"{path}.{key}" if path else key
            if not schema.preserve and schema.additional is not True:
                del value[key]
                dropped.append(where)
    elif isinstance(value, list) and schema.items is not None and schema.items.prunes:
        for index, item in enumerate(value):
            dropped += prune(schema.items, item, f"{path}[{index}]", top=False)
    return dropped


def default(schema: Schema, value: Json, old: Json = None) -> None:
    """Fill absent fields with their defaults, in place; nulls that may not be are absent.

    Parts that are the old object's own are let be: they were filled when they were written.
    """
    if not schema.defaults:
        return
    if isinstance(value, dict):
        before = old if isinstance(old, dict) else {}
        for key, child in schema.properties.items():
            missing = key not in value or (value[key] is None and not child.nullable)
            if missing and child.default is not MISSING:
                value[key] = copied(child.default)
            part = value.get(key)
            if child.defaults and part is not None and part is not before.get(key):
                default(child, part, before.get(key))
        if isinstance(schema.additional, Schema) and schema.additional.defaults:
            for key, item in value.items():
                if key not in schema.properties:
                    default(schema.additional, item)
    elif isinstance(value, list) and schema.items is not None:
        for item in value:
            default(schema.items, item)


def _type_name(value: Json) -> str:
    match value:
        case None:
            return "null"
        case bool():
            return "boolean"
        case str():
            return "string"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case dict():
            return "object"
        case _:
            return "array"


def _fits(schema: Schema, kind: str) -> bool:
    wanted = schema.type
    if schema.int_or_string:
        return kind in {"integer", "string"}
    return not wanted or wanted == kind or (wanted == "number" and kind == "integer")


def validate(
    schema: Schema, value: Json, path: str = "", *, top: bool = True, old: Json = None
) -> list[StatusCause]:
    """What is wrong with a value, field by field; parts equal to the old value are let be."""
    if old is not None and not top and (value is old or value == old):
        return []
    if value is None and (schema.nullable or not (schema.type or schema.int_or_string)):
        return []
    kind = _type_name(value)
    if not _fits(schema, kind):
        wanted = "integer,string" if schema.int_or_string else schema.type
        why = f"{path} in body must be of type {wanted}: {field_errors.spell(kind)}"
        return [field_errors.wrong_type(path or "<nil>", kind, why)]
    found: list[StatusCause] = []
    enum = schema.raw.get("enum")
    if enum is not None and not any(equal(value, item) for item in enum):
        found.append(field_errors.not_supported(path, value, enum))
    match value:
        case dict():
            before = old if isinstance(old, dict) else {}
            found += _validate_object(schema, value, before, path, top=top)
        case list():
            found += _validate_list(schema, value, path)
        case str():
            found += _validate_text(schema, value, path)
        case bool():
            pass
        case int() | float():
            found += _validate_number(schema, value, path)
    if schema.all_of or schema.any_of or schema.one_of or schema.negated is not None:
        found += _validate_logic(schema, value, path)
    return found


def _validate_object(
    schema: Schema, value: Obj, old: Obj, path: str, *, top: bool
) -> list[StatusCause]:
    found: list[StatusCause] = []
    raw = schema.raw
    for key in sorted(value):
        if top and key in _TOP:
            continue
        child, part = schema.child(key), value[key]
        if child is None or child.simple is type(part):
            continue
        before = old.get(key)
        if before is None or before is not part:
            where = f"{path}.{key}" if path else key
            found += validate(child, part, where, top=False, old=before)
    for key in raw.get("required") or ():
        if key not in value:
            found.append(field_errors.required(f"{path}.{key}" if path else key))
    most, least = raw.get("maxProperties"), raw.get("minProperties")
    if most is not None and len(value) > most:
        found.append(field_errors.too_many(path, len(value), most))
    if least is not None and len(value) < least:
        why = f"{path} in body should have at least {least} properties"
        found.append(field_errors.invalid(path, value, why))
    if schema.embedded and not top:
        found += [
            field_errors.required(f"{path}.{key}", "must not be empty")
            for key in ("apiVersion", "kind")
            if not value.get(key)
        ]
    return found


def _validate_list(schema: Schema, value: list[Json], path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    raw = schema.raw
    most, least = raw.get("maxItems"), raw.get("minItems")
    if most is not None and len(value) > most:
        found.append(field_errors.too_many(path, len(value), most))
    if least is not None and len(value) < least:
        why = f"{path} in body should have at least {least} items"
        found.append(field_errors.invalid(path, len(value), why))
    items = schema.items
    if items is not None:
        known = items.accepted if len(value) >= _LONG else None
        for index, item in enumerate(value):
            if items.simple is not type(item):
                found += _validate_item(items, item, f"{path}[{index}]", known)
    found += _duplicates(schema, value, path)
    return found


def _validate_item(
    schema: Schema, item: Json, path: str, known: set[bytes] | None
) -> list[StatusCause]:
    """What is wrong with one item; in a long list, `known` ones were looked at before.

    A client that changes one entry of a long list sends all the others with it.
    """
    if known is None or not isinstance(item, dict):
        return validate(schema, item, path, top=False)
    mark = encode(item)
    if mark in known:
        return []
    found = validate(schema, item, path, top=False)
    if not found and len(mark) <= _LARGE:
        if len(known) >= _MANY:
            known.clear()
        known.add(mark)
    return found


def _duplicates(schema: Schema, value: list[Json], path: str) -> list[StatusCause]:
    kind = schema.raw.get("x-kubernetes-list-type")
    if kind not in {"set", "map"}:
        return []
    keys = schema.raw.get("x-kubernetes-list-map-keys") or ()
    seen: list[Json] = []
    found = []
    for index, item in enumerate(value):
        mark = item
        if kind == "map" and isinstance(item, dict):
            mark = {key: item[key] for key in keys if key in item}
        if any(equal(mark, other) for other in seen):
            found.append(field_errors.duplicate(f"{path}[{index}]", mark))
        seen.append(mark)
    return found


def _validate_text(schema: Schema, value: str, path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    raw = schema.raw
    most, least = raw.get("maxLength"), raw.get("minLength")
    if most is not None and len(value) > most:
        found.append(field_errors.too_long(path, most))
    if least is not None and len(value) < least:
        why = f"{path} in body should be at least {least} chars long"
        found.append(field_errors.invalid(path, value, why))
    if schema.pattern is not None and not schema.pattern.search(value):
        why = f"{path} in body should match '{raw['pattern']}'"
        found.append(field_errors.invalid(path, value, why))
    wanted = str(raw.get("format"))
    if wanted in FORMATS and not FORMATS[wanted](value):
        why = f"{path} in body must be of type {wanted}: {field_errors.spell(value)}"
        found.append(field_errors.invalid(path, value, why))
    return found


def _validate_number(schema: Schema, value: float, path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    raw = schema.raw
    most, least, step = raw.get("maximum"), raw.get("minimum"), raw.get("multipleOf")
    if step is not None and value % step != 0:
        why = f"{path} in body should be a multiple of {field_errors.spell(step)}"
        found.append(field_errors.invalid(path, value, why))
    if most is not None:
        strict = bool(raw.get("exclusiveMaximum"))
        if value > most or (strict and value == most):
            word = "less than" if strict else "less than or equal to"
            why = f"{path} in body should be {word} {field_errors.spell(most)}"
            found.append(field_errors.invalid(path, value, why))
    if least is not None:
        strict = bool(raw.get("exclusiveMinimum"))
        if value < least or (strict and value == least):
            word = "greater than" if strict else "greater than or equal to"
            why = f"{path} in body should be {word} {field_errors.spell(least)}"
            found.append(field_errors.invalid(path, value, why))
    bits = {"int32": 31, "int64": 63}.get(raw.get("format", ""))
    if bits is not None and not -(1 << bits) <= value < 1 << bits:
        why = f"{path} in body must be of type {raw['format']}: {field_errors.spell(str(value))}"
        found.append(field_errors.invalid(path, value, why))
    return found


def _validate_logic(schema: Schema, value: Json, path: str) -> list[StatusCause]:
    found: list[StatusCause] = []
    where = path or "<nil>"
    for part in schema.all_of:
        found += validate(part, value, path)
    if schema.any_of and all(validate(part, value, path) for part in schema.any_of):
        why = f'"{path}" must validate at least one schema (anyOf)'
        found.append(field_errors.invalid(where, "", why))
    if schema.one_of:
        fits = sum(not validate(part, value, path) for part in schema.one_of)
        if fits != 1:
            how = "none valid" if not fits else f"{fits} valid alternatives"
            why = f'"{path}" must validate one and only one schema (oneOf). Found {how}'
            found.append(field_errors.invalid(where, "", why))
    if schema.negated is not None and not validate(schema.negated, value, path):
        why = f'"{path}" must not validate the schema (not)'
        found.append(field_errors.invalid(where, "", why))
    return found
