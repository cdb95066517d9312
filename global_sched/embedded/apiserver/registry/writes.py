"""Create, update and delete: one object through decoding, ownership, admission and validation.

Nothing here waits: what was read is what is committed against. Patches arrive as updates
(`patching`), and the subresources as updates of a part.
"""

from dataclasses import dataclass
from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.codec.normalizing import normalize
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.patch.managed_fields import after_update, changes
from global_sched.embedded.apiserver.registry.decoding import decode_object, defaulted
from global_sched.embedded.apiserver.registry.update_strategy import (
    check_uid,
    copy_field,
    drops_of,
    is_released,
    keep_all_but_status,
)
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import StatusCause, StatusError
from global_sched.embedded.apiserver.storage.backend import Backend, key_of
from global_sched.embedded.apiserver.storage.conversion import to_storage
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.embedded.apiserver.strategy.by_kind import rules_of
from global_sched.embedded.apiserver.strategy.strategy import Strategy
from global_sched.embedded.apiserver.validation.cel_validation import rule_causes
from global_sched.embedded.apiserver.validation.metadata import (
    meta_causes,
    plain_finalizer_causes,
)
from global_sched.embedded.apiserver.validation.structural_schema import validate

Obj = dict[str, Any]

_MAIN_IGNORED: Final = frozenset({"metadata", "status"})
_META_IGNORED: Final = frozenset({"metadata"})
_KEPT_META: Final = (
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
)


@dataclass(slots=True)
class WriteResult:
    """The outcome of a write: the object to answer with, and whether it was created."""

    obj: Obj
    record: Record | None
    created: bool = False


