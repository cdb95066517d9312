"""`gsched explain` for a caller without read access: their own job, and what is not shown."""

import click
import msgspec

from global_sched.cli.output import echo, show_value
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import Forbidden
from global_sched.view.explain_screen import lines
from global_sched.view.own import NEEDS_NAMESPACE, own_job, own_screen


async def explain_own(
    client: Client, *, job: str, namespace: str | None, output: str, denied: Forbidden
) -> None:
    """Print one binding of the caller's own namespace, and what they may not read.

    Raises:  click.ClickException when that may not be read either, or is not there.
    """
    if "/" in job:
        namespace, _, job = job.partition("/")
    if not namespace:
        raise click.ClickException(NEEDS_NAMESPACE)
    own = await own_job(client, job=job, namespace=namespace)
    value = own.value | {"not_shown": denied.message}
    if output in ("json", "yaml"):
        show_value(value | {"waiting": msgspec.to_builtins(own.listed)}, output)
        return
    for line in lines(own_screen(own)):
        echo(line)
    if output == "wide":
        echo()
        for name, text in value.items():
            if text:
                echo(f"{name.replace('_', ' '):<10}{text}")
