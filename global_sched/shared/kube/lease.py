"""Leader election on a Lease: at most one leader acts, and it knows when it no longer may.

Whether another holder is alive is judged by watching its Lease change for a whole lease time on
our own monotonic clock; clocks of two machines are never compared. A leader's term has a number
(the epoch: `leaseTransitions`, raised with every term), which goes on each decision, so that a
late write of a former leader can be recognised. The number comes from the Lease and the clock, and
from no other object (`next_epoch`).

The body is cancelled as soon as the renew deadline passes without a renewal, which leaves
`lease - renew` seconds before another replica may start. `Term.valid()` before every write closes
the rest of the gap: a process that was suspended finds it False before its first write.
"""

import asyncio
import random
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, NoReturn

from global_sched.shared.api.resource import LEASES
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, ApiError, Conflict, KubeError, NotFound
from global_sched.shared.model.instant import SECOND, Instant, format_micro, parse_instant
from global_sched.shared.telemetry.logs import get_logger

HIGHEST_EPOCH: Final = 2**31 - 1
"""What `leaseTransitions` holds."""
FIRST_DAY: Final = parse_instant("2025-01-01T00:00:00Z")
"""Epochs start at the seconds since then, which `leaseTransitions` holds until 2093."""
LONGEST_WAIT: Final = 10
"""A Lease that asks for a longer time than so many of our own lease times is not waited for."""
REQUEST_TIMEOUT: Final = 5.0
"""Seconds for one request on the Lease; shorter than the renew deadline."""

SHORTEST_REQUEST: Final = 0.001
"""With less than so many seconds left no request is made: its timeout would pass at once."""

log = get_logger(__name__)


class LeaseLost(KubeError):  # noqa: N818 - an event in the life of a leader
    """The term ended against our will; the body was cancelled."""


@dataclass(slots=True)
class Term:
    """One leader's time in office."""

    epoch: int
    """Rises with every term of this Lease."""
    identity: str
    clock: Clock
    deadline: float
    """Monotonic time until which the last renewal lets us act; moved by the election only."""
    ended: bool = False
    """Set by the election when the body has stopped."""

    def valid(self) -> bool:
        """True while we may write; ask before every write."""
        return not self.ended and self.clock.monotonic() < self.deadline


