"""Every workload kind that is read here, and what is asked of all of them at once."""

from collections.abc import Mapping
from typing import Final

from global_sched.shared.api.base import Meta
from global_sched.shared.api.crd_kind import CrdKind
from global_sched.shared.api.names import OBJECT_QUEUE_NAME
from global_sched.shared.api.resource import Resource
from global_sched.shared.kinds import (
    batch_job,
    deployment,
    job_set,
    leader_worker_set,
    mpi_job,
    pytorch_job,
    ray_cluster,
    ray_job,
    stateful_set,
    train_job,
    volcano_job,
)
from global_sched.shared.kinds.parts.kind import FieldNames, WorkloadKind
from global_sched.shared.model.ids import MAIN, PodSetName

ALL: Final = (
    ray_job.KIND,
    ray_cluster.KIND,
    train_job.KIND,
    job_set.KIND,
    mpi_job.KIND,
    volcano_job.KIND,
    leader_worker_set.KIND,
    pytorch_job.KIND,
    batch_job.KIND,
    deployment.KIND,
    stateful_set.KIND,
)
"""What builds on another kind comes before it: its pods carry the labels of both."""

KINDS: Final[Mapping[tuple[str, str], WorkloadKind]] = {one.key: one for one in ALL}
"""The kinds with a file here, by (apiVersion, kind)."""

ONE_BY_ONE: Final = frozenset(
    resource.kind for one in ALL if one.one_by_one for resource in (one.resource, *one.makes)
)
"""Names of kinds whose pods start one by one, with or without the object above."""

GROUPED: Final = frozenset(one.resource.kind for one in ALL if one.groups)
"""Names of kinds whose topology annotations bound each group of pods."""

_POD_SETS: Final = tuple(one.pod_set for one in ALL if one.pod_set is not None)
_INDEXES: Final = tuple(one.index for one in ALL if one.index is not None)


def kind_of(api_version: str, kind: str) -> WorkloadKind | None:
    """The kind, None for one without a file here."""
    return KINDS.get((api_version, kind))


RUNTIMES: Final[Mapping[tuple[str, str], tuple[WorkloadKind, CrdKind]]] = {
    (found.resource.api_version, found.resource.kind): (one, found)
    for one in ALL
    if one.runtimes is not None
    for found in one.runtimes.crds
}
"""Objects that hold a part of other templates, by (apiVersion, kind): whose, and their CRD."""


_GENERIC: Final = FieldNames(
    queue=f"annotation {OBJECT_QUEUE_NAME}", priority_class="", minimum="", topology=""
)
"""Where objects of a kind without a file here name their queue."""


def field_names(api_version: str, kind: str) -> FieldNames:
    """Where objects of a kind say what advice speaks of."""
    found = kind_of(api_version, kind)
    return _GENERIC if found is None else found.fields


def pod_set_of(meta: Meta) -> PodSetName:
    """Which pod set a pod belongs to, by its labels: `main` where no kind knows them."""
    for ask in _POD_SETS:
        if (found := ask(meta)) is not None:
            return found
    return MAIN


def index_of(meta: Meta) -> int | None:
    """A pod's place in its pod set by its labels, None where no kind knows them."""
    for ask in _INDEXES:
        if (found := ask(meta)) is not None:
            return found
    return None


def owners() -> tuple[tuple[Resource, ...], tuple[Resource, ...]]:
    """Everything that stands above pods: what every API server has, and what comes with a CRD."""
    always: dict[Resource, None] = {}
    optional: dict[Resource, None] = {}
    for one in ALL:
        (always if one.crd is None else optional)[one.resource] = None
        always |= dict.fromkeys(made for made in one.makes if made not in _WITH_CRD)
    return tuple(always), tuple(optional)


_WITH_CRD: Final = frozenset(one.resource for one in ALL if one.crd is not None)


def namesakes(api_version: str, kind: str) -> tuple[WorkloadKind, ...]:
    """Kinds of that name in other groups: Karmada names bindings by name and kind alone."""
    return tuple(
        one for one in ALL if one.resource.kind == kind and one.resource.api_version != api_version
    )
