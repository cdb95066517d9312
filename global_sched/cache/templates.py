"""Templates, each reduced to what its reader makes of it; the object itself is never kept."""

from dataclasses import dataclass
from sys import intern
from typing import Any, Final

from global_sched.cache.bindings import TemplateKey
from global_sched.shared.kinds import WorkloadKind, namesakes
from global_sched.shared.kinds.parts.reading import Reading, refused

_READINGS_LIMIT: Final = 32_768
_CONTENT_LIMIT: Final = 16 * 1024


@dataclass(frozen=True, slots=True)
class TemplateFacts:
    """One version of one template."""

    uid: str
    version: str
    reading: Reading
    labels: tuple[tuple[str, str], ...]


class Templates:
    """All templates by key; equal readings are one object."""

    def __init__(self) -> None:
        self._facts: dict[TemplateKey, TemplateFacts] = {}
        self._readings: dict[tuple[int, bytes], Reading] = {}
        self._labels: dict[tuple[tuple[str, str], ...], tuple[tuple[str, str], ...]] = {}

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
        )
        return key

    def _reading(self, reader: WorkloadKind, obj: Any) -> Reading:
        """The reading; the same object as for another template with the same content."""
        content = reader.content(obj)
        if len(content) > _CONTENT_LIMIT:
            return reader.reading(obj)
        known = self._readings.get((id(reader), content))
        if known is None:
            known = reader.reading(obj)
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
        return key

    def delete(self, reader: WorkloadKind, namespace: str, name: str) -> TemplateKey:
        """The template is gone; its key."""
        key = key_of(reader, namespace, name)
        self._facts.pop(key, None)
        return key

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
