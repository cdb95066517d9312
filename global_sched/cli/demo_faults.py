"""`gsched demo --faults`: nodes die, a rack goes, a gang moves, one shrinks; the cost of each.

One member with five racks of five nodes, and one gang of four pods in each of four racks. Two more
members with six racks of two nodes; six gangs of two pods fill the first, and may move to the other
one. A last member is full of one elastic gang. The programs are the real ones. Times are short, so
that the demo takes a few minutes: a kubelet is missed after 5 s, not 50 s, the agent's grace is
2 s, not 20 s, a gang moves after 5 s, not 15 min, and goes on with fewer after 20 s, not 60 s.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import Any, Final

import click
from rich.box import SIMPLE_HEAD
from rich.console import Console
from rich.table import Table

from global_sched.cli.apply import apply_manifest
from global_sched.cli.demo_programs import DemoError, Programs, programs_of
from global_sched.cli.demo_progress import WIDE
from global_sched.core import explain_workload
from global_sched.embedded.federation import Federation, FederationError, MemberSpec, running
from global_sched.embedded.members import MemberOptions, rack_plan
from global_sched.shared.api.names import DECISION, JOB_NAME, OUT_OF_SERVICE, RECOVERY
from global_sched.shared.api.resource import (
    CAPACITY_REPORTS,
    NAMESPACES,
    NODES,
    PODS,
    RESOURCE_BINDINGS,
)
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import ApiError
from global_sched.shared.model.quantity import counted
from global_sched.shared.telemetry.logs import configure
from global_sched.view.look import find_job, look

MEMBER: Final = "m1"
FULL, FREE = "m2", "m3"
"""The member whose gangs may move, and the one that they may move to."""
SMALL: Final = "m4"
"""The member of the elastic gang."""
TEAM: Final = "team-faults"
PODS_OF_GANG: Final = 4
HOLD: Final = 5
"""Seconds below its minimum after which a gang may move."""
WATCHED: Final = 4 * HOLD
"""Seconds for which gangs that may not move are watched."""
PATIENCE: Final = 90.0
"""Seconds in which a gang has to be whole again."""
POLL: Final = 0.2
RULES: Final = {"scopes": ["pod", "task", "job"], "budget": {"losses": 5, "window": "1h"}}
MOVING: Final = {"scopes": ["pod", "cluster"], "hold": f"{HOLD}s"}
SHRINKING: Final = {"scopes": ["pod", "shrink"]}
POLICY: Final = ("--set", "policy.recovery_heal_seconds=20", "--set", "policy.backoff_seconds=10")
_OFF: Final = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Gang:
    """A gang of the demo: its pods, how many are enough, where it may be, and its rules."""

    pods: int = PODS_OF_GANG
    minimum: int = PODS_OF_GANG
    homes: tuple[str, ...] = (MEMBER,)
    rules: Mapping[str, object] = field(default_factory=lambda: RULES)


GANGS: Final = {
    **{f"gang-{letter}": _Gang() for letter in "abcd"},
    **{
        f"gang-{letter}": _Gang(pods=2, minimum=2, homes=(FULL, FREE), rules=MOVING)
        for letter in "efghij"
    },
    "gang-k": _Gang(minimum=2, homes=(SMALL,), rules=SHRINKING),
}


class Outcome(StrEnum):
    """What has to become of the gangs that a fault hits."""

    MENDED = "mended"
    """Whole again in their racks, and only lost pods are made anew."""
    MOVES = "moves"
    """Whole again in another member, with all of their pods."""
    HELD = "held"
    """They stay below their minimum, and nothing moves, until the nodes are back."""
    FEWER = "fewer"
    """It goes on with the pods that are left."""


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCost:
    """The cost of one fault: pods by whether they were lost or only disturbed, and the time."""

    fault: str
    gang: str
    outcome: Outcome = Outcome.MENDED
    lost: int
    disturbed: int
    kept: int
    racks: tuple[str, ...]
    """Where the pods are after it; one rack for each gang."""
    gangs: int = 1
    same_decision: bool
    noticed: float | None
    """Seconds until the first pod was replaced or the node was reported; None: it never was."""
    whole: float | None
    """Seconds until all pods were Ready again; None: they were not in time."""
    others: int = 0
    """How many other gangs run."""
    untouched: int = 0
    """How many of those kept every pod."""


@dataclass(slots=True, kw_only=True)
class _World:
    federation: Federation
    admin: Client
    members: Mapping[str, Client]
    clock: Clock
    programs: Programs
    console: Console
    costs: list[FaultCost] = field(default_factory=list)

    async def pods(self, gang: str) -> dict[str, Obj]:
        """The gang's pods by name, in whichever member they are."""
        selector = f"{JOB_NAME}={gang}"
        lists = [
            await self.members[one].list(PODS, namespace=TEAM, label_selector=selector)
            for one in GANGS[gang].homes
        ]
        return {pod["metadata"]["name"]: pod for found in lists for pod in found.items}

    async def decision(self, gang: str) -> tuple[str, int]:
        """The id of the decision that placed the gang, and how many pods it admits."""
        found = await self.admin.get(RESOURCE_BINDINGS, f"{gang}-job", namespace=TEAM)
        text = (found["metadata"].get("annotations") or {}).get(DECISION, "{}")
        decision = json.loads(text)
        granted = [one.get("amounts") or {} for one in decision.get("grants") or ()]
        return str(decision.get("id", "")), sum(sum(one.values()) for one in granted)

    async def verdict(self, gang: str) -> str:
        """What `gsched explain` says first of the gang."""
        view = await look(self.admin, self.clock)
        job = find_job(view.state, gang, TEAM)
        found = explain_workload(view.state.snapshot(), view.policy, view.now, job.key)
        return "" if found is None else found.outcome.verdict.detail

    async def troubled(self) -> set[str]:
        """Nodes that the agents report to be in trouble."""
        found = (await self.admin.list(CAPACITY_REPORTS)).items
        listed = [one for item in found for one in item["spec"].get("trouble") or ()]
        return {one["node"] for one in listed if one["state"] == "trouble"}

    async def all_whole(self, gangs: Iterable[str]) -> bool:
        """Whether all pods of these gangs are Ready."""
        for gang in gangs:
            if not whole(await self.pods(gang), GANGS[gang].pods):
                return False
        return True

    async def until(self, done: Callable[[], Awaitable[bool]]) -> float | None:
        """Seconds until something holds; None when it does not in time."""
        start = self.clock.monotonic()
        while self.clock.monotonic() - start < PATIENCE:
            self.programs.check()
            if await done():
                return self.clock.monotonic() - start
            await self.clock.sleep(POLL)
        return None


