"""Volcano's whole-cluster cases as scenarios for an embedded federation."""

import re
from typing import Final

from global_sched.scenario.format import Scenario, Step, Want
from global_sched.scenario.world import (
    Amount,
    ClusterSpec,
    HyperNodeSpec,
    JobSpec,
    NodesSpec,
    PartitionSpec,
    TaskSpec,
    World,
)
from global_sched.shared.model.quantity import parse_quantity
from tools.scenarios import volcano
from tools.scenarios.converted import CLUSTER, EXTRA, ConversionError, topology_of

JOB: Final = "job"
STAYS_UNBOUND: Final = (
    "The assertion of the original holds for any outcome. Here its name counts: nothing may be "
    "bound once the agent is idle, and something must say why."
)
_CORRECTED: Final = re.compile(r"use task cpu/mem=(\d+(?:\.\d+)?)")

_LEAVES: Final = {"s0": (0, 1), "s1": (2, 3), "s2": (4, 5), "s3": (6, 7)}
_ABOVE: Final = {"s4": (2, ("s0", "s1")), "s5": (2, ("s2", "s3")), "s6": (3, ("s4", "s5"))}


def cluster_scenario(case: volcano.ClusterCase, capacity: volcano.Capacity) -> Scenario:
    """One job on the cluster of eight nodes. Raises ConversionError."""
    corrected = next((m for note in case.notes if (m := _CORRECTED.search(note))), None)
    cpu = float(corrected[1]) if corrected else case.task.cpu
    memory = cpu if corrected or case.task.mem_gi is None else case.task.mem_gi
    scenario = Scenario(
        scenario=f"{case.id} {case.name}",
        about=" ".join(case.notes),
        federation=True,
        world=World(
            clusters=[_eight_nodes(case, capacity)],
            jobs=[_job(case, {"cpu": _plain(cpu), "memory": f"{_plain(memory)}Gi"})],
        ),
    )
    want, scenario.differs = _wanted(case)
    scenario.expect = {JOB: want}
    if case.expect.then_kill_pods:
        again = Want(same_domain=True, on_nodes=want.on_nodes)
        killed = {JOB: case.expect.then_kill_pods}
        scenario.steps = [Step(about="pods are killed", kill_pods=killed, expect={JOB: again})]
    return scenario


def _wanted(case: volcano.ClusterCase) -> tuple[Want, str]:
    """What is asserted, and why it is read otherwise than it is written."""
    expect, replicas = case.expect, case.task.replicas
    want = Want()
    differs = ""
    if expect.all_pods_on_nodes is not None:
        want.on_nodes, want.bound = expect.all_pods_on_nodes, replicas
    if expect.pending_at_least is not None:
        want.waiting = expect.pending_at_least
        if expect.pending_at_least == 0 and "pending" in case.name.lower():
            want.waiting, want.bound, differs = replicas, 0, STAYS_UNBOUND
        elif expect.pending_at_least >= replicas:
            want.bound = 0
    if expect.pods_per_hyper_node_incl_blockers is not None:
        blocked = {name: _blockers(case, name) for name in expect.pods_per_hyper_node_incl_blockers}
        want.pods_in = {
            name: pods - blocked[name]
            for name, pods in expect.pods_per_hyper_node_incl_blockers.items()
        }
    if want == Want() and not expect.then_kill_pods:
        raise ConversionError("expect says nothing")
    return want, differs


def _nodes_under(name: str) -> list[str]:
    if name in _LEAVES:
        return [f"kwok-node-{number}" for number in _LEAVES[name]]
    if name not in _ABOVE:
        raise ConversionError(f"expect: there is no HyperNode {name!r}")
    return [node for child in _ABOVE[name][1] for node in _nodes_under(child)]


def _blockers(case: volcano.ClusterCase, name: str) -> int:
    nodes = _nodes_under(name)
    return sum(blocker.node in nodes for blocker in case.blockers)


def _eight_nodes(case: volcano.ClusterCase, capacity: volcano.Capacity) -> ClusterSpec:
    """The cluster with what its blockers and its DaemonSet take."""
    names = [f"kwok-node-{number}" for number in range(8)]
    if unknown := sorted({blocker.node for blocker in case.blockers} - set(names)):
        raise ConversionError(f"blockers: there are no nodes {unknown}")
    less = capacity.assumed_daemonset_overhead
    cpu = parse_quantity(capacity.cpu, "cpu") - parse_quantity(less.cpu, "cpu")
    memory = parse_quantity(capacity.memory, "memory") - parse_quantity(less.memory, "memory")
    room: Amount = {"cpu": f"{cpu}m", "memory": memory, **EXTRA}
    nodes = []
    for name in names:
        own = [blocker for blocker in case.blockers if blocker.node == name]
        used: Amount = {
            "cpu": _plain(sum(one.cpu for one in own)),
            "memory": f"{_plain(sum(one.mem_gi for one in own))}Gi",
        }
        nodes.append(NodesSpec(name=name, allocatable=room, used=used if own else {}))
    return ClusterSpec(name=CLUSTER, nodes=nodes, hyper_nodes=_three_tiers())


def _three_tiers() -> list[HyperNodeSpec]:
    leaves = [HyperNodeSpec(name=name, tier=1, nodes=_nodes_under(name)) for name in _LEAVES]
    above = [
        HyperNodeSpec(name=name, tier=tier, children=list(children))
        for name, (tier, children) in _ABOVE.items()
    ]
    return leaves + above


def _job(case: volcano.ClusterCase, requests: Amount) -> JobSpec:
    """The job with its one task."""
    task, policy = case.task, case.task.partition_policy
    partition = None
    if policy is not None:
        if policy.TotalPartitions * policy.PartitionSize != task.replicas:
            raise ConversionError("task: replicas are not TotalPartitions times PartitionSize")
        partition = PartitionSpec(
            total_partitions=policy.TotalPartitions,
            partition_size=policy.PartitionSize,
            min_partitions=policy.MinPartitions,
            network_topology=topology_of(policy.networkTopology),
        )
    return JobSpec(
        name=JOB,
        topology=topology_of(case.job_network_topology),
        min_available=case.job_min_available,
        run_seconds=36_000,
        tasks=[
            TaskSpec(
                name="task",
                replicas=task.replicas,
                min_available=task.min,
                requests=requests,
                partition_policy=partition,
            )
        ],
    )


def _plain(number: float) -> str:
    return f"{number:g}"
