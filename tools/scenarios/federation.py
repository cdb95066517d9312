"""A scenario on an embedded federation: real servers and programs over HTTP, in virtual time.

The federation is the one that the tests use (`tests.flows.federation`): Karmada's part, members
with nodes, global-sched, and an agent per member, each with its own rights.
"""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final

from global_sched.embedded.federation import MemberSpec
from global_sched.embedded.members import MemberOptions
from global_sched.scenario.compare import differences, misplaced
from global_sched.scenario.format import Scenario, Step, Want
from global_sched.scenario.jobs import policy_of, template_of
from global_sched.scenario.members import Read, hyper_nodes_of, nodes_of, used_by
from global_sched.scenario.pod_locations import PodLocations
from global_sched.scenario.run import waves
from global_sched.scenario.world import ClusterSpec, ScenarioError, World
from global_sched.shared.api import names
from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.errors import AlreadyExists
from global_sched.shared.model.workload import Workload
from global_sched.shared.placement import build_tree
from global_sched.shared.telemetry.metrics import PLACEMENTS_UNPROVEN
from global_sched.shared.telemetry.spec import Program
from global_sched.view.look import View, look
from tests.flows.federation import Whole, whole
from tests.virtual_time import VirtualLoop
from tools.scenarios.agents import parsed_tree

IDLE: Final = 30.0
"""Seconds without a write after which nothing more is to come."""
LONGEST: Final = 900.0
"""Seconds of virtual time for one step."""
_STEPS: Final = frozenset(
    {"about", "wait_seconds", "finish", "delete", "submit", "kill_pods", "expect"}
)

Obj = dict[str, Any]


def play(scenario: Scenario, read: Read) -> tuple[list[str], str, int]:
    """What does not hold, as sentences, in short what came out, and answers that are not proven.

    Raises:  ScenarioError for what a live federation cannot be given.
    """
    for number, step in enumerate(scenario.steps, 1):
        _check_step(step, number)
    if scenario.world.groups or scenario.expect_all is not None:
        raise ScenarioError("groups and expectAll are for files without `federation`")
    with TemporaryDirectory() as folder, asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(_play(scenario, read, Path(folder)))


def _check_step(step: Step, number: int) -> None:
    blank = Step()
    said = {f for f in step.__struct_fields__ if getattr(step, f) != getattr(blank, f)}
    if unknown := sorted(said - _STEPS):
        raise ScenarioError(f"step {number}: a federation does not know {', '.join(unknown)}")


async def _play(scenario: Scenario, read: Read, folder: Path) -> tuple[list[str], str, int]:
    world = scenario.world
    members = [_member(cluster, read) for cluster in world.clusters]
    async with whole(folder, *members, start=False) as live:
        for cluster in world.clusters:
            await _fill(live, cluster)
        await live.start()
        await _begin(live, world, read)
        await _idle(live)
        failures = await _differences(live, world, read, scenario.expect, {}, "at the start")
        for number, step in enumerate(scenario.steps, 1):
            before = await _everything(live, world, read)
            await _take(live, world, step)
            await _idle(live)
            when = f"after step {number}" + (f" ({step.about})" if step.about else "")
            failures += await _differences(live, world, read, step.expect, before, when)
        return failures, _said(await _everything(live, world, read)), _unproven(live)


def _unproven(live: Whole) -> int:
    """Answers of all programs that the search limit ended, as their metrics count them."""
    assert live.scheduler is not None
    counted = [(Program.GLOBAL, live.scheduler.metrics)]
    counted += [(Program.AGENT, agent.metrics) for agent in live.agents.values()]
    names_of = [(PLACEMENTS_UNPROVEN.full_name(program), one) for program, one in counted]
    return sum(int(one.registry.get_sample_value(name) or 0) for name, one in names_of)


