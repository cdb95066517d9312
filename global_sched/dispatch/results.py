"""Results of a write, in the words of the metrics."""

from enum import StrEnum

from global_sched.shared.kube.errors import (
    ApiError,
    BadRequest,
    Conflict,
    DecodeError,
    Forbidden,
    Invalid,
    NotFound,
    ServerError,
    Throttled,
    Unreachable,
)


class WriteResult(StrEnum):
    """The end of one write."""

    OK = "ok"
    CONFLICT = "conflict"
    """The object was written first by another client."""
    GONE = "gone"
    """The object does not exist any more."""
    INVALID = "invalid"
    """The server refuses it; trying again soon would not help."""
    FAILED = "failed"
    """Nothing was written."""
    IN_DOUBT = "in_doubt"
    """Whether it was written is not known."""


def result_of(error: ApiError) -> WriteResult:
    """What a failed write means for its action."""
    match error:
        case Conflict():
            return WriteResult.CONFLICT
        case NotFound():
            return WriteResult.GONE
        case Invalid() | Forbidden() | BadRequest():
            return WriteResult.INVALID
        case Throttled():
            return WriteResult.FAILED
        case Unreachable() | ServerError() | DecodeError():
            return WriteResult.IN_DOUBT
        case _:
            return WriteResult.FAILED
