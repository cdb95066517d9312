"""Real processes that are killed, stopped, cut off and lied to: no state is ever wrong, all end.

`make faults` runs them, one after the other; each takes one to three minutes, and the churn fifteen
(`SECONDS=120` for a try).
"""

import asyncio
import json
import os
import random
import signal

import pytest

from bench.harness import commit
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION
from tests.faults.federation_process import MEMBERS
from tests.faults.proxy import Spoil
from tests.faults.slopes import Growth
from tests.faults.world import TEAM, world
from tests.wire import placement

pytestmark = [pytest.mark.faults, pytest.mark.timeout(900)]
SECONDS = int(os.environ.get("SECONDS", "900"))
"""Of churn."""
LONG = 600
"""Seconds of churn from which on memory is looked at; before, modules are loaded."""
MOST_PER_JOB = 0.05
"""Files and tasks that one more job may cost: what leaks one for every twentieth job is found."""
MOST_BYTES_PER_JOB = 100_000
"""A gross leak. Below it are bounded caches of gangs, Events and ended objects, which fill for
hours."""
ORDERED = {
    "clusterAffinities": [
        {"affinityName": "a", "clusterNames": ["east"]},
        {"affinityName": "b", "clusterNames": ["north"]},
    ]
}


async def wave(found, tag, count, seed=1):
    """Gangs of several kinds, in two queues."""
    rand = random.Random(seed)
    for at in range(count):
        shape = rand.choice(
            [
                {"pods": 4, "gpus": 8, "tier": 1},
                {"pods": 6, "gpus": 4, "tier": 2},
                {"pods": 4, "gpus": 4, "spec": {"minAvailable": 2}},
                {"pods": 1, "gpus": 2, "tier": None},
            ]
        )
        spec = dict(shape.pop("spec", {})) | {"queue": rand.choice(["default", "capped"])}
        await found.submit(f"{tag}{at}", seconds=rand.randint(3, 8), spec=spec, **shape)


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=lambda one: one.name)
async def test_leaders_die_or_stand_still(tmp_path, how):
    """Another replica goes on; one that stood still and wakes up does no harm."""
    rand = random.Random(3)
    async with world(tmp_path, "gs-a", "gs-b") as found:
        submitting = asyncio.create_task(wave(found, "j", 40))
        for _ in range(6):
            await asyncio.sleep(rand.uniform(0.5, 4))
            await found.until(found.leader, "a replica leads")
            name = await found.leader()
            await found.kill(name, how)

            async def another(name=name):
                return await found.leader() not in ("", name)

            await found.until(another, "another replica leads", seconds=30)
            if how == signal.SIGKILL:
                await found.scheduler(name)
            else:
                await found.kill(name, signal.SIGCONT)
        await submitting
        await found.until_done()


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGSTOP], ids=lambda one: one.name)
async def test_agents_die_or_stand_still(tmp_path, how):
    """Whatever an agent was doing, it or the next one goes on where it was."""
    rand = random.Random(4)
    async with world(tmp_path) as found:
        submitting = asyncio.create_task(wave(found, "j", 30))
        for _ in range(12):
            await asyncio.sleep(rand.uniform(0.5, 3))
            member = rand.choice(sorted(MEMBERS))
            await found.kill(f"agent-{member}", how)
            if how == signal.SIGKILL:
                await found.agent(member)
            else:
                await asyncio.sleep(rand.uniform(1, 8))
                await found.kill(f"agent-{member}", signal.SIGCONT)
        await submitting
        await found.until_done()


async def test_the_servers_are_killed(tmp_path):
    """All API servers go on from their data: what ran runs on, and what comes then is placed."""
    async with world(tmp_path) as found:
        await wave(found, "j", 8)
        for turn in range(3):
            await found.submit(f"long{turn}", pods=2, tier=None, seconds=20)
            await found.until_phase(f"long{turn}", "Running")
            await found.restart_servers(down=3)
            await wave(found, f"k{turn}-", 4, seed=turn)
        await found.until_done()


@pytest.mark.parametrize(
    "spoils",
    [
        pytest.param({"PATCH": Spoil("lose")}, id="answers to writes are lost"),
        pytest.param(
            {"PATCH": Spoil("status", 429), "GET": Spoil("status", 500)}, id="busy and failing"
        ),
        pytest.param({"PATCH": Spoil("delay", 3)}, id="writes arrive late"),
        pytest.param({"EVENT": Spoil("cut"), "WATCH": Spoil("status", 410)}, id="watches end"),
    ],
)
async def test_the_control_plane_behaves_badly(tmp_path, spoils):
    """A third of all requests of global-sched and of an agent, for half a minute."""
    rand = random.Random(5)

    def rule(method, _path):
        return spoils.get(method) if rand.random() < 1 / 3 else None

    async with world(tmp_path) as found:
        spoiled = [found.proxies[f"{one}/control-plane"] for one in ("gs-a", "agent-east")]
        for proxy in spoiled:
            proxy.rule = rule
        await wave(found, "j", 25)
        await asyncio.sleep(30)
        for proxy in spoiled:
            proxy.rule = lambda _method, _path: None
        assert sum(proxy.spoiled for proxy in spoiled) > 0 or "delay" in str(spoils)
        await found.until_done()


