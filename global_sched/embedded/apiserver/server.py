"""The server itself: start and stop, sockets, one handler for every request."""

import asyncio
import base64
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from aiohttp import web

from global_sched.embedded.apiserver.auth.authentication import Authenticator
from global_sched.embedded.apiserver.auth.impersonation import acting_user
from global_sched.embedded.apiserver.controllers.bootstrap import bootstrap
from global_sched.embedded.apiserver.controllers.definitions import Definitions
from global_sched.embedded.apiserver.controllers.garbage_collector import Collector
from global_sched.embedded.apiserver.endpoints.handlers import Handler
from global_sched.embedded.apiserver.endpoints.non_resource_paths import Paths
from global_sched.embedded.apiserver.http.answers import (
    failure_response,
    text_response,
)
from global_sched.embedded.apiserver.http.bodies import BODY_LIMIT, too_large
from global_sched.embedded.apiserver.http.identity import ADMIN, User
from global_sched.embedded.apiserver.http.incoming import Incoming
from global_sched.embedded.apiserver.http.request_info import RequestInfo
from global_sched.embedded.apiserver.http.routing import parse_target, verb_of
from global_sched.embedded.apiserver.http.tls import Tls
from global_sched.embedded.apiserver.resources.resource_info import ResourceInfo
from global_sched.embedded.apiserver.status_error import NoSuchPath, StatusError
from global_sched.embedded.apiserver.storage.backend import Backend
from global_sched.embedded.apiserver.storage.sqlite import Persistence
from global_sched.embedded.apiserver.storage.store import Record
from global_sched.shared.api import yaml_text
from global_sched.shared.clock import Clock, SystemClock

Obj = dict[str, Any]

_NO_QUERY: Final[Mapping[str, str]] = {}


@dataclass(frozen=True, slots=True, kw_only=True)
class RequestRecord:
    """One answered request, for a request log."""

    user: str
    verb: str
    group: str
    resource: str
    subresource: str
    namespace: str
    name: str
    code: int


@dataclass(frozen=True, slots=True, kw_only=True)
class OpenWatch:
    """The answer to a watch: its frames as they come, in batches."""

    content_type: str
    frames: AsyncGenerator[bytes]