def whole(pods: Mapping[str, Obj], count: int = PODS_OF_GANG) -> bool:
    """Whether all pods of a gang are Ready and none is asked to go."""
    return len(pods) == count and all(
        "deletionTimestamp" not in pod["metadata"]
        and any(
            one["type"] == "Ready" and one["status"] == "True"
            for one in pod["status"].get("conditions") or ()
        )
        for pod in pods.values()
    )


def run(*, state: Path | None) -> int:
    """Run the faults; 0 when every gang is whole again and nothing else was disturbed."""
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    made = state is None
    where = Path(tempfile.mkdtemp(prefix="gsched-faults-")) if state is None else state
    try:
        where.mkdir(parents=True, exist_ok=True)
        with (where / "federation.log").open("w", encoding="utf-8") as log:
            configure(level="warning", stream=log)
            costs = asyncio.run(_run(where.resolve(), console))
    except (DemoError, FederationError, ApiError) as error:
        made = False  # the logs are needed
        raise click.ClickException(" ".join(str(error).split())) from error
    finally:
        if made:
            shutil.rmtree(where, ignore_errors=True)
    console.print(table_of(costs))
    wrong = [line for cost in costs for line in problems(cost)]
    for line in wrong:
        console.print(f"not as expected: {line}", highlight=False, markup=False)
    if not wrong:
        console.print("every gang runs; no pod beside those of the gangs in trouble was touched")
    return int(bool(wrong))


