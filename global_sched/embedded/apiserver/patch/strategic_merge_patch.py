"""Strategic merge patch of built-in kinds: lists merge by their patch key, `$patch` directs."""

from typing import Any, Final

from global_sched.embedded.apiserver.codec.go_types import GoField, Struct, struct_of

Json = Any
Obj = dict[str, Any]

_PATCH: Final = "$patch"
_RETAIN: Final = "$retainKeys"
_DELETE_LIST: Final = "$deleteFromPrimitiveList/"
_ORDER: Final = "$setElementOrder/"


class StrategicError(ValueError):
    """The patch does not fit the kind; the message says where."""


def strategic_merge(struct: str, target: Obj, patch: Obj) -> Obj:
    """The object after the patch; the given one may be changed in place."""
    return _merge(struct_of(struct), target, patch)


def _merge(struct: Struct | None, target: Obj, patch: Obj) -> Obj:
    directive = patch.get(_PATCH)
    if directive == "replace":
        return {key: value for key, value in patch.items() if key != _PATCH}
    if directive == "delete":
        return {}
    if directive not in {None, "merge"}:
        raise StrategicError(f"Unknown patch type found: {directive}")
    retain = patch.get(_RETAIN)
    if isinstance(retain, list):
        target = {key: value for key, value in target.items() if key in retain}
    for key, value in patch.items():
        if key in {_PATCH, _RETAIN} or key.startswith(_ORDER):
            continue
        if key.startswith(_DELETE_LIST):
            name = key.removeprefix(_DELETE_LIST)
            gone = value if isinstance(value, list) else []
            target[name] = [item for item in target.get(name) or [] if item not in gone]
        elif value is None:
            target.pop(key, None)
        else:
            target[key] = _merge_value(struct, key, target.get(key), value, patch)
    for key, value in patch.items():
        if key.startswith(_ORDER):
            _reorder(struct, target, key.removeprefix(_ORDER), value)
    return target


def _field(struct: Struct | None, key: str) -> GoField | None:
    return struct.fields.get(key) if struct is not None else None


def _merge_value(struct: Struct | None, key: str, old: Json, value: Json, patch: Obj) -> Json:
    del patch
    field = _field(struct, key)
    if isinstance(value, dict):
        inner = struct_of(field.struct) if field is not None and field.code[0] == "@" else None
        if field is not None and "replace" in field.patch_strategy.split(","):
            return _merge(inner, {}, value)
        return _merge(inner, old if isinstance(old, dict) else {}, value)
    if isinstance(value, list):
        strategies = field.patch_strategy.split(",") if field is not None else []
        if "merge" not in strategies or field is None:
            return value
        return _merge_list(field, old if isinstance(old, list) else [], value)
    return value


def _merge_list(field: GoField, old: list[Json], patch: list[Json]) -> list[Json]:
    if not field.patch_key:
        return [*old, *(item for item in patch if item not in old)]
    key = field.patch_key
    items = [dict(item) if isinstance(item, dict) else item for item in old]
    inner = struct_of(field.struct) if field.struct else None
    if any(isinstance(item, dict) and item.get(_PATCH) == "replace" for item in patch):
        return [item for item in patch if item.get(_PATCH) != "replace"]
    added: list[Json] = []
    for item in patch:
        if not isinstance(item, dict) or key not in item:
            raise StrategicError(f"map: {item} does not contain declared merge key: {key}")
        at = [i for i, known in enumerate(items) if known.get(key) == item[key]]
        if item.get(_PATCH) == "delete":
            items = [known for i, known in enumerate(items) if i not in at]
        elif at:
            items[at[0]] = _merge(inner, items[at[0]], item)
        else:
            added.append(_merge(inner, {}, item))
    return [*items, *added]


def _reorder(struct: Struct | None, target: Obj, name: str, order: Json) -> None:
    """Put a merged list in the order that the patch gives; others keep their places after."""
    field = _field(struct, name)
    items = target.get(name)
    if field is None or not isinstance(items, list) or not isinstance(order, list):
        return
    key = field.patch_key

    def mark(item: Json) -> Json:
        return item.get(key) if key and isinstance(item, dict) else item

    wanted = [mark(item) for item in order]
    ranked = [item for item in items if mark(item) in wanted]
    ranked.sort(key=lambda item: wanted.index(mark(item)))
    spots = [index for index, item in enumerate(items) if mark(item) in wanted]
    for index, item in zip(spots, ranked, strict=True):
        items[index] = item
