"""Errors of a request, as one tree.

KubeError
├── ConfigError             no usable kubeconfig or in-cluster credentials; says the way out
├── LeaseLost               (in `lease`) the term of a leader ended
├── WentBack                a server was restored to an older state than the one that was seen
└── ApiError                one request failed; carries what was asked and what was answered
    ├── BadRequest          400: the request itself is wrong
    ├── Unauthorized        401: credentials missing or expired (after one reload)
    ├── Forbidden           403: RBAC or an admission policy said no
    ├── NotFound            404: no such object, or no such resource (CRD missing)
    ├── MethodNotAllowed    405
    ├── Conflict            409: the resourceVersion or uid is not the current one
    │   └── AlreadyExists   409 on create: the name is taken
    ├── Gone                410: the resourceVersion or continue token is too old: list again
    ├── TooLarge            413, or an answer larger than we are willing to hold
    ├── UnsupportedMedia    415: this patch type is not served for this resource
    ├── Invalid             422: the object breaks its schema or a policy
    ├── Throttled           429: slow down; `retry_after` says for how long
    ├── ServerError         5xx
    ├── Unreachable         no answer: refused, reset, timed out, cut
    └── DecodeError         an answer that is not what it should be

Catch the narrowest class at the edge that can act. `ApiError.transient` says whether the same
request may succeed later without a change by any client.
"""

# ruff: noqa: N818 - the names are those of the API's reasons, which every reader knows

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar, Self

import msgspec


class KubeError(Exception):
    """Anything this package raises on purpose."""


class ConfigError(KubeError):
    """No usable credentials; the message is one line that ends with the way out."""


class WentBack(KubeError):
    """A server was restored to an older state than the one that was seen.

    What is remembered of it may have never been. The program starts anew with what is there.
    """


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestTarget:
    """What a request is about, for messages, metrics and fault plans."""

    verb: str
    """Kubernetes' verb: get, list, watch, create, update, patch, delete; or the HTTP method."""
    resource: str
    """Plural with group (`queues.scheduling.volcano.sh`), with `/subresource` when there is one."""
    namespace: str = ""
    name: str = ""

    @property
    def key(self) -> str:
        """`namespace/name`, or what there is of it."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.key}".rstrip()


class ErrorCause(msgspec.Struct, frozen=True, kw_only=True):
    """One entry of `Status.details.causes`."""

    reason: str = ""
    message: str = ""
    field: str = ""


class ApiError(KubeError):
    """One request failed. Catch this at a loop's edge; catch a child where you can act.

    `status` is 0 when there was no answer.
    """

    transient: ClassVar[bool] = False

    def __init__(
        self,
        message: str,
        *,
        target: RequestTarget,
        status: int = 0,
        reason: str = "",
        retry_after: float | None = None,
        causes: tuple[ErrorCause, ...] = (),
    ) -> None:
        self.message = message
        self.target = target
        self.status = status
        self.reason = reason
        self.retry_after = retry_after
        self.causes = causes
        code = f" ({status} {reason})".replace(" )", ")") if status else ""
        super().__init__(f"{target}: {message}{code}")

    @property
    def verb(self) -> str:
        """The verb that failed."""
        return self.target.verb

    @property
    def resource(self) -> str:
        """The resource it was about."""
        return self.target.resource

    @property
    def namespace(self) -> str:
        """The object's namespace, empty when it has none."""
        return self.target.namespace

    @property
    def name(self) -> str:
        """The object's name, empty for collections."""
        return self.target.name


class BadRequest(ApiError):
    """400: the request itself is wrong."""


class Unauthorized(ApiError):
    """401: credentials missing, unknown or expired; they were reloaded once before this."""


class Forbidden(ApiError):
    """403: RBAC or an admission policy refuses; nothing changes until it is edited."""


class NotFound(ApiError):
    """404: the object does not exist, or the resource is not served."""

    @property
    def resource_missing(self) -> bool:
        """True when the resource itself is not served: its CRD is not installed."""
        return not self.target.name or self.reason != "NotFound"


