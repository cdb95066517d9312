"""The server as a whole: several of them, limits, kubeconfig, request log, state on disk."""

import asyncio
import base64
import json
import re
import signal
import ssl
import sys
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
import yaml

from global_sched.embedded.__main__ import main
from global_sched.embedded.apiserver import ApiServer, RequestRecord, User
from tests.global_sched.embedded.apiserver.conftest import Http
from tests.global_sched.embedded.apiserver.widgets import WIDGETS, definition, widget

MAPS = "/api/v1/namespaces/default/configmaps"
MERGE = "application/merge-patch+json"


async def test_servers_know_nothing_of_each_other(http):
    """Two servers in one loop hold different worlds."""
    other = ApiServer(name="other")
    await other.start()
    await http("POST", MAPS, {"metadata": {"name": "here"}})
    async with http.session.get(f"{other.url}{MAPS}") as response:
        listed = await response.json()
    await other.stop()

    assert listed["items"] == []


@pytest.mark.parametrize(
    ("body", "want_code", "want_reason"),
    [
        pytest.param(
            b'{"metadata":{"name":"x"},"data":{"x":"' + b"y" * (3 << 20) + b'"}}',
            413,
            "RequestEntityTooLarge",
            id="more than three mebibytes",
        ),
        pytest.param(b'{"data":' * 10_001 + b"}" * 10_001, 400, "BadRequest", id="too deep"),
        pytest.param(b'{"metadata":', 400, "BadRequest", id="cut off"),
        pytest.param(b"[]", 400, "BadRequest", id="no object"),
    ],
)
@pytest.mark.filterwarnings("ignore:Sending a large body:ResourceWarning")
async def test_bodies_that_are_refused(http, body, want_code, want_reason):
    """A body that is too large, too deep or no object is refused, and the server goes on."""
    reply = await http("POST", MAPS, body)

    assert (reply.code, reply.obj["reason"]) == (want_code, want_reason)
    assert (await http("GET", "/readyz")).text == "ok"


async def test_a_chunked_body_is_limited_too(http):
    """A body without a length is cut at the limit."""

    async def chunks():
        for _ in range(5):
            yield b"x" * (1 << 20)

    async with http.session.post(MAPS, data=chunks()) as response:
        assert response.status == 413


async def test_the_request_log(server, http):
    """A callback hears of every resource request: who, what, on what, with what result."""
    heard = []
    server.on_request(heard.append)
    await http("GET", f"{MAPS}/none")
    await http("GET", f"{MAPS}?watch=1&resourceVersion=x")
    await http("GET", "/version")

    common = {
        "user": "system:admin",
        "group": "",
        "resource": "configmaps",
        "subresource": "",
        "namespace": "default",
    }
    assert heard == [
        RequestRecord(verb="get", name="none", code=404, **common),
        RequestRecord(verb="watch", name="", code=500, **common),
    ]


async def test_the_kubeconfig_has_the_administrators_token(tmp_path):
    """A client with the written kubeconfig is the administrator; others can be asked for."""
    tokens = {"u": User(name="u"), "r": User(name="r", groups=("system:masters",))}
    server = ApiServer(name="m1", tokens=tokens)
    await server.start()
    path = tmp_path / "deep" / "kubeconfig"
    server.write_kubeconfig(path)
    await server.stop()

    written = yaml.safe_load(path.read_text())
    assert written["clusters"] == [{"name": "m1", "cluster": {"server": server.url}}]
    assert written["users"] == [{"name": "m1", "user": {"token": "r"}}]
    assert server.kubeconfig("u")["users"][0]["user"] == {"token": "u"}
    assert path.stat().st_mode & 0o777 == 0o600


async def test_state_survives_a_restart(tmp_path):
    """Objects, versions and definitions are there again; old watches must start anew."""
    first = ApiServer(data_dir=tmp_path)
    await first.start()
    first.install_crd(definition())
    async with aiohttp.ClientSession(first.url) as session:  # noqa: TID251 - plain HTTP
        http = Http(session)
        await http("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
        await http("POST", WIDGETS, widget("gone"))
        await http("DELETE", f"{WIDGETS}/gone")
        made = await http("POST", WIDGETS, widget("kept", spec={"size": 1}))
    await first.stop()

    second = ApiServer(data_dir=tmp_path)
    await second.start()
    async with aiohttp.ClientSession(second.url) as session:  # noqa: TID251 - plain HTTP
        http = Http(session)
        listed = (await http("GET", WIDGETS)).obj
        old = {"watch": "1", "resourceVersion": "1"}
        events = [(await http("GET", WIDGETS, params=old)).obj]
        later = await http("PATCH", f"{WIDGETS}/kept", {"spec": {"size": 2}}, kind=MERGE)
    await second.stop()

    assert listed["items"] == [made.obj]
    assert listed["metadata"]["resourceVersion"] == made.obj["metadata"]["resourceVersion"]
    assert [(e["type"], e["object"]["code"]) for e in events] == [("ERROR", 410)]
    assert int(later.obj["metadata"]["resourceVersion"]) > int(
        made.obj["metadata"]["resourceVersion"]
    )


async def _serve(*arguments):
    return await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "global_sched.embedded",
        "serve",
        *arguments,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )


