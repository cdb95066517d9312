"""`gsched demo`: an embedded federation with the real programs, and the examples run on it.

The federation (API servers, Karmada's part, members) runs in this process; global-sched and one
agent per member run as processes of their own that know nothing but their kubeconfigs.
"""

import asyncio
import shutil
import signal
import sys
import tempfile
from contextlib import suppress
from pathlib import Path
from typing import Final

import click
from rich.console import Console
from rich.live import Live
from rich.markup import escape

from global_sched.cli.apply import apply_manifest
from global_sched.cli.demo_programs import DemoError, Programs, programs_of
from global_sched.cli.demo_progress import (
    WIDE,
    first_pending,
    print_result,
    progress_table,
    reasons,
    summary,
)
from global_sched.embedded.federation import Federation, FederationError, MemberSpec, running
from global_sched.scenario import Scenario, ScenarioError, parse
from global_sched.scenario.members import hyper_nodes_of, nodes_of, taint
from global_sched.scenario.run import compare_live, waves
from global_sched.shared.api.names import POLICY_CONFIG_MAP, SYSTEM_NAMESPACE
from global_sched.shared.api.resource import CAPACITY_REPORTS, CONFIGMAPS
from global_sched.shared.assets import asset
from global_sched.shared.clock import Clock, SystemClock
from global_sched.shared.kube.errors import ApiError, NotFound
from global_sched.shared.telemetry.logs import configure
from global_sched.view.look import View, look

_DEADLINE: Final = 120.0
"""Seconds in which the jobs have to be where the examples expect them."""
_SETTLED: Final = 30.0
"""Seconds without any change after which nothing more is expected to come."""
_INTERRUPTED: Final = 130
"""Exit code of a demo that was ended before it knew its result, as shells have it."""


def run(*, examples: Path | None, state: Path | None, keep: bool, name: str = "demo.yaml") -> int:
    """Run the file of that name in the examples; 0 when everything is as it expects."""
    folder = examples or asset("examples")
    file = folder / name
    if not file.is_file():
        raise click.ClickException(f"{file} is not there: --examples needs a folder that has it")
    console = Console() if sys.stdout.isatty() else Console(width=WIDE)
    made = state is None
    where = Path(tempfile.mkdtemp(prefix="gsched-demo-")) if state is None else state
    result = None
    try:
        scenario = parse(file.read_text(encoding="utf-8"), str(file))
        where.mkdir(parents=True, exist_ok=True)
        demo = _Demo(scenario, folder, where, console)
        # Its own log, like the programs': a line on the terminal would tear the live table.
        with (where / "federation.log").open("w", encoding="utf-8") as log:
            configure(level="warning", stream=log)
            result = asyncio.run(_until_told(demo, keep=keep))
    except DemoError as error:
        made = False  # the logs are needed
        raise click.ClickException(" ".join(str(error).split())) from error
    except (ScenarioError, FederationError, ApiError) as error:
        raise click.ClickException(" ".join(str(error).split())) from error
    except OSError as error:
        raise click.ClickException(f"{error.filename or where}: {error.strerror}") from error
    finally:
        if made:
            shutil.rmtree(where, ignore_errors=True)
    if result is None:
        console.print("stopped before the result was known")
        return _INTERRUPTED
    return result


async def _until_told(demo: "_Demo", *, keep: bool) -> int | None:
    """Run it; SIGTERM, Ctrl-C and a closed terminal end it and every program that it started."""
    task = asyncio.create_task(demo.run(keep=keep))
    loop = asyncio.get_running_loop()
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        loop.add_signal_handler(number, task.cancel)
    await asyncio.wait([task])
    if not task.cancelled():
        task.result()
    return demo.result


