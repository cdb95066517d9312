"""The network of a simulated federation: programs are paused and cut off while it goes on.

A paused program is one that got SIGSTOP: what it had sent, or was about to send, reaches the server
when it goes on, also after the program has given it up or died. Nothing arrives until then.
"""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator, Callable
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

from global_sched.shared.kube.errors import Conflict, Unreachable
from global_sched.shared.kube.transport import Request, Response, StreamResponse, Transport


@dataclass(frozen=True, slots=True, order=True)
class CrashPoint:
    """A program dies at its nth write: before it is sent, or after it was carried out."""

    program: str
    nth: int
    after: bool


class Network:
    """What is paused and what is cut now, by program and server."""

    def __init__(self) -> None:
        self.paused: dict[str, asyncio.Event] = {}
        self.split: set[tuple[str, str]] = set()
        self.met: set[tuple[str, int]] = set()
        """Pauses, splits and refusals that a call met, by kind and the number of the fault of that
        kind: what no call meets is no fault."""
        self._begun: Counter[str] = Counter()
        self.writes: Counter[str] = Counter()
        """Writes of every program so far, those that were lost included."""
        self.crash: CrashPoint | None = None
        self.on_death: Callable[[str], object] = lambda _: None
        self.on_refusal: Callable[[str, str], object] = lambda _program, _path: None
        self.held: dict[tuple[str, str], asyncio.Event] = {}
        """By program and a part of the path: such writes wait, also when it dies."""
        self.refused: Counter[tuple[str, str]] = Counter()
        """By program and a part of the path: so many more such writes meet a conflict."""
        self._late: set[asyncio.Task[Response]] = set()

    def pause(self, program: str) -> None:
        """SIGSTOP."""
        if program not in self.paused:
            self._begun[f"pause {program}"] += 1
            self.paused[program] = asyncio.Event()

    def resume(self, program: str) -> None:
        """SIGCONT."""
        gate = self.paused.pop(program, None)
        if gate is not None:
            gate.set()

    def hold(self, program: str, path: str) -> None:
        """Writes of a program to such a path arrive when they are released, not before."""
        self.held.setdefault((program, path), asyncio.Event())

    def release(self, program: str, path: str) -> None:
        """They arrive now."""
        gate = self.held.pop((program, path), None)
        if gate is not None:
            gate.set()

    def cut(self, program: str, server: str) -> None:
        """No call of the program reaches the server."""
        if (program, server) not in self.split:
            self._begun[f"split {program}"] += 1
            self.split.add((program, server))

    def meet(self, kind: str) -> None:
        """A call meets the last fault of that kind."""
        self.met.add((kind, self._begun[kind]))

    def heal(self) -> None:
        """Everything runs and reaches everything."""
        for program in list(self.paused):
            self.resume(program)
        for held in list(self.held):
            self.release(*held)
        self.split.clear()
        self.refused.clear()

    async def carried_out(self) -> None:
        """Until every late request has reached its server."""
        while self._late:
            await asyncio.wait(self._late)

    def wrap(self, program: str, server: str, inner: Transport) -> Transport:
        """A program's way to a server through this network."""
        return _Link(self, program, server, inner)

    async def send(self, program: str, inner: Transport, request: Request) -> Response:
        """Send at once, or when the program goes on; the caller's end does not stop it."""
        gate, how = self.paused.get(program), "pause"
        for (held, path), closed in self.held.items():
            if program == held and request.method != "GET" and path in request.path:
                gate, how = closed, "hold"
        if gate is None:
            return await inner.send(request)
        self.meet(f"{how} {program}")

        async def late() -> Response:
            await gate.wait()
            return await inner.send(request)

        task = asyncio.create_task(late())
        self._late.add(task)
        task.add_done_callback(self._done)
        return await asyncio.shield(task)

    def _done(self, task: asyncio.Task[Response]) -> None:
        self._late.discard(task)
        if not task.cancelled():
            task.exception()  # the caller has it, or has gone


class _Link:
    def __init__(self, network: Network, program: str, server: str, inner: Transport) -> None:
        self._network = network
        self._program = program
        self._server = server
        self._inner = inner

    def _check(self, request: Request) -> None:
        if (self._program, self._server) in self._network.split:
            self._network.meet(f"split {self._program}")
            raise Unreachable("no route", target=request.target, reason="Split")

    async def send(self, request: Request) -> Response:
        self._check(request)
        if request.method == "GET":
            response = await self._network.send(self._program, self._inner, request)
        else:
            self._network.writes[self._program] += 1
            nth = self._network.writes[self._program]
            self._die(request, nth, after=False)
            self._refuse(request)
            response = await self._network.send(self._program, self._inner, request)
            self._die(request, nth, after=True)
        self._check(request)
        return response

    def _die(self, request: Request, nth: int, *, after: bool) -> None:
        if self._network.crash == CrashPoint(self._program, nth, after):
            self._network.crash = None
            self._network.on_death(self._program)
            raise Unreachable("killed", target=request.target, reason="Killed")

    def _refuse(self, request: Request) -> None:
        for (program, path), times in self._network.refused.items():
            if program == self._program and path in request.path and times > 0:
                self._network.refused[program, path] -= 1
                self._network.meet(f"refuse {program}")
                self._network.on_refusal(program, request.path)
                raise Conflict("it was written", target=request.target, reason="Conflict")

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamResponse]:
        self._check(request)
        gate = self._network.paused.get(self._program)
        if gate is not None:
            await gate.wait()
        async with (
            self._inner.stream(request) as answer,
            aclosing(self._chunks(answer, request)) as chunks,
        ):
            yield StreamResponse(status=answer.status, headers=answer.headers, chunks=chunks)

    async def _chunks(self, answer: StreamResponse, request: Request) -> AsyncGenerator[bytes]:
        async for chunk in answer.chunks:
            gate = self._network.paused.get(self._program)
            if gate is not None:
                self._network.meet(f"pause {self._program}")
                await gate.wait()
            self._check(request)
            yield chunk

    async def close(self) -> None:
        await self._inner.close()
