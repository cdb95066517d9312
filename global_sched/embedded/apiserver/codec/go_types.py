"""Built-in kinds as Go structs: fields, numbers, merge keys; from `data/types.json`.

`tools/gen_kube_types.py` writes the table from the modules that define the types.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver.codec.shape import ANY, LEAF, Form, Shape

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True)
class GoField:
    """One field of a struct."""

    name: str
    code: str
    pointer: bool
    omit: bool
    omit_zero: bool
    numbers: tuple[int, ...]
    required: bool
    patch_strategy: str
    patch_key: str
    list_type: str
    list_keys: tuple[str, ...]
    atomic: bool
    zero: Any
    struct: str
    """The struct's name when the field, its items or its values are structs."""

    @property
    def always(self) -> bool:
        """Whether the field is encoded even when it is empty."""
        if not self.omit:
            return True
        return not self.pointer and not self.omit_zero and self.code[0] in "@tm"


@dataclass(frozen=True, slots=True)
class Struct:
    """One struct: its fields by JSON name."""

    name: str
    fields: Mapping[str, GoField]
    always: tuple[GoField, ...]

    @property
    def short(self) -> str:
        """The name without its package."""
        return self.name.rsplit(".", 1)[1]


@cache
def _table() -> dict[str, list[list[Any]]]:
    raw = files("global_sched.embedded.apiserver").joinpath("data/types.json").read_bytes()
    table: dict[str, list[list[Any]]] = msgspec.json.decode(raw)
    return table


ZEROES: Final = {"s": "", "i": 0, "l": 0, "b": False, "f": 0, "q": "0", "I": 0, "d": "0s"}


def _field(row: list[Any]) -> GoField:
    name, spelled, omit, numbers, required, *rest = row
    extra: dict[str, Any] = rest[0] if rest else {}
    pointer = spelled.startswith("*")
    code = spelled.lstrip("*")
    struct = code.split("@")[1] if "@" in code else ""
    return GoField(
        name=name,
        code=code,
        pointer=pointer,
        omit=bool(omit),
        omit_zero=bool(extra.get("z")),
        numbers=tuple(numbers),
        required=bool(required),
        patch_strategy=extra.get("ps", ""),
        patch_key=extra.get("pk", ""),
        list_type=extra.get("lt", "atomic"),
        list_keys=tuple(extra.get("lk", ())),
        atomic=extra.get("at") == "atomic",
        zero=None if pointer else ZEROES.get(code),
        struct=struct,
    )


@cache
def struct_of(name: str) -> Struct:
    """A struct by its full name, such as `core/v1.Pod`."""
    fields = {row[0]: _field(row) for row in _table()[name]}
    always = tuple(field for field in fields.values() if field.always)
    return Struct(name, fields, always)


def has_struct(name: str) -> bool:
    """Whether the table has the struct."""
    return name in _table()


_shapes: dict[str, Shape] = {}


def shape_of(name: str) -> Shape:
    """The shape of a struct, for merging and field ownership."""
    found = _shapes.get(name)
    if found is None:
        fields: dict[str, Shape] = {}
        found = _shapes[name] = Shape(Form.OBJECT, fields=fields)
        for field in struct_of(name).fields.values():
            fields[field.name] = _field_shape(field)
    return found


def _field_shape(field: GoField) -> Shape:
    code = field.code
    match code[0]:
        case "@":
            inner = shape_of(field.struct)
            if not field.atomic:
                return inner
            return Shape(Form.OBJECT, fields=inner.fields, atomic=True)
        case "[":
            item = _inner_shape(code[2:], field)
            return Shape(
                Form.LIST,
                value=item,
                list_type=field.list_type,
                keys=field.list_keys,
                atomic=field.list_type == "atomic",
            )
        case "{":
            return Shape(Form.OBJECT, value=_inner_shape(code[2:], field), atomic=field.atomic)
        case "R":
            return ANY
        case _:
            return LEAF


def _inner_shape(code: str, field: GoField) -> Shape:
    match code[0]:
        case "@":
            inner = shape_of(field.struct)
            if field.atomic:
                return Shape(Form.OBJECT, fields=inner.fields, atomic=True)
            return inner
        case "[":
            return Shape(Form.LIST, value=LEAF, atomic=True)
        case "{":
            return Shape(Form.OBJECT, value=LEAF)
        case "R":
            return ANY
        case _:
            return LEAF
