"""Writes of one gang's life on the member's API server, one by one."""

import asyncio
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final

from global_sched.embedded.apiserver import RequestRecord
from global_sched.shared.api.resource import EVENTS, NODES, POD_GROUPS, PODS, VOLCANO_JOBS
from global_sched.shared.kube.faults import Fault, FaultKind
from tests.flows.agent_world import World, agent_world
from tests.member_agent.member import gang_objects, racks
from tests.virtual_time import virtual_time
from tests.wire import Object

PODS_EACH: Final = 8


def job(name: str, **spec: object) -> Object:
    """Eight workers in one rack, who find each other through a Service."""
    container = {
        "name": "worker",
        "image": "registry.example/train:1",
        "resources": {"limits": {"cpu": "4", "nvidia.com/gpu": "1"}},
    }
    template = {"spec": {"restartPolicy": "Never", "containers": [container]}}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": name, "namespace": "team"},
        "spec": {
            "minAvailable": PODS_EACH,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"svc": []},
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": PODS_EACH, "template": template}],
        }
        | spec,
    }


class Life:
    """A member with an agent and one Job; the test is its kubelet."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.writes: Counter[str] = Counter()
        """What others than the kubelet have written, Leases left out."""
        self.order: list[str] = []
        """The kinds of writes in the order in which they came first."""
        self.all: list[str] = []
        world.servers["member"].on_request(self._note)

    def _note(self, record: RequestRecord) -> None:
        if record.verb in ("get", "list", "watch") or record.code >= 300:
            return
        what = f"{record.verb} {record.resource}"
        if record.subresource:
            what += f"/{record.subresource}"
        if what not in ("patch pods/status", "create jobs") and record.resource != "leases":
            self.writes[what] += 1
            self.all.append(what)
            if what not in self.order:
                self.order.append(what)

    async def submit(self, **spec: object) -> None:
        """The user's part."""
        await self.world.member.create(VOLCANO_JOBS, job("train", **spec), namespace="team")
        await asyncio.sleep(0.3)
        assert len(await self.world.nodes_of_pods()) == PODS_EACH

    async def pods(self, phase: str, *, every: float) -> None:
        """The kubelet's part: one pod after the other comes into a phase."""
        for name in sorted(await self.world.nodes_of_pods()):
            status = {"phase": phase, "conditions": [{"type": "Ready", "status": "True"}]}
            await self.world.member.patch(
                PODS, name, {"status": status}, namespace="team", subresource="status"
            )
            await asyncio.sleep(every)

    async def status(self) -> tuple[str, int, int]:
        """The Job's phase, and how many pods run and have succeeded."""
        found = (await self.world.member.get(VOLCANO_JOBS, "train", namespace="team"))["status"]
        return found["state"]["phase"], found.get("running", 0), found.get("succeeded", 0)

    async def group(self) -> tuple[str, int]:
        """The PodGroup's phase, empty while it has none, and how many pods run."""
        [found] = (await self.world.member.list(POD_GROUPS, namespace="team")).items
        status = found.get("status", {})
        return status.get("phase", ""), status.get("running", 0)

    def statuses(self) -> tuple[int, int]:
        """How often the Job's and the PodGroup's status were written since the last time."""
        found = (
            self.writes.pop("patch jobs/status", 0),
            self.writes.pop("patch podgroups/status", 0),
        )
        self.writes.clear()
        return found


@asynccontextmanager
async def life() -> AsyncIterator[Life]:
    async with agent_world(racks(4, 8)) as world:
        names = ("member-agent", "volcano")
        async with world.agent(run_volcano_jobs=True, scheduler_names=names):
            yield Life(world)


@virtual_time
async def test_the_start_of_a_gang_costs_exactly_this():
    """Two statuses of the Job, one of its PodGroup, and each thing it needs once."""
    async with life() as gang:
        await gang.submit()
        waiting = await gang.status(), await gang.group()
        await gang.pods("Running", every=0.1)
        running = await gang.status(), await gang.group()
        await asyncio.sleep(120)

    assert waiting == (("Pending", 0, 0), ("", 0))
    assert running == (("Running", 8, 0), ("Running", 8))
    assert gang.writes == {
        "create configmaps": 1,
        "create services": 1,
        "create podgroups": 1,
        "create pods": PODS_EACH,
        "create pods/binding": PODS_EACH,
        "patch jobs/status": 2,  # Pending, Running
        "patch podgroups/status": 1,  # Running
        "patch podgroups": 1,  # the plan, before the first bind
        "patch jobs": 1,  # that the minimum was reached, and where, for a restart
        "create events": 1,
    }


