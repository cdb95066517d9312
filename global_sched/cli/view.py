"""The federation that a command looks at: state, Policy in force, and the job that a user names."""

import asyncio
from collections.abc import AsyncIterator, Callable, Coroutine
from contextlib import asynccontextmanager
from functools import partial
from typing import Any, NamedTuple, TypeVar

import click

from global_sched.cli.where import Where
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.acting import Headers, impersonation
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import find_source, open_connection
from global_sched.shared.kube.connection import ActingSource, CredentialSource
from global_sched.shared.kube.errors import ApiError, ConfigError, Forbidden
from global_sched.shared.kube.transport import AiohttpTransport
from global_sched.view.look import View, look

T = TypeVar("T")


class Session(NamedTuple):
    """A command's connection to the control plane."""

    client: Client
    clock: Clock
    namespace: str
    """What the kubeconfig's context names; empty where it names none."""


def show_warning(text: str) -> None:
    """On standard error: standard output is the answer and nothing else."""
    click.echo(f"Warning: {text}", err=True)


@asynccontextmanager
async def opened(
    where: Where, *, warn: Callable[[str], None] = show_warning
) -> AsyncIterator[Session]:
    """A session with the control plane, closed with the block. Raises ConfigError."""
    clock = SystemClock()
    source = source_of(where, clock)
    connection = await open_connection(source, clock=clock, warn=warn)
    client = Client(AiohttpTransport(connection), clock=clock, user_agent="gsched")
    try:
        yield Session(client, clock, (await connection.access()).namespace)
    finally:
        await client.close()


def source_of(where: Where, clock: Clock) -> CredentialSource:
    """The credentials that the options name. Raises ConfigError."""
    source = find_source(
        kubeconfig=where.kubeconfig, context=where.context, in_cluster=False, clock=clock
    )
    acting = _acting(where)
    return ActingSource(source, acting) if acting else source


def _acting(where: Where) -> Headers:
    """The headers that --as and --as-group ask for. Raises ConfigError."""
    try:
        return impersonation({"as": where.acting_user, "as-groups": list(where.acting_groups)})
    except ValueError as error:
        raise ConfigError(f"--as, --as-group: {error}") from error


def with_client(
    where: Where,
    work: Callable[[Client, Clock], Coroutine[Any, Any, T]],
) -> T:
    """`with_session` for a command that needs no namespace of the context."""
    return with_session(where, lambda session: work(session.client, session.clock))


def with_session(where: Where, work: Callable[[Session], Coroutine[Any, Any, T]]) -> T:
    """Run a command against a control plane; what goes wrong is one line and exit code 1."""

    async def body() -> T:
        async with opened(where) as session:
            return await work(session)

    try:
        return asyncio.run(body())
    except ConfigError as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except ApiError as error:
        text = " ".join(str(error).split())
        raise click.ClickException(f"{text}; check that the control plane is well") from error


async def look_whole(client: Client, clock: Clock, where: Where) -> View:
    """The federation as it is; one clear line when the caller may not read it."""
    try:
        return await look(client, clock, leader_namespace=where.leader_namespace)
    except Forbidden as error:
        raise ConfigError(
            f"you may not read the whole federation ({error.message}); "
            "`gsched jobs -n NAMESPACE` and `gsched explain -n NAMESPACE JOB` show your own jobs"
        ) from error


def live(where: Where) -> View:
    """The federation as it is, for a command that needs all of it."""
    return with_client(where, partial(look_whole, where=where))
