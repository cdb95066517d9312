"""Informers to the cache: which kinds are watched, and what else each change means.

Kinds whose CRD is missing are looked for again from time to time, and an owner of a kind that
neither names is found through discovery: a pod's root decides whether it came through Karmada.
"""

import asyncio
from collections.abc import Callable, Iterable
from contextlib import aclosing
from dataclasses import dataclass
from functools import partial
from typing import Any, Final, Generic, Protocol, TypeVar

import msgspec

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.core import Node, Pod
from global_sched.shared.api.federation import Directive
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import (
    DIRECTIVES,
    HYPER_NODES,
    NODES,
    POD_GROUPS,
    PODS,
    Resource,
)
from global_sched.shared.api.volcano import HyperNode, PodGroup
from global_sched.shared.clock import Clock
from global_sched.shared.kinds import owners
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Forbidden, NotFound
from global_sched.shared.kube.informer import Handler, Informer
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.kube.ready import when_ready
from global_sched.shared.telemetry.logs import get_logger
from member_agent.cache import ClusterCache, Kind, owner_key, owner_type

T = TypeVar("T")

DISCOVERY_PERIOD: Final = 30.0
"""Seconds between two looks for kinds that were not served."""
_CORE_OWNERS, _OPTIONAL_OWNERS = owners()

log = get_logger(__name__)


class Watcher(Protocol):
    """Called with changes, after the cache has them."""

    def changed(self) -> None:
        """Something in the cache changed."""
        ...

    def set_aside(
        self, kind: Kind, resource: Resource, key: ObjectKey, uid: str, problem: str
    ) -> None:
        """An object cannot be used, and why."""
        ...


@dataclass(slots=True)
class _Feed(Generic[T]):
    """One informer's handler: hands objects to the cache and says that something changed."""

    kind: Kind
    resource: Resource
    cache: ClusterCache
    watcher: Watcher
    put: Callable[[T], None]
    drop: Callable[[tuple[str, str]], None]
    also: Handler[T] | None = None

    def upsert(self, obj: T) -> None:
        """Informer handler."""
        meta = obj.metadata  # type: ignore[attr-defined]
        before = self.cache.changes
        if self.also is not None:
            self.also.upsert(obj)
        self.put(obj)
        self._report_problem(ObjectKey(meta.namespace, meta.name), meta.uid)
        if self.cache.changes != before:
            self.watcher.changed()

    def _report_problem(self, key: ObjectKey, uid: str) -> None:
        if problem := self.cache.problem(self.kind, self._problem_key(key)):
            self.watcher.set_aside(self.kind, self.resource, key, uid, problem)

    def _problem_key(self, key: ObjectKey) -> tuple[str, str]:
        if self.kind is Kind.OWNER:
            return owner_key(self.resource.api_version, self.resource.kind, key)
        return key

    def delete(self, key: ObjectKey, uid: str) -> None:
        """Informer handler."""
        if self.also is not None:
            self.also.delete(key, uid)
        self.drop(key)
        self.watcher.changed()

    def malformed(self, bad: Malformed) -> None:
        """Informer handler."""
        if self.also is not None:
            self.also.malformed(bad)
        self.cache.malformed(self.kind, self._problem_key(bad.key), bad.error)
        self._report_problem(bad.key, bad.uid)
        self.watcher.changed()

    def synced(self) -> None:
        """Informer handler."""
        self.watcher.changed()


