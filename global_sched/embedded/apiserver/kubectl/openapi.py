"""OpenAPI of what is served: version 3 per group and version, version 2 as one document.

Built-in schemas come from the type table, without prose; custom ones from their definitions.
"""

import hashlib
from functools import cache
from typing import Any, Final

from aiohttp import web

from global_sched.embedded.apiserver.codec.go_types import GoField, struct_of
from global_sched.embedded.apiserver.http.answers import json_response, raw_response
from global_sched.embedded.apiserver.http.incoming import Incoming
from global_sched.embedded.apiserver.kubectl.table_answers import rendering_of
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import NoSuchPath
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import encode

Obj = dict[str, Any]

_PROTOBUF: Final = "application/com.github.proto-openapi.spec.v2.v1.0+protobuf"
_PROTOBUF_ACCEPTED: Final = (
    _PROTOBUF,
    "application/com.github.proto-openapi.spec.v2@v1.0+protobuf",
)
_NO_DEFINITIONS: Final = b"\n\x032.0\x12\x06\n\x01k\x12\x011"
"""A version 2 document in gnostic's protobuf form: `swagger: "2.0"`, an `info`, no definitions.

kubectl validates by version 3 and asks for this one only about a kind that version 3 does not have.
"""
_REF: Final = "#/components/schemas/"
_PACKAGES: Final = {
    "meta": "io.k8s.apimachinery.pkg.apis.meta",
    "apiextensions": "io.k8s.apiextensions-apiserver.pkg.apis.apiextensions",
    "apiregistration": "io.k8s.kube-aggregator.pkg.apis.apiregistration",
}
_SCALARS: Final[dict[str, Obj]] = {
    "s": {"type": "string"},
    "i": {"type": "integer", "format": "int32"},
    "l": {"type": "integer", "format": "int64"},
    "b": {"type": "boolean"},
    "f": {"type": "number", "format": "double"},
    "B": {"type": "string", "format": "byte"},
    "q": {"oneOf": [{"type": "string"}, {"type": "number"}]},
    "t": {"type": "string", "format": "date-time"},
    "m": {"type": "string", "format": "date-time"},
    "d": {"type": "string"},
    "I": {"format": "int-or-string", "oneOf": [{"type": "integer"}, {"type": "string"}]},
    "R": {"type": "object"},
}
_WRITE_PARAMETERS: Final = ("dryRun", "fieldManager", "fieldValidation")
_ANY_PARAMETERS: Final = (
    "labelSelector",
    "fieldSelector",
    "limit",
    "continue",
    "resourceVersion",
    "resourceVersionMatch",
    "watch",
)


def definition_name(struct: str) -> str:
    """The name of a struct's definition: `io.k8s.api.core.v1.Pod`."""
    package, _, rest = struct.partition("/")
    return f"{_PACKAGES.get(package, f'io.k8s.api.{package}')}.{rest}"


def _code_schema(code: str, field: GoField) -> Obj:
    head = code[0]
    if head == "@":
        return {"$ref": _REF + definition_name(field.struct)}
    if head == "[":
        return {"type": "array", "items": _code_schema(code[2:], field)}
    if head == "{":
        return {"type": "object", "additionalProperties": _code_schema(code[2:], field)}
    return dict(_SCALARS[head])


def _field_schema(field: GoField) -> Obj:
    schema = _code_schema(field.code, field)
    if "$ref" in schema:
        schema = {"allOf": [schema]}
    if field.code[0] == "[":
        schema["x-kubernetes-list-type"] = field.list_type
        if field.list_keys:
            schema["x-kubernetes-list-map-keys"] = list(field.list_keys)
    if field.patch_strategy:
        schema["x-kubernetes-patch-strategy"] = field.patch_strategy
    if field.patch_key:
        schema["x-kubernetes-patch-merge-key"] = field.patch_key
    return schema


@cache
def _struct_schemas(name: str) -> dict[str, Obj]:
    """The schema of a struct and of everything it refers to."""
    found: dict[str, Obj] = {}
    todo = [name]
    while todo:
        struct = todo.pop()
        if definition_name(struct) in found:
            continue
        fields = struct_of(struct).fields
        schema: Obj = {
            "type": "object",
            "properties": {field.name: _field_schema(field) for field in fields.values()},
        }
        needed = [field.name for field in fields.values() if field.required]
        if needed:
            schema["required"] = needed
        found[definition_name(struct)] = schema
        todo += [field.struct for field in fields.values() if field.struct]
    return found


def _gvk(served: ResourceInfo) -> Obj:
    return {"group": served.group, "version": served.version, "kind": served.kind}


def custom_name(served: ResourceInfo) -> str:
    """The name of a custom kind's definition: the group's labels reversed."""
    reverse = ".".join(reversed(served.group.split(".")))
    return f"{reverse}.{served.version}.{served.kind}"


def _kind_name(served: ResourceInfo) -> str:
    return definition_name(served.struct) if served.struct else custom_name(served)


def _kind_schemas(served: ResourceInfo) -> dict[str, Obj]:
    head = {"apiVersion": {"type": "string"}, "kind": {"type": "string"}}
    if served.struct:
        found = dict(_struct_schemas(served.struct))
        name = definition_name(served.struct)
        found[name] = {
            **found[name],
            "properties": {**head, **found[name]["properties"]},
            "x-kubernetes-group-version-kind": [_gvk(served)],
        }
        return found
    found = dict(_struct_schemas("meta/v1.ObjectMeta"))
    raw = served.open_schema or {}
    meta = {"allOf": [{"$ref": _REF + definition_name("meta/v1.ObjectMeta")}]}
    found[custom_name(served)] = {
        **raw,
        "properties": {**head, "metadata": meta, **_without_meta(raw)},
        "x-kubernetes-group-version-kind": [_gvk(served)],
    }
    return found


