"""Finding credentials, and what a user reads when there are none."""

import base64
import json
import ssl
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import certifi
import pytest
import yaml

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube import credentials
from global_sched.shared.kube.connect import connect, find_source
from global_sched.shared.kube.connection import Access, Connection
from global_sched.shared.kube.credentials import InClusterSource, KubeconfigSource
from global_sched.shared.kube.errors import ConfigError
from tests.virtual_time import virtual_time


def write_config(path, *, user=None, server="http://127.0.0.1:1", **cluster):
    content = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "main",
        "contexts": [{"name": "main", "context": {"cluster": "c", "user": "u"}}],
        "clusters": [{"name": "c", "cluster": {"server": server} | cluster}],
        "users": [{"name": "u", "user": user or {}}],
    }
    path.write_text(yaml.safe_dump(content))
    return path


async def access_of(path, clock=None):
    return await KubeconfigSource((path,), None, clock=clock or LoopClock()).load()


@pytest.fixture
def home(tmp_path, monkeypatch):
    """A machine without any credentials."""
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.delenv("KUBECONFIG", raising=False)
    monkeypatch.delenv("KUBERNETES_SERVICE_HOST", raising=False)
    return tmp_path


def found(**options):
    chosen = {"kubeconfig": None, "context": None, "in_cluster": False} | options
    return find_source(**chosen, clock=LoopClock())


async def test_the_order_is_kubectls(home, monkeypatch):
    """The flag, then KUBECONFIG, then ~/.kube/config, then the pod's service account."""
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    assert isinstance(found(), InClusterSource)

    (home / ".kube").mkdir()
    write_config(home / ".kube" / "config", server="http://default")
    assert (await found().load()).server == "http://default"

    listed = write_config(home / "listed", server="http://listed")
    monkeypatch.setenv("KUBECONFIG", f"{home}/missing:{listed}")
    assert (await found().load()).server == "http://listed"

    flag = write_config(home / "flag", server="http://flag/")
    assert (await found(kubeconfig=flag).load()).server == "http://flag"
    assert isinstance(found(in_cluster=True), InClusterSource)


@pytest.mark.parametrize(
    ("options", "env", "want"),
    [
        pytest.param(
            {}, {}, "no credentials for an API server found: pass --kubeconfig FILE", id="none"
        ),
        pytest.param(
            {}, {"KUBECONFIG": "/no/such"}, "KUBECONFIG names /no/such, which does not", id="env"
        ),
        pytest.param(
            {"kubeconfig": "x", "in_cluster": True}, {}, "exclude each other", id="both at once"
        ),
    ],
)
def test_no_credentials(home, monkeypatch, options, env, want):
    """One line says what is missing and what would help."""
    for name, value in env.items():
        monkeypatch.setenv(name, value)

    with pytest.raises(ConfigError, match=want):
        found(**options)


@pytest.mark.parametrize(
    ("text", "want"),
    [
        pytest.param(None, "does not exist or is not a file", id="a missing file"),
        pytest.param("", "is empty or not a kubeconfig", id="an empty file"),
        pytest.param("a: [", "cannot be used|cannot be read", id="broken YAML"),
        pytest.param("contexts: []", "has no contexts: add one", id="no context at all"),
        pytest.param(
            "contexts: [{name: y}]",
            "no current-context: choose one of y",
            id="no context chosen",
        ),
        pytest.param(
            "current-context: x\ncontexts: 7", "cannot be used", id="a context list that is none"
        ),
        pytest.param(
            "current-context: x\ncontexts: [{name: y}]",
            "no context 'x'; it has y",
            id="a wrong context",
        ),
        pytest.param(
            "current-context: y\ncontexts: [{name: y, context: {cluster: c}}]\nclusters: []",
            "Expected object with name c",
            id="a missing cluster",
        ),
        pytest.param(
            "current-context: y\ncontexts: [{name: y, context: {cluster: c, user: u}}]\n"
            "clusters: [{name: c, cluster: {server: 'http://127.0.0.1:1'}}]\nusers: [{name: v}]",
            "its context 'y' names the user 'u', which has no entry in users",
            id="a missing user",
        ),
        pytest.param(
            "current-context: y\ncontexts: [{name: y, context: {cluster: c}}]\n"
            "clusters: [{name: c, cluster: {server: 'ftp://x'}}]",
            "not an http",
            id="a server that is none",
        ),
    ],
)
async def test_bad_kubeconfigs(tmp_path, text, want):
    """A bad file is one line with its name, never a traceback."""
    path = tmp_path / "config"
    if text is not None:
        path.write_text(text)

    with pytest.raises(ConfigError, match=want) as caught:
        await connect(kubeconfig=path, clock=LoopClock())
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param({}, "", id="nobody"),
        pytest.param({"token": "abc"}, "Bearer abc", id="a token"),
        pytest.param(
            {"username": "u", "password": "p"},
            "Basic " + base64.b64encode(b"u:p").decode(),
            id="a password",
        ),
    ],
)
async def test_authorization(tmp_path, user, want):
    """The Authorization header that the user entry stands for."""
    assert (await access_of(write_config(tmp_path / "c", user=user))).authorization == want