class ApiServer:
    """A Kubernetes API server in this process.

    Without `tokens` every client is a cluster administrator; with them, a request needs one of the
    tokens, and RBAC objects in the server decide what its user may do. With `data_dir` the state
    survives a restart. Without `tls` it speaks plain HTTP, over which kubectl sends no token.
    Several servers may run in one event loop. Clients of the same loop need no socket: `respond`
    answers them too, and with `listen=False` there is none.
    """

    def __init__(
        self,
        *,
        name: str = "cluster",
        clock: Clock | None = None,
        data_dir: Path | None = None,
        tokens: Mapping[str, User] | None = None,
        tls: Tls | None = None,
        anonymous: bool = True,
        history_bytes: int = 64 * 1024 * 1024,
        seed: int | None = None,
    ) -> None:
        self.name = name
        self.clock = clock if clock is not None else SystemClock()
        self.tls = tls
        self.backend = Backend(clock=self.clock, history_bytes=history_bytes, seed=seed)
        self._persistence = Persistence(self.backend, data_dir) if data_dir is not None else None
        self._definitions = Definitions(self.backend)
        self._authenticator = Authenticator(self.backend, tokens, anonymous=anonymous)
        self._handler = Handler(self.backend, self._authenticator)
        self._collector = Collector(self.backend, self._handler.deleter)
        self._paths = Paths(self.backend)
        self._log: list[Callable[[RequestRecord], None]] = []
        self._runner: web.ServerRunner | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._listens = True
        self.answers = False
        """Whether requests are answered now."""
        self.host = ""
        self.port = 0

    @property
    def url(self) -> str:
        """Where the server listens."""
        return f"{'http' if self.tls is None else 'https'}://{self.host}:{self.port}"

    def on_request(self, callback: Callable[[RequestRecord], None]) -> None:
        """Call back after every resource request."""
        self._log.append(callback)

    def on_commit(self, callback: Callable[[ResourceInfo, Record, bool], None]) -> None:
        """Call back with every state that an object ever has, also one of milliseconds.

        True: the object is gone after it. The callback must be quick and must not write.
        """
        self.backend.on_commit.append(callback)

    async def start(self, host: str = "127.0.0.1", port: int = 0, *, listen: bool = True) -> None:
        """Load the state and listen; port 0 takes a free one.

        listen: without, only this process reaches it (`in_process.InProcessTransport`).
        """
        if self._persistence is not None:
            self._persistence.load()
        bootstrap(self.backend)
        self._definitions.load()
        if self._persistence is not None:
            self._persistence.flush()
        if listen:
            self.host, self.port = host, port
        else:
            self.host, self.port = f"{self.name}.in-process", 80
        self._listens = listen
        await self.open()
        self._collector.start()

    async def open(self) -> None:
        """Answer, at the address that the server has or had."""
        self.answers = True
        if not self._listens:
            return
        server = web.Server(self._serve, handler_cancellation=True, access_log=None)
        self._runner = web.ServerRunner(server, shutdown_timeout=2.0)
        await self._runner.setup()
        context = None if self.tls is None else self.tls.server
        site = web.TCPSite(self._runner, self.host, self.port, ssl_context=context)
        await site.start()
        address = self._runner.addresses[0]
        self.host, self.port = address[0], address[1]

    async def close(self) -> None:
        """Answer no request and break every watch, until `open`; the state stays as it is."""
        await self._shut()
        self._handler.watcher.hang_up()

    async def _shut(self) -> None:
        self.answers = False
        if self._runner is not None:
            await self._runner.cleanup()
            self._runner = None

    async def stop(self) -> None:
        """End every watch, answer what is in flight, write what is unwritten."""
        await self._collector.stop()
        self._handler.watcher.stop()
        await self._shut()
        if self._persistence is not None:
            self._persistence.close()

    def kubeconfig(self, token: str | None = None) -> Obj:
        """A kubeconfig for this server: of the given token, or of the first administrator's."""
        if token is None:
            token = self._authenticator.admin_token()
        user: Obj = {"token": token} if token else {}
        cluster: Obj = {"server": self.url}
        if self.tls is not None:
            authority = base64.b64encode(self.tls.authority.encode()).decode()
            cluster["certificate-authority-data"] = authority
        return {
            "apiVersion": "v1",
            "kind": "Config",
            "clusters": [{"name": self.name, "cluster": cluster}],
            "users": [{"name": self.name, "user": user}],
            "contexts": [{"name": self.name, "context": {"cluster": self.name, "user": self.name}}],
            "current-context": self.name,
        }

    def write_kubeconfig(self, path: Path, token: str | None = None) -> None:
        """Write `kubeconfig` to a file, readable by its owner only."""
        path.parent.mkdir(parents=True, exist_ok=True)
        path.touch(mode=0o600)
        path.chmod(0o600)
        path.write_text(yaml_text.written(self.kubeconfig(token)))

    def install_crd(self, crd: Obj) -> None:
        """Create or replace a CustomResourceDefinition; the same one again changes nothing."""
        self._handler.install(crd, ADMIN)

    # ---- requests --------------------------------------------------------------------------

    async def respond(
        self, request: Incoming, read: Callable[[], Awaitable[bytes]]
    ) -> web.Response | OpenWatch:
        """The answer to a request; its body is read only for a sender with the right to ask."""
        path, _, query = request.raw_path.partition("?")
        code = 500
        call: RequestInfo | None = None
        try:
            sender = self._authenticator.user_of(request.headers.get("Authorization", ""))
            user = acting_user(sender, request.headers, self._handler.rbac)
            if self._paths.known(path):
                self._handler.authorize_path(user, request.method, path)
                return self._paths.answer(request)
            call = self._call(request, path, user, request.query if query else _NO_QUERY)
            self._handler.authorize(call)
            if call.verb == "watch":
                code = 200
                watch, content_type = self._handler.open_watch(call)
                frames = self._handler.watcher.stream(watch)
                return OpenWatch(content_type=content_type, frames=frames)
            response = self._handler.answer(call, await read())
            if self._persistence is not None:
                await self._persistence.written()
            code = response.status
        except NoSuchPath:
            code = 404
            return text_response("404 page not found\n", 404)
        except StatusError as failure:
            code = failure.code
            return failure_response(failure, call)
        except RecursionError:
            code = 400
            return failure_response(_too_deep(), call)
        finally:
            if call is not None and self._log:
                self._tell(call, code)
        return response

    async def _serve(self, request: web.BaseRequest) -> web.StreamResponse:
        answer = await self.respond(request, lambda: self._read(request))
        if isinstance(answer, OpenWatch):
            return await self._watch(request, answer)
        return answer

    def _call(
        self, request: Incoming, path: str, user: User, query: Mapping[str, str]
    ) -> RequestInfo:
        target = parse_target(path, self.backend.registry)
        watching = query.get("watch", "").lower() in {"true", "1"} if query else False
        verb = verb_of(request.method, target, watch=watching)
        headers = request.headers
        agent = headers.get("User-Agent", "").partition("/")[0].partition(" ")[0]
        return RequestInfo(
            method=request.method,
            verb=verb,
            served=target.served,
            namespace=target.namespace,
            name=target.name,
            subresource=target.subresource,
            query=query,
            user=user,
            agent=agent,
            content_type=headers.get("Content-Type", ""),
            accept=headers.get("Accept", ""),
        )

    @staticmethod
    async def _read(request: web.BaseRequest) -> bytes:
        length = request.content_length
        if length is not None and length > BODY_LIMIT:
            raise too_large()
        if length is None and not request.body_exists:
            return b""
        if request.content.is_eof():
            # Small bodies have arrived with their head: no need to wait for parts.
            return request.content.read_nowait()
        chunks: list[bytes] = []
        size = 0
        async for chunk in request.content.iter_any():
            size += len(chunk)
            if size > BODY_LIMIT:
                raise too_large()
            chunks.append(chunk)
        return chunks[0] if len(chunks) == 1 else b"".join(chunks)

    @staticmethod
    async def _watch(request: web.BaseRequest, watch: OpenWatch) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": watch.content_type})
        response.enable_chunked_encoding()
        try:
            await response.prepare(request)
            async for batch in watch.frames:
                if batch:
                    await response.write(batch)
            await response.write_eof()
        except ConnectionError:
            pass
        return response

    def _tell(self, call: RequestInfo, code: int) -> None:
        record = RequestRecord(
            user=call.user.name,
            verb=call.verb,
            group=call.served.group,
            resource=call.served.plural,
            subresource=call.subresource,
            namespace=call.namespace,
            name=call.name,
            code=code,
        )
        for callback in self._log:
            callback(record)


def _too_deep() -> StatusError:
    return StatusError(400, "BadRequest", "error decoding request body: exceeded max depth")
