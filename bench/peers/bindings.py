"""Deployments and their bindings, as Karmada's detector makes them; and their end."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterable
from contextlib import asynccontextmanager
from typing import Any, Final, TypeVar

from bench.peers.waiting import until
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists

Obj = dict[str, Any]
T = TypeVar("T")
SPACE: Final = "peers"
AT_ONCE: Final = 64
_NOTE: Final = "x" * 400
_REQUESTS: Final = {"cpu": "2", "memory": "4Gi"}
"""Not small: karmada-scheduler plays the placing of every replica that a cluster could hold."""
PLACEMENT: Final[Obj] = {
    "clusterAffinity": {"clusterNames": ["narrow", "tiers", "wide"]},
    "replicaScheduling": {
        "replicaSchedulingType": "Divided",
        "replicaDivisionPreference": "Aggregated",
    },
}


async def in_parallel(
    items: Iterable[T], work: Callable[[T], Awaitable[object]], *, at_once: int = AT_ONCE
) -> None:
    """Do something with each item, so many at once.

    Raises:  the first thing that went wrong, alone.
    """
    waiting = iter(items)

    async def worker() -> None:
        for item in waiting:
            await work(item)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(at_once):
                group.create_task(worker())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from failed


async def namespace(client: Client, name: str) -> None:
    """A namespace that is there."""
    try:
        await client.create(kinds.NAMESPACES, {"metadata": {"name": name}})
    except AlreadyExists:
        return


def deployment(index: int) -> Obj:
    """A service of one replica."""
    name = f"web-{index:05d}"
    container = {"name": "web", "image": "registry.example/web:1"}
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "namespace": SPACE, "labels": {"app": name}},
        "spec": {
            "replicas": 1,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [container | {"resources": {"requests": _REQUESTS}}]},
            },
        },
    }


def binding(template: Obj, scheduler: str, *, suspended: bool = False) -> Obj:
    """Its binding, about 2 KB as stored."""
    meta = template["metadata"]
    spec: Obj = {
        "resource": {
            "apiVersion": "apps/v1",
            "kind": "Deployment",
            "namespace": SPACE,
            **{key: meta[key] for key in ("name", "uid", "resourceVersion")},
        },
        "replicas": 1,
        "replicaRequirements": {"resourceRequest": _REQUESTS},
        "placement": PLACEMENT,
        "schedulerName": scheduler,
        "conflictResolution": "Abort",
    }
    if suspended:
        spec["suspension"] = {"scheduling": True}
    return {
        "apiVersion": "work.karmada.io/v1alpha2",
        "kind": "ResourceBinding",
        "metadata": {
            "name": f"{meta['name']}-deployment",
            "namespace": SPACE,
            "labels": {
                "propagationpolicy.karmada.io/permanent-id": "9bdab545-de50-4b58-876b-43ccd57bab46"
            },
            "annotations": {
                "propagationpolicy.karmada.io/name": "web",
                "propagationpolicy.karmada.io/namespace": SPACE,
                "example.com/note": _NOTE,
            },
        },
        "spec": spec,
    }


async def deployments(client: Client, count: int) -> list[Obj]:
    """So many Deployments, stored."""
    await namespace(client, SPACE)
    found: list[Obj] = []

    async def one(index: int) -> None:
        found.append(await client.create(kinds.DEPLOYMENTS, deployment(index), namespace=SPACE))

    await in_parallel(range(count), one)
    return sorted(found, key=lambda obj: str(obj["metadata"]["name"]))


async def create(client: Client, bodies: Iterable[Obj]) -> None:
    """Bindings that wait."""

    async def one(body: Obj) -> None:
        await client.create(kinds.RESOURCE_BINDINGS, body, namespace=SPACE)

    await in_parallel(bodies, one)


async def clear(client: Client, resource: Resource, space: str = SPACE) -> None:
    """Delete everything of a kind, and wait until it is gone."""
    await client.raw("DELETE", resource.path(space))
    await until_none(client, resource, space)


async def until_none(client: Client, resource: Resource, space: str = SPACE) -> None:
    """Until there is nothing of a kind in a namespace."""

    async def none() -> bool:
        return not (await client.list(resource, namespace=space)).items

    await until(none, f"the end of all {resource.plural} in {space}")


@asynccontextmanager
async def stored(client: Client, bodies: Iterable[Obj]) -> AsyncIterator[None]:
    """Bindings that are deleted with the block."""
    await create(client, bodies)
    try:
        yield
    finally:
        await clear(client, kinds.RESOURCE_BINDINGS)


def committed(item: Obj) -> bool:
    """Whether a binding has clusters, and its status says so."""
    conditions = (item.get("status") or {}).get("conditions") or ()
    said = any(one["type"] == "Scheduled" and one["status"] == "True" for one in conditions)
    return bool(item["spec"].get("clusters")) and said
