"""How to reach one API server at this moment: address, TLS, authorization."""

import asyncio
import ssl
from dataclasses import dataclass
from typing import Protocol

from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import ConfigError

_RELOAD_PAUSE = 10.0
"""Seconds between two tries to load credentials that could not be loaded."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Access:
    """One answer of a credentials source."""

    server: str
    """Scheme, host, port and path prefix, without a slash at the end."""
    authorization: str = ""
    """The Authorization header, empty when a client certificate or nothing speaks for us."""
    tls: ssl.SSLContext | None = None
    server_hostname: str | None = None
    proxy: str | None = None
    fresh_for: float | None = None
    """Seconds after which the source should be asked again; None = only when refused."""


class Source(Protocol):
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


class Connection:
    """The current access to one API server, renewed before it expires and after a refusal."""

    def __init__(self, source: Source, *, clock: Clock) -> None:
        self._source = source
        self._clock = clock
        self._access: Access | None = None
        self._renew_at: float | None = None
        self._lock = asyncio.Lock()

    @classmethod
    def to(cls, server: str, *, clock: Clock, token: str = "") -> "Connection":
        """A connection to a plain address, as the embedded server and tests need it."""
        bearer = f"Bearer {token}" if token else ""
        access = Access(server=server.rstrip("/"), authorization=bearer)
        return cls(FixedSource(access), clock=clock)

    async def access(self) -> Access:
        """What to use for the next request.

        Raises:  ConfigError when credentials cannot be loaded the first time. Later, the old
                 ones are kept: a server may still accept them.
        """
        access = self._access
        due = self._renew_at is not None and self._clock.monotonic() >= self._renew_at
        if access is None or due:
            await self.renew(access)
            access = self._access
        assert access is not None
        return access

    async def renew(self, stale: Access | None) -> bool:
        """Load again unless somebody else just did; True when there is something new to try."""
        async with self._lock:
            if self._access is not stale:
                return True
            try:
                access = await self._source.load()
            except ConfigError:
                if stale is None:
                    raise
                self._renew_at = self._clock.monotonic() + _RELOAD_PAUSE
                return False
            fresh_for = access.fresh_for
            self._renew_at = None if fresh_for is None else self._clock.monotonic() + fresh_for
            if access == stale:
                return False
            self._access = access
            return True
