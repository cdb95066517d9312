"""Readiness of API servers: one that has just been started refuses every request.

Until it has read its Roles, every request is denied with the same 403 that a missing right has. Its
page `/readyz` tells the two apart. Loops that try again need not ask; a caller that
concludes something lasting from a refusal does.
"""

from collections.abc import Awaitable, Callable
from typing import TypeVar

from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError, Forbidden, ServerError

T = TypeVar("T")


async def when_ready(client: Client, call: Callable[[], Awaitable[T]]) -> T:
    """The answer of `call`, a request of `client` that may be sent twice.

    Raises:  Forbidden only of a server that was ready before it was asked; ServerError, which is
             transient, of another.
    """
    try:
        return await call()
    except Forbidden as error:
        if not await is_ready(client):
            raise ServerError(
                f"{error.message} (the server is not ready)",
                target=error.target,
                status=error.status,
                reason=error.reason,
            ) from error
    return await call()  # it may have become ready in between


async def is_ready(client: Client) -> bool:
    """Whether the server says that it is ready, or has no page for it."""
    try:
        await client.raw("GET", "/readyz")
    except ApiError as error:
        return not (error.transient or isinstance(error, Forbidden))
    return True
