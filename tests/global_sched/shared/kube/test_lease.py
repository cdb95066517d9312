"""Leader election, in virtual time."""

import asyncio
import random

import pytest

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.lease import LeaderElection, LeaseLost, next_epoch
from global_sched.shared.model.instant import SECOND, Instant, parse_instant
from tests.global_sched.shared.kube.memory_server import MemoryTransport
from tests.virtual_time import virtual_time

YEAR = 365 * 24 * 3600
"""The epoch of a term that begins with the virtual clock, a year after the fixed day."""
PATH = "/apis/coordination.k8s.io/v1/namespaces/ns/leases/gs"


class SkewedClock(LoopClock):
    """A clock whose wall time is an hour off."""

    def now(self):
        return Instant(super().now() - 3600 * SECOND)


def election(transport, identity, *, clock=None, **options):
    clock = clock or LoopClock()
    client = Client(transport, clock=clock)
    return LeaderElection(
        client, namespace="ns", name="gs", identity=identity, clock=clock, **options
    )


def now():
    return asyncio.get_running_loop().time()


class Body:
    """A body that leads until it is cancelled or ended."""

    def __init__(self):
        self.term = None
        self.started = asyncio.Event()
        self.end = asyncio.Event()
        self.stopped_at = None

    async def __call__(self, term):
        self.term = term
        self.started.set()
        try:
            await self.end.wait()
        finally:
            self.stopped_at = now()


@virtual_time
async def test_the_first_candidate_creates_the_lease():
    """A new Lease starts at the seconds since a fixed day; leaving gives it back."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()

    spec = server.objects[PATH]["spec"]
    assert (spec["holderIdentity"], spec["leaseTransitions"]) == ("a", YEAR)
    assert spec["leaseDurationSeconds"] == 15
    assert body.term.epoch == YEAR
    assert body.term.valid()

    body.end.set()
    await task
    assert server.objects[PATH]["spec"]["holderIdentity"] == ""
    assert not body.term.valid()


@virtual_time
async def test_one_leads_the_other_waits():
    """While the leader renews, the second candidate never starts, whatever its clock says."""
    server, first, second = MemoryTransport(), Body(), Body()
    one = asyncio.create_task(election(server, "a").run(first))
    await first.started.wait()
    two = asyncio.create_task(election(server, "b", clock=SkewedClock()).run(second))
    await asyncio.sleep(300)
    assert not second.started.is_set()

    first.end.set()
    await one
    released = now()
    await second.started.wait()

    assert second.term.epoch == YEAR + 1
    assert now() - released < 2.5
    two.cancel()
    await asyncio.wait([two])


@virtual_time
async def test_a_dead_leader_is_replaced():
    """A Lease that is not renewed is taken over one lease time after it was last seen to change."""
    server, body = MemoryTransport(), Body()
    lease = {"metadata": {"name": "gs", "resourceVersion": "1"}}
    lease["spec"] = {"holderIdentity": "dead", "leaseDurationSeconds": 15, "leaseTransitions": 6}
    server.objects[PATH] = lease
    task = asyncio.create_task(election(server, "b").run(body))

    await body.started.wait()

    assert now() == pytest.approx(15)
    assert body.term.epoch == YEAR
    task.cancel()
    await asyncio.wait([task])


@virtual_time
async def test_a_candidate_leads_at_most_one_look_later_than_it_may():
    """Never before the Lease's 15 s are over, and 17 s after the last renewal at the latest."""
    gaps = []
    for seed in range(40):
        server, body = MemoryTransport(), Body()
        server.objects[PATH] = lease = {"metadata": {"name": "gs"}}
        lease["spec"] = {"holderIdentity": "a", "leaseDurationSeconds": 15, "leaseTransitions": 6}
        task = asyncio.create_task(election(server, "b", rng=random.Random(seed)).run(body))
        for renewal in range(6):
            lease["metadata"]["resourceVersion"] = str(renewal)
            last = now()
            await asyncio.sleep(2 + seed / 100)
        await body.started.wait()
        gaps.append(now() - last)
        task.cancel()
        await asyncio.wait([task])

    assert 15 <= min(gaps) < 15.5
    assert 16.5 < max(gaps) <= 17