def _said(lies: Mapping[str, PodLocations]) -> str:
    """Where every workload is, in one line."""
    parts = []
    for name, found in sorted(lies.items()):
        pods = ", ".join(f"{pod}→{node}" for pod, node in sorted(found.nodes.items()))
        bound = f"{name} {len(found.nodes)} bound" + (f" ({pods})" if pods else "")
        parts.append(bound + (f": {found.reason}" if found.waiting else ""))
    return "; ".join(parts)


def _member(cluster: ClusterSpec, read: Read) -> MemberSpec:
    return MemberSpec(
        name=cluster.name,
        nodes=nodes_of(cluster, read),
        hyper_nodes=hyper_nodes_of(cluster, read),
        labels=cluster.labels,
        provider=cluster.provider,
        region=cluster.region,
        zones=cluster.zones,
        options=MemberOptions(run_seconds=1e6),
    )


# --- what happens -------------------------------------------------------------------------------


async def _fill(live: Whole, cluster: ClusterSpec) -> None:
    """What is used on nodes already, as pods that run there."""
    client = live.federation.member_client(cluster.name)
    for node, used in used_by(cluster).items():
        amounts = {name: str(value) for name, value in used.items()}
        container = {
            "name": "used",
            "image": "registry.example/used:1",
            "resources": {"requests": amounts},
        }
        body = {
            "metadata": {
                "name": f"used-{node}",
                "namespace": "default",
                "annotations": {names.RUN_SECONDS: "1000000"},
            },
            "spec": {"nodeName": node, "containers": [container]},
        }
        await client.create(kinds.PODS, body, namespace="default")
    await client.close()


async def _begin(live: Whole, world: World, read: Read) -> None:
    for wave in waves(world, read):
        await live.apply(*wave)
        await asyncio.sleep(1.0 if wave else 0.0)
    for job in sorted(world.jobs, key=lambda one: one.created):
        if job.running is not None:
            raise ScenarioError(f"job {job.name}: `running` is for files without `federation`")
        await _submit(live, template_of(job), policy_of(job))


async def _submit(live: Whole, *manifests: Mapping[str, Any]) -> None:
    space = manifests[0]["metadata"]["namespace"]
    with suppress(AlreadyExists):
        await live.admin.create(kinds.NAMESPACES, {"metadata": {"name": space}})
    await live.apply(*(dict(one) for one in reversed(manifests)))
    await asyncio.sleep(1.0)


async def _take(live: Whole, world: World, step: Step) -> None:
    """One step, in the order of its fields."""
    await asyncio.sleep(step.wait_seconds)
    for name in (*step.finish, *step.delete):
        space, _, short = _full(world, name).partition("/")
        await live.admin.delete(kinds.VOLCANO_JOBS, short, namespace=space)
    for job in step.submit:
        world.jobs.append(job)
        await _submit(live, template_of(job), policy_of(job))
    for name, pods in step.kill_pods.items():
        space, _, short = _full(world, name).partition("/")
        for cluster in await live.clusters(short, space):
            for pod in sorted(await live.bound(cluster, short, space))[:pods]:
                await live.delete_pod(cluster, pod, space)


def _full(world: World, name: str) -> str:
    """The `namespace/name` of a job that may be named alone."""
    found = [f"{one.namespace}/{one.name}" for one in world.jobs]
    matching = [full for full in found if name in (full, full.partition("/")[2])]
    if len(matching) != 1:
        raise ScenarioError(f"{name!r} is not a job of this scenario; there are {found}")
    return matching[0]


async def _idle(live: Whole) -> None:
    """Until nothing was decided for a while: the same pods on the same nodes."""
    since, before = live.clock.monotonic(), ""
    end = since + LONGEST
    while live.clock.monotonic() < end:
        now = await _state(live)
        if now != before:
            since, before = live.clock.monotonic(), now
        elif live.clock.monotonic() - since >= IDLE:
            return
        await asyncio.sleep(1.0)
    raise ScenarioError(f"the federation is not idle after {LONGEST:g} seconds")


