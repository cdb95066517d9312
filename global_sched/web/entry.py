"""The way in: which requests are answered, and as whom.

On one's own machine a random token, printed once, is exchanged for a cookie; the token is spent
with that, and stands nowhere afterwards. Behind a proxy each request brings the Authorization
header of a person, and what the control plane lets them read is what they see.
"""

import hashlib
import secrets
from collections.abc import Callable, Collection
from dataclasses import dataclass, field
from typing import Final
from urllib.parse import urlsplit

from aiohttp import web
from aiohttp.typedefs import Handler, Middleware

COOKIE: Final = "gsched"
HEALTH: Final = "/healthz"
STATIC: Final = "/static/"
HEADERS: Final = {
    "Content-Security-Policy": (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; "
        "connect-src 'self'; form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
    ),
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Cache-Control": "no-store",
}

IDENTITY: Final = web.RequestKey("identity", str)
AUTHORIZATION: Final = web.RequestKey("authorization", str)


@dataclass(slots=True)
class Entry:
    """Who may come in. `hosts` are the names by which this server may be asked for."""

    hosts: Collection[str]
    behind_proxy: bool = False
    announce: Callable[[str], None] = lambda _token: None
    """Gets a new token when one was spent: for another browser."""
    token: str = field(default_factory=lambda: secrets.token_urlsafe(32))
    _sessions: set[str] = field(default_factory=set)

    def refusal(self, request: web.Request) -> tuple[int, str] | None:
        """Why a request is not answered at all: status and sentence."""
        if request.host.lower() not in self.hosts:
            return 421, "This server is not asked for by that name."
        if request.method not in ("GET", "HEAD") and not _same_origin(request):
            return 403, "A form of another site may not be sent here."
        return None

    def admit(self, request: web.Request) -> str | None:
        """The identity of a request, its Authorization header kept in it; None: not let in."""
        if self.behind_proxy:
            header = request.headers.get("Authorization", "")
            if not header.startswith("Bearer "):
                return None
            request[AUTHORIZATION] = header
            return hashlib.sha256(header.encode()).hexdigest()
        request[AUTHORIZATION] = ""
        given = request.cookies.get(COOKIE, "")
        known = any(secrets.compare_digest(given.encode(), one.encode()) for one in self._sessions)
        return "kubeconfig" if known else None

    def exchange(self, request: web.Request) -> web.Response | None:
        """The answer to the printed address: a cookie, and the same page without the token."""
        given = request.query.get("token")
        if given is None or self.behind_proxy:
            return None
        if not secrets.compare_digest(given.encode(), self.token.encode()):
            return None
        session = secrets.token_urlsafe(32)
        self._sessions.add(session)
        self.token = secrets.token_urlsafe(32)
        self.announce(self.token)
        answer = web.Response(status=303, headers={"Location": "/waiting"})
        answer.set_cookie(COOKIE, session, httponly=True, samesite="Strict", path="/")
        return answer


def _same_origin(request: web.Request) -> bool:
    """Whether a form was sent from a page of ours, as the browser says it."""
    site = request.headers.get("Sec-Fetch-Site")
    if site is not None:
        return site == "same-origin"
    origin = request.headers.get("Origin")
    return origin is not None and urlsplit(origin).netloc == request.host


def plain(status: int, text: str) -> web.Response:
    """An answer to a request that is not let in: it shows nothing of the federation."""
    return web.Response(status=status, text=f"{text}\n")


NO_ENTRY: Final = (
    "The address that `gsched dashboard` prints lets one browser in, once. Open the one that it"
    " printed last."
)
NO_HEADER: Final = (
    "There is no Authorization header with a bearer token: this server stands behind a proxy that"
    " signs people in."
)


def guard(entry: Entry) -> Middleware:
    """The middleware that every request passes."""

    @web.middleware
    async def guarded(request: web.Request, handler: Handler) -> web.StreamResponse:
        try:
            answer = await _answer(request, handler)
        except web.HTTPException as error:
            answer = plain(error.status, error.reason)
        if not answer.prepared:
            answer.headers.update(HEADERS)
        return answer

    async def _answer(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.path == HEALTH:
            return plain(200, "ok")
        if (refused := entry.refusal(request)) is not None:
            return plain(*refused)
        if (welcome := entry.exchange(request)) is not None:
            return welcome
        identity = entry.admit(request)
        if identity is None:
            return plain(401, NO_HEADER if entry.behind_proxy else NO_ENTRY)
        request[IDENTITY] = identity
        return await handler(request)

    return guarded
