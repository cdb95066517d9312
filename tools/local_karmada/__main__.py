"""`python -m tools.local_karmada`: a real Karmada on this machine, up, down, or what it does."""

import argparse
import asyncio
import os
import sys
from pathlib import Path
from typing import NoReturn

from global_sched.shared.clock import SystemClock
from tools.local_karmada.build import programs as built
from tools.local_karmada.errors import LocalError
from tools.local_karmada.federation import Federation
from tools.local_karmada.options import DEMO, Options, default_state
from tools.local_karmada.tools import KARMADA_VERSIONS, upstreams


class _Parser(argparse.ArgumentParser):
    """Complains in one line."""

    def error(self, message: str) -> NoReturn:
        self.exit(2, f"{self.prog}: {message}\n")


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _arguments(arguments: list[str] | None) -> argparse.Namespace:
    parser = _Parser(prog="tools.local_karmada", description="A real Karmada on this machine.")
    version = os.environ.get("KARMADA") or KARMADA_VERSIONS[0]
    state = os.environ.get("GLOBAL_SCHED_KARMADA_STATE")
    parser.add_argument(
        "--state", type=Path, default=Path(state) if state else default_state(), help="state folder"
    )
    commands = parser.add_subparsers(dest="command", required=True, parser_class=_Parser)
    up = commands.add_parser("up", help="start it and wait until every member is Ready")
    up.add_argument("--members", type=int, default=3, help="how many members")
    up.add_argument("--karmada", default=version, help=f"one of {', '.join(KARMADA_VERSIONS)}")
    up.add_argument("--scenario", type=Path, help="the scenario file whose clusters are members")
    up.add_argument("--first-port", type=int, default=0, help="count ports from here; 0: free ones")
    up.add_argument("--failover", action="store_true", help="Karmada evicts, with short times")
    up.add_argument("--descheduler", action="store_true", help="start the descheduler too")
    up.add_argument("--no-karmada-scheduler", action="store_true", help="leave it out")
    commands.add_parser("down", help="end everything and delete the state folder's contents")
    commands.add_parser("status", help="every process, and whether it works")
    build = commands.add_parser("build", help="only build the programs")
    build.add_argument("--karmada", default=version)
    return parser.parse_args(arguments)


def _options(given: argparse.Namespace) -> Options:
    return Options(
        members=given.members,
        karmada=given.karmada,
        scenario=str((given.scenario or DEMO).resolve()),
        first_port=given.first_port,
        failover=given.failover,
        descheduler=given.descheduler,
        karmada_scheduler=not given.no_karmada_scheduler,
    )


async def _up(federation: Federation, options: Options) -> int:
    await federation.up(options)
    folders = [federation.tool(name).parent for name in ("karmadactl", "kubectl")]
    _say(f"\n  export KUBECONFIG={federation.kubeconfigs.admin}")
    _say(f"  export PATH={':'.join(map(str, folders))}:$PATH")
    _say("  kubectl get clusters\n  karmadactl get nodes -C " + federation.members[0])
    return 0


async def _status(federation: Federation) -> int:
    rows = await federation.status()
    if not rows:
        _say(f"no federation in {federation.state}")
        return 1
    width = max(len(one.name) for one in rows)
    for one in rows:
        _say(f"{one.name:<{width}}  {one.state:<9}  {one.pid:>7}  {one.log}")
    return 0 if all(one.state == "works" for one in rows) else 1


def main(arguments: list[str] | None = None) -> int:
    """Run the command line; the exit code."""
    given = _arguments(arguments)
    federation = Federation(given.state, clock=SystemClock(), say=_say)
    try:
        if given.command == "build":
            for name, path in built(upstreams(given.karmada), say=_say).items():
                _say(f"{name:<28} {path}")
            return 0
        if given.command == "up":
            return asyncio.run(_up(federation, _options(given)))
        if given.command == "status":
            return asyncio.run(_status(federation))
        asyncio.run(federation.down())
    except LocalError as error:
        sys.stderr.write(f"tools.local_karmada: {error}\n")
        return 1
    except BrokenPipeError:
        return 1  # who read along has heard enough
    except KeyboardInterrupt:
        sys.stderr.write("tools.local_karmada: interrupted; `make karmada-down` cleans up\n")
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
