"""One served resource: its names, its types, and what the server does with its objects."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from global_sched.embedded.apiserver.codec.shape import Shape
from global_sched.embedded.apiserver.status_error import qualified
from global_sched.embedded.apiserver.validation.schemas import Schema

Obj = dict[str, Any]

ALL_VERBS = (
    "create",
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "update",
    "watch",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """One printer column of a custom resource."""

    name: str
    type: str
    path: str
    format: str = ""
    description: str = ""
    priority: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class ScalePaths:
    """Where a resource keeps the numbers of its scale subresource."""

    spec: str
    status: str
    selector: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Subresource:
    """One subresource, as discovery shows it."""

    name: str
    kind: str
    verbs: tuple[str, ...]
    group: str = ""
    version: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class ResourceInfo:
    """A resource in one version."""

    group: str
    version: str
    plural: str
    singular: str
    kind: str
    namespaced: bool
    list_kind: str = ""
    short_names: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    verbs: tuple[str, ...] = ALL_VERBS
    subresources: tuple[Subresource, ...] = ()
    struct: str = ""
    """The built-in struct; empty for custom resources."""
    shape: Shape
    schema: Schema | None = None
    rules: bool = False
    """Whether the schema has validation rules."""
    columns: tuple[Column, ...] = ()
    scale: ScalePaths | None = None
    generation: bool = False
    has_status: bool = False
    selectable: Mapping[str, Callable[[Obj], str]] = field(default_factory=dict)
    stored_as: str = ""
    """The collection; other versions of the resource share it."""
    stored_version: str = ""
    """The `apiVersion` under which a custom resource is stored."""
    open_schema: Obj | None = None
    """The schema as published by OpenAPI, for custom resources."""
    deprecation: str = ""

    custom: bool = field(init=False)
    """Whether a CRD defines it."""
    api_version: str = field(init=False)
    """`v1` or `group/version`."""
    qualified: str = field(init=False)
    """`plural.group`, or the plural alone for the core group."""
    collection: str = field(init=False)
    """The name of the collection that holds the objects."""
    head: bytes = field(init=False)
    """How the bytes of every object of this version begin."""
    stored_head: bytes = field(init=False)
    """How the stored bytes of a custom resource begin."""

    def __post_init__(self) -> None:
        """Derive what every request asks for."""
        api_version = f"{self.group}/{self.version}" if self.group else self.version
        custom = not self.struct
        full = qualified(self.plural, self.group)
        kind = self.kind
        if custom:
            head = f'{{"apiVersion":"{api_version}","kind":"{kind}",'
        else:
            head = f'{{"kind":"{kind}","apiVersion":"{api_version}",'
        stored = f'{{"apiVersion":"{self.stored_version}","kind":"{kind}",'
        derived = {
            "custom": custom,
            "api_version": api_version,
            "qualified": full,
            "collection": self.stored_as or full,
            "head": head.encode(),
            "stored_head": stored.encode(),
        }
        for name, value in derived.items():
            object.__setattr__(self, name, value)

    def subresource(self, name: str) -> Subresource | None:
        """The subresource of that name."""
        for sub in self.subresources:
            if sub.name == name:
                return sub
        return None