class MethodNotAllowed(ApiError):
    """405: the resource does not do this verb."""


class Conflict(ApiError):
    """409: another client wrote first; read again and decide again."""


class AlreadyExists(Conflict):
    """409 on create: the name is taken."""


class Gone(ApiError):
    """410: the resourceVersion or continue token is too old; list again."""


class TooLarge(ApiError):
    """The object or the answer is larger than allowed."""


class UnsupportedMedia(ApiError):
    """415: this patch type is not served for this resource."""


class Invalid(ApiError):
    """422: the object breaks its schema or a validation policy; `causes` name the fields."""


class Throttled(ApiError):
    """429: the server asks to slow down, for `retry_after` seconds when it says so."""

    transient = True


class ServerError(ApiError):
    """5xx: the server failed; the write may or may not have happened."""

    transient = True


class Unreachable(ApiError):
    """No answer; a write may or may not have happened."""

    transient = True

    @classmethod
    def because(cls, cause: BaseException, target: RequestTarget) -> Self:
        """Describe a transport failure in words, also when the cause has no text."""
        text = str(cause) or type(cause).__name__
        return cls(text, target=target, reason=type(cause).__name__)


class DecodeError(ApiError):
    """An answer that is not JSON or not of the expected shape."""


class _Details(msgspec.Struct, rename="camel"):
    causes: list[ErrorCause] | None = None
    retry_after_seconds: int | None = None


class Status(msgspec.Struct, rename="camel"):
    """The `Status` object with which an API server explains a failure."""

    code: int | None = None
    reason: str | None = None
    message: str | None = None
    details: _Details | None = None


_BY_CODE: Mapping[int, type[ApiError]] = {
    400: BadRequest,
    401: Unauthorized,
    403: Forbidden,
    404: NotFound,
    405: MethodNotAllowed,
    409: Conflict,
    410: Gone,
    413: TooLarge,
    415: UnsupportedMedia,
    422: Invalid,
    429: Throttled,
}

_MESSAGE_LIMIT = 2048
_STATUS = msgspec.json.Decoder(Status)


def error_from_status(
    status: Status, *, target: RequestTarget, code: int = 0, retry_after: float | None = None
) -> ApiError:
    """The error of this tree that a Status object stands for."""
    code = code or status.code or 500
    kind = _BY_CODE.get(code)
    if status.reason == "AlreadyExists":
        kind = AlreadyExists
    elif kind is None:
        kind = ServerError if code >= 500 else ApiError
    details = status.details or _Details()
    if retry_after is None and details.retry_after_seconds:
        retry_after = float(details.retry_after_seconds)
    return kind(
        (status.message or status.reason or "no message")[:_MESSAGE_LIMIT],
        target=target,
        status=code,
        reason=status.reason or "",
        retry_after=retry_after,
        causes=tuple(details.causes or ()),
    )


def error_from_answer(
    code: int, headers: Mapping[str, str], body: bytes, *, target: RequestTarget
) -> ApiError:
    """The error of this tree that an HTTP answer of 300 and above stands for."""
    try:
        status = _STATUS.decode(body)
    except (msgspec.MsgspecError, RecursionError, UnicodeDecodeError):
        # Proxies and load balancers answer in HTML or plain text.
        text = body[:300].decode(errors="replace").strip()
        status = Status(message=" ".join(text.split()) or None)
    return error_from_status(
        status, target=target, code=code, retry_after=_retry_after(headers.get("Retry-After"))
    )


def _retry_after(text: str | None) -> float | None:
    """Seconds to wait; a date (which API servers never send) counts as not given."""
    return float(text) if text is not None and text.isascii() and text.isdigit() else None


def gone_back(group: BaseExceptionGroup[BaseException]) -> WentBack | None:
    """The restored server among what ended a group of tasks."""
    for error in group.exceptions:
        found = gone_back(error) if isinstance(error, BaseExceptionGroup) else error
        if isinstance(found, WentBack):
            return found
    return None
