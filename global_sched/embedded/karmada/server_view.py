"""One server as the controllers see it: its client, its kinds, and mirrors made when needed."""

import asyncio
from collections.abc import Callable, Coroutine
from typing import Any

from global_sched.embedded.karmada.discovery import Discovery, Kind
from global_sched.embedded.karmada.mirror import Mirror
from global_sched.propagation.fields import Obj
from global_sched.shared.api.resource import CRDS, Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError
from global_sched.shared.kube.informer import Informer
from global_sched.shared.telemetry.logs import get_logger

Spawn = Callable[[Coroutine[Any, Any, None]], object]
SETTLE = 0.2
"""Seconds in which definitions that arrive together are discovered together."""

log = get_logger(__name__)


class ServerView:
    """The control plane or one member.

    Kinds are discovered at the start and whenever a CustomResourceDefinition changes; `changed`
    is called after each discovery that found something new.
    """

    def __init__(self, name: str, client: Client, *, clock: Clock) -> None:
        self.name = name
        self.client = client
        self.discovery = Discovery(client)
        self.discovered = asyncio.Event()
        self.changed: list[Callable[[], None]] = []
        self._clock = clock
        self._spawn: Spawn | None = None
        self._synced: list[asyncio.Event] = []
        self._mirrors: dict[tuple[Kind, str], Mirror] = {}
        self._stale = asyncio.Event()
        self._stale.set()

    def start(self, spawn: Spawn) -> None:
        """Begin to discover; `spawn` runs the tasks."""
        self._spawn = spawn
        crds = Mirror(CRDS)
        crds.listen(lambda _old, _new: self._stale.set())
        self.feed(crds)
        spawn(self._discover())

    def feed(self, mirror: Mirror, *, label_selector: str = "") -> Mirror:
        """Keep a mirror in step with its collection."""
        assert self._spawn is not None
        informer: Informer[Obj] = Informer(
            self.client,
            mirror.resource,
            dict,
            handler=mirror,
            clock=self._clock,
            label_selector=label_selector,
            may_go_back=True,
        )
        self._synced.append(informer.synced)
        self._spawn(informer.run())
        return mirror

    async def synced(self) -> None:
        """Until the kinds are known and every mirror made so far was filled once."""
        await self.discovered.wait()
        for event in list(self._synced):
            await event.wait()

    def mirror(self, kind: Kind, *, label_selector: str = "") -> Mirror | None:
        """The mirror of a kind, made when first asked for; None while the kind is not served."""
        known = self._mirrors.get((kind, label_selector))
        if known is not None:
            return known
        resource = self.discovery.find(kind)
        if resource is None:
            return None
        mirror = self._mirrors[(kind, label_selector)] = Mirror(resource)
        return self.feed(mirror, label_selector=label_selector)

    def resource(self, kind: Kind) -> Resource | None:
        """How a kind is reached."""
        return self.discovery.find(kind)

    async def _discover(self) -> None:
        while True:
            await self._stale.wait()
            if self.discovered.is_set():
                await self._clock.sleep(SETTLE)
            self._stale.clear()
            try:
                changed = await self.discovery.refresh()
            except ApiError as error:
                log.warning("discovery_failed", server=self.name, error=str(error))
                self._stale.set()
                await self._clock.sleep(2.0)
                continue
            self.discovered.set()
            if changed:
                for callback in self.changed:
                    callback()
