"""The backend that all handlers of a server share: store, resources, clock, fresh ids."""

import random
import uuid
from collections.abc import Callable, Iterable
from typing import Any, Final

from global_sched.embedded.apiserver.resources.builtin_kinds import builtin_resources
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.store import Collection, Record, Store
from global_sched.shared.clock import Clock
from global_sched.shared.model.instant import SECOND, Instant, format_instant

Obj = dict[str, Any]

_SUFFIX_LETTERS: Final = "bcdfghjklmnpqrstvwxz2456789"


class Registry:
    """The served resources, by group, version and plural."""

    def __init__(self) -> None:
        self._served: dict[tuple[str, str, str], ResourceInfo] = {}
        self.revision = 0
        for served in builtin_resources():
            self._served[(served.group, served.version, served.plural)] = served

    def find(self, group: str, version: str, plural: str) -> ResourceInfo | None:
        """The resource at a path, if it is served."""
        return self._served.get((group, version, plural))

    def all(self) -> Iterable[ResourceInfo]:
        """Every served resource."""
        return self._served.values()

    def replace(self, group: str, plural: str, versions: Iterable[ResourceInfo]) -> None:
        """Serve exactly these versions of a resource."""
        for key in [k for k in self._served if k[0] == group and k[2] == plural]:
            del self._served[key]
        for served in versions:
            self._served[(served.group, served.version, served.plural)] = served
        self.revision += 1

    def of_kind(self, group: str, version: str, kind: str) -> ResourceInfo | None:
        """The resource of a kind."""
        for served in self._served.values():
            if (served.group, served.version, served.kind) == (group, version, kind):
                return served
        return None

    def of_collection(self, name: str) -> ResourceInfo | None:
        """A served version of a collection's resource."""
        for served in self._served.values():
            if served.collection == name and "list" in served.verbs:
                return served
        return None


class Backend:
    """The shared state of one server."""

    def __init__(self, *, clock: Clock, history_bytes: int, seed: int | None) -> None:
        self.clock = clock
        self.store = Store(history_bytes)
        self.registry = Registry()
        # Seeded runs must repeat exactly; nothing here is a secret.
        self.random = random.Random(seed) if seed is not None else random.SystemRandom()  # noqa: S311
        self.on_commit: list[Callable[[ResourceInfo, Record, bool], None]] = []
        """Called with every new state of an object, at once; True: it was the last one."""
        self._second = -1
        self._second_text = ""

    def now(self) -> Instant:
        """The clock's time."""
        return self.clock.now()

    def now_text(self) -> str:
        """The clock's time as objects carry it."""
        now = self.clock.now()
        second = now // SECOND
        if second != self._second:
            self._second = second
            self._second_text = format_instant(now)
        return self._second_text

    def uid(self) -> str:
        """A fresh uid."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def suffix(self) -> str:
        """Five letters for a generated name."""
        return "".join(self.random.choice(_SUFFIX_LETTERS) for _ in range(5))

    def collection(self, served: ResourceInfo) -> Collection:
        """The collection of a resource."""
        return self.store.collection(served.collection)

    def get(self, collection: str, key: str) -> Record | None:
        """One record."""
        return self.store.collection(collection).records.get(key)

    def commit(self, served: ResourceInfo, key: str, obj: Obj) -> Record:
        """Store a new state of an object under the next version."""
        version = self.store.next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        record = Record(key, obj, version, fields_of(served, obj))
        self.collection(served).put(record)
        for callback in self.on_commit:
            callback(served, record, False)
        return record

    def remove(self, served: ResourceInfo, key: str, obj: Obj) -> Record:
        """Remove an object; `obj` is its last state."""
        version = self.store.next_version()
        obj["metadata"]["resourceVersion"] = str(version)
        record = Record(key, obj, version, fields_of(served, obj))
        self.collection(served).drop(key, record)
        for callback in self.on_commit:
            callback(served, record, True)
        return record


def fields_of(served: ResourceInfo, obj: Obj) -> dict[str, str]:
    """The values which field selectors of a resource look at."""
    if not served.selectable:
        return _NO_FIELDS
    return {name: read(obj) for name, read in served.selectable.items()}


_NO_FIELDS: Final[dict[str, str]] = {}


def key_of(namespace: str, name: str) -> str:
    """The key of an object in its collection."""
    return f"{namespace}/{name}" if namespace else name
