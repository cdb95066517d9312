"""JSON patch (RFC 6902), applied by the library `jsonpatch` to an object that the caller owns."""

from typing import Any

from global_sched.embedded.extra import needs_demo_extra

with needs_demo_extra():
    import jsonpatch
    import jsonpointer

Json = Any


class PatchError(ValueError):
    """The patch cannot be applied; the message says which operation and why."""


def json_patch(doc: Json, operations: Json) -> Json:
    """The document after all operations; the given one may be changed in place.

    Raises:  PatchError at the first operation that cannot be applied.
    """
    if not isinstance(operations, list):
        raise PatchError("a JSON patch is a list of operations")
    for operation in operations:
        try:
            doc = jsonpatch.JsonPatch([operation]).apply(doc, in_place=True)
        except (jsonpatch.JsonPatchException, jsonpointer.JsonPointerException) as error:
            raise PatchError(_reason(operation, error)) from error
    return doc


def _reason(operation: Json, error: Exception) -> str:
    """In one short line: the library's own text may have the whole document in it."""
    match error:
        case jsonpatch.InvalidJsonPatch():
            return str(error)
        case jsonpatch.JsonPatchTestFailed():
            return f"testing value {operation['path']} failed"
        case jsonpatch.JsonPatchConflict():
            return f"{operation['op']} {operation['path']} cannot be applied"
        case _:
            return f"the path {operation['path']} does not exist"
