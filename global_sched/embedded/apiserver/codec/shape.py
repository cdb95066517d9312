"""Shapes of values, as far as merging and field ownership need them.

One vocabulary for built-in kinds (from the table of types) and custom ones (from their schema):
which parts are granular, which lists are keyed, what is atomic.
"""

from collections.abc import Mapping
from enum import StrEnum
from typing import Final


class Form(StrEnum):
    """The form of a value."""

    OBJECT = "object"  # named fields, or a map, or both
    LIST = "list"
    LEAF = "leaf"
    ANY = "any"  # nothing is known: objects are granular, lists atomic


class Shape:
    """One node of a schema; `fields` and `value` may be filled later, for recursive types."""

    __slots__ = ("atomic", "fields", "form", "keys", "list_type", "value")

    def __init__(
        self,
        form: Form,
        *,
        fields: Mapping[str, "Shape"] | None = None,
        value: "Shape | None" = None,
        list_type: str = "atomic",
        keys: tuple[str, ...] = (),
        atomic: bool = False,
    ) -> None:
        self.form = form
        self.fields: Mapping[str, Shape] = fields if fields is not None else {}
        self.value = value
        self.list_type = list_type
        self.keys = keys
        self.atomic = atomic

    def child(self, name: str) -> "Shape":
        """The shape of a field or of a map's value."""
        found = self.fields.get(name)
        if found is not None:
            return found
        return self.value if self.value is not None else ANY

    def item(self) -> "Shape":
        """The shape of a list's items."""
        return self.value if self.value is not None else ANY


ANY: Final = Shape(Form.ANY)
LEAF: Final = Shape(Form.LEAF)