@virtual_time
async def test_the_body_stops_when_renewal_fails():
    """Cut off from the server, the body is cancelled at the renew deadline: before others start."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()
    await asyncio.sleep(60)
    server.down = True
    down = now()

    with pytest.raises(LeaseLost, match="was not renewed in 10 s"):
        await task

    assert 7.5 <= body.stopped_at - down <= 10.1
    assert not body.term.valid()
    assert server.objects[PATH]["spec"]["holderIdentity"] == "a"


@virtual_time
async def test_the_term_ends_even_if_the_body_does_not_notice():
    """A body that was suspended finds its term over before its first write."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()
    server.down = True
    valid_until = None
    while valid_until is None:
        await asyncio.sleep(0.5)
        if not body.term.valid():
            valid_until = now()

    assert 9.5 <= valid_until <= 10.5
    with pytest.raises(LeaseLost):
        await task


@virtual_time
async def test_a_lost_answer_does_not_end_the_term():
    """Our own renewal whose answer was lost makes a conflict, and the term goes on."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()
    server.objects[PATH]["metadata"]["resourceVersion"] = "99"
    await asyncio.sleep(60)

    assert body.term.valid()
    body.end.set()
    await task


@pytest.mark.parametrize(
    ("change", "want"),
    [
        pytest.param({"holderIdentity": "b"}, "belongs to b", id="another holder"),
        pytest.param({"leaseTransitions": 9}, "belongs to a", id="another term of our name"),
        pytest.param(None, "was deleted", id="a deleted Lease"),
    ],
)
@virtual_time
async def test_a_stolen_lease_ends_the_term_at_once(change, want):
    """A leader that finds the Lease in other hands stops without waiting for the deadline."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()
    if change is None:
        del server.objects[PATH]
    else:
        server.objects[PATH]["spec"] |= change
        server.objects[PATH]["metadata"]["resourceVersion"] = "99"

    with pytest.raises(LeaseLost, match=want):
        await task
    assert now() <= 2.5


@virtual_time
async def test_cancelling_releases_and_waits_for_the_body():
    """Cancelled, the election stops the body first and then gives the Lease back."""
    server, body = MemoryTransport(), Body()
    task = asyncio.create_task(election(server, "a").run(body))
    await body.started.wait()
    await asyncio.sleep(5)
    task.cancel()
    await asyncio.wait([task])

    assert task.cancelled()
    assert body.stopped_at is not None
    assert server.objects[PATH]["spec"]["holderIdentity"] == ""


@virtual_time
async def test_a_crashing_body_gives_the_lease_back():
    """The body's exception is raised, and no renewal goes on behind it."""
    server = MemoryTransport()

    async def crash(_term):
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await election(server, "a").run(crash)
    requests = len(server.requests)
    await asyncio.sleep(60)

    assert server.objects[PATH]["spec"]["holderIdentity"] == ""
    assert len(server.requests) == requests


@virtual_time
async def test_a_deleted_lease_starts_above_every_term_before():
    """Terms are seconds apart, and a term starts at the seconds since a fixed day or above."""
    server, clock, epochs = MemoryTransport(), LoopClock(), []
    for _ in range(3):
        body = Body()
        task = asyncio.create_task(election(server, "a", clock=clock).run(body))
        await body.started.wait()
        epochs.append(body.term.epoch)
        del server.objects[PATH]
        with pytest.raises(LeaseLost):
            await task

    assert epochs == sorted(set(epochs))
    assert epochs[0] == YEAR


