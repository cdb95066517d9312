"""Processes by id and start time: started in sessions of their own, ended one by one.

An id alone may belong to another process by now, so a process is ours only while its start time is
the one that was written down, or its environment names our state folder.
"""

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Final

from global_sched.shared.clock import Clock

MARK: Final = "GLOBAL_SCHED_LOCAL_STATE"
"""In the environment of every process that was started: its state folder."""
_PATIENCE: Final = 10.0


class _Detached(subprocess.Popen[bytes]):
    """A child that outlives its parent on purpose, which is no reason for a warning."""

    def __del__(self, **_: object) -> None:
        """Forget it; who starts the federation need not wait for it."""


_children: dict[int, _Detached] = {}
"""Those that this very process started: only their parent learns that they ended."""


def spawn(
    argv: Sequence[str], *, log: Path, state: Path, env: Mapping[str, str] | None = None
) -> int:
    """Start a process that outlives this one; its id. Output is added to the log.

    Its mark can be read by then (Linux): while a program is being loaded, its environment is empty.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("ab") as file:
        child = _Detached(
            argv,
            stdout=file,
            stderr=file,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
            cwd=state,
            env=os.environ | (env or {}) | {MARK: str(state)},
        )
    _children[child.pid] = child
    while child.poll() is None and _environment(child.pid) == b"":
        os.sched_yield()
    return child.pid


def started(pid: int) -> str | None:
    """When a process started, as text that only it has; None when there is none of that id."""
    child = _children.get(pid)
    if child is not None and child.poll() is not None:
        return None
    stat = Path(f"/proc/{pid}/stat")
    if Path("/proc/self/stat").exists():
        try:
            fields = stat.read_text().rpartition(")")[2].split()
        except OSError:
            return None
        # The first thread may have ended before the others, which still have every port open.
        ended = fields[0] == "Z" and int(fields[17]) <= 1
        return None if ended else fields[19]
    answer = subprocess.run(
        ["/bin/ps", "-o", "lstart=", "-p", str(pid)], capture_output=True, text=True, check=False
    )
    return answer.stdout.strip() or None


def marked(state: Path) -> Iterator[int]:
    """Processes whose environment names this state folder, however they came to be (Linux)."""
    wanted = f"{MARK}={state}".encode()
    for folder in Path("/proc").glob("[0-9]*"):
        pid = int(folder.name)
        if wanted in (_environment(pid) or b"").split(b"\0"):
            yield pid


def _environment(pid: int) -> bytes | None:
    """The environment that a process began with; None where it is unknown."""
    try:
        return Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return None


async def end(
    pids: Mapping[int, str], *, clock: Clock, kill: bool = False, patience: float = _PATIENCE
) -> None:
    """End processes, given by id and start time; those that do not listen are killed."""
    for pid, since in pids.items():
        _signal(pid, since, signal.SIGKILL if kill else signal.SIGTERM)
    waited = clock.monotonic() + patience
    left = dict(pids)
    while left and clock.monotonic() < waited:
        left = {pid: since for pid, since in left.items() if started(pid) == since}
        if left:
            await clock.sleep(0.05)
    for pid, since in left.items():
        _signal(pid, since, signal.SIGKILL)
    while any(started(pid) == since for pid, since in left.items()):
        await clock.sleep(0.05)


def _signal(pid: int, since: str, number: signal.Signals) -> None:
    if started(pid) == since:
        with suppress(ProcessLookupError):
            os.kill(pid, number)


def last_lines(log: Path, count: int = 1) -> str:
    """The end of a log, for a message."""
    try:
        with log.open("rb") as file:
            file.seek(0, os.SEEK_END)
            file.seek(max(0, file.tell() - 8192))
            lines = file.read().decode(errors="replace").strip().splitlines()
    except OSError:
        return "no log"
    return "\n".join(lines[-count:]) or "an empty log"
