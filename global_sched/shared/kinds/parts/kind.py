"""One workload kind: where it is served, how it is decoded, and what its template says."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from global_sched.shared.api.names import (
    LAST_CHECKPOINT,
    LWS_EXCLUSIVE,
    LWS_SUBGROUP_EXCLUSIVE,
    MIN_GROUPS,
    MIN_PARALLELISM,
    OBJECT_QUEUE_NAME,
    OWN_PREEMPTABLE,
    PARTITIONS_TOGETHER,
    PREEMPTABLE,
    RUN_TIME_LIMIT,
)
from global_sched.shared.api.resource import Resource
from global_sched.shared.kinds.parts.reading import (
    HeldError,
    Reading,
    RefusedError,
    checked,
    held,
    refused,
)

_READ_ANNOTATIONS: Final = (
    LWS_EXCLUSIVE,
    LWS_SUBGROUP_EXCLUSIVE,
    MIN_GROUPS,
    MIN_PARALLELISM,
    OBJECT_QUEUE_NAME,
    OWN_PREEMPTABLE,
    PARTITIONS_TOGETHER,
    PREEMPTABLE,
    RUN_TIME_LIMIT,
    LAST_CHECKPOINT,
)
_READ_LABELS: Final = (OWN_PREEMPTABLE, PREEMPTABLE)
_ENCODE: Final = msgspec.json.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkloadKind:
    """Everything that anybody asks of one kind."""

    resource: Resource
    wire: type[Any]
    read: Callable[[Any], Reading]

    def content(self, obj: Any) -> bytes:
        """All that `read` looks at: templates with the same content have equal readings."""
        annotations = obj.metadata.annotations
        spec = _ENCODE(obj.spec)
        labels = obj.metadata.labels
        if annotations:
            spec += _ENCODE([annotations.get(name) for name in _READ_ANNOTATIONS])
        if labels and any(name in labels for name in _READ_LABELS):
            spec += _ENCODE({name: labels.get(name) for name in _READ_LABELS})
        return spec

    def reading(self, obj: Any) -> Reading:
        """What the template says; a template that cannot be read gives a `problem`."""
        resource = self.resource
        where = f"{resource.group_kind} {obj.metadata.namespace}/{obj.metadata.name}"
        try:
            return checked(self.read(obj))
        except RefusedError as error:
            return refused(resource.api_version, resource.kind, f"{where}: {error}")
        except HeldError as error:
            return held(resource.api_version, resource.kind, f"{where}: {error}")
