"""Discovery: which groups, versions and resources are served, in both forms; OpenAPI."""

import base64
import hashlib
from collections.abc import Iterator
from typing import Any, Final

from aiohttp import web

from global_sched.embedded.apiserver.http.answers import json_response, raw_response
from global_sched.embedded.apiserver.http.incoming import Incoming
from global_sched.embedded.apiserver.kubectl.openapi import OpenApi
from global_sched.embedded.apiserver.kubectl.table_answers import rendering_of
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import NoSuchPath
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import encode

Obj = dict[str, Any]

_AGGREGATED: Final = "as=APIGroupDiscoveryList"


def _storage_hash(served: ResourceInfo) -> str:
    text = f"{served.group}/{served.version}/{served.kind}".encode()
    return base64.b64encode(hashlib.sha512(text).digest()[:8]).decode()


def _resource(served: ResourceInfo) -> Iterator[Obj]:
    """The rows of a resource and its subresources."""
    row: Obj = {
        "name": served.plural,
        "singularName": served.singular,
        "namespaced": served.namespaced,
        "kind": served.kind,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        row["shortNames"] = list(served.short_names)
    if served.categories:
        row["categories"] = list(served.categories)
    if "list" in served.verbs:
        row["storageVersionHash"] = _storage_hash(served)
    yield row
    for sub in served.subresources:
        inner: Obj = {
            "name": f"{served.plural}/{sub.name}",
            "singularName": "",
            "namespaced": served.namespaced,
        }
        if sub.version:
            inner["group"], inner["version"] = sub.group, sub.version
        inner["kind"] = sub.kind
        inner["verbs"] = list(sub.verbs)
        yield inner


def _aggregated(served: ResourceInfo) -> Obj:
    # Built-in kinds leave the group and version of their own version out, custom ones do not.
    own = (served.group, served.version) if served.custom else ("", "")
    row: Obj = {
        "resource": served.plural,
        "responseKind": {"group": own[0], "version": own[1], "kind": served.kind},
        "scope": "Namespaced" if served.namespaced else "Cluster",
        "singularResource": served.singular,
        "verbs": list(served.verbs),
    }
    if served.short_names:
        row["shortNames"] = list(served.short_names)
    if served.categories:
        row["categories"] = list(served.categories)
    if served.subresources:
        row["subresources"] = [
            {
                "subresource": sub.name,
                "responseKind": {
                    "group": sub.group if sub.version else own[0],
                    "version": sub.version or own[1],
                    "kind": sub.kind,
                },
                "verbs": list(sub.verbs),
            }
            for sub in served.subresources
        ]
    return row


def _version_key(version: str) -> tuple[int, int, int]:
    """Stable versions first, then beta, then alpha; newer ones first."""
    body = version.removeprefix("v")
    for rank, word in ((1, "beta"), (2, "alpha")):
        major, found, minor = body.partition(word)
        if found and major.isdigit():
            return rank, -int(major), -int(minor or 0)
    return (0, -int(body), 0) if body.isdigit() else (3, 0, 0)


class Discovery:
    """Answers discovery from the registry, which changes with the definitions."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend
        self.openapi_documents = OpenApi(backend)
        self._cached: tuple[int, dict[str, dict[str, list[ResourceInfo]]]] = (-1, {})
        """The groups, and the revision of the registry that they are of."""

    def known(self, path: str) -> bool:
        """Whether a path below /api or /apis is discovery."""
        parts = path.strip("/").split("/")
        if parts[0] == "api":
            return len(parts) <= 2
        return parts[0] == "apis" and len(parts) <= 3

    def _groups(self) -> dict[str, dict[str, list[ResourceInfo]]]:
        revision, cached = self._cached
        if revision == self.backend.registry.revision:
            return cached
        found: dict[str, dict[str, list[ResourceInfo]]] = {}
        for served in self.backend.registry.all():
            found.setdefault(served.group, {}).setdefault(served.version, []).append(served)
        for versions in found.values():
            for resources in versions.values():
                resources.sort(key=lambda served: served.plural)
        self._cached = (self.backend.registry.revision, found)
        return found

    def _group(self, name: str, versions: dict[str, list[ResourceInfo]]) -> Obj:
        ordered = sorted(versions, key=_version_key)
        rows = [{"groupVersion": f"{name}/{v}", "version": v} for v in ordered]
        return {"name": name, "versions": rows, "preferredVersion": rows[0]}

    def paths(self) -> list[str]:
        """Every path that starts a part of the API."""
        found = ["/api", "/api/v1", "/apis", "/healthz", "/livez", "/openapi/v2", "/openapi/v3"]
        for group, versions in sorted(self._groups().items()):
            if group:
                found += [f"/apis/{group}", *(f"/apis/{group}/{v}" for v in sorted(versions))]
        return [*found, "/readyz", "/version"]

    def answer(self, request: Incoming) -> web.Response:
        """The answer for a path below /api or /apis.

        Raises:  NoSuchPath for a group or version that is not served; StatusError (406) where the
                 request accepts no JSON.
        """
        parts = request.path.strip("/").split("/")
        accept = request.headers.get("Accept", "")
        if _AGGREGATED not in accept:
            rendering_of(accept)
        groups = self._groups()
        if len(parts) == 1:
            return self._top(parts[0], groups, accept, request.host)
        if parts[0] == "api":
            if parts[1] != "v1":
                raise NoSuchPath
            return self._resources("v1", groups[""]["v1"], core=True)
        versions = groups.get(parts[1])
        if not versions or not parts[1]:
            raise NoSuchPath
        if len(parts) == 2:
            return json_response(
                {"kind": "APIGroup", "apiVersion": "v1", **self._group(parts[1], versions)}
            )
        if parts[2] not in versions:
            raise NoSuchPath
        return self._resources(f"{parts[1]}/{parts[2]}", versions[parts[2]], core=False)

    def _resources(self, name: str, resources: list[ResourceInfo], *, core: bool) -> web.Response:
        rows = [row for served in resources for row in _resource(served)]
        head: Obj = {"kind": "APIResourceList"}
        if not core:
            head["apiVersion"] = "v1"
        return json_response({**head, "groupVersion": name, "resources": rows})

    def _top(
        self, root: str, groups: dict[str, dict[str, list[ResourceInfo]]], accept: str, host: str
    ) -> web.Response:
        mine = {name: v for name, v in groups.items() if (name == "") is (root == "api")}
        if _AGGREGATED in accept:
            return self._aggregated_list(mine, accept)
        if root == "api":
            return json_response(
                {
                    "kind": "APIVersions",
                    "versions": ["v1"],
                    "serverAddressByClientCIDRs": [
                        {"clientCIDR": "0.0.0.0/0", "serverAddress": host}
                    ],
                }
            )
        return json_response(
            {
                "kind": "APIGroupList",
                "apiVersion": "v1",
                "groups": [self._group(name, versions) for name, versions in sorted(mine.items())],
            }
        )

    def _aggregated_list(
        self, groups: dict[str, dict[str, list[ResourceInfo]]], accept: str
    ) -> web.Response:
        version = "v2" if "v=v2;" in accept or accept.endswith("v=v2") else "v2beta1"
        items = []
        for name, versions in sorted(groups.items()):
            items.append(
                {
                    "metadata": {"name": name} if name else {},
                    "versions": [
                        {
                            "version": v,
                            "resources": [_aggregated(served) for served in versions[v]],
                            "freshness": "Current",
                        }
                        for v in sorted(versions, key=_version_key)
                    ],
                }
            )
        body = {
            "kind": "APIGroupDiscoveryList",
            "apiVersion": f"apidiscovery.k8s.io/{version}",
            "metadata": {},
            "items": items,
        }
        kind = f"application/json;g=apidiscovery.k8s.io;v={version};as=APIGroupDiscoveryList"
        return raw_response(encode(body), content_type=kind)

    def openapi(self, request: Incoming) -> web.Response:
        """The OpenAPI document at a path."""
        return self.openapi_documents.answer(request)