async def _state(live: Whole) -> str:
    """Everything that says whether something still happens, as text."""
    parts = []
    for cluster in live.federation.members:
        pods = await live.member_list(cluster, kinds.PODS)
        parts += [
            (p["metadata"]["uid"], p["spec"].get("nodeName"), p["status"].get("phase"))
            for p in pods
        ]
    bindings = (await live.admin.list(kinds.RESOURCE_BINDINGS)).items
    parts += [(b["metadata"]["uid"], str(b["spec"].get("clusters")), "") for b in bindings]
    return str(sorted(parts, key=str))


# --- what came out ------------------------------------------------------------------------------


async def _differences(
    live: Whole,
    world: World,
    read: Read,
    expect: Mapping[str, Want],
    before: Mapping[str, PodLocations],
    when: str,
) -> list[str]:
    view = await look(live.admin, live.clock)
    lies = await _everything(live, world, read, view)
    jobs = {f"{one.namespace}/{one.name}": one for one in view.state.workloads()}
    outcomes = {one.workload: one for one in view.plan.outcomes}
    failures: list[str] = []
    for name, want in expect.items():
        full = _full(world, name)
        job = jobs.get(full)
        if job is None:
            failures.append(f"{name}: has no binding")
            continue
        failures += differences(name, want, job, outcomes.get(job.key))
        was = before.get(full, PodLocations())
        failures += misplaced(name, want, lies[full], was.around(), was.waiting)
        if want.same_domain and set(lies[full].uids) == set(before[full].uids):
            failures.append(f"{name}: no pod was made anew")
    return [f"{when}: {text}" for text in failures]


async def _everything(
    live: Whole, world: World, read: Read, view: View | None = None
) -> dict[str, PodLocations]:
    """Where the pods of every job lie, by `namespace/name`."""
    seen = await look(live.admin, live.clock) if view is None else view
    return {
        f"{job.namespace}/{job.name}": await _lies(live, world, read, seen, job)
        for job in seen.state.workloads()
    }


async def _lies(live: Whole, world: World, read: Read, view: View, job: Workload) -> PodLocations:
    outcome = next((one for one in view.plan.outcomes if one.workload == job.key), None)
    pods = job.demand.gang.pods() if job.demand.gang is not None else 0
    reason = outcome.verdict.detail if outcome is not None else ""
    if not job.targets:
        written = await _condition_written(live, job)
        return PodLocations(waiting=pods, reason=reason if written else "")
    cluster = next(one for one in world.clusters if one.name == job.targets[0].cluster)
    found = [
        one
        for one in await live.pods(cluster.name, job.namespace)
        if one["metadata"]["name"].startswith(f"{job.name}-")
        and one["spec"].get("nodeName")
        and not one["metadata"].get("deletionTimestamp")
        and one["status"].get("phase") not in ("Failed", "Succeeded")
    ]
    tree = build_tree(*parsed_tree(cluster, read))
    progress = job.progress_in(job.targets[0].cluster)
    return PodLocations(
        nodes={one["metadata"]["name"]: one["spec"]["nodeName"] for one in found},
        leaf_of={name: domain for name, domain in tree.leaf_of.items() if domain is not None},
        parents={one.name: one.parent for one in tree.domains if one.parent is not None},
        waiting=pods - len(found),
        reason=reason or (progress.reason if progress is not None else ""),
        uids=tuple(sorted(one["metadata"]["uid"] for one in found)),
    )


async def _condition_written(live: Whole, job: Workload) -> bool:
    """Whether the owner can see it: the binding's Scheduled condition is False, with a message."""
    binding = await live.binding(job.name, job.namespace)
    conditions = (binding.get("status") or {}).get("conditions") or ()
    return any(
        one["type"] == "Scheduled" and one["status"] == "False" and one.get("message")
        for one in conditions
    )
