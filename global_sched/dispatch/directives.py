"""Keeps every member's Directive equal to what the state says, at most one write each per cycle."""

import asyncio
import hashlib
from collections.abc import Iterable
from contextlib import suppress
from typing import Final

import msgspec

from global_sched.dispatch.bodies import new_object
from global_sched.dispatch.results import WriteResult, result_of
from global_sched.dispatch.source import LeaderTerm, Source
from global_sched.shared.api.federation import Directive, DirectiveSpec
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import DIRECTIVES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Conflict, NotFound
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.model.ids import ClusterName
from global_sched.shared.model.policy import Policy
from global_sched.shared.telemetry.logs import get_logger
from global_sched.shared.telemetry.metrics import DIRECTIVE_BYTES, DISPATCH_WRITES
from global_sched.shared.telemetry.registry import Metrics

PREFIX: Final = "directive-"
RETRY: Final = 5.0
"""Seconds after which a Directive that could not be written is tried again."""
PACE: Final = 0.1
"""Seconds between two rounds of writes, at least: a stream of single decisions does not rewrite a
Directive for each."""
REST: Final = 4
"""A round of writes is followed by so many times as long a pause. A large Directive costs the API
server a hundred times what a decision costs (every entry is checked), and the next decision would
wait for it."""
LONGEST: Final = 2.0
"""Seconds that a pause lasts at most."""
AT_ONCE: Final = 8
"""Members that are written to at the same time."""

log = get_logger(__name__)


def content_of(spec: DirectiveSpec) -> bytes:
    """The content as it is sent and compared."""
    return msgspec.json.encode(spec, order="deterministic")


def digest(content: bytes) -> str:
    """A hash of the content, for comparing without keeping it."""
    return hashlib.sha256(content).hexdigest()


