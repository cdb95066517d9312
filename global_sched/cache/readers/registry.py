"""Which kinds have a reader, and one call to use any of them."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Final

import msgspec

from global_sched.cache.readers.leader_worker_set import read_leader_worker_set
from global_sched.cache.readers.pod_templates import read_batch_job, read_replicated
from global_sched.cache.readers.pytorch_job import read_pytorch_job
from global_sched.cache.readers.reading import (
    HeldError,
    Reading,
    RefusedError,
    checked,
    held,
    refused,
)
from global_sched.cache.readers.volcano_job import read_volcano_job
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
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    DEPLOYMENTS,
    LEADER_WORKER_SETS,
    PYTORCH_JOBS,
    STATEFUL_SETS,
    VOLCANO_JOBS,
    Resource,
)
from global_sched.shared.api.volcano import VolcanoJob
from global_sched.shared.api.workloads import BatchJob, Deployment, LeaderWorkerSet, PyTorchJob

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


@dataclass(frozen=True, slots=True)
class KindReader:
    """One kind: where it is served, how it is decoded, and what reads it."""

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


READERS: Final[dict[tuple[str, str], KindReader]] = {
    (one.resource.api_version, one.resource.kind): one
    for one in (
        KindReader(VOLCANO_JOBS, VolcanoJob, read_volcano_job),
        KindReader(BATCH_JOBS, BatchJob, read_batch_job),
        KindReader(DEPLOYMENTS, Deployment, lambda app: read_replicated(app, "Deployment")),
        KindReader(STATEFUL_SETS, Deployment, lambda app: read_replicated(app, "StatefulSet")),
        KindReader(PYTORCH_JOBS, PyTorchJob, read_pytorch_job),
        KindReader(LEADER_WORKER_SETS, LeaderWorkerSet, read_leader_worker_set),
    )
}
"""Readers by (apiVersion, kind)."""
