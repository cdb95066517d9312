"""The refusal of a request: `StatusError` carries one Kubernetes Status.

Messages are those of a real API server, since clients and people match on them.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any


class StatusError(Exception):
    """A request ends in this Status; `code` is the HTTP status."""

    def __init__(
        self,
        code: int,
        reason: str,
        message: str,
        *,
        details: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.headers = headers or {}
        self.metadata: dict[str, Any] = {}

    def status(self) -> dict[str, Any]:
        """The Status object."""
        body: dict[str, Any] = {
            "kind": "Status",
            "apiVersion": "v1",
            "metadata": self.metadata,
            "status": "Failure",
            "message": self.message,
        }
        if self.reason:
            body["reason"] = self.reason
        if self.details is not None:
            body["details"] = self.details
        body["code"] = self.code
        return body


class NoSuchPath(Exception):  # noqa: N818 - an answer, no fault
    """No resource is served at the path: plain text 404, as a real server answers."""


@dataclass(frozen=True, slots=True)
class StatusCause:
    """One invalid field."""

    reason: str
    message: str
    field: str

    def text(self) -> str:
        """The field and what is wrong with it."""
        return f"{self.field}: {self.message}"


def _details(name: str, group: str, kind: str) -> dict[str, Any]:
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = kind
    return details


def qualified(plural: str, group: str) -> str:
    """`widgets.example.test`, or `pods` for the core group."""
    return f"{plural}.{group}" if group else plural


def not_found(plural: str, group: str, name: str) -> StatusError:
    """404: the object is not there."""
    message = f'{qualified(plural, group)} "{name}" not found'
    return StatusError(404, "NotFound", message, details=_details(name, group, plural))


def already_exists(plural: str, group: str, name: str) -> StatusError:
    """409: the name is taken."""
    message = f'{qualified(plural, group)} "{name}" already exists'
    return StatusError(409, "AlreadyExists", message, details=_details(name, group, plural))


def conflict(plural: str, group: str, name: str, why: str) -> StatusError:
    """409: the write was made against another state of the object."""
    message = f'Operation cannot be fulfilled on {qualified(plural, group)} "{name}": {why}'
    return StatusError(409, "Conflict", message, details=_details(name, group, plural))


def modified(plural: str, group: str, name: str) -> StatusError:
    """409: the resourceVersion is not the stored one."""
    why = (
        "the object has been modified; please apply your changes to the latest version"
        " and try again"
    )
    return conflict(plural, group, name, why)


def invalid(kind: str, group: str, name: str, causes: Sequence[StatusCause]) -> StatusError:
    """422: the object breaks these rules."""
    texts = [cause.text() for cause in causes]
    detail = texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
    details: dict[str, Any] = {}
    if name:
        details["name"] = name
    if group:
        details["group"] = group
    details["kind"] = kind
    details["causes"] = [
        {"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes
    ]
    message = f'{qualified(kind, group)} "{name}" is invalid: {detail}'
    return StatusError(422, "Invalid", message, details=details)


def bad_request(message: str) -> StatusError:
    """400: the request cannot be understood."""
    return StatusError(400, "BadRequest", message)


def internal(message: str) -> StatusError:
    """500 with a cause, as a real server words its internal errors."""
    return StatusError(
        500,
        "InternalError",
        f"Internal error occurred: {message}",
        details={"causes": [{"message": message}]},
    )


def forbidden(plural: str, group: str, name: str, why: str) -> StatusError:
    """403 with a reason."""
    subject = qualified(plural, group)
    if name:
        subject += f' "{name}"'
    return StatusError(
        403, "Forbidden", f"{subject} is forbidden: {why}", details=_details(name, group, plural)
    )


def unsupported_media(accepted: Sequence[str]) -> StatusError:
    """415: the body's type is not one of these."""
    return StatusError(
        415,
        "UnsupportedMediaType",
        "the body of the request was in an unknown format - accepted media types include: "
        + ", ".join(accepted),
    )


def not_acceptable(served: Sequence[str]) -> StatusError:
    """406: none of the media types that the request accepts is served."""
    return StatusError(
        406,
        "NotAcceptable",
        "only the following media types are accepted: " + ", ".join(served),
        details={},
    )


def verb_not_supported(verb: str, plural: str, group: str) -> StatusError:
    """405: the custom resource does not know the verb."""
    return StatusError(
        405,
        "MethodNotAllowed",
        f'{verb} is not supported on resources of kind "{qualified(plural, group)}"',
        details=_details("", group, plural),
    )


def method_not_allowed() -> StatusError:
    """405: the path does not take the method."""
    return StatusError(
        405,
        "MethodNotAllowed",
        "the server does not allow this method on the requested resource",
        details={},
    )


def expired(message: str) -> StatusError:
    """410: that far back the history does not go."""
    return StatusError(410, "Expired", message)


def too_large_version(asked: int, current: int) -> StatusError:
    """504: a resourceVersion that does not exist yet."""
    return StatusError(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {asked}, current: {current}",
        details={
            "causes": [
                {
                    "reason": "ResourceVersionTooLarge",
                    "message": "Too large resource version",
                }
            ],
            "retryAfterSeconds": 1,
        },
        headers={"Retry-After": "1"},
    )
