"""A real API server and the embedded one, asked the same: by requests and by kubectl.

`E2E_ANSWERS=1` writes what the real one answers to tests/data, where the gate reads it.
"""

import base64
import json
import os
import signal
import ssl
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from tests.e2e.bare import api_server
from tests.e2e.waiting import until
from tests.global_sched.embedded.apiserver import answers
from tests.global_sched.embedded.apiserver.conftest import Http
from tests.global_sched.embedded.apiserver.widgets import definition, widget

UNKNOWN = {"apiVersion": "nowhere.test/v1", "kind": "Gadget", "metadata": {"name": "g"}}
SCALE = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}


@pytest.fixture
def real(federation, tmp_path):
    """Kubeconfigs of a real API server: its administrator's, and a tenant's."""
    with api_server(federation, tmp_path, users={"tenant": answers.TENANT}) as files:
        yield files


@contextmanager
def embedded(folder: Path) -> Iterator[Path]:
    """The kubeconfig of a bare embedded server that runs as a process."""
    command = [sys.executable, "-m", "global_sched.embedded", "serve", "--data", str(folder)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        yield Path(process.stdout.readline().strip())
        process.send_signal(signal.SIGTERM)
        process.communicate(timeout=30)


def session_of(kubeconfig: Path) -> tuple[str, ssl.SSLContext]:
    """The address in a kubeconfig, and a context that trusts its server."""
    cluster = yaml.safe_load(kubeconfig.read_text())["clusters"][0]["cluster"]
    given = cluster.get("certificate-authority-data")
    authority = (
        base64.b64decode(given).decode()
        if given
        else Path(cluster["certificate-authority"]).read_text()
    )
    return cluster["server"], ssl.create_default_context(cadata=authority)


async def test_a_real_server_answers_as_recorded(real, kubectl):
    """What the gate holds the embedded server to is what this version answers."""
    await until_ready(kubectl, real["admin"])
    url, context = session_of(real["admin"])
    connector = aiohttp.TCPConnector(ssl=context)
    async with aiohttp.ClientSession(url, connector=connector) as session:  # noqa: TID251 - raw
        tokens = {"admin": "admin", answers.TENANT: "tenant", "wrong": "wrong", "": None}
        asks = {who: Http(session, tokens[who]) for who in answers.USERS}
        await answers.prepare(asks["admin"])
        found = await answers.answers(asks)
    if os.environ.get("E2E_ANSWERS"):
        answers.FILE.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")

    assert found == answers.recorded()


async def until_ready(kubectl, kubeconfig):
    """A server that has just been started knows its rules and roles."""

    def ready():
        return kubectl("get", "--raw", "/readyz", kubeconfig=kubeconfig, check=False) == "ok"

    await until(ready, "the bare server is ready")


async def test_kubectl_says_the_same_of_both(real, kubectl, tmp_path):
    """Discovery, an unknown kind, `scale` and its patches, a wrong credential."""
    await until_ready(kubectl, real["admin"])
    with embedded(tmp_path / "data") as file:
        said = [spoken(kubectl, one) for one in (file, real["admin"])]

    assert said[0] == said[1]
    assert 'no matches for kind "Gadget" in version "nowhere.test/v1"' in said[0]["unknown kind"]


def spoken(kubectl, kubeconfig):
    """What kubectl says of one server, however it ends."""

    def run(*arguments, stdin=None):
        return kubectl(*arguments, kubeconfig=kubeconfig, stdin=stdin, check=False)

    crd = json.dumps(definition(subresources={"status": {}, "scale": SCALE}))
    run("apply", "-f", "-", stdin=crd)
    run("wait", "--for=condition=Established", "crd/widgets.example.test")
    apply = ("apply", "-n", "default", "-f", "-")
    patch = ("patch", "-n", "default", "widget", "w", "--subresource=scale", "--type=merge", "-p")
    return {
        "unknown kind": run(*apply, stdin=json.dumps(UNKNOWN)),
        "applied": run(*apply, stdin=json.dumps(widget("w", {"size": 1, "replicas": 1}))),
        "patched": run(*patch, '{"spec":{"replicas":3}}'),
        "refused": run(*patch, '{"spec":{"replicas":-1}}'),
        "scaled": run("scale", "-n", "default", "widget", "w", "--replicas=5"),
        "stored": run("get", "-n", "default", "widget", "w", "-o", "jsonpath={.spec}"),
        "no credential": run("--token=wrong", "get", "namespaces"),
    }
