"""A federation of real processes with a proxy in front of every server, and its history."""

import asyncio
import json
import os
import re
import signal
import socket
import sys
from collections import Counter
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

from global_sched.cli.apply import apply_manifest
from global_sched.shared.api import resource as kinds
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from tests.checker import CONTROL_PLANE, Seen, violations
from tests.faults.federation_process import MEMBERS
from tests.faults.proxy import Proxy
from tests.flows.federation import gang
from tests.wire import GPU, Object, placement, priority_class, queue, stripped

ROOT = Path(__file__).parents[2]
TEAM = "team-a"
CAPPED = 40
"""GPUs of the queue `capped`."""
LEASE = 4.0


class World:
    """The processes by name, and what a test does with them."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        folder.mkdir(exist_ok=True)
        self.clock = SystemClock()
        self.proxies: dict[str, Proxy] = {}
        """By `program/server`."""
        self.processes: dict[str, asyncio.subprocess.Process] = {}
        self.starts: Counter[str] = Counter()
        self.ports: dict[str, int] = {}
        """Of /metrics, by program."""
        self.code = ROOT
        """The tree from which programs are started."""
        self.jobs: list[str] = []
        self.urls: dict[str, str] = {}
        self.admin: Client

    # --- life ---------------------------------------------------------------------------

    async def up(self) -> None:
        """Start the federation; programs are started by the tests."""
        await self._serve()
        admin = self.folder / "kubeconfig"
        self.admin = Client(await connect(kubeconfig=admin, clock=self.clock), clock=self.clock)
        await self.apply(
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": TEAM}},
            queue("capped", capability={GPU: str(CAPPED)}),
            priority_class("high", 1000),
        )
        for member in MEMBERS:
            path = self.folder / "kubeconfigs" / f"member-{member}.yaml"
            client = Client(await connect(kubeconfig=path, clock=self.clock), clock=self.clock)
            with suppress(AlreadyExists):
                await client.create(kinds.PRIORITY_CLASSES, stripped(priority_class("high", 1000)))
                await client.create(kinds.QUEUES, stripped(queue("capped")))
            await client.close()

    async def _serve(self) -> None:
        self._federation = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "tests.faults.federation_process",
            str(self.folder),
            cwd=ROOT,
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
        )
        self.urls = json.loads(await self._said(300))

    async def restart_servers(self, *, down: float) -> None:
        """SIGKILL to all API servers; so many seconds later they go on from their data."""
        before = self.urls
        self._federation.kill()
        await self._federation.wait()
        await asyncio.sleep(down)
        await self._serve()
        assert self.urls == before

    async def _said(self, seconds: float = 30) -> bytes:
        assert self._federation.stdout is not None
        return await asyncio.wait_for(self._federation.stdout.readline(), seconds)

    async def tell(self, command: str) -> None:
        """`silence MEMBER` or `answer MEMBER`."""
        assert self._federation.stdin is not None
        self._federation.stdin.write(f"{command}\n".encode())
        assert await self._said() == b"done\n"

    async def down(self) -> None:
        """End everything that was started."""
        for one in self.processes.values():
            if one.returncode is None:
                with suppress(ProcessLookupError):
                    one.send_signal(signal.SIGCONT)
                    one.kill()
                await one.wait()
        if hasattr(self, "admin"):
            await self.admin.close()
        assert self._federation.stdin is not None
        self._federation.stdin.write(b"quit\n")
        try:
            await asyncio.wait_for(self._federation.wait(), 20)
        except TimeoutError:
            self._federation.kill()
            await self._federation.wait()
        for proxy in self.proxies.values():
            await proxy.stop()

    def history(self) -> list[Seen]:
        """Every state so far."""
        lines = (self.folder / "history.jsonl").read_text(encoding="utf-8").splitlines()
        return [Seen(*json.loads(line)) for line in lines]

    def violations(self) -> list[str]:
        """What was wrong in any of them."""
        return violations(self.history(), until=self.clock.monotonic())

    # --- programs -----------------------------------------------------------------------

    async def scheduler(self, name: str) -> None:
        """Start a replica of global-sched."""
        self.starts[name] += 1
        config = await self._through(name, "global-sched", CONTROL_PLANE)
        settings = {
            "GSCHED_IDENTITY": f"{name}.{self.starts[name]}",
            "GSCHED_LEASE_SECONDS": str(LEASE),
            "GSCHED_RENEW_SECONDS": str(LEASE * 2 / 3),
            "GSCHED_RETRY_SECONDS": str(LEASE / 8),
            "GSCHED_METRICS_PORT": str(self._metrics_port(name)),
        }
        await self._start(name, "global_sched", "run", "--kubeconfig", config, settings=settings)

    async def agent(self, member: str) -> None:
        """Start a member's agent."""
        name = f"agent-{member}"
        inside = await self._through(name, f"agent-{member}-member", member)
        outside = await self._through(name, f"agent-{member}-control-plane", CONTROL_PLANE)
        where = ("--kubeconfig", inside, "--control-kubeconfig", outside)
        names = ("--scheduler-names", "member-agent,volcano", "--namespace", "global-sched")
        more = ("--run-volcano-jobs", "--lease-seconds", str(LEASE))
        more += ("--metrics-port", str(self._metrics_port(name)))
        await self._start(name, "member_agent", "run", "--cluster", member, *where, *names, *more)

    def _metrics_port(self, program: str) -> int:
        if program not in self.ports:
            with socket.socket() as free:
                free.bind(("127.0.0.1", 0))
                self.ports[program] = free.getsockname()[1]
        return self.ports[program]

    async def metrics(self, program: str) -> dict[str, float]:
        """What a program says of itself, by the metric's name with its labels."""
        reader, writer = await asyncio.open_connection("127.0.0.1", self.ports[program])
        writer.write(b"GET /metrics HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        text = (await reader.read()).decode()
        writer.close()
        lines = (line.rpartition(" ") for line in text.splitlines() if line and line[0] != "#")
        return {name: float(value) for name, _, value in lines if _number(value)}

    async def _through(self, program: str, config: str, server: str) -> str:
        """A copy of a kubeconfig with the address of a proxy of the program's own."""
        key = f"{program}/{server}"
        if key not in self.proxies:
            self.proxies[key] = Proxy(self.urls[server])
            await self.proxies[key].start()
        text = (self.folder / "kubeconfigs" / f"{config}.yaml").read_text(encoding="utf-8")
        text = re.sub(r"127\.0\.0\.1:\d+", f"127.0.0.1:{self.proxies[key].port}", text)
        path = self.folder / f"{program}-{server}.yaml"
        path.write_text(text, encoding="utf-8")
        path.chmod(0o600)
        return str(path)

    async def _start(
        self, name: str, *command: str, settings: dict[str, str] | None = None
    ) -> None:
        with (self.folder / f"{name}.log").open("ab") as log:
            self.processes[name] = await asyncio.create_subprocess_exec(
                sys.executable,
                "-m",
                *command,
                cwd=self.code,
                stdin=asyncio.subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                env=os.environ | (settings or {}),
            )

    async def kill(self, name: str, how: signal.Signals = signal.SIGKILL) -> None:
        """Send a signal to a program; SIGKILL is waited for."""
        process = self.processes[name]
        if process.returncode is None:
            process.send_signal(how)
        if how == signal.SIGKILL:
            await process.wait()

    async def leader(self) -> str:
        """The replica that leads, without the number of its start; empty for none."""
        try:
            lease = await self.admin.get(kinds.LEASES, "global-sched", namespace="karmada-system")
        except NotFound:
            return ""
        holder = (lease.get("spec") or {}).get("holderIdentity") or ""
        return str(holder.partition(".")[0])

    # --- objects ------------------------------------------------------------------------

    async def apply(self, *objects: Object) -> None:
        """What `kubectl apply` does, on the control plane."""
        for obj in objects:
            await apply_manifest(self.admin, stripped(obj))

    async def submit(self, name: str, *, where: Object | None = None, **fields: object) -> None:
        """A gang with a policy of its own."""
        job = gang(name, **fields)
        selector = {"apiVersion": job["apiVersion"], "kind": "Job", "name": name}
        policy = {
            "apiVersion": "policy.karmada.io/v1alpha1",
            "kind": "PropagationPolicy",
            "metadata": {"name": f"{name}-job", "namespace": TEAM},
            "spec": {
                "schedulerName": "global-sched",
                "resourceSelectors": [selector],
                "placement": where or placement(),
            },
        }
        await self.apply(policy, job)
        self.jobs.append(name)

    async def clusters(self, name: str) -> list[str]:
        """Where a gang is."""
        try:
            found = await self.admin.get(kinds.RESOURCE_BINDINGS, f"{name}-job", namespace=TEAM)
        except NotFound:
            return []
        return [one["name"] for one in found["spec"].get("clusters") or ()]

    async def phase(self, name: str) -> str:
        """A Volcano Job's phase as its owner sees it."""
        found = await self.admin.get(kinds.VOLCANO_JOBS, name, namespace=TEAM)
        return str(((found.get("status") or {}).get("state") or {}).get("phase", ""))

    async def until(self, check, what: str, *, seconds: float = 90) -> None:
        """Until a check is true."""
        end = self.clock.monotonic() + seconds
        while not await check():
            assert self.clock.monotonic() < end, f"not so after {seconds:g} s: {what}"
            await asyncio.sleep(0.2)

    async def until_phase(self, name: str, phase: str, *, seconds: float = 90) -> None:
        """Until a gang is in that phase."""

        async def there() -> bool:
            return await self.phase(name) == phase

        await self.until(there, f"{name} is {phase}", seconds=seconds)

    async def until_done(self, *, seconds: float = 240) -> None:
        """Until every gang that was submitted is Completed."""
        for name in self.jobs:
            await self.until_phase(name, "Completed", seconds=seconds)


def _number(text: str) -> bool:
    return text.replace(".", "", 1).replace("e+", "", 1).isdecimal()


@asynccontextmanager
async def world(folder: Path, *schedulers: str, code: Path = ROOT) -> AsyncIterator[World]:
    """A federation with its agents and so many replicas; at the end no state was wrong."""
    found = World(folder)
    found.code = code
    try:
        await found.up()
        for member in MEMBERS:
            await found.agent(member)
        for name in schedulers or ("gs-a",):
            await found.scheduler(name)
        await found.until(found.leader, "a replica leads", seconds=240)
        yield found
        wrong = found.violations()
        assert wrong == [], "\n".join(wrong)
    finally:
        await found.down()
