"""`gsched demo --faults`: nodes die, pods crash, a rack goes; the cost of each.

One member with five racks of five nodes, and one gang of four pods in each of four racks. The
programs are the real ones. The member's times are short, so that the demo takes a minute: a
kubelet is missed after 5 s, not 50 s, and the agent's grace is 2 s, not 20 s.
"""

import asyncio
import json
import shutil
import sys
import tempfile
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
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
from global_sched.shared.telemetry.logs import configure

MEMBER: Final = "m1"
TEAM: Final = "team-faults"
PODS_OF_GANG: Final = 4
PATIENCE: Final = 90.0
"""Seconds in which a gang has to be whole again."""
POLL: Final = 0.2
RULES: Final = {"scopes": ["pod", "task", "job"], "budget": {"losses": 5, "window": "1h"}}
_OFF: Final = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}

Obj = dict[str, Any]


@dataclass(frozen=True, slots=True, kw_only=True)
class FaultCost:
    """The cost of one fault: pods by whether they were lost or only disturbed, and the time."""

    fault: str
    gang: str
    lost: int
    disturbed: int
    kept: int
    racks: tuple[str, ...]
    same_decision: bool
    noticed: float | None
    """Seconds until the first pod was replaced or the node was reported; None: it never was."""
    whole: float | None
    """Seconds until all pods were Ready again; None: they were not in time."""


@dataclass(slots=True, kw_only=True)
class _World:
    federation: Federation
    admin: Client
    member: Client
    clock: Clock
    programs: Programs
    costs: list[FaultCost] = field(default_factory=list)

    async def pods(self, gang: str) -> dict[str, Obj]:
        """The gang's pods by name."""
        found = await self.member.list(PODS, namespace=TEAM, label_selector=f"{JOB_NAME}={gang}")
        return {pod["metadata"]["name"]: pod for pod in found.items}

    async def decision(self, gang: str) -> str:
        """The id of the decision that placed the gang."""
        found = await self.admin.get(RESOURCE_BINDINGS, f"{gang}-job", namespace=TEAM)
        text = (found["metadata"].get("annotations") or {}).get(DECISION, "{}")
        return str(json.loads(text).get("id", ""))

    async def troubled(self) -> set[str]:
        """Nodes that the agent reports to be in trouble."""
        found = (await self.admin.list(CAPACITY_REPORTS)).items
        listed = [one for item in found for one in item["spec"].get("trouble") or ()]
        return {one["node"] for one in listed if one["state"] == "trouble"}

    async def until(self, done: Callable[[], Awaitable[bool]]) -> float | None:
        """Seconds until something holds; None when it does not in time."""
        start = self.clock.monotonic()
        while self.clock.monotonic() - start < PATIENCE:
            self.programs.check()
            if await done():
                return self.clock.monotonic() - start
            await self.clock.sleep(POLL)
        return None


def whole(pods: Mapping[str, Obj]) -> bool:
    """Whether all pods of a gang are Ready and none is asked to go."""
    return len(pods) == PODS_OF_GANG and all(
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
        console.print(f"all {len(costs)} gangs are whole; no pod beside the lost ones was touched")
    return int(bool(wrong))


async def _run(state: Path, console: Console) -> list[FaultCost]:
    clock = SystemClock()
    options = MemberOptions(
        lease_seconds=1.0, node_monitor_seconds=1.0, node_grace_seconds=5.0, pod_gc_seconds=5.0
    )
    spec = MemberSpec(name=MEMBER, nodes=rack_plan(MEMBER, racks=5, nodes=5), options=options)
    federation = Federation([spec], clock=clock, state=state, tls=True)
    async with running(federation):
        assert federation.kubeconfigs is not None
        async with programs_of(federation.kubeconfigs, state) as programs:
            await programs.start_agents("--node-grace-seconds", "2")
            await federation.ready()
            world = _World(
                federation=federation,
                admin=federation.client(),
                member=federation.member_client(MEMBER),
                clock=clock,
                programs=programs,
            )
            await programs.start_scheduler()
            console.print("one member, five racks of five nodes; four gangs of four start")
            gangs = [f"gang-{letter}" for letter in "abcd"]
            await _submit(world, gangs)
            for gang in gangs:
                if await world.until(partial(_is_whole, world, gang)) is None:
                    raise DemoError(f"{gang} did not start in time; see the logs in {state}")
            for fault, gang, act, lost in _faults(gangs):
                console.print(f"{gang}: {fault} …", highlight=False)
                world.costs.append(await _measure(world, fault, gang, act, lost))
            return world.costs


async def _is_whole(world: _World, gang: str) -> bool:
    return whole(await world.pods(gang))


async def _submit(world: _World, gangs: list[str]) -> None:
    await world.admin.create(NAMESPACES, {"metadata": {"name": TEAM}})
    for gang in gangs:
        for manifest in _manifests(gang):
            await apply_manifest(world.admin, manifest)


def _manifests(gang: str) -> list[Obj]:
    """A Volcano Job of four pods that fill a node each, in one rack, and its policy."""
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
            "name": gang,
            "namespace": TEAM,
            "annotations": {RECOVERY: json.dumps(RULES)},
        },
        "spec": {
            "minAvailable": PODS_OF_GANG,
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": PODS_OF_GANG, "template": template}],
        },
    }
    policy = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": gang, "namespace": TEAM},
        "spec": {
            "schedulerName": "global-sched",
            "resourceSelectors": [{"apiVersion": job["apiVersion"], "kind": "Job", "name": gang}],
            "placement": {},
        },
    }
    return [policy, job]


