"""`global-sched run`: the scheduler of a federation."""

import asyncio
import gc
import signal
import sys
from pathlib import Path
from typing import Any

import click

from global_sched.settings import Settings, SettingsError, load_settings


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(package_name="global-sched")
def main() -> None:
    """Multi-cluster federation scheduler for Karmada."""


@main.command()
@click.option("--config", type=click.Path(path_type=Path), help="Settings file (YAML or TOML).")
@click.option(
    "--kubeconfig", type=click.Path(path_type=Path), help="Kubeconfig of the control plane."
)
@click.option("--context", help="Context in the kubeconfig.")
@click.option("--in-cluster", is_flag=True, default=None, help="Use the pod's service account.")
@click.option("--scheduler-names", help="Scheduler names that we answer for, as a,b.")
@click.option("--namespace", help="Namespace of the Lease and the policy ConfigMap.")
@click.option("--lease-name", help="Name of the Lease.")
@click.option("--identity", help="This replica's name on the Lease.")
@click.option("--metrics-port", type=int, help="Port of /metrics and the probes; 0 serves none.")
@click.option("--metrics-host", help="Address of /metrics and the probes.")
@click.option("--log-level", help="debug, info, warning or error.")
@click.option("--log-format", help="json or console.")
@click.option(
    "--set",
    "assignments",
    multiple=True,
    metavar="NAME=VALUE",
    help="Any other setting, such as policy.placement_timeout_seconds=60; may be repeated.",
)
def run(config: Path | None, assignments: tuple[str, ...], **flags: Any) -> None:
    """Schedule the bindings of one control plane."""
    try:
        given = {name: value for name, value in flags.items() if value is not None}
        settings = load_settings(config, _assigned(given, assignments))
    except SettingsError as error:
        _leave(str(error))
    _serve(settings)


def _assigned(flags: dict[str, Any], assignments: tuple[str, ...]) -> dict[str, Any]:
    """Flags with `--set a.b=c` put in; values are YAML scalars. Raises SettingsError."""
    import yaml  # noqa: PLC0415 - only where it is used

    found = dict(flags)
    for text in assignments:
        path, sign, value = text.partition("=")
        if not sign or not path:
            raise SettingsError(f"--set {text}: expected NAME=VALUE")
        *parents, last = path.split(".")
        place = found
        for parent in parents:
            place = place.setdefault(parent, {})
            if not isinstance(place, dict):
                raise SettingsError(f"--set {text}: {parent} has no parts")
        try:
            place[last] = yaml.safe_load(value)
        except yaml.YAMLError as error:
            raise SettingsError(f"--set {text}: the value cannot be read") from error
    return found


def _serve(settings: Settings) -> None:
    """Run until SIGTERM or SIGINT; failures to start are one line."""
    from global_sched.app import run as run_app  # noqa: PLC0415 - 0.2 s that --help may not cost
    from global_sched.shared.kube.errors import ApiError, ConfigError  # noqa: PLC0415 - as above
    from global_sched.shared.telemetry.logs import LogFormat, configure  # noqa: PLC0415 - as above

    configure(level=settings.log_level, format_=LogFormat(settings.log_format))

    async def body() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGTERM, signal.SIGINT):
            loop.add_signal_handler(number, stop.set)
        await run_app(settings, stop)

    # Watched objects live long: the default thresholds would walk them all again and again.
    gc.set_threshold(50_000, 20, 100)
    try:
        asyncio.run(body())
    except (ConfigError, ApiError) as error:
        _leave(str(error))
    except OSError as error:
        _leave(f"{error}: choose another --metrics-port")


def _leave(message: str) -> None:
    click.echo(f"global-sched: {' '.join(message.split())}", err=True)
    sys.exit(1)


if __name__ == "__main__":
    main()
