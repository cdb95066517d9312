"""CustomResourceDefinitions: a definition becomes served resources, with its conditions."""

from collections.abc import Callable, Iterator
from functools import lru_cache, partial
from typing import Any, Final

import msgspec

from global_sched.embedded.apiserver.backend import Backend
from global_sched.embedded.apiserver.jsonpath import parse_path, simple_text
from global_sched.embedded.apiserver.managed_fields import after_update
from global_sched.embedded.apiserver.resource_info import (
    Column,
    ResourceInfo,
    ScalePaths,
    Subresource,
)
from global_sched.embedded.apiserver.schemas import compile_schema, shape_of_schema
from global_sched.embedded.apiserver.storage import ADDED, DELETED, Collection, Event

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


class Definitions:
    """Keeps the registry in step with the stored definitions."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        backend.store.listeners.append(self._changed)
        self.on_removed: list[Callable[[str], None]] = []

    def load(self) -> None:
        """Serve every stored definition (at start)."""
        for record in self.backend.store.collection(CRDS).select():
            self._serve(record.load())

    def _changed(self, collection: Collection, event: Event) -> None:
        if collection.name != CRDS:
            return
        obj = event.record.load()
        if event.kind == DELETED:
            self._empty(obj)
            self.backend.registry.replace(obj["spec"]["group"], obj["spec"]["names"]["plural"], ())
            return
        if _established(obj):
            self._serve(obj)
        elif event.kind == ADDED:
            self.establish(event.record.key)

    def _empty(self, obj: Obj) -> None:
        """Remove every object of a definition that is gone."""
        for served in served_versions(obj):
            for record in list(self.backend.collection(served).select()):
                self.backend.remove(served, record.key, record.load())

    def _serve(self, obj: Obj) -> None:
        spec = obj["spec"]
        self.backend.registry.replace(
            spec["group"], spec["names"]["plural"], list(served_versions(obj))
        )

    def establish(self, key: str) -> None:
        """Write the conditions of a definition whose names are accepted."""
        served = self.backend.registry.find(
            "apiextensions.k8s.io", "v1", "customresourcedefinitions"
        )
        record = self.backend.get(CRDS, key)
        if served is None or record is None:
            return
        obj = record.load()
        now = self.backend.now_text()
        spec = obj["spec"]
        names = spec["names"]
        obj["status"] = {
            "conditions": [
                _condition("NamesAccepted", now, "NoConflicts", "no conflicts found"),
                _condition(
                    "Established",
                    now,
                    "InitialNamesAccepted",
                    "the initial names have been accepted",
                ),
            ],
            "acceptedNames": dict(names),
            "storedVersions": [v["name"] for v in spec["versions"] if v.get("storage")],
        }
        condition: Obj = {
            ".": {},
            **{
                f"f:{key}": {}
                for key in ("lastTransitionTime", "message", "reason", "status", "type")
            },
        }
        owned = {
            "f:status": {
                "f:acceptedNames": {f"f:{name}": {} for name in names},
                "f:conditions": {
                    'k:{"type":"Established"}': condition,
                    'k:{"type":"NamesAccepted"}': condition,
                },
            }
        }
        obj["metadata"]["managedFields"] = after_update(
            obj["metadata"].get("managedFields") or [],
            owned,
            {},
            manager="kube-apiserver",
            api_version="apiextensions.k8s.io/v1",
            time=now,
            subresource="status",
        )
        self.backend.commit(served, key, obj)


def _condition(kind: str, now: str, reason: str, message: str) -> Obj:
    return {
        "type": kind,
        "status": "True",
        "lastTransitionTime": now,
        "reason": reason,
        "message": message,
    }


def _established(obj: Obj) -> bool:
    return any(
        condition.get("type") == "Established" and condition.get("status") == "True"
        for condition in (obj.get("status") or {}).get("conditions") or ()
    )
