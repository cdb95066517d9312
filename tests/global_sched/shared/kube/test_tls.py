"""Credentials over a real TLS server: CA, client certificates, server names."""

import base64
import json
import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
import yaml
from aiohttp import web
from structlog.testing import capture_logs

from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.credentials import KubeconfigSource
from global_sched.shared.kube.errors import ConfigError, Unreachable
from tests.virtual_time import virtual_time

TLS = Path(__file__).parent / "tls"


def inline(name):
    return base64.b64encode((TLS / name).read_bytes()).decode()


NOT_VERIFIED = (
    "kubeconfig {path}: its cluster entry 'c' has insecure-skip-tls-verify: the certificate of "
    "{url} is not checked, so that any server on the way can take the credentials and answer in "
    "its place; give the entry certificate-authority or certificate-authority-data instead"
)
CA = {"certificate-authority": str(TLS / "ca.pem"), "tls-server-name": "api.test"}
CERT = {"client-certificate": str(TLS / "client.pem"), "client-key": str(TLS / "client.key")}
INLINE_CERT = {
    "client-certificate-data": inline("client.pem"),
    "client-key-data": inline("client.key"),
}


@asynccontextmanager
async def tls_server(*, client_cert=False):
    """Says who the caller is: the certificate's common name, else the Authorization header."""

    async def who(request):
        peer = request.transport.get_extra_info("peercert") or {}
        names = [value for ((key, value),) in peer.get("subject", ()) if key == "commonName"]
        return web.Response(text=(names or [request.headers.get("Authorization", "nobody")])[0])

    context = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=TLS / "ca.pem")
    context.load_cert_chain(TLS / "server.pem", TLS / "server.key")
    if client_cert:
        context.verify_mode = ssl.CERT_REQUIRED
    app = web.Application()
    app.router.add_get("/who", who)
    runner = web.AppRunner(app, access_log=None)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, ssl_context=context).start()
    try:
        yield f"https://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


@pytest.fixture
def kubeconfig(tmp_path):
    """Writes a kubeconfig of one cluster and one user."""

    def write(server, cluster, user):
        path = tmp_path / "config"
        content = {
            "current-context": "m",
            "contexts": [{"name": "m", "context": {"cluster": "c", "user": "u"}}],
            "clusters": [{"name": "c", "cluster": {"server": server} | cluster}],
            "users": [{"name": "u", "user": user}],
        }
        path.write_text(yaml.safe_dump(content))
        return path

    return write


def exec_cert():
    """An exec plugin that issues the client certificate."""
    status = {
        "clientCertificateData": (TLS / "client.pem").read_text(),
        "clientKeyData": (TLS / "client.key").read_text(),
    }
    version = "client.authentication.k8s.io/v1"
    reply = {"apiVersion": version, "kind": "ExecCredential", "status": status}
    return {
        "exec": {
            "apiVersion": version,
            "command": sys.executable,
            "args": ["-c", f"print({json.dumps(reply)!r})"],
        }
    }


async def ask(path):
    clock = LoopClock()
    client = Client(await connect(kubeconfig=path, clock=clock), clock=clock, timeout=5)
    try:
        return (await client.raw("GET", "/who")).decode()
    finally:
        await client.close()


@pytest.mark.parametrize(
    ("cluster", "user", "want"),
    [
        pytest.param(CA, CERT, "client", id="a client certificate in files"),
        pytest.param(
            {"certificate-authority-data": inline("ca.pem"), "tls-server-name": "api.test"},
            INLINE_CERT,
            "client",
            id="everything inline",
        ),
        pytest.param(CA, exec_cert(), "client", id="a certificate from an exec plugin"),
    ],
)
async def test_client_certificates(kubeconfig, cluster, user, want):
    """A client certificate authenticates, wherever it comes from."""
    async with tls_server(client_cert=True) as url:
        assert await ask(kubeconfig(url, cluster, user)) == want


