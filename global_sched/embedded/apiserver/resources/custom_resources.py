"""Custom resources: a CustomResourceDefinition compiled to the resources that it serves."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver.resources.resource_info import (
    Column,
    ResourceInfo,
    ScalePaths,
    Subresource,
)
from global_sched.embedded.apiserver.validation.jsonpath import parse_path, simple_text
from global_sched.embedded.apiserver.validation.schemas import compile_schema, shape_of_schema

Obj = dict[str, Any]

CRDS: Final = "customresourcedefinitions.apiextensions.k8s.io"
_STATUS_VERBS: Final = ("get", "patch", "update")
_CUSTOM_VERBS: Final = (
    "delete",
    "deletecollection",
    "get",
    "list",
    "patch",
    "create",
    "update",
    "watch",
)
_AGE: Final = Column(
    name="Age",
    type="date",
    path=".metadata.creationTimestamp",
    description="CreationTimestamp is a timestamp representing the server time when this object"
    " was created.",
)


def _columns(version: Obj) -> tuple[Column, ...]:
    given = version.get("additionalPrinterColumns")
    if not given:
        return (_AGE,)
    return tuple(
        Column(
            name=column["name"],
            type=column["type"],
            path=column["jsonPath"],
            format=column.get("format", ""),
            description=column.get("description")
            or f"Custom resource definition column (in JSONPath format): {column['jsonPath']}",
            priority=column.get("priority", 0),
        )
        for column in given
    )


def _subresources(version: Obj, kind: str) -> tuple[tuple[Subresource, ...], ScalePaths | None]:
    given = version.get("subresources") or {}
    subs = []
    scale = None
    if "status" in given and given["status"] is not None:
        subs.append(Subresource(name="status", kind=kind, verbs=_STATUS_VERBS))
    if given.get("scale"):
        subs.append(
            Subresource(
                name="scale",
                kind="Scale",
                verbs=_STATUS_VERBS,
                group="autoscaling",
                version="v1",
            )
        )
        paths = given["scale"]
        scale = ScalePaths(
            spec=paths["specReplicasPath"],
            status=paths["statusReplicasPath"],
            selector=paths.get("labelSelectorPath", ""),
        )
    return tuple(subs), scale


def _selectable(version: Obj) -> dict[str, Callable[[Obj], str]]:
    found: dict[str, Callable[[Obj], str]] = {}
    for field in version.get("selectableFields") or ():
        path = parse_path(field["jsonPath"])
        found[field["jsonPath"].removeprefix(".")] = partial(simple_text, path)
    return found


def served_versions(crd: Obj) -> tuple[ResourceInfo, ...]:
    """The resources that a definition serves, the storage version's objects being stored."""
    return _served(msgspec.json.encode(crd["spec"]))


@lru_cache(maxsize=256)
def _served(encoded: bytes) -> tuple[ResourceInfo, ...]:
    """Those of a definition's spec; the servers of one process share what they compiled."""
    return tuple(_compiled(msgspec.json.decode(encoded)))


def _compiled(spec: Obj) -> Iterator[ResourceInfo]:
    names = spec["names"]
    storage = next(version["name"] for version in spec["versions"] if version.get("storage"))
    for version in spec["versions"]:
        if not version.get("served"):
            continue
        raw = (version.get("schema") or {}).get("openAPIV3Schema") or {
            "type": "object",
            "x-kubernetes-preserve-unknown-fields": True,
        }
        if spec.get("preserveUnknownFields"):
            raw = {**raw, "x-kubernetes-preserve-unknown-fields": True}
        schema = compile_schema(raw)
        kind = names["kind"]
        subs, scale = _subresources(version, kind)
        yield ResourceInfo(
            group=spec["group"],
            version=version["name"],
            plural=names["plural"],
            singular=names.get("singular") or kind.lower(),
            kind=kind,
            namespaced=spec["scope"] == "Namespaced",
            list_kind=names.get("listKind") or f"{kind}List",
            short_names=tuple(names.get("shortNames") or ()),
            categories=tuple(names.get("categories") or ()),
            verbs=_CUSTOM_VERBS,
            subresources=subs,
            shape=shape_of_schema(schema, top=True),
            schema=schema,
            rules=schema.ruled,
            columns=_columns(version),
            scale=scale,
            generation=True,
            has_status=any(sub.name == "status" for sub in subs),
            selectable=_selectable(version),
            stored_version=f"{spec['group']}/{storage}",
            open_schema=raw,
            deprecation=_deprecation(spec["group"], version, kind),
        )


def _deprecation(group: str, version: Obj, kind: str) -> str:
    if not version.get("deprecated"):
        return ""
    given = version.get("deprecationWarning")
    return given or f"{group}/{version['name']} {kind} is deprecated"
