"""All bindings that are ours: the newest version of each, and which have to be resolved again.

An arriving object is only put down; `absorb` reduces it. A watch that delivers ten versions of one
binding between two looks costs one reduction.
"""

from collections.abc import Callable, Iterable, Iterator
from typing import Final

from global_sched.cache.entries import Entry, same_for_decisions
from global_sched.cache.readers.bindings import BindingFacts, BindingReader, TemplateKey, older
from global_sched.shared.api.karmada import ResourceBinding
from global_sched.shared.model.ids import WorkloadKey
from global_sched.shared.model.instant import Instant

INCOMING_LIMIT: Final = 8192
"""Objects that are put down before they are reduced on the spot: bounds the memory of a list."""


class BindingStore:
    """Entries by key. `removed` is called for every entry that goes."""

    def __init__(
        self, reader: BindingReader, removed: Callable[[WorkloadKey, Entry], None]
    ) -> None:
        self._reader = reader
        self._removed = removed
        self._entries: dict[WorkloadKey, Entry] = {}
        self._by_template: dict[TemplateKey, tuple[WorkloadKey, ...]] = {}
        self._incoming: dict[WorkloadKey, tuple[ResourceBinding, Instant | None]] = {}
        self._dirty: dict[WorkloadKey, None] = {}
        self._early_news = False
        self.term = 0
        """The term that we lead in, 0 while we follow."""

    def __len__(self) -> int:
        return len(self._entries)

    def receive(self, wire: ResourceBinding, now: Instant | None) -> None:
        """Keep a version that arrived `now`; it is reduced at the next reading."""
        meta = wire.metadata
        self._incoming[WorkloadKey(f"{meta.namespace}/{meta.name}")] = (wire, now)
        if len(self._incoming) >= INCOMING_LIMIT:
            self._early_news |= self.reduce_received()

    def reduce_received(self) -> bool:
        """Reduce what was put down; whether a cycle may come to another result."""
        news, self._early_news = self._early_news, False
        if self._incoming:
            incoming, self._incoming = self._incoming, {}
            for key, (wire, now) in incoming.items():
                news |= self._take(key, wire, now)
        return news

    def refresh(self, wire: ResourceBinding) -> bool:
        """Take in what a write of ours returned, unless the binding is gone by now."""
        news = self.reduce_received()
        key = WorkloadKey(f"{wire.metadata.namespace}/{wire.metadata.name}")
        entry = self._entries.get(key)
        if entry is not None and entry.facts.uid == wire.metadata.uid:
            news |= self._take(key, wire)
        return news

    def _take(self, key: WorkloadKey, wire: ResourceBinding, now: Instant | None = None) -> bool:
        entry = self._entries.get(key)
        if not self._reader.ours(wire):
            return entry is not None and self._remove(key, entry)
        if entry is not None and entry.facts.uid != wire.metadata.uid:
            self._remove(key, entry)
            entry = None
        if entry is None:
            facts = self._reader.reduce(wire, now)
            facts.key = key  # one text instead of two equal ones
            entry = self._entries[key] = Entry(facts)
            entry.judge_term(None, self.term)
            self._link(facts.template, key)
            self._dirty[key] = None
            return True
        if older(wire.metadata.resource_version, entry.facts.version) or _known(entry, wire):
            return False
        return self._replace(key, entry, self._reader.reduce(wire, now))

    def _replace(self, key: WorkloadKey, entry: Entry, facts: BindingFacts) -> bool:
        old, entry.facts = entry.facts, facts
        facts.key = old.key
        entry.judge_term(old.decision, self.term)
        readable_again = bool(entry.malformed)
        entry.malformed = ""
        if facts.template != old.template:
            self._unlink(old.template, key)
            self._link(facts.template, key)
        self._dirty[key] = None
        if entry.overlay is not None and facts.decision == entry.overlay.decision:
            # The echo of our own write was counted when it was assumed.
            entry.overlay = None
            return False
        return readable_again or not same_for_decisions(old, facts)

    def delete(self, key: WorkloadKey, uid: str) -> bool:
        """The binding is gone; whether it was ours."""
        waiting = self._incoming.get(key)
        if waiting is not None and waiting[0].metadata.uid == uid:
            del self._incoming[key]
        entry = self._entries.get(key)
        if entry is None or entry.facts.uid != uid:
            return False
        return self._remove(key, entry)

    def malformed(self, key: WorkloadKey, uid: str, text: str) -> bool:
        """A version that cannot be read; whether the binding was ours before."""
        self._early_news |= self.reduce_received()
        entry = self._entries.get(key)
        if entry is None or entry.facts.uid != uid:
            return False
        entry.malformed = text
        self._dirty[key] = None
        return True

    def _remove(self, key: WorkloadKey, entry: Entry) -> bool:
        self._unlink(entry.facts.template, key)
        del self._entries[key]
        self._dirty.pop(key, None)
        self._removed(key, entry)
        return True

    def _link(self, template: TemplateKey, key: WorkloadKey) -> None:
        self._by_template[template] = (*self._by_template.get(template, ()), key)

    def _unlink(self, template: TemplateKey, key: WorkloadKey) -> None:
        keys = tuple(one for one in self._by_template.get(template, ()) if one != key)
        if keys:
            self._by_template[template] = keys
        else:
            self._by_template.pop(template, None)

    # --- reading and marking --------------------------------------------------------------

    def get(self, key: WorkloadKey) -> Entry | None:
        """One entry as of the last absorbed version."""
        return self._entries.get(key)

    def of_template(self, template: TemplateKey) -> Iterator[Entry]:
        """The entries of one template: usually one."""
        return (self._entries[key] for key in self._by_template.get(template, ()))

    def entries(self) -> Iterable[Entry]:
        """All entries."""
        return self._entries.values()

    def touch(self, key: WorkloadKey) -> None:
        """Resolve an entry again before the next look."""
        if key in self._entries:
            self._dirty[key] = None

    def touch_all(self) -> None:
        """Resolve every entry again."""
        self._dirty.update(dict.fromkeys(self._entries))

    def take_dirty(self, only: WorkloadKey | None = None) -> list[Entry]:
        """Entries that have to be resolved, each once; with `only`, at most that one."""
        if only is not None:
            if only not in self._dirty:
                return []
            del self._dirty[only]
            return [self._entries[only]]
        dirty, self._dirty = self._dirty, {}
        return [self._entries[key] for key in dirty if key in self._entries]


def _known(entry: Entry, wire: ResourceBinding) -> bool:
    """Whether this very version was taken in: every write of ours comes back by the watch, too."""
    return (
        wire.metadata.resource_version == entry.facts.version
        and not entry.malformed
        and entry.overlay is None
    )
