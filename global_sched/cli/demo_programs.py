"""The programs of the demo: processes of their own that know nothing but their kubeconfigs."""

import asyncio
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from global_sched.embedded.credentials import Kubeconfigs

_PATIENCE: Final = 15.0
"""Seconds that a program gets to end by itself."""


class DemoError(Exception):
    """The demo cannot go on; one line."""


@dataclass(slots=True, kw_only=True)
class _Program:
    name: str
    process: asyncio.subprocess.Process
    log: Path


class Programs:
    """global-sched and one agent per member; their logs are in the state folder."""

    def __init__(self, kubeconfigs: Kubeconfigs, state: Path) -> None:
        self._kubeconfigs = kubeconfigs
        self._state = state
        self._running: list[_Program] = []

    async def start_agents(self, *more: str) -> None:
        """One agent per member, which binds its pods and runs its Volcano Jobs; `more` flags."""
        for name, files in self._kubeconfigs.agents.items():
            await self._start(
                f"member-agent-{name}",
                "member_agent",
                *("--cluster", name),
                *("--kubeconfig", str(files.member)),
                *("--control-kubeconfig", str(files.control_plane)),
                *("--scheduler-names", "member-agent,volcano"),
                *("--namespace", "global-sched"),
                "--run-volcano-jobs",
                *more,
            )

    async def start_scheduler(self, *more: str) -> None:
        """global-sched; `more` flags."""
        file = str(self._kubeconfigs.global_sched)
        await self._start("global-sched", "global_sched", "--kubeconfig", file, *more)

    async def _start(self, name: str, module: str, *flags: str) -> None:
        log = self._state / f"{name}.log"
        with log.open("wb") as file:
            process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", module, "run", *flags),
                stdout=file,
                stderr=file,
                stdin=asyncio.subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is for the demo, which ends them in order
            )
        self._running.append(_Program(name=name, process=process, log=log))

    def check(self) -> None:
        """Raises DemoError when a program has ended, with its last line."""
        for one in self._running:
            if one.process.returncode is not None:
                lines = one.log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
                last = lines[-1] if lines else "it said nothing"
                raise DemoError(f"{one.name} ended ({one.process.returncode}): {last}")

    async def stop(self) -> None:
        """End all of them; one that does not listen is killed."""
        for one in self._running:
            if one.process.returncode is None:
                one.process.terminate()
        for one in self._running:
            try:
                async with asyncio.timeout(_PATIENCE):
                    await one.process.wait()
            except TimeoutError:
                one.process.kill()
                await one.process.wait()


@asynccontextmanager
async def programs_of(kubeconfigs: Kubeconfigs, state: Path) -> AsyncIterator[Programs]:
    """The programs, ended with the block."""
    programs = Programs(kubeconfigs, state)
    try:
        yield programs
    finally:
        await programs.stop()
