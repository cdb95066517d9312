"""`gsched left JOB CLUSTER`: an operator says that nothing of a job is left in a cluster."""

import click

from global_sched.cli.view import with_client
from global_sched.cli.where import Where
from global_sched.controllers.eviction_tasks import decision_of
from global_sched.dispatch.patches import left_patch
from global_sched.shared.api.resource import CLUSTER_RESOURCE_BINDINGS, RESOURCE_BINDINGS
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.model.ids import split_key
from global_sched.shared.model.instant import format_instant
from global_sched.view.look import find_job, look

DANGER = (
    "If pods of it do still run in {cluster}, they run twice from now on: nothing ends them before "
    "the cluster answers again. Look there first."
)


def say(where: Where, *, job: str, namespace: str | None, cluster: str, yes: bool) -> None:
    """End the withdrawal of a job from a cluster that cannot show it itself."""

    async def work(client: Client, clock: Clock) -> str:
        return await end(where, client, clock, job=job, namespace=namespace, at=cluster, yes=yes)

    click.echo(with_client(where, work))


async def end(
    where: Where,
    client: Client,
    clock: Clock,
    *,
    job: str,
    namespace: str | None,
    at: str,
    yes: bool,
) -> str:
    """One write: the eviction task ends, and nothing is held there any more.

    Raises:  click.ClickException where the job is not leaving that cluster.
    """
    view = await look(client, clock, leader_namespace=where.leader_namespace)
    found = find_job(view.state, job, namespace)
    left = next((one for one in found.left if one.cluster == at), None)
    if left is None:
        names = ", ".join(one.cluster for one in found.left) or "no cluster"
        raise click.ClickException(f"{found.key} is not leaving {at}; it is leaving {names}")
    text = f"{found.key} is leaving {at} since {format_instant(left.at)}."
    if not yes and not click.confirm(
        f"{text} {DANGER.format(cluster=at)}\nIs nothing of it left there?"
    ):
        raise click.Abort
    space, name = split_key(found.key)
    resource = RESOURCE_BINDINGS if space else CLUSTER_RESOURCE_BINDINGS
    raw = await client.get(resource, name, namespace=space or None)
    tasks = (raw.get("spec") or {}).get("gracefulEvictionTasks") or []
    body = left_patch(raw["metadata"]["resourceVersion"], tasks, decision_of(raw), {at})
    await client.patch(resource, name, body, namespace=space or None)
    return f"{found.key} has left {at}"