@pytest.mark.parametrize(
    ("transitions", "day", "want"),
    [
        pytest.param(0, "2025-01-01T00:00:00Z", 1, id="the first second"),
        pytest.param(0, "2026-01-01T00:00:00Z", YEAR, id="no Lease, or one just made"),
        pytest.param(7, "2026-01-01T00:00:00Z", YEAR, id="a Lease of another program"),
        pytest.param(YEAR + 40, "2026-01-01T00:00:00Z", YEAR + 41, id="terms came fast"),
        pytest.param(YEAR, "2024-01-01T00:00:00Z", YEAR + 1, id="our clock is behind"),
        pytest.param(2**31 - 2, "2026-01-01T00:00:00Z", 2**31 - 1, id="the last one that fits"),
        pytest.param(2**31 - 1, "2026-01-01T00:00:00Z", YEAR, id="nothing can follow it"),
        pytest.param(2**62, "2026-01-01T00:00:00Z", YEAR, id="more than the field holds"),
        pytest.param(-5, "2026-01-01T00:00:00Z", YEAR, id="negative"),
        pytest.param(0, "2999-01-01T00:00:00Z", 2**31 - 1, id="a clock far ahead"),
    ],
)
def test_next_epoch(transitions, day, want):
    """A term's epoch comes from Lease and clock, and the Lease can always hold it."""
    assert next_epoch(transitions, parse_instant(day)) == want


@virtual_time
async def test_a_lease_that_asks_for_years_is_not_waited_for():
    """The Lease is in reach of others: its duration holds up an election for so long at most."""
    server, body = MemoryTransport(), Body()
    lease = {"metadata": {"name": "gs", "resourceVersion": "1"}}
    lease["spec"] = {"holderIdentity": "x", "leaseDurationSeconds": 2**31 - 1}
    server.objects[PATH] = lease
    task = asyncio.create_task(election(server, "b").run(body))

    await body.started.wait()

    assert 150 <= now() <= 153
    task.cancel()
    await asyncio.wait([task])


@virtual_time
async def test_a_candidate_that_cannot_be_elected_says_why():
    """After a lease time without an answer; it is over with the first one."""
    server, body = MemoryTransport(), Body()
    server.down = True
    one = election(server, "a")
    task = asyncio.create_task(one.run(body))
    await asyncio.sleep(14)
    assert one.blocked == ""
    await asyncio.sleep(4)
    assert one.blocked.startswith("the Lease ns/gs: ")
    server.down = False
    await body.started.wait()

    assert one.blocked == ""
    task.cancel()
    await asyncio.wait([task])


@virtual_time
@pytest.mark.parametrize(
    ("spec", "want"),
    [
        pytest.param({}, True, id="as we wrote it"),
        pytest.param({"leaseTransitions": YEAR + 9}, False, id="a later term"),
        pytest.param({"holderIdentity": "b"}, False, id="another holder"),
        pytest.param(None, False, id="deleted"),
    ],
)
async def test_confirm(spec, want):
    """A leader that asks learns whether its term is over, and writes nothing from then on."""
    server, body = MemoryTransport(), Body()
    one = election(server, "a")
    task = asyncio.create_task(one.run(body))
    await body.started.wait()
    if spec is None:
        del server.objects[PATH]
    else:
        server.objects[PATH]["spec"].update(spec)

    assert await one.confirm() is want
    assert body.term.valid() is want
    server.down = True
    assert not await one.confirm()
    assert body.term.valid() is want
    task.cancel()
    await asyncio.wait([task])


@virtual_time
async def test_an_outage_before_the_election_is_waited_out():
    """A candidate tries again and again, at the retry period."""
    server, body = MemoryTransport(), Body()
    server.down = True
    task = asyncio.create_task(election(server, "a").run(body))
    await asyncio.sleep(60)
    tries = len(server.requests)
    server.down = False
    await body.started.wait()

    assert 30 <= tries <= 37
    task.cancel()
    await asyncio.wait([task])


@pytest.mark.parametrize(
    "times",
    [
        pytest.param({"lease": 10, "renew": 10, "retry": 2}, id="no margin for others"),
        pytest.param({"lease": 15, "renew": 2, "retry": 2}, id="no second try"),
    ],
)
def test_times_that_cannot_work(times):
    """The three times must leave room for each other."""
    with pytest.raises(ValueError, match="lease > renew"):
        election(MemoryTransport(), "a", **times)
