"""Templates, each reduced to what its reader makes of it; the object itself is never kept."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from sys import intern
from typing import Any, Final, TypeVar

from global_sched.cache.readers.bindings import TemplateKey
from global_sched.shared.api.names import CHECKPOINT_GRACE, ELASTIC, RECOVERY
from global_sched.shared.kinds import WorkloadKind, namesakes
from global_sched.shared.kinds.parts.kind import RuntimeRef
from global_sched.shared.kinds.parts.reading import Reading, refused
from global_sched.shared.model.checkpoint_grace import checkpoint_grace
from global_sched.shared.model.elastic_spec import elastic_of
from global_sched.shared.model.gang import Elastic
from global_sched.shared.model.recovery_spec import BelowMinimum, below_minimum

T = TypeVar("T")

_READINGS_LIMIT: Final = 32_768
_TEXTS_LIMIT: Final = 1024
_CONTENT_LIMIT: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """One version of one template."""

    uid: str
    version: str
    reading: Reading
    labels: tuple[tuple[str, str], ...]
    below_minimum: BelowMinimum | None = None
    """What becomes of it when its member cannot hold it; None: it stays."""
    recovery_refused: str = ""
    """Why its recovery annotation cannot be used."""
    elastic: Elastic | None = None
    """The sizes that it asks for, whatever its gang is."""
    elastic_refused: str = ""
    """Why its annotation cannot be read."""
    checkpoint_grace: int = 0
    """For so many seconds it is waited for before it has to leave."""
    grace_refused: str = ""
    """Why its annotation for that cannot be used."""


@dataclass(frozen=True, slots=True)
class _Unreadable:
    """A runtime that cannot be decoded; the templates that refer to it are refused."""

    problem: str


class Templates:
    """All templates by key; equal readings are one object.

    Templates whose other part stands in a runtime are kept, and the runtimes: each is read again
    when the other changes.
    """

    def __init__(self) -> None:
        self._runtimes: dict[RuntimeRef, Any] = {}
        self._halves: dict[RuntimeRef, dict[TemplateKey, tuple[WorkloadKind, Any]]] = {}
        self._refs: dict[TemplateKey, RuntimeRef] = {}
        self._facts: dict[TemplateKey, TemplateFacts] = {}
        self._readings: dict[tuple[int, bytes], Reading] = {}
        self._labels: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}
        self._annotations: dict[Callable[[str], Any], dict[str, Any]] = {}
        """What texts say, by the function that reads them."""

    def __len__(self) -> int:
        return len(self._facts)

    def upsert(self, reader: WorkloadKind, obj: Any) -> TemplateKey:
        """Take a template in; its key."""
        meta = obj.metadata
        key = key_of(reader, meta.namespace, meta.name)
        labels: tuple[tuple[str, str], ...] = ()
        if meta.labels:
            labels = tuple(sorted((intern(k), intern(v)) for k, v in meta.labels.items()))
        if len(self._labels) > 65536:
            self._labels.clear()
        self._facts[key] = TemplateFacts(
            meta.uid,
            meta.resource_version,
            self._reading(reader, obj),
            self._labels.setdefault(labels, labels) if labels else (),
            *self._once(below_minimum, meta.annotation(RECOVERY)),
            *self._once(elastic_of, meta.annotation(ELASTIC)),
            *self._once(checkpoint_grace, meta.annotation(CHECKPOINT_GRACE)),
        )
        self._refer(reader, key, obj)
        return key

    def _once(self, read: Callable[[str], tuple[T, str]], text: str) -> tuple[T, str]:
        """What an annotation says, and why it is refused: once for templates with the same text."""
        known: dict[str, Any] = self._annotations.setdefault(read, {})
        if text not in known:
            if len(known) >= _TEXTS_LIMIT:
                known.clear()
            known[text] = read(text)
        found: tuple[T, str] = known[text]
        return found

    def _reading(self, reader: WorkloadKind, obj: Any) -> Reading:
        """The reading; the same object as for another template with the same content."""
        ref = None if reader.runtimes is None else reader.runtimes.ref(obj)
        runtime = None if ref is None else self._runtimes.get(ref)
        if isinstance(runtime, _Unreadable):
            resource, meta = reader.resource, obj.metadata
            text = f"{resource.group_kind} {meta.namespace}/{meta.name}: {runtime.problem}"
            return refused(resource.api_version, resource.kind, text)
        content = reader.content(obj, runtime)
        if len(content) > _CONTENT_LIMIT:
            return reader.reading(obj, runtime)
        known = self._readings.get((id(reader), content))
        if known is None:
            known = reader.reading(obj, runtime)
            if known.problem is not None:
                return known  # its text names the object
            if len(self._readings) >= _READINGS_LIMIT:
                self._readings.clear()
            self._readings[(id(reader), content)] = known
        return known

    def malformed(
        self, reader: WorkloadKind, namespace: str, name: str, uid: str, version: str, error: str
    ) -> TemplateKey:
        """A template that cannot be decoded is a refusal, not an absence."""
        key = key_of(reader, namespace, name)
        resource = reader.resource
        text = f"{resource.group_kind} {namespace}/{name}: {error}; correct the object"
        reading = refused(resource.api_version, resource.kind, text)
        self._facts[key] = TemplateFacts(uid, version, reading, ())
        self._refer(reader, key, None)
        return key

    def delete(self, reader: WorkloadKind, namespace: str, name: str) -> TemplateKey:
        """The template is gone; its key."""
        key = key_of(reader, namespace, name)
        self._facts.pop(key, None)
        self._refer(reader, key, None)
        return key

    # --- runtimes -------------------------------------------------------------------------

    def _refer(self, reader: WorkloadKind, key: TemplateKey, obj: Any) -> None:
        """Keep an object whose pod templates stand in a runtime; None: it is gone."""
        if reader.runtimes is None:
            return
        before = self._refs.pop(key, None)
        if before is not None:
            self._halves[before].pop(key)
            if not self._halves[before]:
                del self._halves[before]
        ref = None if obj is None else reader.runtimes.ref(obj)
        if ref is not None:
            self._refs[key] = ref
            self._halves.setdefault(ref, {})[key] = (reader, obj)

    def upsert_runtime(self, ref: RuntimeRef, obj: Any) -> list[TemplateKey]:
        """Take a runtime in; the templates that say something else now."""
        self._runtimes[ref] = obj
        return list(self._read_again(ref))

    def malformed_runtime(self, ref: RuntimeRef, error: str) -> list[TemplateKey]:
        """A runtime that cannot be decoded is a refusal of what refers to it."""
        return self.upsert_runtime(ref, _Unreadable(f"{_named(ref)}: {error}; correct the object"))

    def delete_runtime(self, ref: RuntimeRef) -> list[TemplateKey]:
        """The runtime is gone; the templates that wait for it now."""
        self._runtimes.pop(ref, None)
        return list(self._read_again(ref))

    def _read_again(self, ref: RuntimeRef) -> Iterator[TemplateKey]:
        for key, (reader, obj) in self._halves.get(ref, {}).items():
            before = self._facts[key]
            reading = self._reading(reader, obj)
            if reading != before.reading:
                self._facts[key] = replace(before, reading=reading)
                yield key

    # --------------------------------------------------------------------------------------

    def get(self, key: TemplateKey) -> TemplateFacts | None:
        """The newest version seen."""
        return self._facts.get(key)

    def collision(self, key: TemplateKey) -> str:
        """What to tell when another template's binding has the same name; empty when none has.

        Karmada names a binding after name and kind, without the group, so a batch Job and a
        Volcano Job of one name take turns in one binding.
        """
        api_version, kind, namespace, name = key
        others = (one.resource.api_version for one in namesakes(api_version, kind))
        other = next((one for one in others if (one, *key[1:]) in self._facts), None)
        if other is None:
            return ""
        return (
            f"{other} {kind} and {api_version} {kind} {namespace}/{name} share the binding name "
            f"{name}-{kind.lower()}, so Karmada serves one of them at a time; rename one"
        )


def key_of(reader: WorkloadKind, namespace: str, name: str) -> TemplateKey:
    """The key of a template of that kind."""
    resource = reader.resource
    return (intern(resource.api_version), intern(resource.kind), intern(namespace), name)


def _named(ref: RuntimeRef) -> str:
    return f"{ref.kind} {ref.namespace + '/' if ref.namespace else ''}{ref.name}"
