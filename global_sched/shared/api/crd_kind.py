"""The parts of a CRD beyond the wire type's fields: columns, short names, bounds, defaults."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from global_sched.shared.api.resource import Resource

AGE: Final = ("AGE", ".metadata.creationTimestamp", "date")
TOPOLOGY_MODE: Final = {"enum": ["hard", "soft"], "default": "hard"}
NOT_NEGATIVE: Final = {"minimum": 0, "format": "int32"}
Column = tuple[str, str, str] | tuple[str, str, str, int]
"""Name, JSON path, type, and the priority (1: only with `-o wide`)."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CrdKind:
    """What the CRD of one kind has beyond its fields.

    rules: additions to the schema, by path; `[]` stands for the items of a list.
    scale: paths of the scale subresource, empty when there is none.
    """

    resource: Resource
    type: type
    strict: bool = False
    status: bool = True
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    columns: tuple[Column, ...] = (AGE,)
    rules: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    scale: Mapping[str, str] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The CRD's name: plural and group."""
        return f"{self.resource.plural}.{self.resource.group}"

    @property
    def file_name(self) -> str:
        """Its file in `crds/`."""
        return f"{self.resource.group}_{self.resource.plural}.yaml"
