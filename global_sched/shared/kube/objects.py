"""Key, uid and resourceVersion of any object."""

from collections.abc import Callable
from sys import intern
from typing import Any, NamedTuple, TypeVar

import msgspec

T = TypeVar("T")


class ObjectKey(NamedTuple):
    """Namespace (empty for cluster-scoped kinds) and name: unique within one resource."""

    namespace: str
    name: str

    def __str__(self) -> str:
        return f"{self.namespace}/{self.name}" if self.namespace else self.name


class Identity(NamedTuple):
    """Key, uid and resourceVersion of one object."""

    key: ObjectKey
    uid: str
    resource_version: str


class Malformed(msgspec.Struct, frozen=True, kw_only=True, gc=False):
    """An object that exists but cannot be read as its type."""

    key: ObjectKey
    uid: str
    resource_version: str
    error: str
    """Which field is wrong and why, in words for its owner."""


def identity_of_dict(raw: dict[str, Any]) -> Identity:
    """Identity of an untyped object."""
    meta = raw.get("metadata") or {}
    key = ObjectKey(meta.get("namespace") or "", meta.get("name") or "")
    return Identity(key, meta.get("uid") or "", meta.get("resourceVersion") or "")


def identity_of_struct(typed: Any) -> Identity:
    """Identity of a typed object: any with `metadata` of the usual four fields."""
    meta = typed.metadata
    # Few namespaces hold many objects, and informers keep every key.
    key = ObjectKey(intern(meta.namespace or ""), meta.name)
    return Identity(key, meta.uid or "", meta.resource_version or "")


def identifier(type_: type[T]) -> Callable[[T], Identity]:
    """The function that finds the identity of objects of one type.

    Raises:  TypeError for a type whose objects have no usable `metadata`.
    """
    if type_ is dict:
        return identity_of_dict  # type: ignore[return-value]
    fields = getattr(type_, "__struct_fields__", ())
    if "metadata" not in fields:
        raise TypeError(f"{type_.__name__} has no field `metadata`, so its objects have no key")
    return identity_of_struct
