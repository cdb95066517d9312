"""Fields that an update keeps of the old object, and parts that an endpoint may write."""

from typing import Any, Final

from global_sched.embedded.apiserver import status_error
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.backend import key_of
from global_sched.embedded.apiserver.storage.store import Record

Obj = dict[str, Any]

_MAIN_DROPS: Final = frozenset({"status"})
_NO_DROPS: Final[frozenset[str]] = frozenset()
_STATUS_DROPS: Final = frozenset({"spec", "metadata"})


def drops_of(served: ResourceInfo, subresource: str) -> frozenset[str]:
    """The parts of an object that an endpoint cannot write."""
    if subresource == "status":
        return _STATUS_DROPS if served.custom else frozenset({"spec"})
    return _MAIN_DROPS if served.has_status else _NO_DROPS


def check_uid(call: RequestInfo, record: Record | None, body: Obj) -> None:
    """Hold a body's UID against the stored object; an object that is absent has none.

    Raises:  StatusError (409) when the object was made anew, or deleted, since the writer read it.
    """
    meta = body.get("metadata")
    uid = meta.get("uid") if isinstance(meta, dict) else None
    held = record.uid if record is not None else ""
    if not uid or uid == held:
        return
    served, key = call.served, key_of(call.namespace, call.name)
    where = f"{served.group}/{served.plural}" if served.custom else served.plural
    why = (
        f"StorageError: invalid object, Code: 4, Key: /registry/{where}/{key},"
        f" ResourceVersion: 0, AdditionalErrorMsg: Precondition failed: UID in precondition: {uid},"
        f" UID in object meta: {held}"
    )
    raise status_error.conflict(served.plural, served.group, call.name, why)


def copy_field(target: Obj, source: Obj, key: str) -> None:
    """Make a field what it is in the source, or absent."""
    if key in source:
        target[key] = source[key]
    else:
        target.pop(key, None)


def keep_all_but_status(served: ResourceInfo, old: Obj, new: Obj) -> None:
    """A status update changes the status; of built-in kinds, some metadata too."""
    for key in [key for key in new if key not in {"status", "metadata"}]:
        copy_field(new, old, key)
    for key in old:
        if key not in new and key not in {"status", "metadata"}:
            new[key] = old[key]
    if served.custom:
        new["metadata"] = dict(old["metadata"])
        return
    for key in ("ownerReferences", "finalizers"):
        copy_field(new["metadata"], old["metadata"], key)
    if served.group in {"apps", "batch"}:
        copy_field(new["metadata"], old["metadata"], "labels")


def is_released(obj: Obj) -> bool:
    """Whether nothing holds a deleted object any more."""
    meta = obj["metadata"]
    if "deletionTimestamp" not in meta or meta.get("finalizers"):
        return False
    if meta.get("deletionGracePeriodSeconds"):
        return False
    spec = obj.get("spec")
    return not (
        obj.get("kind") == "Namespace" and isinstance(spec, dict) and spec.get("finalizers")
    )