@virtual_time
async def test_a_token_file_is_read_again(tmp_path):
    """A rotated token file is used within a minute; its newline never reaches the header."""
    token = tmp_path / "token"
    token.write_text("one\n")
    path = write_config(tmp_path / "c", user={"tokenFile": str(token)})
    clock = LoopClock()
    connection = Connection(KubeconfigSource((path,), None, clock=clock), clock=clock)
    seen = [(await connection.access()).authorization]
    token.write_text("two\n")
    seen.append((await connection.access()).authorization)
    await clock.sleep(61)
    seen.append((await connection.access()).authorization)

    assert seen == ["Bearer one", "Bearer one", "Bearer two"]


def plugin(tmp_path, status):
    """An exec plugin that counts its runs and prints a credential."""
    script = tmp_path / "plugin.py"
    reply = {"apiVersion": "client.authentication.k8s.io/v1", "kind": "ExecCredential"}
    script.write_text(
        "import pathlib\n"
        f"runs = pathlib.Path({str(tmp_path / 'runs')!r})\n"
        "count = int(runs.read_text()) + 1 if runs.exists() else 1\n"
        "runs.write_text(str(count))\n"
        f"print({json.dumps(reply | {'status': status})!r}.replace('COUNT', str(count)))\n"
    )
    return {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": [str(script)],
        }
    }


async def test_an_exec_token_is_renewed_before_it_expires(tmp_path):
    """The plugin's expiry, minus a margin, is how long its token is used."""
    clock = LoopClock()
    expires = datetime.fromtimestamp(clock.now() / 1_000_000, UTC) + timedelta(minutes=10)
    status = {"token": "tCOUNT", "expirationTimestamp": expires.strftime("%Y-%m-%dT%H:%M:%SZ")}
    path = write_config(tmp_path / "c", user=plugin(tmp_path, status))

    access = await access_of(path, clock)

    assert access.authorization == "Bearer t1"
    assert access.fresh_for == pytest.approx(600 - credentials.EXPIRY_MARGIN, abs=5)


async def test_an_exec_plugin_that_fails_says_so(tmp_path):
    """Its exit code and the file are named; nothing is sent unauthenticated."""
    user = {
        "exec": {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": sys.executable,
            "args": ["-c", "import sys; sys.exit('no login')"],
        }
    }
    path = write_config(tmp_path / "c", user=user)

    with pytest.raises(ConfigError, match=r"exec: process returned 1.*no login"):
        await access_of(path)


async def test_later_failures_keep_the_old_credentials():
    """Credentials that cannot be renewed stay in use: the server may still accept them."""

    class Flaky:
        loads = 0

        async def load(self):
            self.loads += 1
            if self.loads > 1:
                raise ConfigError("gone")
            return Access(server="http://x", authorization="a", fresh_for=0.0)

    connection = Connection(Flaky(), clock=LoopClock())
    first = await connection.access()

    assert await connection.access() is first
    assert not await connection.renew(first)


@pytest.fixture
def pod(tmp_path, monkeypatch):
    """What the kubelet mounts and sets."""
    (tmp_path / "token").write_text("sa-token\n")
    (tmp_path / "ca.crt").write_bytes(Path(certifi.where()).read_bytes())
    module = "kubernetes.aio.config.incluster_config"
    monkeypatch.setattr(f"{module}.SERVICE_TOKEN_FILENAME", str(tmp_path / "token"))
    monkeypatch.setattr(f"{module}.SERVICE_CERT_FILENAME", str(tmp_path / "ca.crt"))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "10.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "443")


async def test_the_service_account(pod):
    """In a pod, the mounted token and CA are used; the token's newline is cut."""
    access = await InClusterSource().load()

    assert (access.server, access.authorization) == ("https://10.0.0.1:443", "bearer sa-token")
    assert access.fresh_for == credentials.TOKEN_FRESH_FOR
    assert isinstance(access.tls, ssl.SSLContext)


async def test_outside_a_pod(home):
    """Asking for in-cluster credentials outside a pod says what to do instead."""
    with pytest.raises(ConfigError, match=r"no in-cluster credentials.*pass --kubeconfig FILE"):
        await connect(in_cluster=True, clock=LoopClock())


@pytest.mark.parametrize(
    ("context", "want"),
    [
        pytest.param({"namespace": "team"}, "team", id="the context's"),
        pytest.param({}, "", id="none where it names none"),
    ],
)
async def test_the_namespace_of_the_context(tmp_path, context, want):
    """What a command takes where it is given no namespace."""
    path = write_config(tmp_path / "config")
    content = yaml.safe_load(path.read_text())
    content["contexts"][0]["context"] |= context
    path.write_text(yaml.safe_dump(content))

    assert (await access_of(path)).namespace == want
