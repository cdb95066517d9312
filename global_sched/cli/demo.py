"""`gsched demo`: an embedded federation with the real programs, and the examples run on it.

The federation (API servers, Karmada's part, members) runs in this process; global-sched and one
agent per member run as processes of their own that know nothing but their kubeconfigs.
"""

import asyncio
import shutil
import signal
import sys
import tempfile
from collections.abc import AsyncIterator, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.live import Live

from global_sched.cli.apply import apply_manifest
from global_sched.cli.demo_progress import progress_table, result_table, summary
from global_sched.cli.view import View, look
from global_sched.embedded.federation import Federation, FederationError, MemberSpec, running
from global_sched.scenario import Scenario, ScenarioError, parse
from global_sched.scenario.members import hyper_nodes_of, nodes_of, taint
from global_sched.scenario.run import compare_live, waves
from global_sched.shared.api.resource import CAPACITY_REPORTS
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.errors import ApiError
from global_sched.shared.telemetry.logs import LogFormat, configure

EXAMPLES: Final = Path(__file__).parents[2] / "examples"
_DEADLINE: Final = 120.0
"""Seconds in which the jobs have to be where the examples expect them."""


class DemoError(Exception):
    """The demo cannot go on; one line."""


@dataclass(slots=True, kw_only=True)
class _Program:
    """A process of the demo and its log."""

    name: str
    process: asyncio.subprocess.Process
    log: Path


def run(*, examples: Path | None, state: Path | None, keep: bool) -> int:
    """Run the demo; 0 when everything is as the examples expect."""
    folder = examples or EXAMPLES
    file = folder / "demo.yaml"
    if not file.is_file():
        raise click.ClickException(f"{file} is not there: the demo needs a checkout of the project")
    console = Console() if sys.stdout.isatty() else Console(width=150)
    configure(level="error", format_=LogFormat.CONSOLE)
    made = state is None
    where = Path(tempfile.mkdtemp(prefix="gsched-demo-")) if state is None else state
    try:
        scenario = parse(file.read_text(encoding="utf-8"), str(file))
        return asyncio.run(_until_told(_Demo(scenario, folder, where, console).run(keep=keep)))
    except (ScenarioError, FederationError, DemoError, ApiError) as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except asyncio.CancelledError:
        console.print("stopped")
        return 0
    finally:
        if made:
            shutil.rmtree(where, ignore_errors=True)


async def _until_told(work: Coroutine[None, None, int]) -> int:
    """Run the demo; SIGTERM and Ctrl-C end it and every program that it started."""
    task = asyncio.ensure_future(work)
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(number, task.cancel)
    return await task


