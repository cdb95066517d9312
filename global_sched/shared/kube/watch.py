"""One watch request as portions of typed events."""

from collections.abc import AsyncGenerator
from typing import Any, TypeVar

from global_sched.shared.kube.decode import Codec, Lines, WatchEvent
from global_sched.shared.kube.errors import (
    DecodeError,
    Status,
    Unreachable,
    error_from_answer,
    error_from_status,
)
from global_sched.shared.kube.salvage import SalvageError
from global_sched.shared.kube.transport import Request, StreamResponse, Transport

T = TypeVar("T")

_STATUS_LIMIT = 1 << 20
"""Bytes of a refusal that are read for its reason."""


async def batches(
    transport: Transport, request: Request, codec: Codec[T]
) -> AsyncGenerator[list[WatchEvent[T]], None]:
    """The events of one watch, in the portions in which they arrived.

    The first portion is empty: the server accepted the watch. Ends when the server ends it.

    Raises:  the ApiError that a refusal or an ERROR event stands for; Unreachable when the
             stream breaks, also in the middle of an event; DecodeError.
    """
    async with transport.stream(request) as answer:
        if answer.status >= 300:
            body = await _refusal(answer)
            raise error_from_answer(answer.status, answer.headers, body, target=request.target)
        yield []
        lines = Lines()
        async for chunk in answer.chunks:
            try:
                events = [codec.event(line) for line in lines.feed(chunk) if line]
            except SalvageError as error:
                raise DecodeError(f"not a watch event: {error}", target=request.target) from error
            failure = _take_failure(events)
            if events:
                yield events  # type: ignore[misc]
            if failure is not None:
                raise error_from_status(failure, target=request.target)
        if lines.pending:
            raise Unreachable("cut in the middle of an event", target=request.target, reason="Cut")


def _take_failure(events: list[Any]) -> Status | None:
    """Remove an ERROR and all behind it from the events; the ERROR's Status."""
    for index, event in enumerate(events):
        if isinstance(event, Status):
            del events[index:]
            return event
    return None


async def _refusal(answer: StreamResponse) -> bytes:
    parts: list[bytes] = []
    size = 0
    async for chunk in answer.chunks:
        parts.append(chunk)
        size += len(chunk)
        if size > _STATUS_LIMIT:
            break
    return b"".join(parts)
