"""Field errors, worded and typed as a real API server's."""

from collections.abc import Sequence
from typing import Any

import msgspec

from global_sched.embedded.apiserver.status_error import StatusCause

BLOCKING = frozenset(
    {
        "FieldValueNotSupported",
        "FieldValueRequired",
        "FieldValueTooLong",
        "FieldValueTooMany",
        "FieldValueTypeInvalid",
    }
)
"""While one of these is there, validation rules are not run."""


def spell(value: Any) -> str:
    """A value as messages show it."""
    if isinstance(value, str):
        return msgspec.json.encode(value).decode()
    if isinstance(value, dict | list | bool) or value is None:
        return msgspec.json.encode(value).decode()
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return str(value)


def invalid(field: str, value: Any, why: str) -> StatusCause:
    """The value breaks a rule."""
    detail = f"Invalid value: {spell(value)}"
    return StatusCause("FieldValueInvalid", f"{detail}: {why}" if why else detail, field)


def wrong_type(field: str, value: Any, why: str) -> StatusCause:
    """The value is of another type."""
    return StatusCause("FieldValueTypeInvalid", f"Invalid value: {spell(value)}: {why}", field)


def required(field: str, why: str = "") -> StatusCause:
    """The field has no value."""
    detail = f"Required value: {why}" if why else "Required value"
    return StatusCause("FieldValueRequired", detail, field)


def not_supported(field: str, value: Any, values: Sequence[Any]) -> StatusCause:
    """The value is none of these."""
    known = ", ".join(spell(item) for item in values)
    return StatusCause(
        "FieldValueNotSupported",
        f"Unsupported value: {spell(value)}: supported values: {known}",
        field,
    )


def too_long(field: str, most: int) -> StatusCause:
    """The text is longer than so many bytes."""
    unit = "byte" if most == 1 else "bytes"
    return StatusCause("FieldValueTooLong", f"Too long: may not be more than {most} {unit}", field)


def too_many(field: str, count: int, most: int) -> StatusCause:
    """The list is longer than that."""
    unit = "item" if most == 1 else "items"
    return StatusCause(
        "FieldValueTooMany", f"Too many: {count}: must have at most {most} {unit}", field
    )


def duplicate(field: str, value: Any) -> StatusCause:
    """The value is there twice."""
    return StatusCause("FieldValueDuplicate", f"Duplicate value: {spell(value)}", field)


def forbidden(field: str, why: str) -> StatusCause:
    """The field may not be set, or not be changed."""
    return StatusCause("FieldValueForbidden", f"Forbidden: {why}", field)


def not_found(field: str, value: Any) -> StatusCause:
    """The field names something that is not there."""
    return StatusCause("FieldValueNotFound", f"Not found: {spell(value)}", field)


RULES_NOT_RUN = StatusCause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid;"
    " correct the existing errors to complete validation",
    "<nil>",
)