def _without_meta(raw: Obj) -> Obj:
    return {
        key: value
        for key, value in (raw.get("properties") or {}).items()
        if key not in {"apiVersion", "kind", "metadata"}
    }


def _parameters(names: tuple[str, ...]) -> list[Obj]:
    return [
        {"name": name, "in": "query", "schema": {"type": "string", "uniqueItems": True}}
        for name in names
    ]


def _operation(served: ResourceInfo, action: str, names: tuple[str, ...]) -> Obj:
    reference = {"$ref": _REF + _kind_name(served)}
    content = {"application/json": {"schema": reference}}
    operation: Obj = {
        "operationId": f"{action}{served.version.capitalize()}{served.kind}",
        "x-kubernetes-action": action,
        "x-kubernetes-group-version-kind": _gvk(served),
        "parameters": _parameters(names),
        "responses": {"200": {"description": "OK", "content": content}},
    }
    if action in {"post", "put", "patch"}:
        operation["requestBody"] = {"content": {"*/*": {"schema": reference}}}
    return operation


def _paths(served: ResourceInfo) -> dict[str, Obj]:
    root = f"/apis/{served.group}/{served.version}" if served.group else f"/api/{served.version}"
    base = f"{root}/namespaces/{{namespace}}" if served.namespaced else root
    collection = f"{base}/{served.plural}"
    many = {
        "get": _operation(served, "list", _ANY_PARAMETERS),
        "post": _operation(served, "post", _WRITE_PARAMETERS),
    }
    one = {
        "get": _operation(served, "get", ()),
        "put": _operation(served, "put", _WRITE_PARAMETERS),
        "patch": _operation(served, "patch", (*_WRITE_PARAMETERS, "force")),
        "delete": _operation(served, "delete", ("dryRun", "propagationPolicy")),
    }
    if served.verbs == ("create",):
        return {collection: {"post": many["post"]}}
    found = {collection: many, f"{collection}/{{name}}": one}
    if served.namespaced:
        found[f"{root}/{served.plural}"] = {"get": many["get"]}
    for sub in served.subresources:
        found[f"{collection}/{{name}}/{sub.name}"] = {
            "get": _operation(served, "get", ()),
            "patch": _operation(served, "patch", (*_WRITE_PARAMETERS, "force")),
        }
    return found


def _relocated(value: Any) -> Any:
    """References of version 3 as version 2 spells them."""
    if isinstance(value, dict):
        return {
            key: part.replace(_REF, "#/definitions/")
            if key == "$ref" and isinstance(part, str)
            else _relocated(part)
            for key, part in value.items()
        }
    if isinstance(value, list):
        return [_relocated(part) for part in value]
    return value


class OpenApi:
    """Builds the documents, and keeps them until the registry changes."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self._revision = -1
        self._documents: dict[str, bytes] = {}

    def _current(self) -> dict[str, list[ResourceInfo]]:
        """The resources by `api/v1` or `apis/group/version`."""
        if self._revision != self.backend.registry.revision:
            self._documents.clear()
            self._revision = self.backend.registry.revision
        found: dict[str, list[ResourceInfo]] = {}
        for served in self.backend.registry.all():
            where = f"apis/{served.api_version}" if served.group else f"api/{served.version}"
            found.setdefault(where, []).append(served)
        return found

    def _document(self, where: str, resources: list[ResourceInfo]) -> bytes:
        if where not in self._documents:
            schemas: dict[str, Obj] = {}
            paths: dict[str, Obj] = {}
            for served in resources:
                schemas |= _kind_schemas(served)
                paths |= _paths(served)
            self._documents[where] = encode(
                {
                    "openapi": "3.0.0",
                    "info": {"title": "Kubernetes", "version": "v1.35.4"},
                    "paths": paths,
                    "components": {"schemas": schemas},
                }
            )
        return self._documents[where]

    def _version_2(self, groups: dict[str, list[ResourceInfo]]) -> bytes:
        if "v2" not in self._documents:
            schemas: dict[str, Obj] = {}
            for resources in groups.values():
                for served in resources:
                    schemas |= _kind_schemas(served)
            self._documents["v2"] = encode(
                {
                    "swagger": "2.0",
                    "info": {"title": "Kubernetes", "version": "v1.35.4"},
                    "paths": {},
                    "definitions": _relocated(schemas),
                }
            )
        return self._documents["v2"]

    def answer(self, request: Incoming) -> web.Response:
        """The document at a path.

        Raises:  NoSuchPath for a group or version that is not served.
        """
        path = request.path.rstrip("/")
        groups = self._current()
        if path == "/openapi/v2":
            accept = request.headers.get("Accept", "")
            if accept.startswith(_PROTOBUF_ACCEPTED):
                return web.Response(body=_NO_DEFINITIONS, content_type=_PROTOBUF)
            rendering_of(accept)
            return raw_response(self._version_2(groups))
        if path == "/openapi/v3":
            return json_response({"paths": {w: self._entry(w, groups[w]) for w in sorted(groups)}})
        where = path.removeprefix("/openapi/v3/")
        if where not in groups:
            raise NoSuchPath
        return raw_response(self._document(where, groups[where]))

    def _entry(self, where: str, resources: list[ResourceInfo]) -> Obj:
        digest = hashlib.sha256(self._document(where, resources)).hexdigest()[:32].upper()
        return {"serverRelativeURL": f"/openapi/v3/{where}?hash={digest}"}
