"""A local copy of one collection, with listeners and an index; fed by an informer."""

from collections import defaultdict, deque
from collections.abc import Callable, Hashable, Iterable
from typing import Final

from global_sched.propagation.fields import Obj, key_of, uid_of, version_of
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.objects import Malformed, ObjectKey
from global_sched.shared.telemetry.logs import get_logger

Listener = Callable[[Obj | None, Obj | None], None]
"""Receives the old and the new object; None for absent."""
_TOMBSTONES: Final = 4096

log = get_logger(__name__)


class Mirror:
    """The objects of one collection by key, and by whatever `index` says about each.

    `note` takes in what a write of ours returned, so that the next reconciliation does not act
    on what was before it. Objects are shared and never changed.
    """

    def __init__(
        self, resource: Resource, *, index: Callable[[Obj], Iterable[Hashable]] | None = None
    ) -> None:
        self.resource = resource
        self.ready = False
        self._objects: dict[ObjectKey, Obj] = {}
        self._index = index
        self._indexed: defaultdict[Hashable, set[ObjectKey]] = defaultdict(set)
        self._listeners: list[Listener] = []
        self._gone: deque[str] = deque(maxlen=_TOMBSTONES)

    def listen(self, listener: Listener) -> None:
        """Tell a listener of every change from now on, and of what is there already."""
        self._listeners.append(listener)
        for obj in list(self._objects.values()):
            listener(None, obj)

    def get(self, key: ObjectKey) -> Obj | None:
        """One object."""
        return self._objects.get(key)

    def all(self) -> list[Obj]:
        """Every object, in order of its key."""
        return [self._objects[key] for key in sorted(self._objects)]

    def indexed(self, value: Hashable) -> list[Obj]:
        """The objects that `index` gives a value, in order of their keys."""
        return [self._objects[key] for key in sorted(self._indexed.get(value, ()))]

    def note(self, obj: Obj) -> None:
        """Take in an object that a write returned, unless something newer is known."""
        known = self._objects.get(key_of(obj))
        if uid_of(obj) in self._gone:
            return
        if known is None or _order(obj) > _order(known):
            self._store(key_of(obj), known, obj)

    # --- the informer's handler -----------------------------------------------------------

    def upsert(self, obj: Obj) -> None:
        """A new version; one that is older than what a write returned is skipped."""
        key = key_of(obj)
        known = self._objects.get(key)
        if known is not None and uid_of(known) == uid_of(obj) and _order(obj) <= _order(known):
            return
        self._store(key, known, obj)

    def delete(self, key: ObjectKey, uid: str) -> None:
        """The object is gone."""
        self._gone.append(uid)
        known = self._objects.get(key)
        if known is None or uid_of(known) != uid:
            return
        del self._objects[key]
        self._unindex(key, known)
        for listener in self._listeners:
            listener(known, None)

    def malformed(self, bad: Malformed) -> None:
        """Cannot happen to raw objects, except when an answer is no object at all."""
        log.warning("object_unreadable", key=str(bad.key), error=bad.error)

    def synced(self) -> None:
        """Everything was delivered once."""
        self.ready = True

    def _store(self, key: ObjectKey, known: Obj | None, obj: Obj) -> None:
        # Lists and some answers leave the kind out of the items; the tables need it.
        obj.setdefault("apiVersion", self.resource.api_version)
        obj.setdefault("kind", self.resource.kind)
        if known is not None:
            self._unindex(key, known)
        self._objects[key] = obj
        if self._index is not None:
            for value in self._index(obj):
                self._indexed[value].add(key)
        for listener in self._listeners:
            listener(known, obj)

    def _unindex(self, key: ObjectKey, obj: Obj) -> None:
        if self._index is None:
            return
        for value in self._index(obj):
            self._indexed[value].discard(key)
            if not self._indexed[value]:
                del self._indexed[value]


def _order(obj: Obj) -> int:
    """Versions of one server grow; a server that spells them otherwise is never held back."""
    text = version_of(obj)
    return int(text) if text.isdecimal() else 0
