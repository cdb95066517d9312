"""`global-sched run` as a process: one clear line when it cannot start, a clean end on SIGTERM."""

import asyncio
import os
import signal
import subprocess
import sys

import pytest
import yaml
from click.testing import CliRunner

from global_sched.__main__ import main
from global_sched.embedded.apiserver import ApiServer
from tests.definitions import crds


def run(*arguments, timeout=30):
    """The finished process."""
    environment = {key: value for key, value in os.environ.items() if not key.startswith("KUBE")}
    return subprocess.run(
        [sys.executable, "-m", "global_sched", "run", *arguments],
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
        env=environment | {"HOME": "/nonexistent"},
    )


def kubeconfig(path, server):
    """A kubeconfig for a server, written to a file."""
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": "a", "cluster": {"server": server}}],
        "users": [{"name": "a", "user": {}}],
        "contexts": [{"name": "a", "context": {"cluster": "a", "user": "a"}}],
        "current-context": "a",
    }
    path.write_text(yaml.safe_dump(content))
    return str(path)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--bogus"], "No such option", id="an unknown flag"),
        pytest.param(["--config", "gone.yaml"], "gone.yaml cannot be read", id="no such file"),
        pytest.param(["--set", "policy.x=1"], "policy.x is no setting", id="an unknown setting"),
        pytest.param(["--log-level", "loud"], "use debug, info, warning or error", id="a level"),
    ],
)
def test_wrong_arguments_are_one_line(arguments, want):
    """No traceback; the exit code is not 0."""
    done = CliRunner().invoke(main, ["run", *arguments])

    assert done.exit_code != 0
    assert isinstance(done.exception, SystemExit)
    assert want in done.stderr


@pytest.mark.parametrize(
    ("arguments", "want"),
    [
        pytest.param(["--kubeconfig", "gone"], "gone", id="no such kubeconfig"),
        pytest.param([], "no credentials for an API server found", id="no credentials"),
    ],
)
def test_no_credentials_are_one_line(arguments, want):
    """No traceback; the exit code is not 0."""
    done = run(*arguments)

    assert done.returncode != 0
    assert want in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_server_that_is_not_there(tmp_path):
    """The line says that there is no answer and what to check."""
    config = kubeconfig(tmp_path / "config", "http://127.0.0.1:9")
    done = run("--kubeconfig", config, "--set", "start_patience_seconds=1")

    assert done.returncode == 1
    assert "the control plane cannot be used: " in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
async def test_a_server_without_our_kinds(tmp_path):
    """The line names the first kind that is missing, and the way out."""
    server = ApiServer()
    await server.start()
    try:
        config = kubeconfig(tmp_path / "config", server.url)
        done = await asyncio.to_thread(run, "--kubeconfig", config)
    finally:
        await server.stop()

    assert done.returncode == 1
    assert "does not serve resourcebindings.work.karmada.io/v1alpha2, " in done.stderr
    assert "install Karmada there" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
async def test_sigterm_ends_it_cleanly(tmp_path):
    """It gives its Lease back and leaves with 0."""
    server = ApiServer()
    await server.start()
    try:
        for crd in crds():
            server.install_crd(crd)
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "global_sched",
            "run",
            "--kubeconfig",
            kubeconfig(tmp_path / "config", server.url),
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stderr is not None
        lines = []
        async with asyncio.timeout(30):
            while "leader_elected" not in (line := (await process.stderr.readline()).decode()):
                lines.append(line)
                assert line, lines
            process.send_signal(signal.SIGTERM)
            rest = (await process.stderr.read()).decode()
            code = await process.wait()
    finally:
        await server.stop()

    assert code == 0, rest
    assert "leader_stepped_down" in rest
    assert "Traceback" not in rest
