"""Kinds of a server: how to reach each, and the list that Cluster objects show."""

from typing import Final

import msgspec

from global_sched.propagation.fields import Obj
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client

Kind = tuple[str, str]
"""`apiVersion` and `kind`."""

_AGGREGATED: Final = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
"""All kinds below a path in one answer (Kubernetes 1.30 and newer)."""


class _ResponseKind(msgspec.Struct, frozen=True):
    kind: str = ""


class _Served(msgspec.Struct, frozen=True, rename="camel"):
    resource: str
    response_kind: _ResponseKind = _ResponseKind()
    scope: str = ""
    verbs: list[str] = []


class _Version(msgspec.Struct, frozen=True):
    version: str
    resources: list[_Served] = []


class _Name(msgspec.Struct, frozen=True):
    name: str = ""


class _Group(msgspec.Struct, frozen=True):
    metadata: _Name = _Name()
    versions: list[_Version] = []


class _Groups(msgspec.Struct, frozen=True):
    items: list[_Group] = []


class Discovery:
    """The kinds of one server, as of the last `refresh`."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self.kinds: dict[Kind, Resource] = {}
        self.enablements: list[Obj] = []

    def find(self, kind: Kind) -> Resource | None:
        """How a kind is reached; None when it is not served (or cannot be watched)."""
        return self.kinds.get(kind)

    async def refresh(self) -> bool:
        """Read all groups again; whether anything changed.

        Raises:  ApiError when the server cannot be asked; what was known stays.
        """
        kinds: dict[Kind, Resource] = {}
        enablements: list[Obj] = []
        for root in ("/api", "/apis"):
            answer = await self._client.raw("GET", root, accept=_AGGREGATED)
            for group in msgspec.json.decode(answer, type=_Groups).items:
                for version in group.versions:
                    self._read(group.metadata.name, version, kinds, enablements)
        enablements.sort(key=lambda one: str(one["groupVersion"]))
        changed = enablements != self.enablements
        self.kinds, self.enablements = kinds, enablements
        return changed

    @staticmethod
    def _read(
        group: str, version: _Version, kinds: dict[Kind, Resource], enablements: list[Obj]
    ) -> None:
        group_version = f"{group}/{version.version}" if group else version.version
        for one in version.resources:
            kind = one.response_kind.kind
            if {"get", "list", "watch"} <= set(one.verbs):
                kinds[group_version, kind] = Resource(
                    group, version.version, one.resource, kind, one.scope == "Namespaced"
                )
        shown = [{"kind": x.response_kind.kind, "name": x.resource} for x in version.resources]
        if shown:
            shown.sort(key=lambda one: one["name"])
            enablements.append({"groupVersion": group_version, "resources": shown})
