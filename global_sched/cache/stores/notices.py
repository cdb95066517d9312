"""Notices for an object's owner, once per text: bad input, collisions, forgeries."""

from dataclasses import dataclass
from enum import StrEnum
from typing import Final

from global_sched.cache.readers.bindings import BindingFacts
from global_sched.shared.model.ids import split_key

LIMIT: Final = 10_000
"""Objects with a notice that are remembered; beyond it the oldest are forgotten."""


class Topic(StrEnum):
    """Reasons of the Events that carry notices."""

    MALFORMED = "Malformed"
    """The object cannot be read; it is set aside."""
    NAME_COLLISION = "NameCollision"
    """Two templates share one binding name."""
    DECISION_NOT_BELIEVED = "DecisionNotBelieved"
    """The decision annotation does not match the binding; it was recomputed."""
    FAILOVER_BESIDE = "FailoverBeside"
    """Karmada's own failover may take a gang out of its cluster beside our moves."""
    RECOVERY_REFUSED = "RecoveryRefused"
    """The recovery annotation of the template cannot be used; the job has none."""
    CHECKPOINT_GRACE_REFUSED = "CheckpointGraceRefused"
    """The annotation for a checkpoint before leaving cannot be used; the job leaves at once."""
    NOWHERE_TO_MOVE = "NowhereToMove"
    """The recovery annotation asks for moves, and nothing of that kind, or no policy, lets it."""
    ELASTIC_REFUSED = "ElasticRefused"
    """The elastic annotation of a template counts for nothing."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Notice:
    """One thing to tell about one object."""

    topic: Topic
    api_version: str
    kind: str
    namespace: str
    name: str
    uid: str
    text: str


_Key = tuple[Topic, str, str, str]


class Notices:
    """Notices that stand, and those that were not taken yet."""

    def __init__(self) -> None:
        self._standing: dict[_Key, Notice] = {}
        self._fresh: dict[_Key, Notice] = {}

    def tell(self, notice: Notice) -> None:
        """Remember it; a notice that stands already is not repeated."""
        key = _key(notice)
        if self._standing.get(key) == notice:
            return
        self._standing.pop(key, None)
        self._standing[key] = notice
        self._fresh[key] = notice
        if len(self._standing) > LIMIT:
            oldest = next(iter(self._standing))
            del self._standing[oldest]
            self._fresh.pop(oldest, None)

    def set_aside(
        self, api_version: str, kind: str, namespace: str, name: str, uid: str, text: str
    ) -> None:
        """An object cannot be used; an empty text means that it can again."""
        if not text:
            self.clear(Topic.MALFORMED, kind, namespace, name)
            return
        self.tell(
            Notice(
                topic=Topic.MALFORMED,
                api_version=api_version,
                kind=kind,
                namespace=namespace,
                name=name,
                uid=uid,
                text=text,
            )
        )

    def tell_binding(self, facts: BindingFacts, topic: Topic, text: str) -> None:
        """Remember it about a binding; an empty text means that it no longer stands."""
        kind = "ClusterResourceBinding" if facts.cluster_scoped else "ResourceBinding"
        namespace, name = split_key(facts.key)
        if not text:
            self.clear(topic, kind, namespace, name)
            return
        self.tell(
            Notice(
                topic=topic,
                api_version="work.karmada.io/v1alpha2",
                kind=kind,
                namespace=namespace,
                name=name,
                uid=facts.uid,
                text=text,
            )
        )

    def tell_template(self, facts: BindingFacts, topic: Topic, text: str) -> None:
        """The same about the template of a binding."""
        api_version, kind, namespace, name = facts.template
        if not text:
            self.clear(topic, kind, namespace, name)
            return
        self.tell(
            Notice(
                topic=topic,
                api_version=api_version,
                kind=kind,
                namespace=namespace,
                name=name,
                uid=facts.template_uid,
                text=text,
            )
        )

    def clear(self, topic: Topic, kind: str, namespace: str, name: str) -> None:
        """It no longer stands; what was not reported yet is reported all the same."""
        if self._standing:
            self._standing.pop((topic, kind, namespace, name), None)

    def take(self) -> tuple[Notice, ...]:
        """Notices that were not taken before."""
        fresh = tuple(self._fresh.values())
        self._fresh.clear()
        return fresh

    def standing(self) -> tuple[Notice, ...]:
        """All that stand now."""
        return tuple(self._standing.values())


def _key(notice: Notice) -> _Key:
    return (notice.topic, notice.kind, notice.namespace, notice.name)
