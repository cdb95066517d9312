"""PATCH: four kinds of body, each to a whole new object for `writes`."""

from typing import Any, Final

from global_sched.embedded.apiserver import field_errors, status_error
from global_sched.embedded.apiserver.http.bodies import (
    media_type,
    no_patch_object,
    parse_patch,
    parse_yaml,
)
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.patch.json_patch import PatchError, json_patch
from global_sched.embedded.apiserver.patch.strategic_merge_patch import (
    StrategicError,
    strategic_merge,
)
from global_sched.embedded.apiserver.registry.server_side_apply import Applier
from global_sched.embedded.apiserver.registry.writes import Writer, WriteResult
from global_sched.embedded.apiserver.status_error import StatusError
from global_sched.embedded.apiserver.storage.conversion import from_storage
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.shared.json_values import merge_patch

Obj = dict[str, Any]

JSON_PATCH: Final = "application/json-patch+json"
MERGE_PATCH: Final = "application/merge-patch+json"
STRATEGIC: Final = "application/strategic-merge-patch+json"
MAX_OPERATIONS: Final = 10000
APPLY: Final = "application/apply-patch+yaml"


def accepted_types(call: RequestInfo) -> list[str]:
    """The kinds of patch that the resource takes."""
    types = [JSON_PATCH, MERGE_PATCH]
    if not call.served.custom:
        types.append(STRATEGIC)
    return [*types, APPLY]


class Patcher:
    """All patches of one server."""

    def __init__(self, writer: Writer) -> None:
        self.writer = writer
        self.applier = Applier(writer)

    def patch(self, call: RequestInfo, record: Record | None, body: bytes) -> WriteResult:
        """Patch an object; an apply may create it."""
        served = call.served
        kind = media_type(call.content_type)
        if kind not in accepted_types(call):
            raise status_error.unsupported_media(accepted_types(call))
        if kind == APPLY:
            return self.applier.apply(call, record, parse_yaml(body))
        if call.query.get("force"):
            cause = field_errors.forbidden("force", "may not be specified for non-apply patch")
            raise status_error.invalid("PatchOptions", "meta.k8s.io", "", [cause])
        if record is None:
            raise status_error.not_found(served.plural, served.group, call.name)
        patch = parse_patch(body)
        old = from_storage(served, record.load())
        # A merge patch leaves what it does not name shared with the old object.
        base = old if kind == MERGE_PATCH else from_storage(served, record.load())
        new = patched(call, kind, base, patch)
        return self.writer.update(call, record, old, new)


def patched(call: RequestInfo, kind: str, obj: Obj, patch: Any) -> Obj:
    """An object after a patch that is no apply.

    Raises:  StatusError as a real server has it: 400 for what is no patch of its kind, 422 for JSON
             patches that cannot be applied.
    """
    try:
        if kind == JSON_PATCH:
            _check_operations(patch)
            new = json_patch(obj, patch)
        elif not isinstance(patch, dict):
            raise no_patch_object(patch)
        elif kind == MERGE_PATCH:
            new = merge_patch(obj, patch)
        else:
            new = strategic_merge(call.served.struct, obj, patch)
    except PatchError as error:
        raise unprocessable() from error
    except StrategicError as error:
        raise StatusError(500, "", str(error)) from error
    if not isinstance(new, dict) or not isinstance(new.get("metadata"), dict):
        raise status_error.bad_request("the patch leaves no object")
    return new


def _check_operations(patch: Any) -> None:
    """Refuse what is no list of operations, or too long a one."""
    if not isinstance(patch, list):
        raise status_error.bad_request(
            "error decoding patch: json: cannot unmarshal object into Go value of type"
            " []handlers.jsonPatchOp"
        )
    if len(patch) > MAX_OPERATIONS:
        raise StatusError(
            413,
            "RequestEntityTooLarge",
            "Request entity too large: The allowed maximum operations in a JSON patch is"
            f" {MAX_OPERATIONS}, got {len(patch)}",
        )


def unprocessable() -> StatusError:
    """422: the patch cannot be applied; a real server does not say why."""
    return StatusError(
        422,
        "Invalid",
        "the server rejected our request due to an error in our request",
        details={},
    )