@asynccontextmanager
async def _client(process):
    """The kubeconfig that a server has printed, and a session that trusts its certificate."""
    line = (await process.stdout.readline()).decode().strip()
    content = yaml.safe_load(await asyncio.to_thread(Path(line).read_text))
    authority = base64.b64decode(content["clusters"][0]["cluster"]["certificate-authority-data"])
    trust = aiohttp.TCPConnector(ssl=ssl.create_default_context(cadata=authority.decode()))
    url = content["clusters"][0]["cluster"]["server"]
    async with aiohttp.ClientSession(url, connector=trust) as session:  # noqa: TID251 - plain
        yield content, session


@pytest.mark.slow
async def test_nothing_that_was_answered_is_lost_in_a_crash(tmp_path):
    """A server that is killed comes back with everything it had answered."""
    process = await _serve("--data", str(tmp_path))
    async with _client(process) as (content, session):
        http = Http(session, content["users"][0]["user"]["token"])
        for index in range(20):
            await http("POST", MAPS, {"metadata": {"name": f"c{index}"}})
    process.kill()
    await process.communicate()

    again = await _serve("--data", str(tmp_path))
    async with _client(again) as (content, session):
        listed = (await Http(session, content["users"][0]["user"]["token"])("GET", MAPS)).obj
    again.send_signal(signal.SIGTERM)
    await again.communicate()

    assert len(listed["items"]) == 20
    assert again.returncode == 0


@pytest.mark.slow
async def test_a_bare_server_asks_for_its_token_over_tls(tmp_path):
    """`serve` lets in the administrator of its kubeconfig only, with one credential per state.

    The token is not in the address, since kubectl sends it over TLS; what a client does not trust
    it does not reach.
    """
    seen = []
    for _ in range(2):
        process = await _serve("--data", str(tmp_path))
        async with _client(process) as (content, session):
            cluster, user = content["clusters"][0]["cluster"], content["users"][0]["user"]
            tokens = (user["token"], "wrong", None)
            codes = [(await Http(session, token)("GET", MAPS)).code for token in tokens]
            with pytest.raises(aiohttp.ClientConnectorCertificateError):
                async with aiohttp.ClientSession(cluster["server"]) as other:  # noqa: TID251
                    await Http(other)("GET", MAPS)
        process.send_signal(signal.SIGTERM)
        await process.communicate()
        assert codes == [200, 401, 403]
        assert re.fullmatch(r"https://127\.0\.0\.1:\d+", cluster["server"])
        seen.append((user["token"], cluster["certificate-authority-data"]))

    assert seen[0] == seen[1]
    assert (tmp_path / "tls.pem").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize(
    ("arguments", "want_text"),
    [
        pytest.param(["serve", "--port", "x"], "'x' is not a port", id="a port is a number"),
        pytest.param(["serve", "--nope"], "unrecognized arguments: --nope", id="unknown flag"),
        pytest.param([], "the following arguments are required: command", id="no command"),
    ],
)
def test_bad_flags_are_told_in_one_line(capsys, arguments, want_text):
    """A wrong command line ends with one line and code 2."""
    with pytest.raises(SystemExit) as ended:
        main(arguments)

    told = capsys.readouterr().err
    assert ended.value.code == 2
    assert want_text in told
    assert told.count("\n") == 1


async def test_a_stopping_server_ends_its_watches(server, http):
    """A watch ends when the server stops; nothing hangs."""

    async def read():
        async with http.session.get(MAPS, params={"watch": "1"}) as response:
            return await response.text()

    reader = asyncio.create_task(read())
    while not server.backend.store.collection("configmaps")._waiting:  # noqa: ASYNC110 - one turn
        await asyncio.sleep(0)
    await server.stop()

    assert await reader == ""


async def test_yaml_bodies(http):
    """A body may be YAML; words that look like booleans elsewhere stay words."""
    text = "kind: ConfigMap\napiVersion: v1\nmetadata: {name: y}\ndata: {a: yes, b: 2026-01-01}\n"

    reply = await http("POST", MAPS, text, kind="application/yaml")

    assert reply.obj["data"] == {"a": "yes", "b": "2026-01-01"}


async def test_one_seed_one_history():
    """Two servers of one seed give the same uids and names."""
    seen = []
    for _ in range(2):
        server = ApiServer(seed=7)
        await server.start()
        async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
            made = await Http(session)("POST", MAPS, {"metadata": {"generateName": "g-"}})
        await server.stop()
        seen.append((made.obj["metadata"]["name"], made.obj["metadata"]["uid"]))

    assert seen[0] == seen[1]
    assert json.dumps(seen)
