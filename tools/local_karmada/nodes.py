"""Members' nodes and HyperNodes, from the scenario file that the demo uses."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from global_sched.embedded.members.nodes import completed
from global_sched.embedded.members.racks import rack_plan
from global_sched.scenario import ScenarioError, parse
from global_sched.scenario.members import hyper_nodes_of, nodes_of, taint
from global_sched.scenario.world import ClusterSpec
from global_sched.shared.api.resource import HYPER_NODES, NODES, Resource
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists
from global_sched.shared.model.instant import format_instant
from tools.local_karmada.errors import LocalError
from tools.local_karmada.kwok import MANAGED
from tools.local_karmada.options import Options

Obj = dict[str, Any]
_AT_ONCE: Final = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberPlan:
    """One member: its nodes, and what its Cluster object says."""

    name: str
    nodes: Sequence[Obj]
    hyper_nodes: Sequence[Obj]
    labels: dict[str, str] = field(default_factory=dict)
    spec: Obj = field(default_factory=dict)


def plans(options: Options) -> list[MemberPlan]:
    """The members that the options ask for: the scenario's clusters, then plain ones.

    Raises:  LocalError when the scenario cannot be read.
    """
    path = Path(options.scenario)

    def read(name: str) -> str:
        return (path.parent / name).read_text(encoding="utf-8")

    try:
        scenario = parse(path.read_text(encoding="utf-8"), str(path))
        clusters = scenario.world.clusters[: options.members]
        found = [_plan(one, read) for one in clusters]
    except (OSError, ScenarioError) as error:
        raise LocalError(f"{path} cannot be used: {' '.join(str(error).split())}") from error
    for number in range(len(found) + 1, options.members + 1):
        name = f"member{number}"
        plan = rack_plan(name, racks=2, nodes=4)
        found.append(MemberPlan(name=name, nodes=plan.nodes, hyper_nodes=plan.hyper_nodes))
    return found


def _plan(cluster: ClusterSpec, read: Any) -> MemberPlan:
    spec: Obj = {
        "provider": cluster.provider,
        "region": cluster.region,
        "zones": list(cluster.zones),
        "taints": [taint(text, f"cluster {cluster.name}") for text in cluster.taints],
    }
    return MemberPlan(
        name=cluster.name,
        nodes=nodes_of(cluster, read),
        hyper_nodes=hyper_nodes_of(cluster, read),
        labels=dict(cluster.labels),
        spec={key: value for key, value in spec.items() if value},
    )


async def create(plan: MemberPlan, client: Client, clock: Clock) -> None:
    """Create a member's nodes and HyperNodes; those that are there stay as they are."""
    gate = asyncio.Semaphore(_AT_ONCE)
    now = format_instant(clock.now())

    async def one(resource: Resource, obj: Obj) -> None:
        async with gate:
            with suppress(AlreadyExists):
                await client.create(resource, obj)

    async with asyncio.TaskGroup() as group:
        for node in plan.nodes:
            whole = completed(node, now)
            whole["metadata"]["annotations"] = {MANAGED: "fake"}
            group.create_task(one(NODES, whole))
        for hyper_node in plan.hyper_nodes:
            group.create_task(one(HYPER_NODES, dict(hyper_node)))