class _Demo:
    """One run: start, apply, watch, compare."""

    def __init__(self, scenario: Scenario, folder: Path, state: Path, console: Console) -> None:
        self._scenario = scenario
        self._folder = folder
        self._state = state.resolve()
        self._console = console
        self._clock: Clock = SystemClock()

    async def run(self, *, keep: bool) -> int:
        """The whole demo."""
        start = self._clock.monotonic()
        self._state.mkdir(parents=True, exist_ok=True)
        self._say(f"[bold]{self._scenario.scenario}[/bold]")
        federation = Federation(
            [self._member(c.name) for c in self._scenario.world.clusters],
            clock=self._clock,
            state=self._state,
        )
        async with running(federation), self._programs(federation) as programs:
            await self._begin(federation, programs)
            view, failures = await self._watch(federation, programs)
            seconds = self._clock.monotonic() - start
            self._finish(view, failures, seconds)
            if keep:
                self._help(federation)
                await federation.wait()
        return 1 if failures else 0

    def _say(self, text: str) -> None:
        self._console.print(text, highlight=False, soft_wrap=True)

    def _read(self, name: str) -> str:
        return (self._folder / name).read_text(encoding="utf-8")

    def _member(self, name: str) -> MemberSpec:
        """A member with the nodes and HyperNodes of the scenario."""
        spec = next(one for one in self._scenario.world.clusters if one.name == name)
        return MemberSpec(
            name=name,
            nodes=nodes_of(spec, self._read),
            hyper_nodes=hyper_nodes_of(spec, self._read),
            labels=spec.labels,
            provider=spec.provider,
            region=spec.region,
            zones=spec.zones,
            taints=[taint(text, f"cluster {name}") for text in spec.taints],
        )

    @asynccontextmanager
    async def _programs(self, federation: Federation) -> AsyncIterator[list[_Program]]:
        """The processes of global-sched and the agents; they end with the demo."""
        programs: list[_Program] = []
        try:
            assert federation.kubeconfigs is not None
            for name, files in federation.kubeconfigs.agents.items():
                programs.append(
                    await self._start(
                        f"member-agent-{name}",
                        "member_agent",
                        *("--cluster", name),
                        *("--kubeconfig", str(files.member)),
                        *("--control-kubeconfig", str(files.control_plane)),
                        *("--scheduler-names", "member-agent,volcano"),
                        *("--namespace", "global-sched"),
                        "--run-volcano-jobs",
                    )
                )
            yield programs
        finally:
            for program in programs:
                if program.process.returncode is None:
                    program.process.terminate()
            for program in programs:
                await _ended(program.process)

    async def _start(self, name: str, module: str, *flags: str) -> _Program:
        """Start one program; its log goes to the state folder."""
        log = self._state / f"{name}.log"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, "run", *flags),
                stdout=file,
                stderr=file,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,
            )
        return _Program(name=name, process=process, log=log)

    async def _begin(self, federation: Federation, programs: list[_Program]) -> None:
        """Apply the examples, wait for the reports, then start global-sched: a fair first cycle."""
        await federation.ready()
        members = ", ".join(one.name for one in self._scenario.world.clusters)
        self._say(f"control plane and members {members} are up")
        client = federation.client()
        count = 0
        for wave in waves(self._scenario.world, self._read):
            for manifest in wave:
                await apply_manifest(client, manifest)
                count += 1
            # Creation times have whole seconds, and who came first is part of the fair order.
            await self._clock.sleep(1.0 if wave else 0.0)
        self._say(f"applied {count} objects from {self._folder}")
        await self._until_reported(federation, programs)
        assert federation.kubeconfigs is not None
        programs.append(
            await self._start(
                "global-sched",
                "global_sched",
                *("--kubeconfig", str(federation.kubeconfigs.global_sched)),
            )
        )
        self._say("every agent has reported; global-sched starts\n")

    async def _until_reported(self, federation: Federation, programs: list[_Program]) -> None:
        client = federation.client()
        wanted = {one.name for one in self._scenario.world.clusters}
        for _ in self._ticks(0.2):
            _check(programs)
            listing = await client.list(CAPACITY_REPORTS)
            if wanted <= {item["spec"]["cluster"] for item in listing.items}:
                return
            await self._clock.sleep(0.2)
        raise DemoError(f"no report from every member in time; see the logs in {self._state}")

    def _ticks(self, seconds: float) -> range:
        return range(int(_DEADLINE / seconds))

    async def _watch(
        self, federation: Federation, programs: list[_Program]
    ) -> tuple[View, list[str]]:
        """Show progress until every expectation holds and nothing starts any more."""
        client = federation.client()
        view = await look(client, self._clock)
        failures: list[str] = []
        said = ""
        with Live(console=self._console, refresh_per_second=8, transient=True) as screen:
            for _ in self._ticks(0.25):
                _check(programs)
                view = await look(client, self._clock)
                failures = compare_live(self._scenario.expect, view.state, view.plan)
                screen.update(progress_table(view))
                if not self._console.is_terminal and said != (said := summary(view)):
                    self._say(said)
                if not failures and _quiet(view):
                    break
                await self._clock.sleep(0.25)
        return view, failures

    def _finish(self, view: View, failures: list[str], seconds: float) -> None:
        self._console.print(result_table(view))
        for failure in failures:
            self._say(f"[red]not as expected:[/red] {failure}")
        if not failures:
            count = len(self._scenario.expect)
            self._say(f"all {count} expectations of the examples hold, after {seconds:.0f} s")

    def _help(self, federation: Federation) -> None:
        assert federation.kubeconfigs is not None
        self._say("\nThe federation stays up until Ctrl-C. In another terminal:\n")
        self._say(f"  export KUBECONFIG={federation.kubeconfigs.admin}")
        self._say(f"  export PATH={Path(sys.executable).parent}:$PATH")
        self._say("  gsched jobs")
        self._say("  gsched explain -n vision too-wide")
        self._say("  kubectl get resourcebindings -A")
        for name, path in federation.kubeconfigs.members.items():
            self._say(f"  kubectl --kubeconfig {path} get pods -A    # member {name}")
        self._say(f"\nLogs of the programs: {self._state}/*.log")


def _quiet(view: View) -> bool:
    """Whether a cycle would change nothing and every admitted gang runs."""
    return view.plan.empty() and all(
        one.finished
        or not one.targets
        or one.demand.gang is None
        or (one.decision is not None and all(one.minimum_reached(g) for g in one.decision.grants))
        for one in view.state.workloads()
    )


def _check(programs: list[_Program]) -> None:
    """Raises DemoError when a program has ended, with its last line."""
    for program in programs:
        if program.process.returncode is not None:
            lines = program.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
            last = lines[-1] if lines else "it said nothing"
            raise DemoError(f"{program.name} ended ({program.process.returncode}): {last}")


async def _ended(process: asyncio.subprocess.Process) -> None:
    """Until a process is gone; one that does not listen is killed."""
    try:
        async with asyncio.timeout(15):
            await process.wait()
    except TimeoutError:
        process.kill()
        await process.wait()
