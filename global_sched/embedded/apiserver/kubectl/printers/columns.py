"""Printer columns: definitions and cells of every kind's table."""

from typing import Any, Final

from global_sched.embedded.apiserver.kubectl.printers.durations import age_of
from global_sched.embedded.apiserver.kubectl.printers.tables import PRINTERS
from global_sched.embedded.apiserver.resources.resource_info import Column, ResourceInfo
from global_sched.embedded.apiserver.storage.store import encode
from global_sched.embedded.apiserver.validation.jsonpath import find, parse_path
from global_sched.shared.model.instant import Instant

Obj = dict[str, Any]

_NAME: Final = (
    "Name must be unique within a namespace. Is required when creating resources, although some"
    " resources may allow a client to request the generation of an appropriate name automatically."
    " Name is primarily intended for creation idempotence and configuration definition. Cannot be"
    " updated. More info:"
    " https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names"
)
_CREATED: Final = (
    "CreationTimestamp is a timestamp representing the server time when this object was created."
)


_LAST_SEEN: Final = Column(
    name="Last Seen", type="string", path="", description="Time this event was last observed"
)


def column_definitions(served: ResourceInfo) -> list[Obj]:
    """The columns of a kind's table."""
    if served.collection == "events":
        rows = [_definition(column) for column in _columns(served)]
        return [_definition(_LAST_SEEN), *rows]
    first = {
        "name": "Name",
        "type": "string",
        "format": "name",
        "description": _NAME,
        "priority": 0,
    }
    return [first, *(_definition(column) for column in _columns(served))]


def _definition(column: Column) -> Obj:
    return {
        "name": column.name,
        "type": column.type,
        "format": column.format,
        "description": column.description or (_CREATED if column.name == "Age" else column.name),
        "priority": column.priority,
    }


def _columns(served: ResourceInfo) -> tuple[Column, ...]:
    printer = PRINTERS.get(served.collection) if not served.custom else None
    if printer is not None:
        return printer.columns
    if served.columns:
        return served.columns
    return (Column(name="Age", type="date", path=".metadata.creationTimestamp"),)


def row_cells(served: ResourceInfo, obj: Obj, now: Instant) -> list[Any]:
    """The cells of one object."""
    name = obj["metadata"].get("name", "")
    printer = PRINTERS.get(served.collection) if not served.custom else None
    if printer is not None:
        return printer.cells(obj, lambda text: age_of(text, now))
    return [name, *(_cell(column, obj, now) for column in _columns(served))]


def _cell(column: Column, obj: Obj, now: Instant) -> Any:
    found = find(parse_path(column.path), obj)
    if not found or found[0] is None:
        return "<unknown>" if column.type == "date" else None
    value = found[0]
    match column.type:
        case "date":
            return age_of(str(value), now)
        case "integer":
            return value if isinstance(value, int) else None
        case "number":
            return value if isinstance(value, int | float) else None
        case "boolean":
            return value if isinstance(value, bool) else None
        case _:
            return value if isinstance(value, str) else encode(value).decode()