class Feeds:
    """Every informer of the agent, in one task group.

    `synced` is set when all kinds that are served were listed once: nothing is placed before,
    because an empty node is not known to be empty.
    """

    def __init__(
        self,
        member: Client,
        control: Client,
        *,
        cache: ClusterCache,
        watcher: Watcher,
        clock: Clock,
    ) -> None:
        self._member = member
        self._control = control
        self._cache = cache
        self._watcher = watcher
        self._clock = clock
        self._tasks: asyncio.TaskGroup | None = None
        self._also: dict[Resource, Handler[Any]] = {}
        self._informers: dict[Resource, Informer[Any]] = {}
        self._pending: list[Resource] = [HYPER_NODES, POD_GROUPS, *_OPTIONAL_OWNERS]
        self._wanted = asyncio.Event()
        self.synced = asyncio.Event()
        self.unwatched: frozenset[tuple[str, str]] = frozenset()
        """(apiVersion, kind) of owners that cannot be watched here: chains of owners end there."""

    def also_handle(self, resource: Resource, handler: Handler[Any]) -> None:
        """Add a listener for a kind; call it before `run`.

        One watch serves both: a member's API server has every pod to send as it is.
        """
        self._also[resource] = handler

    def informers(self) -> Iterable[Informer[Any]]:
        """All informers, for metrics."""
        return tuple(self._informers.values())

    def resource_of(self, api_version: str, kind: str) -> Resource | None:
        """Where a watched kind lives."""
        wanted = (api_version, kind)
        return next((r for r in self._informers if (r.api_version, r.kind) == wanted), None)

    def changed(self) -> None:
        """The cache changed; a new kind of owner in it is looked for at once."""
        if self._unknown():
            self._wanted.set()
        self._watcher.changed()

    def set_aside(
        self, kind: Kind, resource: Resource, key: ObjectKey, uid: str, problem: str
    ) -> None:
        """An object cannot be used."""
        self._watcher.set_aside(kind, resource, key, uid, problem)

    def _unknown(self) -> set[tuple[str, str]]:
        """Kinds of owners that are neither watched nor known to be unwatchable."""
        coming = {(r.api_version, r.kind) for r in self._pending}
        return self._cache.owner_kinds - self._watched() - self.unwatched - coming

    async def run(self) -> None:
        """Watch until cancelled."""
        async with asyncio.TaskGroup() as tasks:
            self._tasks = tasks
            for resource in (NODES, PODS, DIRECTIVES, *_CORE_OWNERS):
                self._start(resource)
            await self._look_for_kinds()
            await self._all_listed()
            while self._unknown():
                await self._look_for_kinds()
                await self._all_listed()
            self.synced.set()
            self._watcher.changed()
            while True:
                await self._pause()
                await self._look_for_kinds()

    async def _all_listed(self) -> None:
        for informer in tuple(self._informers.values()):
            await informer.synced.wait()

    async def _pause(self) -> None:
        self._wanted.clear()
        if self._unknown():
            return
        try:
            async with asyncio.timeout(DISCOVERY_PERIOD):
                await self._wanted.wait()
        except TimeoutError:
            pass

    def _watched(self) -> frozenset[tuple[str, str]]:
        return frozenset((r.api_version, r.kind) for r in self._informers)

    async def _look_for_kinds(self) -> None:
        """Start what is served by now."""
        for resource in list(self._pending):
            if await served(self._member, resource, clock=self._clock):
                self._pending.remove(resource)
                self._start(resource)
        for api_version, kind in sorted(self._unknown()):
            found = await find_resource(self._member, api_version, kind, clock=self._clock)
            if found is None or not await self._may_list(found):
                self.unwatched |= {(api_version, kind)}
                log.warning("owner_kind_not_watched", api_version=api_version, kind=kind)
                self._watcher.changed()
            else:
                self._start(found)

    async def _may_list(self, resource: Resource) -> bool:
        """Whether we may watch a kind that was discovered: nothing waits for one that we may not.

        A server that does not answer is asked again with the next look.
        """

        async def first() -> None:
            pages = self._member.pages(resource, type=KubeObject, limit=1)
            async with aclosing(pages):
                await anext(pages)

        try:
            await when_ready(self._member, first)
        except ApiError as error:
            return error.transient
        return True

    def _start(self, resource: Resource) -> None:
        assert self._tasks is not None
        informer = self._informer(resource)
        self._informers[resource] = informer
        self._tasks.create_task(informer.run(), name=f"watch {resource.group_kind}")

    def _informer(self, resource: Resource) -> Informer[Any]:
        cache = self._cache
        if resource == NODES:
            return self._make(resource, Node, Kind.NODE, cache.upsert_node)
        if resource == PODS:
            return self._make(resource, Pod, Kind.POD, cache.upsert_pod)
        if resource == HYPER_NODES:
            return self._make(resource, HyperNode, Kind.HYPER_NODE, cache.upsert_hyper_node)
        if resource == POD_GROUPS:
            return self._make(resource, PodGroup, Kind.POD_GROUP, cache.upsert_group)
        if resource == DIRECTIVES:
            return self._make(resource, Directive, Kind.DIRECTIVE, cache.upsert_directive)
        return self._owners(resource)

    def _make(
        self, resource: Resource, type_: type[T], kind: Kind, put: Callable[[T], None]
    ) -> Informer[T]:
        feed = _Feed(
            kind=kind,
            resource=resource,
            cache=self._cache,
            watcher=self,
            put=put,
            drop=lambda key: self._cache.delete(kind, key),
            also=self._also.get(resource),
        )
        directed = kind is Kind.DIRECTIVE
        return Informer(
            self._control if directed else self._member,
            resource,
            type_,
            handler=feed,
            clock=self._clock,
            namespace=execution_namespace(self._cache.cluster) if directed else None,
        )

    def _owners(self, resource: Resource) -> Informer[Any]:
        api_version, kind = resource.api_version, resource.kind

        def put(obj: Any) -> None:
            self._cache.upsert_owner(obj, api_version, kind)

        feed: _Feed[Any] = _Feed(
            kind=Kind.OWNER,
            resource=resource,
            cache=self._cache,
            watcher=self,
            put=put,
            drop=lambda key: self._cache.delete_owner(api_version, kind, key),
        )
        type_ = owner_type(api_version, kind)
        return Informer(self._member, resource, type_, handler=feed, clock=self._clock)


class _ApiResource(msgspec.Struct):
    name: str = ""
    kind: str = ""
    namespaced: bool = False


class _ApiResources(msgspec.Struct):
    resources: list[_ApiResource] = []


async def served(client: Client, resource: Resource, *, clock: Clock) -> bool:
    """Whether the API server serves this kind at this version."""
    found = await find_resource(client, resource.api_version, resource.kind, clock=clock)
    return found is not None


async def find_resource(
    client: Client, api_version: str, kind: str, *, clock: Clock
) -> Resource | None:
    """Where a kind lives, by discovery; None when it is not served or may not be asked for."""
    group, _, version = api_version.rpartition("/")
    path = f"/apis/{group}/{version}" if group else f"/api/{version}"
    while True:
        try:
            body = await when_ready(client, partial(client.raw, "GET", path))
            listed = msgspec.json.decode(body, type=_ApiResources).resources
        except (NotFound, Forbidden, msgspec.MsgspecError):
            return None
        except ApiError as error:
            if not error.transient:
                return None
            await clock.sleep(max(1.0, error.retry_after or 0.0))
            continue
        for item in listed:
            if item.kind == kind and "/" not in item.name:
                return Resource(group, version, item.name, kind, namespaced=item.namespaced)
        return None
