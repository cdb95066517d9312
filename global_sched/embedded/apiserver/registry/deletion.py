"""Deletion: preconditions, grace, finalizers, propagation; one object or a collection."""

from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.shared.model.instant import SECOND, Instant, format_instant, parse_instant

Obj = dict[str, Any]

ORPHAN: Final = "orphan"
FOREGROUND: Final = "foregroundDeletion"
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_RETURNS_OBJECT: Final = frozenset(
    {
        "namespaces",
        "persistentvolumes",
        "persistentvolumeclaims",
        "pods",
        "podtemplates",
        "resourcequotas",
        "services",
        "serviceaccounts",
        "csidrivers.storage.k8s.io",
        "csinodes.storage.k8s.io",
        "storageclasses.storage.k8s.io",
        "volumeattachments.storage.k8s.io",
    }
)
_DEFAULT_GRACE: Final = 30


@dataclass(frozen=True, slots=True, kw_only=True)
class DeleteOptions:
    """How an object is to be deleted."""

    grace: int | None = None
    policy: str = ""
    uid: str = ""
    version: str = ""
    dry_run: bool = False


def options_of(call: RequestInfo, body: Obj | None) -> DeleteOptions:
    """The options in the body, or else in the query.

    Raises:  StatusError for options that make no sense.
    """
    given = body or {}
    grace = given.get("gracePeriodSeconds")
    if grace is None:
        grace = call.integer("gracePeriodSeconds")
    policy = given.get("propagationPolicy") or call.query.get("propagationPolicy") or ""
    orphan = given.get("orphanDependents")
    causes = []
    if policy and policy not in _POLICIES:
        known = [*_POLICIES, "nil"]
        causes.append(field_errors.not_supported("propagationPolicy", policy, known))
    if orphan is not None and policy:
        causes.append(
            field_errors.invalid(
                "propagationPolicy",
                policy,
                "orphanDependents and deletionPropagation cannot be both set",
            )
        )
    if grace is not None and grace < 0:
        grace = 1
    if causes:
        raise status_error.invalid("DeleteOptions", "meta.k8s.io", "", causes)
    if orphan is not None:
        policy = "Orphan" if orphan else "Background"
    conditions = given.get("preconditions") or {}
    dry = bool(given.get("dryRun")) or call.dry_run
    return DeleteOptions(
        grace=grace,
        policy=policy,
        uid=conditions.get("uid") or "",
        version=conditions.get("resourceVersion") or "",
        dry_run=dry,
    )


def _check(served: ResourceInfo, record: Record, options: DeleteOptions) -> None:
    kind = served.kind
    if options.uid and options.uid != record.uid:
        raise status_error.conflict(
            kind,
            served.group,
            record.name,
            f"the UID in the precondition ({options.uid}) does not match the UID in record"
            f" ({record.uid}). The object might have been deleted and then recreated",
        )
    if options.version and options.version != str(record.version):
        raise status_error.conflict(
            kind,
            served.group,
            record.name,
            f"the ResourceVersion in the precondition ({options.version}) does not match the"
            f" ResourceVersion in record ({record.version}). The object might have been modified",
        )


def _grace(served: ResourceInfo, obj: Obj, options: DeleteOptions) -> int:
    """The seconds an object's keeper has left to stop it."""
    if served.collection != "pods":
        return 0
    spec, status = obj.get("spec") or {}, obj.get("status") or {}
    if not spec.get("nodeName") or status.get("phase") in {"Succeeded", "Failed"}:
        return 0
    if options.grace is not None:
        return options.grace
    given = spec.get("terminationGracePeriodSeconds")
    return _DEFAULT_GRACE if given is None else int(given)


def _hold_finalizers(meta: Obj, policy: str) -> None:
    """Bring the garbage collector's finalizers in line with the policy."""
    held = list(meta.get("finalizers") or [])
    if policy:
        held = [name for name in held if name not in {ORPHAN, FOREGROUND}]
        if policy == "Orphan":
            held.append(ORPHAN)
        elif policy == "Foreground":
            held.append(FOREGROUND)
    if held:
        meta["finalizers"] = held
    else:
        meta.pop("finalizers", None)


def _status_of(served: ResourceInfo, record: Record) -> Obj:
    details: Obj = {"name": record.name}
    if served.group:
        details["group"] = served.group
    details["kind"] = served.plural
    details["uid"] = record.uid
    return {
        "kind": "Status",
        "apiVersion": "v1",
        "metadata": {},
        "status": "Success",
        "details": details,
    }


class Deleter:
    """All deletions of one server."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    def delete(self, served: ResourceInfo, record: Record, options: DeleteOptions) -> Obj:
        """Delete one object; the answer's body.

        Raises:  StatusError when a precondition does not hold.
        """
        _check(served, record, options)
        obj = record.load()
        meta = obj["metadata"]
        grace = _grace(served, obj, options)
        if served.collection == "namespaces":
            return self._delete_namespace(served, record, obj, options)
        before = dict(meta)
        _hold_finalizers(meta, options.policy)
        if grace > 0 or meta.get("finalizers"):
            self._mark(meta, grace)
            if not options.dry_run and meta != before:
                self.backend.commit(served, record.key, obj)
            return obj
        if not options.dry_run:
            if grace == 0 and "deletionTimestamp" in meta:
                meta["deletionGracePeriodSeconds"] = 0
            elif served.collection == "pods":
                self._mark(meta, 0)
            self.backend.remove(served, record.key, obj)
        return obj if served.collection in _RETURNS_OBJECT else _status_of(served, record)

    def _mark(self, meta: Obj, grace: int) -> None:
        """Write when the object is to be gone; a later deletion can only shorten the grace."""
        if "deletionTimestamp" in meta:
            left = meta.get("deletionGracePeriodSeconds") or 0
            if grace >= left:
                return
            start = parse_instant(meta["deletionTimestamp"]) - left * SECOND
            meta["deletionTimestamp"] = format_instant(Instant(start + grace * SECOND))
            meta["deletionGracePeriodSeconds"] = grace
            return
        meta["deletionTimestamp"] = format_instant(Instant(self.backend.now() + grace * SECOND))
        meta["deletionGracePeriodSeconds"] = grace
        if meta.get("generation"):
            meta["generation"] += 1

    def _delete_namespace(
        self, served: ResourceInfo, record: Record, obj: Obj, options: DeleteOptions
    ) -> Obj:
        """A namespace terminates first; its content goes before it does."""
        if record.name in {"default", "kube-system", "kube-public"}:
            raise status_error.forbidden(
                "namespaces", "", record.name, "this namespace may not be deleted"
            )
        meta = obj["metadata"]
        if "deletionTimestamp" not in meta:
            meta["deletionTimestamp"] = self.backend.now_text()
            obj.setdefault("status", {})["phase"] = "Terminating"
            if not options.dry_run:
                self.backend.commit(served, record.key, obj)
            return obj
        held = meta.get("finalizers") or (obj.get("spec") or {}).get("finalizers")
        if not held and not options.dry_run:
            self.backend.remove(served, record.key, obj)
        return obj
