"""Scripted failures at the transport seam: which call of which verb on which resource fails how.

A `FaultyTransport` wraps a real one, so flows meet the same errors that a bad network or a busy
API server would give, at exactly the call that a test names. Everything the program does above
the seam is the real thing.

    plan = FaultPlan(
        Fault("patch", "resourcebindings.work.karmada.io", kind=FaultKind.CONFLICT, nth=3),
        Fault("watch", "*", kind=FaultKind.CUT, events=2, times=5),
    )
    client = Client(FaultyTransport(transport, plan), clock=clock)
"""

import asyncio
import json
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from fnmatch import fnmatchcase
from typing import Final

from global_sched.shared.clock import Clock
from global_sched.shared.kube.errors import RequestTarget, Unreachable
from global_sched.shared.kube.transport import Request, Response, StreamResponse, Transport


class FaultKind(StrEnum):
    """What happens to the call."""

    CONFLICT = "conflict"
    """409; the server never sees the request."""
    GONE = "gone"
    """410; for a watch, as an ERROR event after `events` events."""
    THROTTLE = "throttle"
    """429 with Retry-After `seconds`."""
    ERROR = "error"
    """500."""
    FORBIDDEN = "forbidden"
    """403."""
    TIMEOUT = "timeout"
    """No answer: Unreachable after the request's own timeout; the server never sees it."""
    LOST_BEFORE = "lost before"
    """The connection breaks before the request is sent."""
    LOST_AFTER = "lost after"
    """The server carries the request out, and its answer is lost."""
    DELAY = "delay"
    """The request is sent `seconds` later; a watch's events arrive that much later."""
    CUT = "cut"
    """A watch breaks after `events` events, in the middle of the next one."""
    HALF_OPEN = "half open"
    """A watch falls silent after `events` events; the socket stays open."""
    DUPLICATE = "duplicate"
    """A watch delivers the event after the first `events` twice."""
    HOLD = "hold"
    """The call waits at this point until `FaultPlan.release`."""


_STATUSES: Final = {
    FaultKind.CONFLICT: (409, "Conflict"),
    FaultKind.GONE: (410, "Expired"),
    FaultKind.THROTTLE: (429, "TooManyRequests"),
    FaultKind.ERROR: (500, "InternalError"),
    FaultKind.FORBIDDEN: (403, "Forbidden"),
}


@dataclass(frozen=True, slots=True)
class Fault:
    """One failure: of the `nth` matching call and the `times - 1` after it."""

    verb: str
    """get, list, watch, create, update, patch, delete; wildcards allowed."""
    resource: str
    """Plural with group and subresource, as in messages; wildcards allowed."""
    name: str = "*"
    """Object name; wildcards allowed."""
    kind: FaultKind = field(kw_only=True)
    nth: int = field(default=1, kw_only=True)
    times: int = field(default=1, kw_only=True)
    seconds: float = field(default=1.0, kw_only=True)
    events: int = field(default=0, kw_only=True)

    def matches(self, target: RequestTarget) -> bool:
        """True when a call on this target counts for this fault."""
        return (
            fnmatchcase(target.verb, self.verb)
            and fnmatchcase(target.resource, self.resource)
            and fnmatchcase(target.name, self.name)
        )


class FaultPlan:
    """Faults, and how often each was met; shared by all clients that it should hit."""

    def __init__(self, *faults: Fault) -> None:
        self._faults: list[Fault] = list(faults)
        self._met: Counter[int] = Counter()
        self._gates: dict[int, asyncio.Event] = {}
        self.calls: list[RequestTarget] = []
        """Every call that passed, in order: the numbers of a crash matrix."""
        self.fired: list[tuple[Fault, RequestTarget]] = []

    def add(self, *faults: Fault) -> None:
        """More faults; counting starts now."""
        self._faults.extend(faults)

    def clear(self) -> None:
        """No more faults: the network is well again."""
        self._faults.clear()
        self._met.clear()
        self.release()

    def release(self) -> None:
        """Let every held call go on."""
        for gate in self._gates.values():
            gate.set()
        self._gates.clear()

    @property
    def held(self) -> int:
        """Calls that wait at a HOLD."""
        return len(self._gates)

    async def hold(self) -> None:
        """Wait for `release`."""
        gate = asyncio.Event()
        self._gates[id(gate)] = gate
        try:
            await gate.wait()
        finally:
            self._gates.pop(id(gate), None)

    def next(self, target: RequestTarget) -> Fault | None:
        """Count a call; the fault that it meets (the first of several)."""
        self.calls.append(target)
        hit: Fault | None = None
        for index, fault in enumerate(self._faults):
            if fault.matches(target):
                self._met[index] += 1
                if hit is None and fault.nth <= self._met[index] < fault.nth + fault.times:
                    hit = fault
        if hit is not None:
            self.fired.append((hit, target))
        return hit