# --- faults ---------------------------------------------------------------------------------

_Act = Callable[[_World, str], Awaitable[None]]


def _faults(gangs: list[str]) -> list[tuple[str, str, _Act, int]]:
    """What happens, to which gang, how, and how many pods are lost by it."""
    return [
        ("a pod ends with exit code 3", gangs[0], _crash, 1),
        ("a container runs out of memory", gangs[0], _out_of_memory, 1),
        ("a machine dies, and is declared off", gangs[1], _die, 1),
        ("a machine dies, and its Node is deleted", gangs[2], _vanish, 1),
        ("a whole rack loses its power", gangs[3], _rack, PODS_OF_GANG),
    ]


async def _crash(world: _World, gang: str) -> None:
    machine = world.federation.running_member(MEMBER)
    await machine.crash_pod(TEAM, f"{gang}-worker-1", 3)


async def _out_of_memory(world: _World, gang: str) -> None:
    machine = world.federation.running_member(MEMBER)
    await machine.crash_pod(TEAM, f"{gang}-worker-2", 137, reason="OOMKilled")


async def _die(world: _World, gang: str) -> None:
    """A machine dies; an administrator sees it in `gsched nodes` and sets the taint."""
    node = (await world.pods(gang))[f"{gang}-worker-1"]["spec"]["nodeName"]
    await _silence(world, [node])


async def _vanish(world: _World, gang: str) -> None:
    """A machine dies, and the cloud removes its Node object."""
    node = (await world.pods(gang))[f"{gang}-worker-1"]["spec"]["nodeName"]
    await world.federation.running_member(MEMBER).silence_node(node)
    await world.member.delete(NODES, node)


async def _rack(world: _World, gang: str) -> None:
    node = (await world.pods(gang))[f"{gang}-worker-1"]["spec"]["nodeName"]
    rack = node.rpartition("-")[0]
    await _silence(world, [f"{rack}-{at}" for at in range(5)])


async def _silence(world: _World, nodes: list[str]) -> None:
    machine = world.federation.running_member(MEMBER)
    for node in nodes:
        await machine.silence_node(node)

    async def reported() -> bool:
        return set(nodes) <= await world.troubled()

    await world.until(reported)
    for node in nodes:
        await world.member.patch(NODES, node, {"spec": {"taints": [_OFF]}})


async def _measure(world: _World, fault: str, gang: str, act: _Act, lost: int) -> FaultCost:
    before, decision = await world.pods(gang), await world.decision(gang)
    start = world.clock.monotonic()
    await act(world, gang)
    uids = {name: pod["metadata"]["uid"] for name, pod in before.items()}

    async def replaced() -> bool:
        found = {name: pod["metadata"]["uid"] for name, pod in (await world.pods(gang)).items()}
        gone = [name for name, uid in uids.items() if found.get(name) != uid]
        return len(gone) >= lost

    async def again() -> bool:
        return await replaced() and whole(await world.pods(gang))

    seen = await world.until(replaced)
    noticed = None if seen is None else world.clock.monotonic() - start
    done = await world.until(again)
    after = await world.pods(gang)
    changed = sum(
        name not in after or after[name]["metadata"]["uid"] != uid for name, uid in uids.items()
    )
    racks = {str(pod["spec"].get("nodeName", "-")).rpartition("-")[0] for pod in after.values()}
    return FaultCost(
        fault=fault,
        gang=gang,
        lost=lost,
        disturbed=max(0, changed - lost),
        kept=PODS_OF_GANG - changed,
        racks=tuple(sorted(racks)),
        same_decision=await world.decision(gang) == decision,
        noticed=noticed,
        whole=None if done is None else world.clock.monotonic() - start,
    )


# --- the result -----------------------------------------------------------------------------


def problems(cost: FaultCost) -> list[str]:
    """What is not as it should be after a fault, empty when nothing is."""
    found = []
    if cost.whole is None:
        found.append(f"{cost.gang} is not whole {PATIENCE:g} s after: {cost.fault}")
    if cost.disturbed:
        found.append(f"{cost.disturbed} other pods of {cost.gang} were disturbed: {cost.fault}")
    if len(cost.racks) != 1:
        found.append(f"{cost.gang} lies in racks {', '.join(cost.racks)}: {cost.fault}")
    if not cost.same_decision:
        found.append(f"{cost.gang} was decided anew: {cost.fault}")
    return found


def table_of(costs: list[FaultCost]) -> Table:
    """One row per fault."""
    table = Table(title="what each fault cost", title_justify="left", box=SIMPLE_HEAD)
    for head in ("fault", "gang", "replaced after", "whole after", "lost", "disturbed", "kept"):
        table.add_column(head)
    table.add_column("rack")
    for cost in costs:
        table.add_row(
            cost.fault,
            cost.gang,
            _seconds(cost.noticed),
            _seconds(cost.whole),
            str(cost.lost),
            str(cost.disturbed),
            str(cost.kept),
            ", ".join(cost.racks),
        )
    return table


def _seconds(value: float | None) -> str:
    return "-" if value is None else f"{value:.1f} s"