class DirectiveWriter:
    """An informer's handler for Directives, and the writer that makes them true.

    `wake` is called when a Directive that was changed or removed has to be written again.
    """

    def __init__(
        self, client: Client, source: Source, *, clock: Clock, term: LeaderTerm, metrics: Metrics
    ) -> None:
        self._client = client
        self._source = source
        self._clock = clock
        self._term = term
        self._metrics = metrics
        self._there: dict[ObjectKey, tuple[str, str]] = {}
        self._wanted: set[ClusterName] = set()
        self._failed: set[ClusterName] = set()
        self._known: frozenset[ClusterName] = frozenset()
        self._work = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()

    # --- what is there (informer handler) -------------------------------------------------

    def upsert(self, obj: Directive) -> None:
        """A Directive as the server has it."""
        key = ObjectKey(obj.metadata.namespace, obj.metadata.name)
        old = self._there.get(key)
        if old is not None and old[0] == obj.metadata.resource_version:
            return  # the echo of our own write
        new = (obj.metadata.resource_version, digest(content_of(obj.spec)))
        self._there[key] = new
        if old is not None and old[1] != new[1]:
            self._want_again(obj.metadata.namespace)

    def delete(self, key: ObjectKey, uid: str) -> None:
        """A Directive is gone."""
        del uid
        if self._there.pop(key, None) is not None:
            self._want_again(key.namespace)

    def malformed(self, bad: Malformed) -> None:
        """Not ours any more: it is overwritten."""
        self._there[bad.key] = (bad.resource_version, "")
        self._want_again(bad.key.namespace)

    def synced(self) -> None:
        """All that exist are known."""

    def _want_again(self, namespace: str) -> None:
        for cluster in self._known:
            if execution_namespace(cluster) == namespace:
                self._want((cluster,))

    # --- what is wanted -------------------------------------------------------------------

    def refresh(self, policy: Policy) -> None:
        """After a cycle: mark the members whose Directive may differ now."""
        changed = self._source.directive_changes(policy.label_keys_limit, policy.recovery())
        self._known |= changed
        if changed:
            self._want(changed)

    def _want(self, clusters: Iterable[ClusterName]) -> None:
        self._wanted.update(clusters)
        self._idle.clear()
        self._work.set()

    async def settle(self) -> None:
        """Return when every Directive that was wanted has been written."""
        await self._idle.wait()

    # --- writing --------------------------------------------------------------------------

    async def run(self) -> None:
        """Write until cancelled."""
        limit = asyncio.Semaphore(AT_ONCE)
        while True:
            await self._work.wait()
            self._work.clear()
            clusters, self._wanted = sorted(self._wanted), set()
            began = self._clock.monotonic()
            async with asyncio.TaskGroup() as group:
                for cluster in clusters:
                    group.create_task(self._write(cluster, limit))
            if not self._wanted:
                self._idle.set()
            took = self._clock.monotonic() - began
            await self._clock.sleep(min(LONGEST, max(PACE, REST * took)))

    async def _write(self, cluster: ClusterName, limit: asyncio.Semaphore) -> None:
        async with limit:
            try:
                await self._make_equal(cluster)
            except ApiError as error:
                result = result_of(error)
                self._metrics.inc(
                    DISPATCH_WRITES, object="directive", verb="update", outcome=result.value
                )
                log.warning("directive_not_written", cluster=cluster, error=str(error))
                self._later(cluster)

    def _later(self, cluster: ClusterName) -> None:
        """One timer per member, however many writes of its Directive failed meanwhile."""
        if cluster not in self._failed:
            self._failed.add(cluster)
            asyncio.get_running_loop().call_later(RETRY, self._again, cluster)

    def _again(self, cluster: ClusterName) -> None:
        self._failed.discard(cluster)
        if cluster in self._known:
            self._want((cluster,))

    async def _make_equal(self, cluster: ClusterName) -> None:
        specs = self._source.directive(cluster)
        if not specs:
            self._known -= {cluster}
            return
        namespace = execution_namespace(cluster)
        wanted = {ObjectKey(namespace, f"{PREFIX}{spec.slice}"): content_of(spec) for spec in specs}
        size = 0
        # From the last slice to the first: when there are twice as many now, an entry that moves
        # stands in its new slice before it leaves the old one, and readers never miss it.
        for key, content in reversed(wanted.items()):
            size += len(content)
            there = self._there.get(key)
            if there is None or there[1] != digest(content):
                await self._put(key, content, there[0] if there else None)
        self._metrics.set(DIRECTIVE_BYTES, size, cluster=cluster)
        for key in [k for k in self._there if k.namespace == namespace and k not in wanted]:
            if key.name.startswith(PREFIX):
                await self._remove(key)

    async def _put(self, key: ObjectKey, content: bytes, version: str | None) -> None:
        if not self._term.valid():
            return
        if version == "":
            version = await self._newest(key)
        body = new_object(
            DIRECTIVES,
            key.name,
            namespace=key.namespace,
            version=version or "",
            spec=msgspec.Raw(content),
        )
        if version is None:
            written = await self._client.create(
                DIRECTIVES, body, namespace=key.namespace, type=Directive
            )
        else:
            try:
                written = await self._client.replace(
                    DIRECTIVES, key.name, body, namespace=key.namespace, type=Directive
                )
            except Conflict:
                # It was edited, or our own answer was lost: take the newest and go over it.
                newest = await self._client.get(
                    DIRECTIVES, key.name, namespace=key.namespace, type=Directive
                )
                self.upsert(newest)
                raise
        self._there[key] = (written.metadata.resource_version, digest(content_of(written.spec)))
        self._metrics.inc(
            DISPATCH_WRITES, object="directive", verb="update", outcome=WriteResult.OK.value
        )

    async def _newest(self, key: ObjectKey) -> str | None:
        """The version of one that could not be read; None: it is gone."""
        try:
            found = await self._client.get(DIRECTIVES, key.name, namespace=key.namespace)
        except NotFound:
            return None
        return str(found["metadata"]["resourceVersion"])

    async def _remove(self, key: ObjectKey) -> None:
        if not self._term.valid():
            return
        with suppress(NotFound):
            await self._client.delete(DIRECTIVES, key.name, namespace=key.namespace)
        self._there.pop(key, None)
