"""Workload kind: one field for each question that a program asks of it.

No field has a default: a kind that does not answer a question cannot be imported.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any, Final, NamedTuple

import msgspec

from global_sched.shared.api.base import JsonMap, Meta
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import (
    LAST_CHECKPOINT,
    OBJECT_QUEUE_NAME,
    OWN_PREEMPTABLE,
    PREEMPTABLE,
    QUEUE_NAME,
    RUN_TIME_LIMIT,
    TOPOLOGY_TIER,
)
from global_sched.shared.api.resource import Resource
from global_sched.shared.kinds.parts.acts import Acts
from global_sched.shared.kinds.parts.interpretation import Interpretation
from global_sched.shared.kinds.parts.owner import OwnerFacts
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    MissingError,
    Reading,
    RefusedError,
    checked,
    held,
    missing,
    refused,
)
from global_sched.shared.model.ids import PodSetName
from global_sched.shared.model.printable import is_dns_name

_EVERYWHERE: Final = (
    LAST_CHECKPOINT,
    OBJECT_QUEUE_NAME,
    OWN_PREEMPTABLE,
    PREEMPTABLE,
    RUN_TIME_LIMIT,
)
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True, kw_only=True)
class About:
    """The kind in words, for docs/kinds.md: each a cell of its table."""

    gang: str
    minimum: str
    elastic: str
    queue: str
    topology: str
    restarts: str
    versions: str


class RuntimeRef(NamedTuple):
    """Which runtime a template refers to."""

    api_version: str
    kind: str
    namespace: str
    """Empty for cluster-scoped ones."""
    name: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtimes:
    """Objects of the control plane that hold a part of each template of a kind."""

    crds: tuple[CrdKind, ...]
    """Their CRDs; the type of each is what an informer decodes them into."""
    ref: Callable[[Any], RuntimeRef | None]
    """The runtime that an object refers to; None where it names none that there can be."""
    read: Callable[[Any, Any], Reading]
    """The reading of an object with its runtime, as `WorkloadKind.read` without one."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FieldNames:
    """Where an object of the kind says what advice speaks of; empty where it cannot say it."""

    queue: str
    priority_class: str
    minimum: str
    topology: str
    """The highest tier of a hard topology constraint."""


QUEUE_LABEL: Final = f"label {QUEUE_NAME} of the pod template"
TIER_ANNOTATION: Final = f"annotation {TOPOLOGY_TIER} of the pod template"


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """The answers of one kind to every question."""

    resource: Resource
    crd: CrdKind | None
    """What its CRD has beyond the fields of `wire`; None for kinds that every API server has."""
    wire: type[Any]
    """What an informer of global-sched decodes the object into."""
    read: Callable[[Any], Reading]
    """Pod sets, minimum, constraint, queue, priority and scheduler of a decoded object.

    Raises RefusedError for what has to change, HeldError for what its owner holds back,
    MissingError for a kind whose pod templates stand in a runtime.
    """
    runtimes: Runtimes | None
    """Where pod templates stand that are not in the object; None for kinds that hold theirs."""
    notes: tuple[str, ...]
    """Annotations and labels of the object that `read` looks at, besides those of every kind."""
    schedulers: tuple[str, ...]
    """JSON pointers to where a schedulerName may stand, as override policies spell them; `*` is
    any one part."""
    brings: tuple[str, ...]
    """JSON pointers of parts that bring a pod template of their own when they are added."""
    ends: Callable[[JsonMap], bool]
    """Whether a status is one that its controller writes at the very end."""
    completed: JsonMap | None
    """The status of one that ended well; None for kinds that run until they are deleted."""
    failed: JsonMap | None
    """The status of one that ended badly; None like `completed`."""
    owner: type[Any]
    """What the agent decodes the object into: no pod templates."""
    facts: Callable[[Any], OwnerFacts]
    """What of an `owner` object makes a minimum. Raises CountError."""
    pod_set: Callable[[Meta], PodSetName | None] | None
    """The pod set of a pod by its labels, None for pods of other kinds. Without it: `main`."""
    index: Callable[[Meta], int | None] | None
    """A pod's place in its pod set by its labels, None for pods of other kinds. Without it the
    number at the end of its name."""
    makes: tuple[Resource, ...]
    """Objects that its controller makes between it and its pods."""
    one_by_one: bool
    """Whether its pods start one by one (a rolling update never has them all)."""
    groups: bool
    """Whether the topology of its pod templates bounds each group of pods, not all of them."""
    karmada: Interpretation
    """How Karmada's interpreter, as released, sees it."""
    about: About
    fields: FieldNames
    """Where advice is followed."""
    acts: Acts
    """What `gsched job` writes into it."""

    @property
    def key(self) -> tuple[str, str]:
        """(apiVersion, kind)."""
        return self.resource.api_version, self.resource.kind

    def content(self, obj: Any, runtime: Any = None) -> bytes:
        """All that `read` looks at: templates with the same content have equal readings."""
        found = _ENCODE(obj.spec) + (b"" if runtime is None else _ENCODE(runtime.spec))
        for having in (obj.metadata.annotations, obj.metadata.labels):
            found += _ENCODE(self._noted(having or {}))
        return found

    def _noted(self, having: Mapping[str, str]) -> list[str | None]:
        return [having.get(name) for name in (*_EVERYWHERE, *self.notes)] if having else []

    def reading(self, obj: Any, runtime: Any = None) -> Reading:
        """What the template says; a template that cannot be read gives a `problem`."""
        resource = self.resource
        where = f"{resource.group_kind} {obj.metadata.namespace}/{obj.metadata.name}"
        names = (resource.api_version, resource.kind)
        try:
            if runtime is None or self.runtimes is None:
                return checked(self.read(obj))
            return checked(self.runtimes.read(obj, runtime))
        except RefusedError as error:
            found = refused(*names, f"{where}: {error}")
        except HeldError as error:
            found = held(*names, f"{where}: {error}")
        except MissingError as error:
            found = missing(*names, f"{where}: {error}")
        return replace(found, queue=named_queue(msgspec.to_builtins(obj)))


def named_queue(part: Any) -> str:
    """The queue that an object names which cannot be read as a whole; empty for none.

    A wire type has no other field `queue` than the one that counts.
    """
    if isinstance(part, list):
        return next(filter(None, map(named_queue, part)), "")
    if not isinstance(part, dict):
        return ""
    for name in (QUEUE_NAME, OBJECT_QUEUE_NAME, "queue"):
        found = part.get(name)
        if isinstance(found, str) and is_dns_name(found):
            return found
    return next(filter(None, map(named_queue, part.values())), "")