async def test_a_withdrawal_that_hangs_frees_no_quota(tmp_path):
    """While its PATCH is in the network, the queue holds what it held."""
    async with world(tmp_path) as found:
        for at in range(5):
            await found.submit(f"low{at}", pods=1, tier=None, seconds=900, spec={"queue": "capped"})
            await found.until_phase(f"low{at}", "Running")
        found.proxies["gs-a/control-plane"].rule = lambda method, path: (
            Spoil("hang", 20) if method == "PATCH" and "low" in path else None
        )
        spec = {"queue": "capped", "priorityClassName": "high"}
        await found.submit("high", pods=2, tier=None, seconds=900, spec=spec)
        await asyncio.sleep(30)
        found.proxies["gs-a/control-plane"].rule = lambda _method, _path: None
        await found.until_phase("high", "Running")


async def test_a_victim_in_a_member_that_does_not_answer(tmp_path):
    """It runs on there and nowhere else, until the member answers."""
    async with world(tmp_path) as found:
        await found.submit("low", pods=6, tier=2, seconds=900, where=ORDERED)
        await found.until_phase("low", "Running")
        await found.tell("silence east")
        high = {"priorityClassName": "high"}
        await found.submit("high", pods=6, tier=2, seconds=900, spec=high, where=placement("east"))
        await asyncio.sleep(60)
        assert await found.clusters("low") in ([], ["east"])
        assert await found.clusters("high") == []
        await found.tell("answer east")
        await found.until_phase("high", "Running", seconds=120)
        await found.until_phase("low", "Running", seconds=120)
        assert await found.clusters("low") == ["north"]


@pytest.mark.parametrize("epoch", [2**62, 2**31 - 1], ids=["2^62", "2^31 - 1"])
async def test_a_forged_epoch_stops_nothing(tmp_path, epoch):
    """The next leader is elected, and decides."""
    async with world(tmp_path, "gs-a", "gs-b") as found:
        await found.submit("a", seconds=900)
        await found.until_phase("a", "Running")
        binding = await found.admin.get(kinds.RESOURCE_BINDINGS, "a-job", namespace=TEAM)
        decision = json.loads(binding["metadata"]["annotations"][DECISION]) | {"epoch": epoch}
        notes = {"metadata": {"annotations": {DECISION: json.dumps(decision)}}}
        await found.admin.patch(kinds.RESOURCE_BINDINGS, "a-job", notes, namespace=TEAM)
        await found.kill(await found.leader())
        await found.submit("b", seconds=5)
        await found.until_phase("b", "Completed")
        assert await found.phase("a") == "Running"


@pytest.mark.timeout(SECONDS + 900)
async def test_churn_leaves_nothing_behind(tmp_path):
    """Submitted, ended and deleted at a steady rate: nothing is held, and nothing grows."""
    growth, jobs = Growth(), 0
    async with world(tmp_path) as found:
        start = sampled = found.clock.monotonic()
        while (now := found.clock.monotonic()) - start < SECONDS:
            await wave(found, f"c{jobs}-", 1, seed=jobs)
            jobs += 1
            if len(found.jobs) > 20:
                name = found.jobs.pop(0)
                await found.admin.delete(kinds.VOLCANO_JOBS, name, namespace=TEAM)
            if now - sampled >= SECONDS / 60:
                sampled = now
                for program in found.processes:
                    growth.note(program, jobs, await found.metrics(program))
            await asyncio.sleep(1.5)
        await found.until_done()
        for name in list(found.jobs):
            await found.admin.delete(kinds.VOLCANO_JOBS, name, namespace=TEAM)

        async def nothing():
            capped = await found.admin.get(kinds.QUEUES, "capped")
            held = (capped.get("status") or {}).get("allocated") or {}
            return not any(int(str(one)) for name, one in held.items() if name == "nvidia.com/gpu")

        await found.until(nothing, "the queue holds nothing")
        growth.write(seconds=SECONDS, jobs=jobs, commit=commit())
    for program, slopes in growth.per_job().items():
        assert slopes["files"] < MOST_PER_JOB, (program, slopes)
        assert slopes["tasks"] < MOST_PER_JOB, (program, slopes)
        assert slopes["memory"] < MOST_BYTES_PER_JOB or SECONDS < LONG, (program, slopes)
