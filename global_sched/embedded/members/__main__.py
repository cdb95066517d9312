"""`python -m global_sched.embedded.members --kubeconfig FILE`: controllers of kinds, alone.

For a cluster with its own kubelets and Kubernetes' own controllers that has the CRDs of JobSets,
Ray, PyTorchJobs, MPIJobs, TrainJobs or LeaderWorkerSets and none of their operators.
"""

import asyncio
import sys
from pathlib import Path
from typing import Final

import click

from global_sched.embedded.members.cluster import Cluster
from global_sched.embedded.members.member import OPTIONAL, served_kinds, watched
from global_sched.shared.api.resource import BATCH_JOBS, PODS, SERVICES, STATEFUL_SETS
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import KubeError
from global_sched.shared.telemetry import logs

NAME: Final = "embedded-operators"
_USED: Final = (PODS, SERVICES, BATCH_JOBS, STATEFUL_SETS)


async def serve(kubeconfig: Path | None, context: str | None) -> None:
    """Run every kind of `OPTIONAL` that the cluster serves, until cancelled.

    Raises:  KubeError with one line when the cluster cannot be used, or serves none of them.
    """
    clock = SystemClock()
    transport = await connect(kubeconfig=kubeconfig, context=context, clock=clock)
    client = Client(transport, clock=clock, user_agent=NAME)
    try:
        served = await served_kinds(client)
        if not served:
            names = ", ".join(one.group_kind for one in OPTIONAL)
            raise KubeError(f"the cluster serves none of {names}: install a CRD (see crds/)")
        resources = (*_USED, *watched(served))
        cluster = Cluster(client, clock=clock, resources=resources, component=NAME)
        controllers = [make(cluster) for make in served.values()]
        async with asyncio.TaskGroup() as group:
            group.create_task(cluster.run())
            await cluster.synced()
            for one in controllers:
                group.create_task(one.loop.run())
    finally:
        await client.close()


@click.command()
@click.option(
    "--kubeconfig",
    type=click.Path(dir_okay=False, path_type=Path),
    help="The cluster's kubeconfig; $KUBECONFIG or the pod's service account otherwise.",
)
@click.option("--context", help="Which context of the kubeconfig.")
@click.option("--log-level", default="info", show_default=True)
def main(kubeconfig: Path | None, context: str | None, log_level: str) -> None:
    """Run the workload kinds of a cluster that has no operators for them."""
    logs.configure(level=log_level)
    try:
        asyncio.run(serve(kubeconfig, context))
    except KubeError as error:
        click.echo(f"error: {error}", err=True)
        sys.exit(1)
    except KeyboardInterrupt:
        sys.exit(130)


if __name__ == "__main__":
    main()
