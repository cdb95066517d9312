"""A template as the manifest of one member's Work: marks, and nothing that belongs to a server."""

import copy
from dataclasses import dataclass
from typing import Final

from global_sched.embedded.karmada.interpreter.copies import prune_kind
from global_sched.propagation.fields import (
    ANNOTATIONS,
    LABELS,
    Obj,
    annotations,
    drop,
    generation_of,
    labels,
    put,
    uid_of,
)
from global_sched.shared.api.names import (
    MANAGED,
    TEMPLATE_GENERATION,
    TEMPLATE_UID,
    WORK_NAME,
    WORK_NAMESPACE,
)

WORK_ID: Final = "work.karmada.io/permanent-id"
CONFLICT_RESOLUTION: Final = "work.karmada.io/conflict-resolution"
MANAGED_LABELS: Final = "resourcetemplate.karmada.io/managed-labels"
MANAGED_ANNOTATIONS: Final = "resourcetemplate.karmada.io/managed-annotations"
_SERVER_FIELDS: Final = (
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "managedFields",
    "resourceVersion",
    "selfLink",
    "uid",
    "ownerReferences",
    "finalizers",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class WorkIdentity:
    """The Work that a manifest is for: what the manifest says about it."""

    namespace: str
    name: str
    permanent_id: str


def manifest(
    template: Obj,
    work: WorkIdentity,
    *,
    labels_: dict[str, str],
    annotations_: dict[str, str],
    generation: bool,
) -> Obj:
    """The template as the member is to have it.

    It is pruned, carries the given marks and the Work's, and lists which labels and annotations
    are managed, so that the member's own survive an update.
    """
    done = copy.deepcopy(template)
    uid = uid_of(template)
    for field in _SERVER_FIELDS:
        drop(done, "metadata", field)
    done.pop("status", None)
    prune_kind(done)
    if generation and (number := generation_of(template)):
        put(done, *ANNOTATIONS, TEMPLATE_GENERATION, value=str(number))
    put(done, *LABELS, value=labels(done) | labels_)
    put(done, *ANNOTATIONS, value=annotations(done) | annotations_)
    _mark(done, work, uid)
    return done


def _mark(done: Obj, work: WorkIdentity, uid: str) -> None:
    marks = labels(done) | {MANAGED: "true", WORK_ID: work.permanent_id}
    put(done, *LABELS, value=marks)
    notes = annotations(done) | {
        TEMPLATE_UID: uid,
        WORK_NAME: work.name,
        WORK_NAMESPACE: work.namespace,
        MANAGED_ANNOTATIONS: "",
        MANAGED_LABELS: ",".join(sorted(marks)),
    }
    notes[MANAGED_ANNOTATIONS] = ",".join(sorted(notes))
    put(done, *ANNOTATIONS, value=notes)
