"""`gsched dashboard`: the pages of `global_sched.web`, for this machine or behind a proxy."""

import asyncio
import signal
import ssl
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path

import click

from global_sched.cli.view import show_warning, source_of
from global_sched.cli.where import Where
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import open_connection
from global_sched.shared.kube.connection import Access, CredentialSource, FixedSource
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.kube.transport import AiohttpTransport
from global_sched.web.entry import Entry
from global_sched.web.pages import Pages
from global_sched.web.server import forever, serving
from global_sched.web.viewers import Viewers


@dataclass(frozen=True, slots=True, kw_only=True)
class Proxied:
    """The control plane without any credentials: each request brings those of a person."""

    server: str
    authority: Path | None
    hosts: Sequence[str]


def run(where: Where, *, listen: str, port: int, proxied: Proxied | None) -> None:
    """Serve until interrupted."""
    try:
        asyncio.run(_serve(where, listen, port, proxied))
    except ConfigError as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except OSError as error:
        raise click.ClickException(
            f"{listen}:{port}: {error.strerror}; choose another one with --port"
        ) from error


async def _serve(where: Where, listen: str, port: int, proxied: Proxied | None) -> None:
    clock = SystemClock()
    base = _access(proxied) if proxied is not None else None
    source = None if base is not None else source_of(where, clock)

    async def opener(authorization: str) -> Client:
        found: CredentialSource
        if base is not None:
            found = FixedSource(replace(base, authorization=authorization))
        else:
            assert source is not None
            found = source
        connection = await open_connection(found, clock=clock, warn=show_warning)
        return Client(AiohttpTransport(connection), clock=clock, user_agent="gsched-dashboard")

    namespace = await _namespace(source, clock) if source is not None else ""
    viewers = Viewers(opener, clock, leader_namespace=where.leader_namespace)
    entry = Entry(hosts=set(proxied.hosts) if proxied else set(), behind_proxy=bool(proxied))
    pages = Pages(viewers, namespace=namespace)
    async with serving(entry, pages, viewers, host=listen, port=port) as at:
        if proxied is None:
            entry.hosts = {f"127.0.0.1:{at}", f"localhost:{at}"}
            entry.announce = lambda token: click.echo(
                f"A browser has come in. For another one: http://127.0.0.1:{at}/?token={token}"
            )
            click.echo(f"Open http://127.0.0.1:{at}/?token={entry.token}\nCtrl-C ends it.")
        else:
            click.echo(f"Serving {', '.join(sorted(entry.hosts))} on {listen}:{at}")
        await _until_stopped()


async def _until_stopped() -> None:
    """Ctrl-C and SIGTERM end it."""
    task = asyncio.create_task(forever())
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    with suppress(asyncio.CancelledError):
        await task


async def _namespace(source: CredentialSource, clock: Clock) -> str:
    """What the kubeconfig's context names; asked at the start, so that a bad one is said then."""
    connection = await open_connection(source, clock=clock, warn=show_warning)
    return (await connection.access()).namespace


def _access(proxied: Proxied) -> Access:
    """The server as it is reached without credentials. Raises ConfigError."""
    try:
        tls = ssl.create_default_context(cafile=proxied.authority)
    except (OSError, ssl.SSLError) as error:
        raise ConfigError(f"{proxied.authority}: no certificate authority: {error}") from error
    return Access(server=proxied.server.rstrip("/"), tls=tls)