class _Demo:
    """One run: start, apply, watch, compare."""

    def __init__(self, scenario: Scenario, folder: Path, state: Path, console: Console) -> None:
        self._scenario = scenario
        self._folder = folder
        self._state = state.resolve()
        self._console = console
        self._clock: Clock = SystemClock()
        self.result: int | None = None
        """0 when everything is as the examples expect, 1 when not, None before that is known."""

    async def run(self, *, keep: bool) -> None:
        """The whole demo."""
        start = self._clock.monotonic()
        self._say(f"[bold]{self._scenario.scenario}[/bold]")
        federation = Federation(
            [self._member(c.name) for c in self._scenario.world.clusters],
            clock=self._clock,
            state=self._state,
            tls=True,
        )
        async with running(federation):
            assert federation.kubeconfigs is not None
            async with programs_of(federation.kubeconfigs, self._state) as programs:
                await programs.start_agents()
                await self._begin(federation, programs)
                view, failures = await self._watch(federation, programs)
                self._finish(view, failures, self._clock.monotonic() - start)
                self.result = 1 if failures else 0
                if keep:
                    self._help(federation, view)
                    await federation.wait()

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

    async def _begin(self, federation: Federation, programs: Programs) -> None:
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
        await programs.start_scheduler()
        self._say("every agent has reported; global-sched starts\n")
        await self._until_led(federation, programs)

    async def _until_reported(self, federation: Federation, programs: Programs) -> None:
        client = federation.client()
        wanted = {one.name for one in self._scenario.world.clusters}
        for _ in self._ticks(0.2):
            programs.check()
            listing = await client.list(CAPACITY_REPORTS)
            if wanted <= {item["spec"]["cluster"] for item in listing.items}:
                return
            await self._clock.sleep(0.2)
        raise DemoError(f"no report from every member in time; see the logs in {self._state}")

    async def _until_led(self, federation: Federation, programs: Programs) -> None:
        """A slow machine's start is no sign that nothing more will come."""
        client = federation.client()
        for _ in self._ticks(0.2):
            programs.check()
            with suppress(NotFound):
                await client.get(CONFIGMAPS, POLICY_CONFIG_MAP, namespace=SYSTEM_NAMESPACE)
                return
            await self._clock.sleep(0.2)
        raise DemoError(f"global-sched did not begin in time; see the logs in {self._state}")

    def _ticks(self, seconds: float) -> range:
        return range(int(_DEADLINE / seconds))

    async def _watch(self, federation: Federation, programs: Programs) -> tuple[View, list[str]]:
        """Show progress until every expectation holds, or nothing changes any more."""
        client = federation.client()
        view = await look(client, self._clock)
        failures: list[str] = []
        said, changed = "", self._clock.monotonic()
        end = changed + _DEADLINE
        with Live(console=self._console, refresh_per_second=8, transient=True) as screen:
            while self._clock.monotonic() < end:
                programs.check()
                view = await look(client, self._clock)
                failures = compare_live(self._scenario.expect, view.state, view.plan)
                screen.update(progress_table(view))
                if said != (now := summary(view)):
                    said, changed = now, self._clock.monotonic()
                    if not self._console.is_terminal:
                        self._say(said)
                settled = self._clock.monotonic() - changed > _SETTLED
                if _quiet(view) and (not failures or settled):
                    break
                await self._clock.sleep(0.25)
        return view, failures

    def _finish(self, view: View, failures: list[str], seconds: float) -> None:
        print_result(self._console, view)
        self._say("\nwhy the others wait" if reasons(view) else "")
        for line in reasons(view):
            self._say(f"  {escape(line)}")
        self._say("")
        for failure in failures:
            self._say(f"[red]not as expected:[/red] {escape(failure)}")
        count = len(self._scenario.expect)
        if failures:
            self._say(f"{len(failures)} differences from {count} expectations of the examples")
        else:
            self._say(f"all {count} expectations of the examples hold, after {seconds:.0f} s")

    def _help(self, federation: Federation, view: View) -> None:
        assert federation.kubeconfigs is not None
        self._say("\nThe federation stays up until Ctrl-C. In another terminal:\n")
        self._say(f"  export KUBECONFIG={federation.kubeconfigs.admin}")
        self._say(f"  export PATH={Path(sys.executable).parent}:$PATH")
        self._say("  gsched jobs")
        self._say("  gsched dashboard")
        if waiting := first_pending(view):
            self._say(f"  gsched explain {waiting}")
        self._say("  kubectl get resourcebindings -A")
        for name in federation.kubeconfigs.members:
            self._say(f"  kubectl --context {name} get pods -A")
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