async def _run(state: Path, console: Console) -> list[FaultCost]:
    clock = SystemClock()
    options = MemberOptions(
        lease_seconds=1.0, node_monitor_seconds=1.0, node_grace_seconds=5.0, pod_gc_seconds=5.0
    )
    specs = [
        MemberSpec(name=name, nodes=rack_plan(name, racks=racks, nodes=nodes), options=options)
        for name, racks, nodes in ((MEMBER, 5, 5), (FULL, 6, 2), (FREE, 6, 2), (SMALL, 1, 4))
    ]
    federation = Federation(specs, clock=clock, state=state, tls=True)
    async with running(federation):
        assert federation.kubeconfigs is not None
        async with programs_of(federation.kubeconfigs, state) as programs:
            await programs.start_agents("--node-grace-seconds", "2")
            await federation.ready()
            names = [one.name for one in specs]
            world = _World(
                federation=federation,
                admin=federation.client(),
                members={name: federation.member_client(name) for name in names},
                clock=clock,
                programs=programs,
                console=console,
            )
            await programs.start_scheduler(*POLICY)
            console.print(
                f"{MEMBER}: five racks of five nodes, four gangs of four; {FULL}: six racks of two "
                f"nodes, six gangs of two that may move to {FREE}; {SMALL}: a rack of four nodes, "
                "an elastic gang of four that may be two"
            )
            await _submit(world)
            for gang in GANGS:
                if await world.until(partial(world.all_whole, [gang])) is None:
                    raise DemoError(f"{gang} did not start in time; see the logs in {state}")
            for fault in _faults():
                shown = ", ".join(fault.gangs)
                console.print(f"{shown}: {fault.text} …", highlight=False)
                world.costs.append(await _measure(world, fault))
            return world.costs


async def _submit(world: _World) -> None:
    await world.admin.create(NAMESPACES, {"metadata": {"name": TEAM}})
    for gang in GANGS:
        for manifest in _manifests(gang):
            await apply_manifest(world.admin, manifest)


def _ordered(*clusters: str) -> Obj:
    """A placement in the first of these that takes it."""
    return {"clusterAffinities": [{"affinityName": n, "clusterNames": [n]} for n in clusters]}


def _manifests(name: str) -> list[Obj]:
    """A Volcano Job of pods that fill a node each, in one rack, and its policy."""
    gang = GANGS[name]
    limits = {"cpu": "8", "nvidia.com/gpu": "8"}
    template = {
        "metadata": {"annotations": {"federation.global-sched.io/run-seconds": "36000"}},
        "spec": {
            "restartPolicy": "Never",
            "containers": [
                {"name": "train", "image": "registry.example/t:1", "resources": {"limits": limits}}
            ],
        },
    }
    job = {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {
            "name": name,
            "namespace": TEAM,
            "annotations": {RECOVERY: json.dumps(gang.rules)},
        },
        "spec": {
            "minAvailable": gang.minimum,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": gang.pods, "template": template}],
        },
    }
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": TEAM},
        "spec": {
            "schedulerName": "global-sched",
            "resourceSelectors": [{"apiVersion": job["apiVersion"], "kind": "Job", "name": name}],
            "placement": _ordered(*gang.homes),
        },
    }
    return [policy, job]


# --- faults ---------------------------------------------------------------------------------

_Act = Callable[[_World, tuple[str, ...]], Awaitable[None]]


@dataclass(frozen=True, slots=True, kw_only=True)
class _Fault:
    """What happens, to which gangs, how, and how many pods are lost by it."""

    text: str
    gangs: tuple[str, ...]
    act: _Act
    lost: int = 1
    outcome: Outcome = Outcome.MENDED


