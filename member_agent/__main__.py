"""`member-agent run`: settings from file, environment and flags; then the agent until SIGTERM."""

import asyncio
import gc
import signal
import sys
from collections.abc import Callable
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final, NoReturn, get_origin

import click
from pydantic import ValidationError
from pydantic.fields import FieldInfo

from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import ApiError, ConfigError, WentBack
from global_sched.shared.telemetry.logs import LogFormat, configure
from member_agent.app import Agent
from member_agent.settings import Settings, load_settings
from member_agent.version import agent_version

USAGE_ERROR: Final = 2


def _flags(command: Callable[..., None]) -> Callable[..., None]:
    """One flag per setting, with its documentation."""
    for name, field in reversed(Settings.model_fields.items()):
        command = _option(name, field)(command)
    return command


def _option(name: str, field: FieldInfo) -> Callable[[Callable[..., None]], Callable[..., None]]:
    flag = "--" + name.replace("_", "-")
    text = " ".join((field.description or "").split())
    if bool in (field.annotation, *getattr(field.annotation, "__args__", ())):
        return click.option(f"{flag}/--no-{flag[2:]}", name, default=None, help=text)
    if get_origin(field.annotation) is tuple:
        return click.option(flag, name, default=None, metavar="A,B,…", help=text)
    return click.option(flag, name, default=None, help=text)


@click.group()
@click.version_option(agent_version(), prog_name="member-agent")
def cli() -> None:
    """Report what this member can hold, and place the gangs that arrive."""


@cli.command()
@click.option(
    "--config",
    type=click.Path(dir_okay=False, path_type=Path),
    envvar="MAGENT_CONFIG",
    help="A YAML file with settings by their names.",
)
@_flags
def run(config: Path | None, **flags: Any) -> None:
    """Run the agent of one member until SIGTERM.

    Flags win over the environment (MAGENT_CLUSTER, MAGENT_KUBECONFIG, …), and that over the file.
    """
    given = {name: value for name, value in flags.items() if value is not None}
    try:
        settings = load_settings(config, given)
        log_format = LogFormat(settings.log_format)
        configure(level=settings.log_level, format_=log_format)
    except ValidationError as error:
        _refuse(_in_one_line(error))
    except (ValueError, OSError) as error:
        _refuse(f"settings: {error}")
    # Watched objects live long: the default thresholds would walk them all again and again.
    gc.set_threshold(50_000, 20, 100)
    try:
        asyncio.run(_serve(settings))
    except (ConfigError, ApiError, WentBack) as error:
        _refuse(str(error), code=1)
    except OSError as error:
        _refuse(f"{error}: choose another --metrics-port", code=1)


async def _serve(settings: Settings) -> None:
    """Connect, run, and leave cleanly on SIGTERM or SIGINT."""
    clock = SystemClock()
    task = asyncio.current_task()
    assert task is not None
    loop = asyncio.get_running_loop()
    stopped = asyncio.Event()

    def stop() -> None:
        stopped.set()
        task.cancel()

    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, stop)
    try:
        async with AsyncExitStack() as stack:
            member, control = await _connect(settings, stack, clock)
            await Agent(member, control, settings, clock).run()
    except asyncio.CancelledError:
        if not stopped.is_set():
            raise


async def _connect(
    settings: Settings, stack: AsyncExitStack, clock: SystemClock
) -> tuple[Client, Client]:
    if settings.control_kubeconfig is None:
        raise ConfigError(
            "no kubeconfig of the control plane: pass --control-kubeconfig FILE or set "
            "MAGENT_CONTROL_KUBECONFIG"
        )
    clients: list[Client] = []
    places = (
        (settings.kubeconfig, settings.context, settings.in_cluster),
        (settings.control_kubeconfig, settings.control_context, False),
    )
    for kubeconfig, context, in_cluster in places:
        transport = await connect(
            kubeconfig=kubeconfig, context=context, in_cluster=in_cluster, clock=clock
        )
        client = Client(transport, clock=clock, user_agent=f"member-agent/{agent_version()}")
        stack.push_async_callback(client.close)
        clients.append(client)
    return clients[0], clients[1]


def _in_one_line(error: ValidationError) -> str:
    parts = []
    for problem in error.errors():
        name = ".".join(str(part) for part in problem["loc"])
        given = problem.get("input")
        shown = f" (given {given!r})" if isinstance(given, str | int | float | bool) else ""
        parts.append(f"{name}: {problem['msg']}{shown}")
    return "settings: " + "; ".join(parts) + " (see member-agent run --help)"


def _refuse(message: str, *, code: int = USAGE_ERROR) -> NoReturn:
    """One line on standard error, and out."""
    click.echo(f"member-agent: {message}", err=True)
    sys.exit(code)


def main() -> None:
    """The console script."""
    cli()


if __name__ == "__main__":
    main()
