"""Kinds of a server: how to reach each, and the list that Cluster objects show."""

from typing import Any

import msgspec

from global_sched.propagation.fields import Obj
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client

Kind = tuple[str, str]
"""`apiVersion` and `kind`."""


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
        for group, version in await self._versions():
            resources = await self._resources(group, version)
            group_version = f"{group}/{version}" if group else version
            plain = [one for one in resources if "/" not in one["name"]]
            for one in plain:
                if {"get", "list", "watch"} <= set(one.get("verbs") or []):
                    kinds[(group_version, one["kind"])] = Resource(
                        group, version, one["name"], one["kind"], one["namespaced"]
                    )
            shown = [{"kind": one["kind"], "name": one["name"]} for one in plain]
            if shown:
                shown.sort(key=lambda one: str(one["name"]))
                enablements.append({"groupVersion": group_version, "resources": shown})
        enablements.sort(key=lambda one: str(one["groupVersion"]))
        changed = enablements != self.enablements
        self.kinds, self.enablements = kinds, enablements
        return changed

    async def _versions(self) -> list[tuple[str, str]]:
        core = await self._get("/api")
        groups = await self._get("/apis")
        found = [("", version) for version in core.get("versions") or []]
        for group in groups.get("groups") or []:
            found += [(group["name"], one["version"]) for one in group.get("versions") or []]
        return found

    async def _resources(self, group: str, version: str) -> list[dict[str, Any]]:
        path = f"/apis/{group}/{version}" if group else f"/api/{version}"
        return (await self._get(path)).get("resources") or []

    async def _get(self, path: str) -> dict[str, Any]:
        answer: dict[str, Any] = msgspec.json.decode(await self._client.raw("GET", path))
        return answer
