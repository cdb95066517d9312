"""`python -m bench.peers [--bindings N] [--page]`: the whole comparison, unattended."""

import argparse
import asyncio
import os
import signal
import sys
from pathlib import Path

from bench.harness import ROOT, report
from bench.peers.figures import figures
from bench.peers.page import write
from bench.peers.run import Ask, Found, gangs_alone, measured
from bench.peers.waiting import now
from global_sched.shared.kube.errors import ApiError
from tools.local_karmada.errors import LocalError
from tools.local_karmada.options import default_state
from tools.local_karmada.tools import KARMADA_VERSIONS

OUTPUT = ROOT / "build" / "bench-peers.json"


def _say(text: str) -> None:
    print(text, flush=True)


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="bench.peers", description=__doc__)
    parser.add_argument("--bindings", type=int, default=2000, help="pending Deployments' bindings")
    parser.add_argument("--lone", type=int, default=300, help="bindings that come alone")
    parser.add_argument("--jobs", type=int, default=50, help="Volcano Jobs of 8 pods, at most 64")
    parser.add_argument(
        "--karmada", default=os.environ.get("KARMADA") or KARMADA_VERSIONS[0], help="its version"
    )
    parser.add_argument(
        "--state", type=Path, default=default_state().parent / "bench-peers", help="state folder"
    )
    parser.add_argument(
        "--gangs", type=int, default=0, help="only the gangs, so many times; nothing is written"
    )
    parser.add_argument(
        "--page", action="store_true", help="write docs/benchmarks/peers.md and README's table"
    )
    given = parser.parse_args()
    if not (
        1 < given.bindings <= 2400 and 1 <= given.lone < given.bindings and 1 <= given.jobs <= 64
    ):
        parser.error(
            "use --bindings 2 to 2400 (what the members hold), --lone below it, and --jobs 1 to 64"
        )
    return given


async def _run(ask: Ask, gangs: int) -> Found | None:
    """The run; SIGTERM ends it like Ctrl-C, and the federation with it."""
    task = asyncio.current_task()
    assert task is not None
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, task.cancel)
    if gangs:
        await gangs_alone(ask, gangs, _say)
        return None
    return await measured(ask, _say)


def main() -> int:
    """Measure, print, write; 1 when it could not be measured."""
    given = _arguments()
    ask = Ask(
        bindings=given.bindings,
        lone=given.lone,
        jobs=given.jobs,
        karmada=given.karmada,
        state=given.state,
    )
    start = now()
    try:
        found = asyncio.run(_run(ask, given.gangs))
    except (LocalError, ApiError, TimeoutError) as error:
        print(f"bench.peers: {error}", file=sys.stderr)
        return 1
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("bench.peers: interrupted; everything it started was ended", file=sys.stderr)
        return 130
    if found is None:
        return 0
    rows = figures(found)
    report(rows, OUTPUT)
    print(f"measured in {now() - start:.0f} s")
    if given.page:
        for path in write(found, rows, " ".join(sys.argv[1:])):
            print(f"written to {path.relative_to(ROOT)}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
