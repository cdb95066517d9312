"""`gsched dashboard` as a program: what it prints, serves and refuses."""

import asyncio
import os
import signal
import sys

import aiohttp
import pytest
from click.testing import CliRunner

from global_sched.cli.main import cli
from global_sched.embedded.federation import Federation, running
from global_sched.shared.clock import SystemClock


@pytest.mark.slow
async def test_the_command_serves_until_it_is_interrupted(tmp_path):
    """It prints an address; that lets one browser in, and says so; Ctrl-C ends it quietly."""
    command = ("-m", "global_sched.cli.main", "dashboard", "--port", "0")
    async with running(Federation([], clock=SystemClock(), state=tmp_path)) as federation:
        assert federation.kubeconfigs is not None
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            *command,
            env=os.environ
            | {"KUBECONFIG": str(federation.kubeconfigs.admin), "PYTHONUNBUFFERED": "1"},
            stdout=asyncio.subprocess.PIPE,
            stderr=asyncio.subprocess.PIPE,
        )
        assert process.stdout is not None
        first = (await process.stdout.readline()).decode()
        address = first.removeprefix("Open ").strip()
        jar = aiohttp.CookieJar(unsafe=True)
        async with (
            aiohttp.ClientSession(cookie_jar=jar) as browser,  # noqa: TID251 - plain HTTP
            browser.get(address) as answer,
        ):
            shown = answer.status, str(answer.url), await answer.text()
        process.send_signal(signal.SIGINT)
        out, err = await process.communicate()

    assert (shown[0], shown[1]) == (200, f"{address.partition('/?')[0]}/waiting")
    assert "No jobs yet" in shown[2]
    assert "Ctrl-C ends it.\nA browser has come in. For another one: http://127.0.0.1:" in (
        out.decode()
    )
    assert (process.returncode, err.decode()) == (0, "")


@pytest.mark.parametrize(
    ("options", "want"),
    [
        pytest.param(
            ["--listen", "0.0.0.0"],
            "without --server only this machine is served",
            id="the caller's own rights are not served to others",
        ),
        pytest.param(
            ["--server", "https://karmada.example"],
            "with --server name the --host that browsers ask for",
            id="behind a proxy the name has to be known",
        ),
    ],
)
def test_options_that_would_not_be_safe(options, want):
    """They are refused with what to do."""
    done = CliRunner().invoke(cli, ["dashboard", *options])

    assert done.exit_code == 2
    assert want in done.output
