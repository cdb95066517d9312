"""The connection to one API server: address, TLS, authorization."""

import asyncio
import ssl
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Protocol

from global_sched.shared.clock import Clock
from global_sched.shared.kube.acting import Headers
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.telemetry.logs import get_logger

log = get_logger(__name__)

_RELOAD_PAUSE = 10.0
"""Seconds between two tries to load credentials that could not be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One answer of a credentials source."""

    server: str
    """Scheme, host, port and path prefix, without a slash at the end."""
    authorization: str = ""
    """The Authorization header, empty when a client certificate or nothing speaks for us."""
    acting: Headers = ()
    """Headers that name the user to act as."""
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    unverified: str = ""
    """Why the server need not prove who it is, with what to do; empty when it must."""
    namespace: str = ""
    """The namespace that the kubeconfig's context names; empty where it names none."""
    fresh_for: float | None = None
    """Seconds after which the source should be asked again; None = only when refused."""


class CredentialSource(Protocol):
    """Loads credentials: from a kubeconfig or from the pod's service account."""

    async def load(self) -> Access:
        """Read everything again.

        Raises:  ConfigError.
        """
        ...


class FixedSource:
    """Credentials that never change: an address, perhaps a token."""

    def __init__(self, access: Access) -> None:
        self._access = access

    async def load(self) -> Access:
        """The same as always."""
        return self._access


class ActingSource:
    """The credentials of another source, used to act as the user that `acting` names."""

    def __init__(self, source: CredentialSource, acting: Headers) -> None:
        self._source = source
        self._acting = acting

    async def load(self) -> Access:
        """What the other source has, with our headers in place of its own."""
        return replace(await self._source.load(), acting=self._acting)


Warn = Callable[[str], None]
"""Gets what people must know of a connection that works, in one line."""


def log_warning(text: str) -> None:
    """Into the log, as the programs do it."""
    log.warning("server_not_verified", text=text)


class Connection:
    """The current access to one API server, renewed before it expires and after a refusal.

    `warn` is called at the start and with each later change when the server is not verified.
    """

    def __init__(self, source: CredentialSource, *, clock: Clock, warn: Warn = log_warning) -> None:
        self._source = source
        self._clock = clock
        self._warn = warn
        self._access: Access | None = None
        self._unverified = ""
        self._renew_at: float | None = None
        self._lock = asyncio.Lock()
        self._loads = 0

    @classmethod
    def to(
        cls, server: str, *, clock: Clock, token: str = "", tls: ssl.SSLContext | None = None
    ) -> "Connection":
        """A connection to an address, as the embedded server and tests need it."""
        bearer = f"Bearer {token}" if token else ""
        access = Access(server=server.rstrip("/"), authorization=bearer, tls=tls)
        return cls(FixedSource(access), clock=clock)

    async def access(self) -> Access:
        """What to use for the next request.

        Raises:  ConfigError when credentials cannot be loaded the first time. Later, the old
                 ones are kept: a server may still accept them.
        """
        access = self._access
        if access is None or self._due():
            await self._load(lambda: self._access is None or self._due())
            access = self._access
        assert access is not None
        return access

    async def renew(self, refused: Access) -> bool:
        """Load again because the server refused these; True when there is something new to try.

        Of many requests that were refused at once, the first loads and the others share it.
        """
        loads = self._loads
        await self._load(lambda: self._loads == loads and self._access is refused)
        return self._access is not refused

    def _due(self) -> bool:
        return self._renew_at is not None and self._clock.monotonic() >= self._renew_at

    async def _load(self, needed: Callable[[], bool]) -> None:
        async with self._lock:
            if not needed():
                return
            self._loads += 1
            try:
                access = await self._source.load()
            except ConfigError as error:
                if self._access is None:
                    raise
                log.warning("credentials_not_renewed", error=str(error))
                self._renew_at = self._clock.monotonic() + _RELOAD_PAUSE
                return
            fresh_for = access.fresh_for
            self._renew_at = None if fresh_for is None else self._clock.monotonic() + fresh_for
            if not _same(access, self._access):
                if access.unverified and access.unverified != self._unverified:
                    self._warn(access.unverified)
                self._unverified = access.unverified
                self._access = access


def _same(new: Access, old: Access | None) -> bool:
    """The same credentials, however long they stay fresh."""
    return old is not None and replace(new, fresh_for=old.fresh_for) == old
