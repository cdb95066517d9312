"""A member's objects as its controllers see them, and the writes that they make."""

import asyncio
from collections.abc import Hashable, Iterable
from contextlib import suppress
from typing import Any, Final

from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.fields import Obj, get, name_of, namespace_of, uid_of
from global_sched.shared.api.resource import PODS, Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import (
    AlreadyExists,
    BadRequest,
    Conflict,
    Forbidden,
    Invalid,
    NotFound,
)
from global_sched.shared.kube.events import EventKind, EventRecorder, Regarding
from global_sched.shared.kube.informer import Informer
from global_sched.shared.model.instant import format_instant

REFUSED: Final = (Forbidden, Invalid, BadRequest)
"""Answers that stay the same until the object is edited."""


def controller_of(obj: Obj) -> Obj | None:
    """The owner reference of the object's controller."""
    for owner in get(obj, "metadata", "ownerReferences") or ():
        if owner.get("controller"):
            return dict(owner)
    return None


def owner_reference(obj: Obj) -> Obj:
    """What an object carries that this one controls."""
    return {
        "apiVersion": obj["apiVersion"],
        "kind": obj["kind"],
        "name": name_of(obj),
        "uid": uid_of(obj),
        "controller": True,
        "blockOwnerDeletion": True,
    }


def active(pod: Obj) -> bool:
    """Whether a pod may still do something: it has not ended and is not asked to go."""
    ended = get(pod, "status", "phase") in ("Succeeded", "Failed")
    return not ended and get(pod, "metadata", "deletionTimestamp") is None


def ready(pod: Obj) -> bool:
    """Whether a pod's Ready condition is True."""
    return any(
        one.get("type") == "Ready" and one.get("status") == "True"
        for one in get(pod, "status", "conditions") or ()
    )


def node_of(pod: Obj) -> str:
    """The node that a pod is bound to, empty for none."""
    return str(get(pod, "spec", "nodeName") or "")


def _index(obj: Obj) -> Iterable[Hashable]:
    owner = controller_of(obj)
    if owner is not None:
        yield "owner", owner["uid"]
    if node := node_of(obj):
        yield "node", node


class Cluster:
    """Copies of some collections of one API server, kept up to date by `run`."""

    def __init__(
        self, client: Client, *, clock: Clock, resources: Iterable[Resource], component: str
    ) -> None:
        self.client = client
        self.clock = clock
        self.mirrors = {one: Mirror(one, index=_index) for one in resources}
        self.recorder = EventRecorder(client, component=component, instance="embedded", clock=clock)
        self._informers = [
            Informer(client, resource, dict, handler=mirror, clock=clock)
            for resource, mirror in self.mirrors.items()
        ]

    @property
    def pods(self) -> Mirror:
        """The pods."""
        return self.mirrors[PODS]

    def now(self) -> str:
        """The time as objects show it."""
        return format_instant(self.clock.now())

    def owned(self, resource: Resource, owner: Obj) -> list[Obj]:
        """The objects of a kind that this one controls, by name."""
        return self.mirrors[resource].indexed(("owner", uid_of(owner)))

    def on_node(self, name: str) -> list[Obj]:
        """The pods that are bound to a node."""
        return self.pods.indexed(("node", name))

    async def run(self) -> None:
        """Watch, and write events, until cancelled."""
        async with asyncio.TaskGroup() as group:
            for informer in self._informers:
                group.create_task(informer.run())
            group.create_task(self.recorder.run())

    async def synced(self) -> None:
        """Until every collection was read once."""
        for informer in self._informers:
            await informer.synced.wait()

    # --- writes ---------------------------------------------------------------------------

    async def create(self, resource: Resource, obj: Obj, *, owner: Obj) -> Obj | None:
        """The created object; None when one of its name is there already.

        Raises:  Forbidden, Invalid or BadRequest, after an event for the owner.
        """
        try:
            made = await self.client.create(resource, obj, namespace=namespace_of(owner))
        except AlreadyExists:
            return None
        except REFUSED as error:
            note = f"Error creating: {error.message}"
            self.event(owner, "FailedCreate", note, action="Create")
            raise
        if resource in self.mirrors:
            self.mirrors[resource].note(made)
        return made

    async def write_status(self, resource: Resource, obj: Obj, status: Obj) -> None:
        """Replace an object's status, unless it says all that already.

        Raises:  Conflict when the object is no longer the version that was read.
        """
        if obj.get("status") == status:
            return
        written = await self.client.replace(
            resource,
            name_of(obj),
            {**obj, "status": status},
            namespace=namespace_of(obj) or None,
            subresource="status",
        )
        self.mirrors[resource].note(written)

    async def patch(
        self, resource: Resource, obj: Obj, patch: Obj, *, subresource: str = ""
    ) -> Obj:
        """The object after a merge patch on the version that was read.

        Raises:  Conflict when it is no longer that version.
        """
        meta = {"resourceVersion": get(obj, "metadata", "resourceVersion")}
        written = await self.client.patch(
            resource,
            name_of(obj),
            {**patch, "metadata": {**patch.get("metadata", {}), **meta}},
            namespace=namespace_of(obj) or None,
            subresource=subresource,
        )
        self.mirrors[resource].note(written)
        return written

    async def delete(self, resource: Resource, obj: Obj, *, grace: int | None = None) -> None:
        """Ask for an object's deletion; it is fine when it is gone, or another is there."""
        with suppress(NotFound, Conflict):
            await self.client.delete(
                resource,
                name_of(obj),
                namespace=namespace_of(obj) or None,
                uid=uid_of(obj),
                grace_seconds=grace,
            )

    def event(self, obj: Obj, reason: str, note: str, *, action: str) -> None:
        """Record a warning about an object."""
        self.recorder.record(
            Regarding(obj["apiVersion"], obj["kind"], namespace_of(obj), name_of(obj), uid_of(obj)),
            reason=reason,
            note=note,
            action=action,
            kind=EventKind.WARNING,
        )


def template_pod(template: Obj, *, owner: Obj, **meta: Any) -> Obj:
    """A pod from a template: its labels and annotations, what is given, and the owner."""
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {
            "namespace": namespace_of(owner),
            "labels": dict(get(template, "metadata", "labels") or {}),
            "annotations": dict(get(template, "metadata", "annotations") or {}),
            "ownerReferences": [owner_reference(owner)],
            **meta,
        },
        "spec": dict(get(template, "spec") or {}),
    }
