"""The garbage collector and the end of namespaces, as one task over the store's changes.

Dependents of a deleted owner go with it, foreground deletion waits for them, orphaning cuts
them loose; a terminating namespace is emptied and then removed.
"""

import asyncio
import contextlib
from collections import deque
from typing import Any, Final

from global_sched.embedded.apiserver.registry.deletion import (
    FOREGROUND,
    ORPHAN,
    DeleteOptions,
    Deleter,
)
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import DELETED, Collection, Event, Record

Obj = dict[str, Any]

Where = tuple[str, str]
"""Collection and key."""

SLICE: Final = 64
"""Steps between two pauses, so that requests are not held up."""


class Collector:
    """The controller inside the server that deletes what nothing needs any more."""

    def __init__(self, backend: Backend, deleter: Deleter) -> None:
        self.backend = backend
        self.deleter = deleter
        self._by_owner: dict[str, set[Where]] = {}
        self._alive: dict[str, Where] = {}
        self._todo: deque[tuple[str, str, str]] = deque()
        self._wake = asyncio.Event()
        self._task: asyncio.Task[None] | None = None
        backend.store.listeners.append(self._changed)

    def start(self) -> None:
        """Index what is stored and begin."""
        for collection in list(self.backend.store.collections.values()):
            for record in collection.records.values():
                self._index(collection.name, record)
                self._consider(collection.name, record)
        self._task = asyncio.get_running_loop().create_task(self._run())

    async def stop(self) -> None:
        """End the task."""
        if self._task is not None:
            self._task.cancel()
            await asyncio.gather(self._task, return_exceptions=True)
            self._task = None

    def _index(self, name: str, record: Record) -> None:
        self._alive[record.uid] = (name, record.key)
        for owner in record.owners:
            self._by_owner.setdefault(owner, set()).add((name, record.key))

    def _unindex(self, name: str, record: Record) -> None:
        for owner in record.owners:
            held = self._by_owner.get(owner)
            if held is not None:
                held.discard((name, record.key))
                if not held:
                    del self._by_owner[owner]

    def _changed(self, collection: Collection, event: Event) -> None:
        name = collection.name
        if event.prev is not None and event.prev.owners != event.record.owners:
            self._unindex(name, event.prev)
        if event.kind == DELETED:
            self._unindex(name, event.record)
            self._alive.pop(event.record.uid, None)
            if event.record.uid in self._by_owner:
                self._push("owner", event.record.uid, "")
            self._push_owners(event.record)
            if event.record.namespace:
                self._push_namespace(event.record.namespace)
            return
        self._index(name, event.record)
        self._consider(name, event.record)

    def _consider(self, name: str, record: Record) -> None:
        if record.owners:
            self._push("object", name, record.key)
        if record.terminating:
            if name == "namespaces":
                self._push("namespace", record.name, "")
            else:
                self._push("terminating", name, record.key)
                self._push_owners(record)

    def _push_owners(self, record: Record) -> None:
        """Owners that wait for their dependents look again."""
        for owner in record.owners:
            where = self._alive.get(owner)
            if where is not None:
                held = self.backend.get(*where)
                if held is not None and held.terminating:
                    self._push("terminating", *where)

    def _push_namespace(self, namespace: str) -> None:
        record = self.backend.get("namespaces", namespace)
        if record is not None and record.terminating:
            self._push("namespace", namespace, "")

    def _push(self, what: str, one: str, two: str) -> None:
        self._todo.append((what, one, two))
        self._wake.set()

    async def _run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake.clear()
            steps = 0
            while self._todo:
                what, one, two = self._todo.popleft()
                # A refused deletion is left as it is; its next change brings it back.
                with contextlib.suppress(StatusError):
                    self._step(what, one, two)
                steps += 1
                if steps % SLICE == 0:
                    await asyncio.sleep(0)

    def _step(self, what: str, one: str, two: str) -> None:
        match what:
            case "owner":
                for name, key in sorted(self._by_owner.get(one, ())):
                    self._dependent(name, key)
            case "object":
                self._dependent(one, two)
            case "terminating":
                self._terminating(one, two)
            case _:
                self._namespace(one)

    def _served(self, name: str) -> ResourceInfo | None:
        return self.backend.registry.of_collection(name)

    def _dependent(self, name: str, key: str) -> None:
        """Delete an object all of whose owners are gone; drop the references that are gone."""
        record = self.backend.get(name, key)
        served = self._served(name)
        if record is None or served is None or not record.owners:
            return
        present = self._present(record)
        waiting = [owner for owner in present if self._waits(owner)]
        if len(present) > len(waiting) and present:
            if len(present) < len(record.owners) or waiting:
                self._cut(
                    served, record, {o for o in record.owners if o not in present} | set(waiting)
                )
            return
        if record.terminating:
            return
        policy = "Foreground" if waiting and self._has_dependents(record) else "Background"
        obj_finalizers = record.load()["metadata"].get("finalizers") or []
        if ORPHAN in obj_finalizers:
            policy = "Orphan"
        elif FOREGROUND in obj_finalizers:
            policy = "Foreground"
        self.deleter.delete(served, record, DeleteOptions(policy=policy))

    def _present(self, record: Record) -> list[str]:
        """The owners that are there; one of a kind that is not served may be."""
        found = []
        for reference in record.load()["metadata"].get("ownerReferences") or ():
            group, _, version = reference.get("apiVersion", "").rpartition("/")
            uid = reference.get("uid", "")
            known = self.backend.registry.of_kind(group, version, reference.get("kind", ""))
            if uid in self._alive or known is None:
                found.append(uid)
        return found

    def _waits(self, owner: str) -> bool:
        """Whether an owner is being deleted in the foreground."""
        where = self._alive.get(owner)
        record = self.backend.get(*where) if where is not None else None
        if record is None or not record.terminating:
            return False
        return FOREGROUND in (record.load()["metadata"].get("finalizers") or ())

    def _has_dependents(self, record: Record) -> bool:
        return bool(self._by_owner.get(record.uid))

    def _cut(self, served: ResourceInfo, record: Record, gone: set[str]) -> None:
        """Remove references to owners."""
        obj = record.load()
        meta = obj["metadata"]
        left = [owner for owner in meta.get("ownerReferences") or () if owner["uid"] not in gone]
        if left:
            meta["ownerReferences"] = left
        else:
            meta.pop("ownerReferences", None)
        self.backend.commit(served, record.key, obj)

    def _terminating(self, name: str, key: str) -> None:
        """Do the collector's part for an object that is being deleted."""
        record = self.backend.get(name, key)
        served = self._served(name)
        if record is None or served is None or not record.terminating:
            return
        finalizers = record.load()["metadata"].get("finalizers") or []
        if ORPHAN in finalizers:
            for other, other_key in sorted(self._by_owner.get(record.uid, ())):
                dependent, kind = self.backend.get(other, other_key), self._served(other)
                if dependent is not None and kind is not None:
                    self._cut(kind, dependent, {record.uid})
            self._release(served, key, ORPHAN)
        elif FOREGROUND in finalizers:
            blocking = False
            for other, other_key in sorted(self._by_owner.get(record.uid, ())):
                self._dependent(other, other_key)
                blocking = blocking or self._blocks(other, other_key, record.uid)
            if not blocking:
                self._release(served, key, FOREGROUND)

    def _blocks(self, name: str, key: str, owner: str) -> bool:
        record = self.backend.get(name, key)
        if record is None:
            return False
        return any(
            reference.get("uid") == owner and reference.get("blockOwnerDeletion")
            for reference in record.load()["metadata"].get("ownerReferences") or ()
        )

    def _release(self, served: ResourceInfo, key: str, finalizer: str) -> None:
        """Take a finalizer off; the object goes when it was the last."""
        record = self.backend.get(served.collection, key)
        if record is None:
            return
        obj = record.load()
        meta = obj["metadata"]
        left = [name for name in meta.get("finalizers") or () if name != finalizer]
        if left:
            meta["finalizers"] = left
        else:
            meta.pop("finalizers", None)
        if left or meta.get("deletionGracePeriodSeconds"):
            self.backend.commit(served, key, obj)
        else:
            self.backend.remove(served, key, obj)

    def _namespace(self, namespace: str) -> None:
        """Delete what is in a terminating namespace; remove it when it is empty."""
        record = self.backend.get("namespaces", namespace)
        served = self._served("namespaces")
        if record is None or served is None or not record.terminating:
            return
        left = False
        for collection in list(self.backend.store.collections.values()):
            kind = self._served(collection.name)
            if kind is None or not kind.namespaced:
                continue
            for inside in list(collection.select(namespace)):
                if not inside.terminating:
                    self.deleter.delete(kind, inside, DeleteOptions(policy="Background"))
            low, high = collection.range(namespace)
            left = left or high > low
        if left:
            return
        obj = record.load()
        obj["spec"].pop("finalizers", None)
        if obj["metadata"].get("finalizers"):
            if obj != record.load():
                self.backend.commit(served, namespace, obj)
            return
        self.backend.remove(served, namespace, obj)
