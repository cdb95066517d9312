"""`python -m global_sched.embedded.members.pytorch --kubeconfig FILE`: the controller alone."""

import asyncio
import sys
from pathlib import Path

import click

from global_sched.embedded.members.cluster import Cluster
from global_sched.embedded.members.pytorch.controller import PyTorchJobs
from global_sched.shared.api.resource import PODS, PYTORCH_JOBS, SERVICES
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import KubeError
from global_sched.shared.kube.preflight import missing_resources
from global_sched.shared.telemetry import logs

RESOURCES = (PYTORCH_JOBS, PODS, SERVICES)


async def serve(kubeconfig: Path | None, context: str | None) -> None:
    """Run PyTorchJobs of one cluster until cancelled.

    Raises:  KubeError with one line when the cluster cannot be used.
    """
    clock = SystemClock()
    transport = await connect(kubeconfig=kubeconfig, context=context, clock=clock)
    client = Client(transport, clock=clock, user_agent="pytorchjob-controller")
    try:
        missing = await missing_resources(client, RESOURCES)
        if missing:
            names = ", ".join(one.group_kind for one in missing)
            raise KubeError(f"the cluster does not serve {names}: install the CRD (see crds/)")
        cluster = Cluster(
            client, clock=clock, resources=RESOURCES, component="pytorchjob-controller"
        )
        jobs = PyTorchJobs(cluster)
        async with asyncio.TaskGroup() as group:
            group.create_task(cluster.run())
            await cluster.synced()
            group.create_task(jobs.loop.run())
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
    """Run the PyTorchJobs of a cluster that has no training operator."""
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
