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


class Result(StrEnum):
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


def result_of(error: ApiError) -> Result:
    """What a failed write means for its action."""
    match error:
        case Conflict():
            return Result.CONFLICT
        case NotFound():
            return Result.GONE
        case Invalid() | Forbidden() | BadRequest():
            return Result.INVALID
        case Throttled():
            return Result.FAILED
        case Unreachable() | ServerError() | DecodeError():
            return Result.IN_DOUBT
        case _:
            return Result.FAILED
