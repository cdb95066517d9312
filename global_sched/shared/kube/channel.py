"""One request and its answer: encode, send, tell the observer, raise what the status means."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import msgspec

from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.decode import UNDECODABLE, Codec
from global_sched.shared.kube.errors import DecodeError, RequestTarget, error_from_answer
from global_sched.shared.kube.transport import Request, Transport

T = TypeVar("T")

Body = Mapping[str, Any] | msgspec.Struct | list[Any] | bytes
"""What may be sent: a dict, a Struct, a JSON patch's list of steps, or encoded JSON."""

Observer = Callable[[RequestTarget, int, float], None]
"""Called with every answered or failed request: what, HTTP status (0 = no answer), seconds."""


class Channel:
    """Sends plain requests over one transport."""

    def __init__(
        self,
        transport: Transport,
        *,
        clock: Clock,
        user_agent: str,
        timeout: float,
        observer: Observer | None,
    ) -> None:
        self.headers = {"User-Agent": user_agent, "Accept": "application/json"}
        self._transport = transport
        self._clock = clock
        self._timeout = timeout
        self._observer = observer

    async def send(
        self,
        method: str,
        path: str,
        target: RequestTarget,
        *,
        params: Mapping[str, str] | None = None,
        body: Body | None = None,
        content_type: str = "application/json",
        accept: str = "",
    ) -> bytes:
        """The body of a successful answer, of JSON unless another kind is accepted.

        Raises:  the ApiError that the status stands for, or Unreachable.
        """
        headers: Mapping[str, str] = self.headers
        data: bytes | None = None
        if body is not None:
            data = body if isinstance(body, bytes) else msgspec.json.encode(body)
            headers = {**headers, "Content-Type": content_type}
        if accept:
            headers = {**headers, "Accept": accept}
        request = Request(
            method=method,
            path=path,
            target=target,
            params=params or {},
            headers=headers,
            body=data,
            timeout=self._timeout,
        )
        started = self._clock.monotonic()
        status = 0
        try:
            response = await self._transport.send(request)
            status = response.status
        finally:
            if self._observer is not None:
                self._observer(target, status, self._clock.monotonic() - started)
        if status >= 300:
            raise error_from_answer(status, response.headers, response.body, target=target)
        return response.body


def target_of(
    verb: str,
    resource: Resource,
    namespace: str | None,
    name: str = "",
    subresource: str | None = None,
) -> RequestTarget:
    """The target of a request on a resource."""
    plural = f"{resource.plural}.{resource.group}" if resource.group else resource.plural
    if subresource:
        plural = f"{plural}/{subresource}"
    return RequestTarget(
        verb=verb,
        resource=plural,
        namespace=(namespace or "") if resource.namespaced else "",
        name=name,
    )


def with_kind(body: Body, resource: Resource) -> Body:
    """A whole object that says what it is, also when its Struct leaves defaults out."""
    if not isinstance(body, msgspec.Struct):
        return body
    content: dict[str, Any] = msgspec.to_builtins(body)
    return {"apiVersion": resource.api_version, "kind": resource.kind} | content


def decoded(body: bytes, codec: Codec[T], target: RequestTarget) -> T:
    """One object of an answer.

    Raises:  DecodeError.
    """
    try:
        return codec.one(body)
    except UNDECODABLE as error:
        reason = "nested too deep" if isinstance(error, RecursionError) else str(error)
        raise DecodeError(f"the answer cannot be read: {reason}", target=target) from error
