"""global-sched and the agents beside a local federation: processes with their shipped rights."""

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from global_sched.embedded.credentials import AgentKubeconfigs
from tools.local_karmada import processes, volcano
from tools.local_karmada.errors import LocalError
from tools.local_karmada.federation import Federation
from tools.local_karmada.health import until_healthy
from tools.local_karmada.ledger import Program

SCHEDULER: Final = "global-sched"
_AGENT: Final = "member-agent-"


def agent_flags(member: str, files: AgentKubeconfigs, found: volcano.Volcano) -> list[str]:
    """The flags of a member's agent; what of Volcano was found there is left to do its work."""
    return [
        *("--cluster", member),
        *("--kubeconfig", str(files.member)),
        *("--control-kubeconfig", str(files.control_plane)),
        *("--scheduler-names", "member-agent" if found.binds else "member-agent,volcano"),
        *("--namespace", "global-sched"),
        *(() if found.runs_jobs else ("--run-volcano-jobs",)),
    ]


class Programs:
    """The programs of one federation; they end with it, or before."""

    def __init__(self, federation: Federation) -> None:
        self._federation = federation

    async def start_agents(self) -> None:
        """One agent per member."""
        for name in self._federation.members:
            await self.start_agent(name)

    async def start_agent(self, member: str, *flags: str) -> None:
        """An agent; one that runs already stays. It leaves Volcano's work to Volcano, if found."""
        files = self._federation.kubeconfigs.agents[member]
        given = agent_flags(member, files, volcano.find())
        await self._start(f"{_AGENT}{member}", "member_agent", [*given, *flags])

    async def start_scheduler(self, name: str = SCHEDULER, *flags: str) -> None:
        """A global-sched; one of that name that runs already stays."""
        kubeconfig = str(self._federation.kubeconfigs.global_sched)
        await self._start(name, "global_sched", ["--kubeconfig", kubeconfig, *flags])

    async def stop(self, name: str) -> None:
        """End a program and let it clean up; fine when it does not run."""
        await self._end(name, kill=False)

    async def kill(self, name: str) -> None:
        """End a program where it stands (SIGKILL)."""
        await self._end(name, kill=True)

    async def stop_all(self) -> None:
        """End global-sched and every agent."""
        for name in self.names():
            await self.stop(name)

    def names(self) -> list[str]:
        """Every program of ours that was started."""
        found = self._federation.programs
        return [one for one in found if one.startswith((SCHEDULER, _AGENT))]

    def alive(self, name: str) -> bool:
        """Whether a program runs."""
        program = self._federation.programs.get(name)
        return program is not None and program.alive

    def pid(self, name: str) -> int:
        """The process id of a program that runs.

        Raises:  LocalError when it does not.
        """
        program = self._federation.programs.get(name)
        if program is None or not program.alive:
            raise LocalError(f"{name} does not run")
        return program.pid

    def log(self, name: str) -> Path:
        """The log of a program; restarts add to it."""
        return Path(self._federation.ledger.log(name))

    def check(self) -> None:
        """Raises LocalError when a program has ended by itself, with its last line."""
        for name in self.names():
            if not self.alive(name):
                raise LocalError(f"{name} ended: {processes.last_lines(self.log(name))}")

    async def _start(self, name: str, module: str, flags: Sequence[str]) -> None:
        ledger = self._federation.ledger
        port = ledger.port(f"{name}/metrics")
        argv = (sys.executable, "-m", module, "run", *flags, "--metrics-port", str(port))
        health = f"http://127.0.0.1:{port}/livez"
        ledger.start(Program(name=name, argv=argv, log=ledger.log(name), health=health))
        await until_healthy(ledger, name, clock=self._federation.clock)

    async def _end(self, name: str, *, kill: bool) -> None:
        ledger = self._federation.ledger
        program = ledger.programs.pop(name, None)
        if program is not None and program.alive:
            await processes.end(
                {program.pid: program.since}, clock=self._federation.clock, kill=kill
            )
        ledger.save()
