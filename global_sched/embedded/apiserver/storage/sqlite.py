"""State on disk: every change in SQLite before the request that made it is answered.

Changes of one turn of the event loop share a transaction. Watchers see a change only when it is
on disk, so that nothing they saw is ever lost.
"""

import asyncio
import contextlib
import sqlite3
from pathlib import Path
from typing import Final

from global_sched.embedded.apiserver.resources.custom_resources import CRDS, served_versions
from global_sched.embedded.apiserver.storage.backend import Backend, fields_of
from global_sched.embedded.apiserver.storage.store import DELETED, Collection, Event, Record, decode

_SCHEMA: Final = """
create table if not exists objects (
  collection text not null, key text not null, version integer not null, raw blob not null,
  primary key (collection, key)) without rowid;
create table if not exists counter (one integer primary key check (one = 1), version integer);
"""


class Persistence:
    """Writes the changes of one server to `state.db` in a directory, and reads them back."""

    def __init__(self, backend: Backend, folder: Path) -> None:
        self.backend = backend
        folder.mkdir(parents=True, exist_ok=True)
        self._db = sqlite3.connect(folder / "state.db", isolation_level=None)
        self._db.execute("pragma journal_mode = wal")
        self._db.execute("pragma synchronous = normal")
        self._db.executescript(_SCHEMA)
        self._pending: list[tuple[Collection, Event]] = []
        self._done: asyncio.Future[None] | None = None
        backend.store.durable = self._changed

    def load(self) -> None:
        """Fill the store from disk."""
        row = self._db.execute("select version from counter").fetchone()
        store = self.backend.store
        store.version = store.start = row[0] if row else 0
        self._load_definitions()
        loaded: dict[str, list[Record]] = {}
        for name, key, version, raw in self._db.execute(
            "select collection, key, version, raw from objects"
        ):
            served = self.backend.registry.of_collection(name)
            obj = decode(raw)
            fields = fields_of(served, obj) if served is not None else {}
            loaded.setdefault(name, []).append(Record(key, obj, version, fields))
        for name, records in loaded.items():
            store.load(name, records)

    def _load_definitions(self) -> None:
        """Definitions first, since they say what can be selected by."""
        rows = self._db.execute("select raw from objects where collection = ?", (CRDS,))
        for (raw,) in rows:
            crd = decode(raw)
            spec = crd["spec"]
            self.backend.registry.replace(
                spec["group"], spec["names"]["plural"], list(served_versions(crd))
            )

    def _changed(self, collection: Collection, event: Event) -> None:
        if not self._pending:
            # Before the loop runs nothing waits; the first flush takes everything.
            with contextlib.suppress(RuntimeError):
                asyncio.get_running_loop().call_soon(self.flush)
        self._pending.append((collection, event))

    def flush(self) -> None:
        """Write what is pending, then let watchers and answers go."""
        if self._pending:
            pending, self._pending = self._pending, []
            self._write(pending)
            for collection in {id(c): c for c, _ in pending}.values():
                collection.publish()
        done, self._done = self._done, None
        if done is not None and not done.done():
            done.set_result(None)

    def _write(self, pending: list[tuple[Collection, Event]]) -> None:
        self._db.execute("begin")
        for collection, event in pending:
            record = event.record
            if event.kind == DELETED:
                self._db.execute(
                    "delete from objects where collection = ? and key = ?",
                    (collection.name, record.key),
                )
            else:
                self._db.execute(
                    "insert or replace into objects values (?, ?, ?, ?)",
                    (collection.name, record.key, record.version, record.raw),
                )
        self._db.execute(
            "insert or replace into counter values (1, ?)", (self.backend.store.version,)
        )
        self._db.execute("commit")

    async def written(self) -> None:
        """Return when everything changed so far is on disk."""
        if not self._pending:
            return
        if self._done is None:
            self._done = asyncio.get_running_loop().create_future()
        await asyncio.shield(self._done)

    def close(self) -> None:
        """Write the rest and close the file."""
        self.flush()
        self._db.close()
