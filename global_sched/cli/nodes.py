"""`gsched nodes CLUSTER`: nodes in trouble and on probation, as the member's agent reports them."""

from collections.abc import Sequence

import click

from global_sched.cli.output import Column, echo, show_rows
from global_sched.cli.view import with_client
from global_sched.cli.where import Where
from global_sched.shared.api.core import ConfigMap
from global_sched.shared.api.names import NODE_TROUBLE_CLEAR, NODE_TROUBLE_MAP
from global_sched.shared.api.resource import CONFIGMAPS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.view.nodes import first_slice, rows_of

CLEAR = "clear"


COLUMNS = (
    Column(head="NODE", field="node"),
    Column(head="STATE", field="state"),
    Column(head="DOMAIN", field="domain"),
    Column(head="CAUSE", field="cause"),
    Column(head="DETAIL", field="detail", sentences=True, leaves=2),
    Column(head="SINCE", field="since"),
    Column(head="UNTIL", field="until"),
    Column(head="TIMES", field="count", right=True, leaves=1),
)


def show(where: Where, *, cluster: str, output: str) -> None:
    """Print the nodes of a member that take no new pods, or gangs only as a last resort."""
    spec = with_client(where, lambda client, _clock: first_slice(client, cluster))
    rows = list(rows_of(spec))
    sound = spec.nodes.total - spec.nodes.troubled - spec.nodes.probation
    nothing = f"All {spec.nodes.total} nodes are sound."
    show_rows(rows, COLUMNS, output, nothing=nothing)
    if output not in ("json", "yaml") and rows:
        more = spec.nodes.troubled + spec.nodes.probation - len(rows)
        echo(
            f"{max(0, sound)} of {spec.nodes.total} nodes are sound"
            + (f"; {more} more are not shown" if more > 0 else "")
        )
    for domain in spec.nodes.domains or ():
        echo(f"domain {domain} is in trouble: several of its nodes fell within ten minutes")


def clear(
    member: Where | None, *, cluster: str, names: Sequence[str], agent_namespace: str
) -> None:
    """End the probation of nodes: ask the agent through its ConfigMap, or say how to.

    member:  where the member's API server is; None prints the command for it.
    """
    if not names:
        raise click.UsageError(f"name the nodes to clear: gsched nodes {CLEAR} {cluster} NODE …")
    if member is None:
        patch = f'{{"data":{{"{NODE_TROUBLE_CLEAR}":"{",".join(names)}"}}}}'
        echo("In the member, run (or name its kubeconfig with --member-kubeconfig):")
        echo(
            f"kubectl -n {agent_namespace} patch configmap {NODE_TROUBLE_MAP} --type merge "
            f"-p '{patch}'"
        )
        return

    with_client(member, lambda client, _clock: ask_to_clear(client, agent_namespace, names))
    echo(f"asked the agent of {cluster} to clear {', '.join(names)}; it looks every 30 s")


async def ask_to_clear(client: Client, namespace: str, names: Sequence[str]) -> None:
    """Name these nodes in the agent's ConfigMap, beside those that are named there.

    Raises:  click.ClickException where the agent remembers no node.
    """
    try:
        found = await client.get(CONFIGMAPS, NODE_TROUBLE_MAP, namespace=namespace, type=ConfigMap)
    except NotFound:
        raise click.ClickException(
            "the agent remembers no node that could be cleared: there is no ConfigMap "
            f"{namespace}/{NODE_TROUBLE_MAP}; see --agent-namespace"
        ) from None
    asked = (found.data or {}).get(NODE_TROUBLE_CLEAR, "").split(",")
    wanted = sorted({one.strip() for one in (*asked, *names) if one.strip()})
    body = {"data": {NODE_TROUBLE_CLEAR: ",".join(wanted)}}
    await client.patch(CONFIGMAPS, NODE_TROUBLE_MAP, body, namespace=namespace)