def _faults() -> list[_Fault]:
    """In this order; the first five in one member."""
    storm = ("gang-f", "gang-g", "gang-h", "gang-i")
    return [
        _Fault(text="a pod ends with exit code 3", gangs=("gang-a",), act=_crash),
        _Fault(text="a container runs out of memory", gangs=("gang-a",), act=_out_of_memory),
        _Fault(text="a machine dies, and is declared off", gangs=("gang-b",), act=_die),
        _Fault(text="a machine dies, and its Node is deleted", gangs=("gang-c",), act=_vanish),
        _Fault(
            text="a whole rack loses its power", gangs=("gang-d",), act=_rack, lost=PODS_OF_GANG
        ),
        _Fault(
            text=f"{FULL} cannot hold it any more",
            gangs=("gang-e",),
            act=_die,
            outcome=Outcome.MOVES,
        ),
        _Fault(
            text=f"four of the five gangs of {FULL} lose a machine at once",
            gangs=storm,
            act=_die,
            lost=len(storm),
            outcome=Outcome.HELD,
        ),
        _Fault(
            text=f"a machine of {SMALL} dies, and no other is free",
            gangs=("gang-k",),
            act=_die,
            outcome=Outcome.FEWER,
        ),
    ]


async def _crash(world: _World, gangs: tuple[str, ...]) -> None:
    machine = world.federation.running_member(MEMBER)
    await machine.crash_pod(TEAM, f"{gangs[0]}-worker-1", 3)


async def _out_of_memory(world: _World, gangs: tuple[str, ...]) -> None:
    machine = world.federation.running_member(MEMBER)
    await machine.crash_pod(TEAM, f"{gangs[0]}-worker-2", 137, reason="OOMKilled")


async def _nodes(world: _World, gangs: tuple[str, ...]) -> list[str]:
    """The machine of one pod of each gang."""
    found = [(await world.pods(gang))[f"{gang}-worker-1"] for gang in gangs]
    return [str(pod["spec"]["nodeName"]) for pod in found]


def _member_of(node: str) -> str:
    return node.partition("-")[0]


async def _die(world: _World, gangs: tuple[str, ...]) -> None:
    """Machines die; an administrator sees it in `gsched nodes` and sets the taint."""
    await _silence(world, await _nodes(world, gangs))


async def _vanish(world: _World, gangs: tuple[str, ...]) -> None:
    """A machine dies, and the cloud removes its Node object."""
    [node] = await _nodes(world, gangs)
    await world.federation.running_member(MEMBER).silence_node(node)
    await world.members[MEMBER].delete(NODES, node)


async def _rack(world: _World, gangs: tuple[str, ...]) -> None:
    [node] = await _nodes(world, gangs)
    rack = node.rpartition("-")[0]
    await _silence(world, [f"{rack}-{at}" for at in range(5)])


async def _silence(world: _World, nodes: list[str]) -> None:
    for node in nodes:
        await world.federation.running_member(_member_of(node)).silence_node(node)

    async def reported() -> bool:
        return set(nodes) <= await world.troubled()

    await world.until(reported)
    for node in nodes:
        await world.members[_member_of(node)].patch(NODES, node, {"spec": {"taints": [_OFF]}})


async def _watch_and_mend(world: _World, gangs: tuple[str, ...], nodes: list[str]) -> None:
    """Gangs of a cluster at fault stay, and say why; then its machines are switched on again."""
    await world.clock.sleep(WATCHED)
    why = (await world.verdict(gangs[0])).rpartition("); ")[2]
    world.console.print(f"  {gangs[0]} stays: {why}", highlight=False, markup=False)
    for node in nodes:
        member = _member_of(node)
        await world.members[member].patch(NODES, node, {"spec": {"taints": None}})
        await world.federation.running_member(member).recover_node(node)