@virtual_time
async def test_what_comes_before_what():
    """Pods find all they need, the plan stands before the first bind, and notes come after it."""
    async with life() as gang:
        await gang.submit()

    companions, after = gang.order[:3], gang.order[3:]
    assert sorted(companions) == ["create configmaps", "create podgroups", "create services"]
    assert after == [
        "create pods",
        "patch jobs/status",
        "patch podgroups",
        "create pods/binding",
        "create events",
        "patch jobs",
    ]


@virtual_time
async def test_in_a_burst_notes_and_events_come_last():
    """Twenty gangs at once: none waits for what is written about another."""
    async with life() as gang:
        for number in range(20):
            body = job(f"train-{number}")
            await gang.world.member.create(VOLCANO_JOBS, body, namespace="team")
        await asyncio.sleep(5)
        bound = len(await gang.world.nodes_of_pods())

    binds = [at for at, what in enumerate(gang.all) if what == "create pods/binding"]
    notes = [at for at, what in enumerate(gang.all) if what in ("patch jobs", "create events")]
    assert bound == len(binds) == 20 * PODS_EACH
    assert len(notes) == 40
    assert min(notes) > max(binds)


@virtual_time
async def test_a_gang_that_waits_shows_it_after_a_moment():
    """A PodGroup whose gang finds no room has its phase, and says why; once, and then no more."""
    async with life() as gang:
        for name in (f"r{rack}-{at}" for rack in range(4) for at in range(8)):
            await gang.world.member.patch(NODES, name, {"spec": {"unschedulable": True}})
        await asyncio.sleep(1)
        await gang.world.member.create(VOLCANO_JOBS, job("train"), namespace="team")
        await asyncio.sleep(1.5)
        early = await gang.group(), gang.writes["create events"]
        await asyncio.sleep(8)
        late = await gang.group(), gang.writes["patch podgroups/status"]
        told = gang.writes["create events"]
        await asyncio.sleep(120)

    assert early == (("", 0), 0)
    assert late == (("Inqueue", 0), 1)
    assert told == gang.writes["create events"] == 1 + PODS_EACH, "the PodGroup's, and its pods'"


@virtual_time
async def test_what_passes_in_a_moment_is_not_told():
    """While the pods of a gang are made one after the other it says nothing of those before."""
    *rest, first, second, third = [*racks(1, 4), *gang_objects("g", pods=3)]
    async with agent_world(rest) as world, world.agent():
        for each in (first, second, third):
            await world.apply([each])
            await asyncio.sleep(0.6)
        events = (await world.member.list(EVENTS, namespace="team")).items
        waited = (await world.member.list(PODS, namespace="team")).items[0]["status"]

    assert [event["reason"] for event in events] == ["Placed"]
    assert "conditions" not in waited or waited["conditions"][0]["status"] == "True"


@virtual_time
async def test_counts_alone_are_written_once_a_second():
    """More pods than the minimum start over eight seconds; all of them are counted in the end."""
    async with life() as gang:
        await gang.submit(minAvailable=1)
        gang.statuses()
        await gang.pods("Running", every=1.0)
        await asyncio.sleep(1.5)
        written = gang.statuses()
        counted = await gang.status(), await gang.group()

    assert counted == (("Running", 8, 0), ("Running", 8))
    assert written == (5, 5), "the phase, and the counts of seven pods, two at a time"


@virtual_time
async def test_the_end_is_told_at_once():
    """The last pod's success ends the Job at once."""
    async with life() as gang:
        await gang.submit()
        await gang.pods("Running", every=0.0)
        await asyncio.sleep(5)
        gang.statuses()
        await gang.pods("Succeeded", every=0.05)
        await asyncio.sleep(0.1)
        ended = await gang.status()
        written = gang.statuses()

    assert ended == ("Completed", 0, 8)
    assert written == (1, 0), "the PodGroup of a Job that has ended is removed"


@virtual_time
async def test_what_cannot_be_made_is_told_and_the_status_stands():
    """A quota refuses the pods: the Job has its status all the same, and is tried again."""
    refused = Fault("create", "pods", kind=FaultKind.FORBIDDEN, times=8)
    async with life() as gang:
        gang.world.faults.add(refused)
        await gang.world.member.create(VOLCANO_JOBS, job("train"), namespace="team")
        await asyncio.sleep(0.1)
        first = await gang.status(), len(gang.world.faults.fired)
        await asyncio.sleep(5)
        bound = len(await gang.world.nodes_of_pods())

    assert first == (("Pending", 0, 0), 8)
    assert bound == PODS_EACH
