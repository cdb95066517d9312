"""`member-agent run` as a process of its own: kubeconfigs in, a report out, SIGTERM."""

import asyncio
import signal
import sys
from contextlib import asynccontextmanager

import pytest

from global_sched.embedded.apiserver import ApiServer
from tests.flows.agent_world import agent_world
from tests.member_agent.member import CLUSTER, racks


@asynccontextmanager
async def process(*args):
    """The program, with its output."""
    task = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "member_agent",
        "run",
        *args,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    try:
        yield task
    finally:
        if task.returncode is None:
            task.kill()
        await task.communicate()


@pytest.mark.slow
async def test_run_until_sigterm(tmp_path):
    """The process reports over HTTP, answers its probes, and leaves cleanly on SIGTERM."""
    async with agent_world(racks(1, 1), sockets=True) as world:
        written = asyncio.Event()
        world.servers["control"].on_request(
            lambda r: written.set() if r.resource == "capacityreports" and r.code == 201 else None
        )
        for name, server in world.servers.items():
            server.write_kubeconfig(tmp_path / name)
        args = ["--cluster", CLUSTER, "--kubeconfig", str(tmp_path / "member")]
        args += ["--control-kubeconfig", str(tmp_path / "control")]
        async with process(*args) as running:
            async with asyncio.timeout(30):
                await written.wait()
            running.send_signal(signal.SIGTERM)
            output, _ = await running.communicate()

        assert running.returncode == 0
        assert b"Traceback" not in output
        assert (await world.report()).spec.nodes.total == 1


@pytest.mark.slow
async def test_an_absent_api_server_is_one_line(tmp_path):
    """One clear line without an answer, no traceback."""
    server = ApiServer(name="gone")
    await server.start()
    server.write_kubeconfig(tmp_path / "gone")
    await server.stop()
    args = ["--cluster", CLUSTER, "--kubeconfig", str(tmp_path / "gone")]
    args += ["--control-kubeconfig", str(tmp_path / "gone")]

    async with process(*args, "--start-patience-seconds", "0") as running:
        output, _ = await running.communicate()

    assert running.returncode == 1
    assert b"Traceback" not in output
    assert b"the member's API server cannot be used" in output
    assert output.count(b"\n") == 1