async def _measure(world: _World, fault: _Fault) -> FaultCost:
    gangs, count = fault.gangs, len(fault.gangs)
    before = {gang: _uids(await world.pods(gang)) for gang in GANGS}
    decisions = [await world.decision(gang) for gang in gangs]
    nodes = await _nodes(world, gangs)
    start = world.clock.monotonic()
    await fault.act(world, gangs)

    async def replaced() -> bool:
        changed = [_changed(before[gang], _uids(await world.pods(gang))) for gang in gangs]
        return sum(changed) >= fault.lost

    async def again() -> bool:
        if fault.outcome is Outcome.FEWER:
            _, admitted = await world.decision(gangs[0])
            found = _placed(await world.pods(gangs[0]))
            return admitted == GANGS[gangs[0]].pods - fault.lost and whole(found, admitted)
        return await replaced() and await world.all_whole(gangs)

    seen = await world.until(replaced)
    noticed = None if seen is None else world.clock.monotonic() - start
    if fault.outcome is Outcome.HELD:
        await _watch_and_mend(world, gangs, nodes)
    done = await world.until(again)
    after = {gang: await world.pods(gang) for gang in GANGS}
    changed = {gang: _changed(before[gang], _uids(after[gang])) for gang in GANGS}
    others = [gang for gang in GANGS if gang not in gangs]
    racks = {
        str(pod["spec"]["nodeName"]).rpartition("-")[0]
        for gang in gangs
        for pod in _placed(after[gang]).values()
    }
    mine = sum(changed[gang] for gang in gangs)
    return FaultCost(
        fault=fault.text,
        gang=gangs[0] if count == 1 else f"{gangs[0]} … {gangs[-1][-1]}",
        outcome=fault.outcome,
        lost=fault.lost,
        disturbed=max(0, mine - fault.lost),
        kept=sum(GANGS[gang].pods for gang in gangs) - mine,
        racks=tuple(sorted(racks)),
        gangs=count,
        same_decision=[await world.decision(gang) for gang in gangs] == decisions,
        noticed=noticed,
        whole=None if done is None else world.clock.monotonic() - start,
        others=len(others),
        untouched=sum(not changed[gang] for gang in others),
    )


def _placed(pods: Mapping[str, Obj]) -> dict[str, Obj]:
    """The pods that have a node."""
    return {name: pod for name, pod in pods.items() if pod["spec"].get("nodeName")}


def _uids(pods: Mapping[str, Obj]) -> dict[str, str]:
    return {name: str(pod["metadata"]["uid"]) for name, pod in pods.items()}


def _changed(before: Mapping[str, str], now: Mapping[str, str]) -> int:
    """How many pods are gone or were made anew."""
    return sum(now.get(name) != uid for name, uid in before.items())


# --- the result -----------------------------------------------------------------------------


def problems(cost: FaultCost) -> list[str]:
    """What is not as it should be after a fault, empty when nothing is."""
    found, moves = [], cost.outcome is Outcome.MOVES
    anew = cost.outcome in (Outcome.MOVES, Outcome.FEWER)
    if cost.whole is None:
        found.append(f"{cost.gang} is not whole {PATIENCE:g} s after: {cost.fault}")
    if cost.disturbed and not moves:
        found.append(f"{cost.disturbed} other pods of {cost.gang} were disturbed: {cost.fault}")
    if len(cost.racks) != cost.gangs:
        found.append(f"{cost.gang} lies in racks {', '.join(cost.racks)}: {cost.fault}")
    if not cost.same_decision and not anew:
        found.append(f"{cost.gang} was decided anew: {cost.fault}")
    if moves and not all(one.startswith(f"{FREE}-") for one in cost.racks):
        found.append(f"{cost.gang} did not move to {FREE}: {cost.fault}")
    if cost.untouched != cost.others:
        touched = cost.others - cost.untouched
        found.append(f"{counted(touched, 'other gang')} lost pods: {cost.fault}")
    return found


def table_of(costs: list[FaultCost]) -> Table:
    """One row per fault."""
    table = Table(title="what each fault cost", title_justify="left", box=SIMPLE_HEAD)
    for head in ("fault", "gang", "replaced after", "whole after", "lost", "disturbed", "kept"):
        table.add_column(head)
    for head in ("other gangs untouched", "then", "rack"):
        table.add_column(head)
    for cost in costs:
        table.add_row(
            cost.fault,
            cost.gang,
            _seconds(cost.noticed),
            _seconds(cost.whole),
            str(cost.lost),
            str(cost.disturbed),
            str(cost.kept),
            f"{cost.untouched} of {cost.others}",
            _THEN[cost.outcome],
            ", ".join(cost.racks),
        )
    return table


_THEN: Final = {
    Outcome.MENDED: "stays",
    Outcome.MOVES: "moves",
    Outcome.HELD: "stays until mended",
    Outcome.FEWER: "goes on with fewer",
}


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