@pytest.mark.parametrize(
    ("cluster", "want"),
    [
        pytest.param(CA, "Bearer t", id="a known CA and the right name"),
        pytest.param({"insecure-skip-tls-verify": True}, "Bearer t", id="not verified on purpose"),
    ],
)
async def test_tokens_over_tls(kubeconfig, cluster, want):
    """A token travels over a verified connection, or over one that was asked not to be."""
    async with tls_server() as url:
        assert await ask(kubeconfig(url, cluster, {"token": "t"})) == want


@pytest.mark.parametrize(
    ("cluster", "want"),
    [
        pytest.param(CA, [], id="a server that is verified"),
        pytest.param(
            {"insecure-skip-tls-verify": True},
            [NOT_VERIFIED],
            id="one that is not",
        ),
        pytest.param(CA | {"insecure-skip-tls-verify": False}, [], id="the field says no"),
    ],
)
async def test_a_server_that_is_not_verified_is_no_secret(kubeconfig, cluster, want):
    """The programs log a warning when they start: file, entry, what it means, what to do."""
    async with tls_server() as url:
        path = kubeconfig(url, cluster, {"token": "t"})
        with capture_logs() as logs:
            await ask(path)

    found = [(one["log_level"], one["event"], one["text"]) for one in logs]
    assert found == [
        ("warning", "server_not_verified", text.format(path=path, url=url)) for text in want
    ]


@pytest.mark.parametrize(
    ("server", "warned"),
    [
        pytest.param("http://127.0.0.1:8080", False, id="this machine"),
        pytest.param("http://localhost:8080", False, id="this machine by name"),
        pytest.param("http://[::1]:8080", False, id="this machine over IPv6"),
        pytest.param("http://10.0.0.1:8080", True, id="another machine"),
        pytest.param("http://api.example", True, id="another machine by name"),
    ],
)
async def test_a_connection_without_tls_is_no_secret_either(kubeconfig, server, warned):
    """Credentials in plain text leave the machine only with a warning."""
    said = []
    await connect(
        kubeconfig=kubeconfig(server, {}, {"token": "t"}), clock=LoopClock(), warn=said.append
    )

    assert [f"'c' names {server}: nothing is encrypted" in one for one in said] == [True] * warned


@virtual_time
async def test_a_kubeconfig_that_loses_its_ca_is_warned_of_once(kubeconfig, tmp_path):
    """Credentials are read again; what they say anew is said, and no more than once."""
    said, token = [], tmp_path / "token"
    token.write_text("t")
    user, clock = {"tokenFile": str(token)}, LoopClock()
    path = kubeconfig("https://127.0.0.1:1", CA, user)
    connection = Connection(
        KubeconfigSource((path,), None, clock=clock), clock=clock, warn=said.append
    )
    counts = []
    for cluster in (CA, {"insecure-skip-tls-verify": True}, {"insecure-skip-tls-verify": True}):
        kubeconfig("https://127.0.0.1:1", cluster, user)
        await connection.access()
        counts.append(len(said))
        await clock.sleep(61)
        token.write_text("another")

    assert counts == [0, 1, 1]


@pytest.mark.parametrize(
    "cluster",
    [
        pytest.param({}, id="an unknown CA"),
        pytest.param({"certificate-authority": str(TLS / "ca.pem")}, id="another server name"),
    ],
)
async def test_unverified_servers_are_unreachable(kubeconfig, cluster):
    """A server that cannot prove who it is gets no token; the message says that it is about TLS."""
    async with tls_server() as url:
        with pytest.raises(Unreachable, match=r"CERTIFICATE_VERIFY_FAILED|certificate"):
            await ask(kubeconfig(url, cluster, {"token": "t"}))


async def test_a_broken_certificate_is_one_line(kubeconfig, tmp_path):
    """A CA file that is none is a configuration error."""
    bad = tmp_path / "bad.pem"
    bad.write_text("not a certificate")

    with pytest.raises(ConfigError, match="cannot be used"):
        await ask(kubeconfig("https://127.0.0.1:1", {"certificate-authority": str(bad)}, {}))
