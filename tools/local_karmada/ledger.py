"""The state folder's memory: options, ports and processes, and who may change them now."""

import fcntl
import json
import os
import random
import socket
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Final

from global_sched.shared.clock import SystemClock
from global_sched.shared.model.instant import format_micro
from tools.local_karmada import processes
from tools.local_karmada.errors import LocalError
from tools.local_karmada.options import Options

_FILE: Final = "federation.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """One process as it was started, so that it can be started again.

    health: a URL that answers 200 once the program works; empty when it has none.
    """

    name: str
    argv: tuple[str, ...]
    log: str
    health: str = ""
    pid: int = 0
    since: str = ""

    @property
    def alive(self) -> bool:
        """Whether this very process runs."""
        return bool(self.pid) and processes.started(self.pid) == self.since


class Ledger:
    """What a state folder knows; every change is on disk at once."""

    def __init__(self, state: Path) -> None:
        self.state = state.resolve()
        self.options: Options | None = None
        self.ports: dict[str, int] = {}
        self.programs: dict[str, Program] = {}
        """In the order in which they were started."""
        self.starts: dict[str, list[str]] = {}
        """When each program was started, every time, oldest first."""
        self.read()

    def read(self) -> None:
        """Read it again; a folder without a file knows nothing.

        Raises:  LocalError when the file is damaged.
        """
        path = self.state / _FILE
        if not path.is_file():
            self.options, self.ports, self.programs, self.starts = None, {}, {}, {}
            return
        try:
            plain = json.loads(path.read_text(encoding="utf-8"))
            self.options = Options.read(plain["options"]) if plain["options"] else None
            self.ports = {name: int(port) for name, port in plain["ports"].items()}
            self.programs = {
                one["name"]: Program(**(one | {"argv": tuple(one["argv"])}))
                for one in plain["programs"]
            }
            self.starts = {name: list(times) for name, times in plain.get("starts", {}).items()}
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise LocalError(
                f"{path} is damaged ({error}): run `make karmada-down`, which cleans it up"
            ) from error

    def save(self) -> None:
        """Write it whole or not at all."""
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        plain: dict[str, Any] = {
            "options": self.options.plain() if self.options else None,
            "ports": self.ports,
            "programs": [asdict(one) for one in self.programs.values()],
            "starts": self.starts,
        }
        fresh = self.state / f"{_FILE}.new"
        fresh.write_text(json.dumps(plain, indent=1) + "\n", encoding="utf-8")
        fresh.replace(self.state / _FILE)

    # --- ports --------------------------------------------------------------------------------

    def port(self, name: str) -> int:
        """The port of a server: the same one as before, else the next configured or a free one.

        Raises:  LocalError when a configured one is in use.
        """
        if name not in self.ports:
            first = self.options.first_port if self.options else 0
            port = first + len(self.ports) if first else _free()
            while not first and port in self.ports.values():
                port = _free()
            if first:
                check_free(name, port)
            self.ports[name] = port
            self.save()
        return self.ports[name]

    # --- processes ----------------------------------------------------------------------------

    def start(self, program: Program) -> Program:
        """Start a program, unless it runs already, and write it down."""
        known = self.programs.get(program.name)
        if known is not None and known.alive:
            return known
        self.starts.setdefault(program.name, []).append(format_micro(SystemClock().now()))
        pid = processes.spawn(program.argv, log=Path(program.log), state=self.state)
        since = processes.started(pid) or ""
        made = Program(**(asdict(program) | {"pid": pid, "since": since}))
        self.programs[program.name] = made
        self.save()
        return made

    def log(self, name: str) -> str:
        """The log file of a program."""
        return str(self.state / "logs" / f"{name.replace('/', '-')}.log")

    @contextmanager
    def changing(self) -> Iterator[None]:
        """Only one process changes a federation at a time.

        Raises:  LocalError when another one does.
        """
        self.state.mkdir(parents=True, exist_ok=True, mode=0o700)
        with (self.state / "lock").open("a+") as file:
            try:
                fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                file.seek(0)
                who = file.read().strip() or "another process"
                raise LocalError(f"{self.state} is being changed by process {who}") from None
            file.truncate(0)
            file.write(str(os.getpid()))
            file.flush()
            yield


def check_free(name: str, port: int) -> None:
    """Raises LocalError when something listens on the port already."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError as error:
            raise LocalError(
                f"port {port} for {name} is in use ({error.strerror}): end what listens there, or "
                "choose others with PORT=…"
            ) from error


def _free() -> int:
    """A free port that no outgoing connection is given, where the machine has such.

    While a server is started again, its clients try to connect all the time: among the ports of
    outgoing connections one of them would sooner or later get the very port that it waits for.
    """
    names = Path("/proc/sys/net/ipv4/ip_local_port_range")
    first = int(names.read_text().split()[0]) if names.is_file() else 0
    lowest = 10000
    for _ in range(100 if first > lowest + 1000 else 0):
        port = random.randrange(lowest, first)  # noqa: S311 - no secret
        with suppress(LocalError):
            check_free("", port)
            return port
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
