"""One embedded member cluster: everything that runs in it, on one API server."""

import asyncio
from collections.abc import Mapping, Sequence
from typing import Final

from global_sched.embedded.karmada.loop import Runnable
from global_sched.embedded.members.batch_jobs import BatchJobs
from global_sched.embedded.members.cluster import Cluster
from global_sched.embedded.members.deployments import Deployments
from global_sched.embedded.members.hyper_nodes import HyperNodeCounts
from global_sched.embedded.members.job_sets import JobSets
from global_sched.embedded.members.kubelet import Kubelets
from global_sched.embedded.members.leader_worker_sets import LeaderWorkerSets
from global_sched.embedded.members.mpi_jobs import MPIJobs
from global_sched.embedded.members.node_lifecycle import NodeLifecycle
from global_sched.embedded.members.nodes import NodeKeeper
from global_sched.embedded.members.options import MemberOptions
from global_sched.embedded.members.pod_garbage import PodGarbage
from global_sched.embedded.members.pytorch import PyTorchJobs
from global_sched.embedded.members.racks import NodePlan
from global_sched.embedded.members.ray_clusters import RayClusters
from global_sched.embedded.members.ray_jobs import RayJobs
from global_sched.embedded.members.replica_sets import ReplicaSets
from global_sched.embedded.members.scheduler import DefaultScheduler
from global_sched.embedded.members.stateful_sets import StatefulSets
from global_sched.embedded.members.taint_eviction import TaintEviction
from global_sched.embedded.members.train_jobs import TrainJobs
from global_sched.embedded.members.workload import WorkloadController
from global_sched.propagation.fields import Obj
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    DEPLOYMENTS,
    HYPER_NODES,
    JOB_SETS,
    LEADER_WORKER_SETS,
    LEASES,
    MPI_JOBS,
    NODES,
    PODS,
    PYTORCH_JOBS,
    RAY_CLUSTERS,
    RAY_JOBS,
    REPLICA_SETS,
    SERVICES,
    STATEFUL_SETS,
    TRAIN_JOBS,
    Resource,
)
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.preflight import missing_resources

ALWAYS: Final = (NODES, LEASES, PODS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS, BATCH_JOBS)
OPTIONAL: Final[Mapping[Resource, type[WorkloadController]]] = {
    PYTORCH_JOBS: PyTorchJobs,
    MPI_JOBS: MPIJobs,
    LEADER_WORKER_SETS: LeaderWorkerSets,
    JOB_SETS: JobSets,
    TRAIN_JOBS: TrainJobs,
    RAY_CLUSTERS: RayClusters,
    RAY_JOBS: RayJobs,
}
"""Controllers of kinds that run where their CRD is installed; their pods are found through
Services. Volcano Jobs have none here: the agent runs them."""


async def served_kinds(client: Client) -> Mapping[Resource, type[WorkloadController]]:
    """The controllers of `OPTIONAL` for which the server has every CRD."""
    kinds = {one for kind, make in OPTIONAL.items() for one in (kind, *make.needs)}
    missing = set(await missing_resources(client, tuple(kinds)))
    return {
        kind: make
        for kind, make in OPTIONAL.items()
        if not missing.intersection((kind, *make.needs))
    }


def watched(served: Mapping[Resource, type[WorkloadController]]) -> tuple[Resource, ...]:
    """What these controllers look at, besides what every API server has."""
    found = (one for kind, make in served.items() for one in (kind, *make.needs))
    return tuple(dict.fromkeys(found))


class Member:
    """Nodes, kubelets, workload controllers and, if asked for, the default scheduler.

    `nodes` are created at the start (a list of manifests, or a plan that brings its HyperNodes);
    nodes that are in the server already, or come later, live as well. Kinds of `OPTIONAL` run
    where their CRD is installed when the member starts.
    """

    def __init__(
        self,
        client: Client,
        *,
        clock: Clock,
        nodes: Sequence[Obj] | NodePlan = (),
        hyper_nodes: Sequence[Obj] = (),
        options: MemberOptions | None = None,
    ) -> None:
        self._client = client
        self._clock = clock
        self._options = options or MemberOptions()
        self._plan = nodes if isinstance(nodes, NodePlan) else NodePlan(nodes=tuple(nodes))
        self._hyper_nodes = (*self._plan.hyper_nodes, *hyper_nodes)
        self._kubelets: Kubelets | None = None
        self._keeper: NodeKeeper | None = None
        self._cluster: Cluster | None = None
        self.ready = asyncio.Event()
        """Set when the nodes are registered and the controllers work."""

    async def run(self) -> None:
        """Run the member until cancelled."""
        served = await served_kinds(self._client)
        resources = (*ALWAYS, *watched(served), SERVICES) if served else ALWAYS
        if not await missing_resources(self._client, (HYPER_NODES,)):
            resources = (*resources, HYPER_NODES)
        cluster = Cluster(
            self._client, clock=self._clock, resources=resources, component="embedded-member"
        )
        kubelets = Kubelets(cluster, self._options)
        keeper = NodeKeeper(
            cluster,
            self._options,
            nodes=self._plan.nodes,
            hyper_nodes=self._hyper_nodes,
            down=kubelets.down,
        )
        self._kubelets, self._keeper = kubelets, keeper
        self._cluster = cluster
        loops: list[Runnable] = [
            kubelets.loop,
            NodeLifecycle(cluster, self._options),
            TaintEviction(cluster).loop,
            PodGarbage(cluster, self._options),
        ]
        loops += [one.loop for one in self._controllers(cluster, served)]
        if HYPER_NODES in resources:
            loops.append(HyperNodeCounts(cluster).loop)
        if self._options.default_scheduler:
            loops.append(DefaultScheduler(cluster).loop)
        await keeper.register()
        async with asyncio.TaskGroup() as group:
            group.create_task(cluster.run())
            await cluster.synced()
            group.create_task(keeper.run())
            for loop in loops:
                group.create_task(loop.run())
            self.ready.set()

    def _controllers(
        self, cluster: Cluster, served: Mapping[Resource, type[WorkloadController]]
    ) -> list[WorkloadController]:
        found: list[WorkloadController] = [
            Deployments(cluster),
            ReplicaSets(cluster),
            StatefulSets(cluster),
            BatchJobs(cluster, backoff=self._options.job_backoff),
        ]
        found += [make(cluster) for make in served.values()]
        return found

    # --- faults ---------------------------------------------------------------------------

    async def lose_node(self, name: str) -> None:
        """A machine is gone: its node's conditions become Unknown, its pods stay as they are."""
        await self.ready.wait()
        assert self._keeper is not None
        await self._keeper.lose(name)

    async def silence_node(self, name: str) -> None:
        """A machine dies without a word: nothing is written until its Lease is missed."""
        await self.ready.wait()
        assert self._keeper is not None
        await self._keeper.silence(name)

    async def crash_pod(
        self, namespace: str, name: str, code: int, *, reason: str = "Error"
    ) -> None:
        """A running pod's containers end with that exit code.

        Raises:  NotFound when there is no such pod.
        """
        await self.ready.wait()
        assert self._kubelets is not None
        pod = await self._client.get(PODS, name, namespace=namespace)
        await self._kubelets.crash(pod, code, reason)

    async def recover_node(self, name: str) -> None:
        """The machine is back: its node is ready, and its pods go on."""
        await self.ready.wait()
        assert self._keeper is not None
        assert self._kubelets is not None
        await self._keeper.recover(name)
        self._kubelets.look_at(name)