class FaultyTransport:
    """Passes calls on, except where the plan says otherwise."""

    def __init__(self, inner: Transport, plan: FaultPlan, *, clock: Clock) -> None:
        self._inner = inner
        self._plan = plan
        self._clock = clock

    async def send(self, request: Request) -> Response:
        """The answer, or the failure that the plan has for this call."""
        fault = self._plan.next(request.target)
        if fault is None:
            return await self._inner.send(request)
        if fault.kind in _STATUSES:
            return _refusal(fault)
        await self._before(fault, request)
        response = await self._inner.send(request)
        if fault.kind is FaultKind.LOST_AFTER:
            raise Unreachable("the answer was lost", target=request.target, reason="Fault")
        return response

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncIterator[StreamResponse]:
        """The stream, refused, delayed, cut or silenced as the plan says."""
        fault = self._plan.next(request.target)
        if fault is None:
            async with self._inner.stream(request) as answer:
                yield answer
            return
        if fault.kind in _STATUSES and not (fault.kind is FaultKind.GONE and fault.events):
            refusal = _refusal(fault)
            yield StreamResponse(
                status=refusal.status, headers=refusal.headers, chunks=_once(refusal.body)
            )
            return
        await self._before(fault, request)
        async with self._inner.stream(request) as answer:
            lines = _faulty_lines(answer.chunks, fault, request, self._clock)
            yield StreamResponse(status=answer.status, headers=answer.headers, chunks=lines)

    async def _before(self, fault: Fault, request: Request) -> None:
        """What happens before the request is sent."""
        if fault.kind is FaultKind.HOLD:
            await self._plan.hold()
        elif fault.kind is FaultKind.DELAY and request.target.verb != "watch":
            await self._clock.sleep(fault.seconds)
        elif fault.kind is FaultKind.TIMEOUT:
            await self._clock.sleep(request.timeout)
            raise Unreachable("no answer", target=request.target, reason="Timeout")
        elif fault.kind is FaultKind.LOST_BEFORE:
            raise Unreachable("the connection broke", target=request.target, reason="Fault")

    async def close(self) -> None:
        """Close the inner transport."""
        await self._inner.close()


def _refusal(fault: Fault) -> Response:
    code, reason = _STATUSES[fault.kind]
    headers = {"Retry-After": f"{fault.seconds:.0f}"} if fault.kind is FaultKind.THROTTLE else {}
    return Response(status=code, headers=headers, body=_status(code, reason))


def _status(code: int, reason: str) -> bytes:
    status = {"kind": "Status", "apiVersion": "v1", "status": "Failure", "code": code}
    return json.dumps(status | {"reason": reason, "message": "planned fault"}).encode()


async def _once(body: bytes) -> AsyncIterator[bytes]:
    yield body


async def _faulty_lines(
    chunks: AsyncIterator[bytes], fault: Fault, request: Request, clock: Clock
) -> AsyncIterator[bytes]:
    """The stream line by line, with the fault after its number of events."""
    if fault.kind is FaultKind.DELAY:
        async with aclosing(_delayed(chunks, fault.seconds, clock)) as late:
            async for chunk in late:
                yield chunk
        return
    passed = 0
    last = clock.monotonic()
    async for line in _lines(chunks):
        if passed == fault.events:
            if fault.kind is FaultKind.CUT:
                yield line[: len(line) // 2]
                raise Unreachable("the stream was cut", target=request.target, reason="Fault")
            if fault.kind is FaultKind.GONE:
                yield b'{"type":"ERROR","object":' + _status(410, "Expired") + b"}\n"
                return
            if fault.kind is FaultKind.HALF_OPEN:
                break
            if fault.kind is FaultKind.DUPLICATE:
                yield line
        yield line
        passed += 1
        last = clock.monotonic()
    if fault.kind is FaultKind.HALF_OPEN:
        await clock.sleep(max(0.0, last + request.timeout - clock.monotonic()))
        raise Unreachable("silent for too long", target=request.target, reason="Timeout")


async def _lines(chunks: AsyncIterator[bytes]) -> AsyncIterator[bytes]:
    rest = b""
    async for chunk in chunks:
        *whole, rest = (rest + chunk).split(b"\n")
        for line in whole:
            yield line + b"\n"


async def _delayed(
    chunks: AsyncIterator[bytes], seconds: float, clock: Clock
) -> AsyncGenerator[bytes, None]:
    """Every chunk that much later, none waiting for another: a stale view of the world."""
    late: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()

    async def pump() -> None:
        async for chunk in chunks:
            late.put_nowait((clock.monotonic() + seconds, chunk))

    reader = asyncio.ensure_future(pump())
    getter: asyncio.Future[tuple[float, bytes]] | None = None
    try:
        while True:
            getter = asyncio.ensure_future(late.get())
            await asyncio.wait((getter, reader), return_when=asyncio.FIRST_COMPLETED)
            if not getter.done() and late.empty():
                reader.result()  # how the stream ended
                return
            due, chunk = await getter
            await clock.sleep(max(0.0, due - clock.monotonic()))
            yield chunk
    finally:
        tasks = [task for task in (reader, getter) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