def next_epoch(transitions: int, now: Instant) -> int:
    """The epoch of the term after a Lease with so many transitions (0: there was no Lease).

    It is at least the seconds since a fixed day. Terms are seconds apart, so a Lease that was
    deleted, or restored from a backup, continues above every term that it ever gave. A number that
    nothing can follow was not counted by an election, and is not believed.
    """
    floor = min(max(1, (now - FIRST_DAY) // SECOND), HIGHEST_EPOCH)
    if not 0 <= transitions < HIGHEST_EPOCH:
        return floor
    return max(transitions + 1, floor)


class LeaderElection:
    """Runs a body while this process holds the Lease.

    `lease` > `renew` > `retry` seconds: others may take over after `lease` without a change, we
    stop after `renew` without a renewal, and we try every `retry`. A candidate looks at least that
    often and in the moment in which the Lease runs out, so it leads at most `lease` + `retry`
    seconds after the last renewal.
    """

    def __init__(  # noqa: PLR0913 - three times, three names, and what they work with
        self,
        client: Client,
        *,
        namespace: str,
        name: str,
        identity: str,
        clock: Clock,
        lease: float = 15.0,
        renew: float = 10.0,
        retry: float = 2.0,
        rng: random.Random | None = None,
    ) -> None:
        if not lease > renew > 1.2 * retry > 0:
            raise ValueError(
                f"leader election needs lease > renew > 1.2 × retry, not {lease}, {renew}, {retry}"
            )
        self._client = client
        self._namespace = namespace
        self._name = name
        self._identity = identity
        self._clock = clock
        self._lease = lease
        self._renew = renew
        self._retry = retry
        self._rng = rng or random.Random()  # noqa: S311 - spreads candidates
        self._current: dict[str, Any] | None = None
        self._seen: tuple[str, float] | None = None
        self._runs_out = 0.0
        """When the Lease that was last looked at runs out, on our monotonic clock."""
        self.term: Term | None = None
        """Our own term, None while we are not leading."""
        self.holder = ""
        """The holder of the Lease when it was last read; empty = none or not known."""
        self.blocked = ""
        """Why this process could not be elected for a lease time or longer; empty when it could, or
        another holder is alive."""
        self._failing_since: float | None = None

    async def run(self, body: Callable[[Term], Awaitable[None]]) -> None:
        """Wait for the Lease, run the body, give the Lease back.

        Raises:  LeaseLost when the Lease could not be kept; whatever the body raises.
        """
        term = await self._acquire()
        log.info("leader_elected", lease=self._name, identity=self._identity, epoch=term.epoch)
        self.term = term
        try:
            await self._serve(term, body)
        finally:
            self.term = None
            kept = term.valid()
            term.ended = True
            if kept:
                await self._release()

    async def _serve(self, term: Term, body: Callable[[Term], Awaitable[None]]) -> None:
        work = asyncio.ensure_future(body(term))
        keeper = asyncio.ensure_future(self._keep(term))
        try:
            await asyncio.wait((work, keeper), return_when=asyncio.FIRST_COMPLETED)
        finally:
            # Whatever happened: the body has stopped before this returns.
            for task in (work, keeper):
                task.cancel()
            await asyncio.wait((work, keeper))
        if not work.cancelled() and (error := work.exception()) is not None:
            raise error
        if not keeper.cancelled() and (lost := keeper.exception()) is not None:
            raise lost

    # --- becoming leader ------------------------------------------------------------------

    async def _acquire(self) -> Term:
        while True:
            asked = self._clock.monotonic()
            try:
                async with asyncio.timeout(REQUEST_TIMEOUT):
                    epoch = await self._try_acquire()
            except Conflict:
                epoch = None  # another candidate was faster
                self._failing_since, self.blocked = None, ""
            except (ApiError, TimeoutError) as error:
                epoch = None
                self._failed(asked, str(error) or "the server did not answer in time")
            else:
                self._failing_since, self.blocked = None, ""
            if epoch is not None:
                return Term(epoch, self._identity, self._clock, asked + self._renew)
            await self._clock.sleep(self._until_next_look())

    def _until_next_look(self) -> float:
        """Seconds: spread, so that candidates do not meet for ever, but never past the end."""
        pause = self._rng.uniform(self._retry * 0.8, self._retry)
        left = self._runs_out - self._clock.monotonic()
        return min(pause, left) if left > 0 else pause

    def _failed(self, asked: float, cause: str) -> None:
        """An attempt without answer, or refused: after a lease time of them it is reported."""
        if self._failing_since is None:
            self._failing_since = asked
        seconds = self._clock.monotonic() - self._failing_since
        if seconds < self._lease:
            log.warning("lease_unavailable", lease=self._name, error=cause)
            return
        before, self.blocked = self.blocked, f"the Lease {self._namespace}/{self._name}: {cause}"
        if before != self.blocked:
            log.error(
                "cannot_be_elected", lease=self._name, seconds=round(seconds), error=self.blocked
            )

    async def _try_acquire(self) -> int | None:
        """The epoch of the new term; None while another holder is alive."""
        try:
            found = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            return await self._create()
        spec = found.get("spec") or {}
        self.holder = spec.get("holderIdentity") or ""
        if self.holder and not self._expired(found, spec):
            return None
        transitions = int(spec.get("leaseTransitions") or 0)
        epoch = next_epoch(transitions, self._clock.now())
        if epoch <= transitions:
            log.error("lease_epoch_not_believed", lease=self._name, found=transitions, epoch=epoch)
        self._current = await self._put(found, epoch=epoch, acquired=True)
        self.holder = self._identity
        return epoch

    async def _create(self) -> int | None:
        epoch = next_epoch(0, self._clock.now())
        lease: dict[str, Any] = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.kind,
            "metadata": {"name": self._name, "namespace": self._namespace},
        }
        lease["spec"] = self._spec({}, epoch=epoch, acquired=True)
        try:
            self._current = await self._client.create(LEASES, lease, namespace=self._namespace)
        except AlreadyExists:
            return None
        self.holder = self._identity
        return epoch

    def _expired(self, found: dict[str, Any], spec: dict[str, Any]) -> bool:
        """No change for a whole lease time since we first saw this state of it."""
        version = str(found["metadata"].get("resourceVersion"))
        now = self._clock.monotonic()
        if self._seen is None or self._seen[0] != version:
            self._seen = (version, now)
        duration = float(spec.get("leaseDurationSeconds") or self._lease)
        duration = min(duration, LONGEST_WAIT * self._lease)
        self._runs_out = self._seen[1] + duration
        return now >= self._runs_out

    # --- staying leader -------------------------------------------------------------------

    async def confirm(self) -> bool:
        """Ask the server whether our term is the Lease's present one.

        When it is not, the term ends: no write is made after this returns.
        """
        term = self.term
        if term is None or not term.valid():
            return False
        try:
            async with asyncio.timeout(REQUEST_TIMEOUT):
                found = await self._client.get(LEASES, self._name, namespace=self._namespace)
        except NotFound:
            found = {}
        except (ApiError, TimeoutError) as error:
            log.warning("lease_unavailable", lease=self._name, error=str(error) or "timeout")
            return False
        spec = found.get("spec") or {}
        ours = (self._identity, term.epoch)
        if (spec.get("holderIdentity"), spec.get("leaseTransitions")) == ours:
            return True
        log.warning("lease_lost", lease=self._name, holder=spec.get("holderIdentity") or "")
        term.ended = True
        return False

    async def _keep(self, term: Term) -> NoReturn:
        """Renew until that fails for the renew deadline.

        Raises:  LeaseLost.
        """
        while True:
            pause = self._rng.uniform(self._retry, self._retry * 1.2)
            await self._clock.sleep(max(0.0, min(pause, term.deadline - self._clock.monotonic())))
            asked = self._clock.monotonic()
            left = term.deadline - asked
            if term.ended:
                raise LeaseLost(f"the lease {self._name} is not ours any more")
            if left < SHORTEST_REQUEST:
                raise LeaseLost(f"the lease {self._name} was not renewed in {self._renew:g} s")
            try:
                async with asyncio.timeout(min(REQUEST_TIMEOUT, left)):
                    await self._renew_once(term)
            except (ApiError, TimeoutError) as error:
                log.warning("lease_not_renewed", lease=self._name, error=str(error) or "timeout")
            else:
                term.deadline = asked + self._renew

    async def _renew_once(self, term: Term) -> None:
        assert self._current is not None
        try:
            try:
                self._current = await self._put(self._current, epoch=term.epoch, acquired=False)
            except Conflict:
                # Our own renewal whose answer was lost, another leader, or a Lease made anew: look.
                found = await self._client.get(LEASES, self._name, namespace=self._namespace)
                spec = found.get("spec") or {}
                self.holder = spec.get("holderIdentity") or ""
                if self.holder != self._identity or spec.get("leaseTransitions") != term.epoch:
                    raise LeaseLost(
                        f"the lease {self._name} belongs to {self.holder or 'no holder'}"
                    ) from None
                self._current = await self._put(found, epoch=term.epoch, acquired=False)
        except NotFound:
            raise LeaseLost(f"the lease {self._name} was deleted") from None

    async def _release(self) -> None:
        """Let the next leader start at once; an expired Lease would do the same later."""
        assert self._current is not None
        spec = {**self._current["spec"], "holderIdentity": "", "leaseDurationSeconds": 1}
        lease = {**self._current, "spec": spec}
        with suppress(ApiError, TimeoutError):
            async with asyncio.timeout(REQUEST_TIMEOUT):
                await self._client.replace(LEASES, self._name, lease, namespace=self._namespace)
                log.info("leader_stepped_down", lease=self._name, identity=self._identity)

    async def _put(self, lease: dict[str, Any], *, epoch: int, acquired: bool) -> dict[str, Any]:
        spec = self._spec(lease.get("spec") or {}, epoch=epoch, acquired=acquired)
        return await self._client.replace(
            LEASES, self._name, {**lease, "spec": spec}, namespace=self._namespace
        )

    def _spec(self, old: dict[str, Any], *, epoch: int, acquired: bool) -> dict[str, Any]:
        now = format_micro(self._clock.now())
        return {
            **old,
            "holderIdentity": self._identity,
            "leaseDurationSeconds": max(1, round(self._lease)),
            "acquireTime": now if acquired else old.get("acquireTime", now),
            "renewTime": now,
            "leaseTransitions": epoch,
        }