class Writer:
    """All writes of one server."""

    def __init__(self, backend: Backend) -> None:
        self.backend = backend

    # ---- create ----------------------------------------------------------------------------

    def create(self, call: RequestInfo, body: Obj) -> WriteResult:
        """Store a new object."""
        obj = decode_object(call, body)
        self._place(call, obj)
        if obj["metadata"].get("resourceVersion"):
            raise StatusError(500, "", "resourceVersion should not be set on objects to be created")
        self._own_new(call, obj)
        return self.insert(call, obj)

    def insert(self, call: RequestInfo, obj: Obj) -> WriteResult:
        """Store a decoded object whose field ownership is known."""
        served, rules = call.served, rules_of(call.served.collection)
        self._check_namespace(call, obj["metadata"].get("name", ""))
        rules.admit(self.backend, obj)
        meta = obj["metadata"]
        generated = not meta.get("name") and bool(meta.get("generateName"))
        if generated:
            meta["name"] = meta["generateName"][:58] + self.backend.suffix()
        self._start_meta(served, meta)
        if served.has_status and served.custom:
            obj.pop("status", None)
        rules.prepare(self.backend, obj)
        self._refuse(served, meta.get("name", ""), self._causes(served, rules, obj, None))
        key = key_of(call.namespace, meta["name"])
        while self.backend.get(served.collection, key) is not None:
            if not generated:
                raise status_error.already_exists(served.plural, served.group, meta["name"])
            meta["name"] = meta["generateName"][:58] + self.backend.suffix()
            key = key_of(call.namespace, meta["name"])
        if call.dry_run:
            return WriteResult(obj, None, created=True)
        record = self.backend.commit(served, key, to_storage(served, obj))
        return WriteResult(obj, record, created=True)

    def _place(self, call: RequestInfo, obj: Obj) -> None:
        """Fit the namespace and name to those of the path."""
        meta = obj["metadata"]
        if call.served.namespaced:
            given = meta.get("namespace")
            if given and given != call.namespace:
                raise status_error.bad_request(
                    "the namespace of the provided object does not match the namespace sent on"
                    " the request"
                )
            meta["namespace"] = call.namespace
        else:
            meta.pop("namespace", None)
        if call.name and meta.get("name") != call.name:
            raise status_error.bad_request(
                f"the name of the object ({meta.get('name', '')}) does not match the name on the"
                f" URL ({call.name})"
            )

    def _check_namespace(self, call: RequestInfo, name: str) -> None:
        if not call.served.namespaced:
            return
        record = self.backend.get("namespaces", call.namespace)
        if record is None:
            raise status_error.not_found("namespaces", "", call.namespace)
        if record.terminating:
            why = (
                f"unable to create new content in namespace {call.namespace} because it is being"
                " terminated"
            )
            failure = status_error.forbidden(call.served.plural, call.served.group, name, why)
            assert failure.details is not None
            failure.details["causes"] = [
                {
                    "reason": "NamespaceTerminating",
                    "message": f"namespace {call.namespace} is being terminated",
                    "field": "metadata.namespace",
                }
            ]
            raise failure

    def _start_meta(self, served: ResourceInfo, meta: Obj) -> None:
        for gone in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
            meta.pop(gone, None)
        meta["uid"] = self.backend.uid()
        meta["creationTimestamp"] = self.backend.now_text()
        if served.generation or served.custom:
            meta["generation"] = 1

    def _own_new(self, call: RequestInfo, obj: Obj) -> None:
        """Record who owns the fields of a new object."""
        served = call.served
        empty: Obj = normalize(served.struct, {})[0] if served.struct else {}
        changed, _ = changes(served.shape, empty, obj, drops_of(served, ""))
        obj["metadata"]["managedFields"] = after_update(
            [],
            changed,
            {},
            manager=call.manager,
            api_version=served.api_version,
            time=self.backend.now_text(),
        )
        if not obj["metadata"]["managedFields"]:
            del obj["metadata"]["managedFields"]

    # ---- update ----------------------------------------------------------------------------

    def update(self, call: RequestInfo, record: Record, old: Obj, new: Obj) -> WriteResult:
        """Store a new state of an object; `new` is a whole object from a client."""
        served = call.served
        new = decode_object(call, new, old=old)
        self._place(call, new)
        rules = rules_of(served.collection)
        self._preconditions(call, rules, record, new)
        self.carry_over(call, old, new)
        rules.prepare_update(self.backend, new, old)
        self.bump_generation(call, old, new)
        self.own_update(call, old, new)
        return self.replace(call, record, old, new)

    def _preconditions(self, call: RequestInfo, rules: Strategy, record: Record, new: Obj) -> None:
        check_uid(call, record, new)
        served = call.served
        meta = new["metadata"]
        version = meta.get("resourceVersion") or ""
        if version in {"", "0"}:
            if call.verb == "update" and (served.custom or not rules.unconditional):
                cause = field_errors.invalid(
                    "metadata.resourceVersion", 0, "must be specified for an update"
                )
                raise status_error.invalid(served.plural, served.group, record.name, [cause])
        elif version != str(record.version):
            raise status_error.modified(served.plural, served.group, record.name)

    def carry_over(self, call: RequestInfo, old: Obj, new: Obj) -> None:
        """Keep what the endpoint may not change."""
        served = call.served
        if call.subresource == "status":
            keep_all_but_status(served, old, new)
        elif served.has_status:
            copy_field(new, old, "status")
        before = old["metadata"]
        meta = new["metadata"] = dict(new["metadata"])
        for key in _KEPT_META:
            copy_field(meta, before, key)
        meta.pop("selfLink", None)
        meta["resourceVersion"] = before["resourceVersion"]
        given = meta.get("managedFields")
        if given == [{}] or (given == [] and "managedFields" in before):
            meta.pop("managedFields", None)
        else:
            copy_field(meta, before, "managedFields")

    def bump_generation(self, call: RequestInfo, old: Obj, new: Obj) -> None:
        """Count a change of what the user wants; a status is none."""
        served = call.served
        if call.subresource == "status" or not (served.custom or served.generation):
            return
        ignored = _MAIN_IGNORED if served.has_status or not served.custom else _META_IGNORED
        same = all(old.get(key) == value for key, value in new.items() if key not in ignored)
        if same and (served.group, served.plural) == ("apps", "deployments"):
            # Of all kinds, this one also counts changes of annotations.
            same = _annotations(old) == _annotations(new)
        if not same or any(key not in new for key in old if key not in ignored):
            new["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1

    def own_update(self, call: RequestInfo, old: Obj, new: Obj) -> None:
        """Record who owns what this update changed."""
        served = call.served
        subresource = call.subresource if call.subresource in {"status", "scale"} else ""
        if subresource == "scale" and served.custom:
            # A real server records no owner for the scale of a custom resource.
            return
        changed, removed = changes(served.shape, old, new, drops_of(served, subresource))
        if not changed and not removed:
            return
        new["metadata"]["managedFields"] = after_update(
            new["metadata"].get("managedFields") or [],
            changed,
            removed,
            manager=call.manager,
            api_version=served.api_version,
            time=self.backend.now_text(),
            subresource=subresource,
        )

    def replace(self, call: RequestInfo, record: Record, old: Obj, new: Obj) -> WriteResult:
        """Validate and commit a new state; removes the object when that was its last hold."""
        served = call.served
        rules = rules_of(served.collection)
        self._refuse(served, record.name, self._causes(served, rules, new, old, call.subresource))
        if new == old:
            return WriteResult(old, record)
        if call.dry_run:
            return WriteResult(new, None)
        if is_released(new):
            answer = {**new, "metadata": {**new["metadata"]}}
            self.backend.remove(served, record.key, to_storage(served, new))
            return WriteResult(answer, None)
        stored = self.backend.commit(served, record.key, to_storage(served, new))
        return WriteResult(new, stored)

    # ---- validation ------------------------------------------------------------------------

    def _causes(
        self,
        served: ResourceInfo,
        rules: Strategy,
        new: Obj,
        old: Obj | None,
        subresource: str = "",
    ) -> list[StatusCause]:
        before = old["metadata"] if old is not None else None
        found = meta_causes(served.collection, new["metadata"], before)
        if not served.custom and new["metadata"].get("finalizers"):
            found += plain_finalizer_causes(new["metadata"]["finalizers"])
        if served.schema is not None:
            found += self._custom_causes(served, new, old, found)
        elif old is None:
            found += rules.validate(new)
        elif subresource == "status":
            found += rules.validate_status(new, old)
        else:
            found += rules.validate(new)
            found += rules.validate_update(new, old)
        return found

    @staticmethod
    def _custom_causes(
        served: ResourceInfo, new: Obj, old: Obj | None, found: list[StatusCause]
    ) -> list[StatusCause]:
        assert served.schema is not None
        causes = validate(served.schema, new, old=old)
        if not served.rules:
            return causes
        blocking = field_errors.BLOCKING
        if any(cause.reason in blocking for cause in (*found, *causes)):
            return [*causes, field_errors.RULES_NOT_RUN]
        return [*causes, *rule_causes(served.schema, new, old)]

    @staticmethod
    def _refuse(served: ResourceInfo, name: str, causes: list[StatusCause]) -> None:
        if causes:
            raise status_error.invalid(served.kind, served.group, name, causes)

    def finish_defaults(self, served: ResourceInfo, obj: Obj) -> Obj:
        """A merged object after pruning and defaulting once more."""
        return defaulted(served, obj)


def _annotations(obj: Obj) -> Obj:
    found: Obj = obj["metadata"].get("annotations") or {}
    return found
