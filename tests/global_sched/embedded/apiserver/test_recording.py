"""The embedded server answers as a real one did, request by request."""

import io
import json
import re
from pathlib import Path
from typing import Any

import aiohttp
import pytest

from global_sched.embedded.apiserver import ApiServer, User

DATA = Path(__file__).parents[3] / "data" / "kube-apiserver-1.35.4.json"
RECORDING: list[Any] = json.loads(DATA.read_text())
WIDGETS = "/apis/example.test/v1/namespaces/rec/widgets"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE = "application/merge-patch+json"
APPLY = "application/apply-patch+yaml"

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
_FREE = {"resourceVersion": "R", "continue": "C", "storageVersionHash": "H", "serverAddress": "A"}
_TRIMMED = {"api-v1-trimmed", "discovery-aggregated", "version"}


def _widget(name: str, size: int = 1, **more: Any) -> dict[str, Any]:
    meta = {"name": name, **more.pop("meta", {})}
    head = {"apiVersion": "example.test/v1", "kind": "Widget"}
    return {**head, "metadata": meta, "spec": {"size": size, **more}}


def _pages() -> list[Any]:
    """The seven widgets that the lists are of."""
    return [
        (
            "POST",
            WIDGETS,
            _widget(
                f"p{i}",
                meta={"labels": {"i": str(i), "odd": str(i % 2)}},
                color="blue" if i % 2 else "red",
            ),
        )
        for i in range(7)
    ]


# What the recorder did between the requests that it kept.
BEFORE: dict[str, list[Any]] = {
    "version": [("POST", "/api/v1/namespaces", {"metadata": {"name": "rec"}})],
    "create-wrong-kind": [("POST", WIDGETS, {**_widget("st"), "status": {"phase": "Ready"}})],
    "generation-after": [
        (
            "PUT",
            f"{WIDGETS}/a/scale",
            {
                "apiVersion": "autoscaling/v1",
                "kind": "Scale",
                "metadata": {"name": "a"},
                "spec": {"replicas": 4},
            },
        ),
    ],
    "list-label-eq": [
        ("PATCH", f"{WIDGETS}/s?fieldManager=three&force=true", _widget("s", 2), APPLY),
        ("PATCH", f"{WIDGETS}/s?fieldManager=two", _widget("s", 2), APPLY),
        *_pages(),
    ],
    "delete-with-finalizer": [
        ("POST", WIDGETS, _widget("fin", meta={"finalizers": ["example.test/hold"]})),
    ],
}
DURING = {
    "watch-from-rv": [
        ("POST", WIDGETS, _widget("w1")),
        ("PATCH", f"{WIDGETS}/w1", {"spec": {"size": 3}}, MERGE),
        ("PATCH", f"{WIDGETS}/w1/status", {"status": {"phase": "P"}}, MERGE),
        ("DELETE", f"{WIDGETS}/w1", None),
    ],
}


class Replay:
    """The story so far: what a recorded value is called here."""

    def __init__(self, session: aiohttp.ClientSession) -> None:  # noqa: TID251 - plain HTTP
        self.session = session
        self.token = ""
        self.listed = ""
        self.bodies: dict[str, Any] = {}

    async def send(
        self, method: str, path: str, body: Any, kind: str = "application/json", **more: Any
    ) -> aiohttp.ClientResponse:
        headers = {"User-Agent": "Python/3.11", "Accept": "application/json", "Content-Type": kind}
        headers |= more.pop("headers", {})
        if "token" not in more or more.pop("token"):
            headers["Authorization"] = "Bearer t"
        text = body if isinstance(body, str) or body is None else json.dumps(body)
        data = None if text is None else io.BytesIO(text.encode())
        return await self.session.request(method, path, data=data, headers=headers, **more)

    def here(self, recorded: Any) -> Any:
        """A recorded request body with this server's versions and uids."""
        text = json.dumps(recorded)
        for theirs, ours in self.bodies.items():
            text = text.replace(f'"{theirs}"', f'"{ours}"')
        return json.loads(text)

    def learn(self, recorded: Any, answered: Any) -> None:
        """Remember which version and uid stands for which."""
        for key in ("resourceVersion", "uid"):
            theirs = (recorded.get("metadata") or {}).get(key)
            ours = (answered.get("metadata") or {}).get(key)
            if theirs and ours:
                self.bodies[theirs] = ours
        token = (answered.get("metadata") or {}).get("continue")
        if token:
            self.token = token


def _plain(value: Any, key: str = "") -> Any:
    """A value without what differs between two servers."""
    if isinstance(value, dict):
        return {k: _FREE[k] if k in _FREE and v else _plain(v, k) for k, v in value.items()}
    if isinstance(value, list):
        if key == "cells":
            return [re.sub(r"^\d+s$", "AGE", v) if isinstance(v, str) else v for v in value]
        return [_plain(item) for item in value]
    if isinstance(value, str):
        value = _UID.sub("UID", _TIME.sub("TIME", value))
        value = re.sub(r"^gen-[a-z0-9]{5}$", "gen-x", value)
        return re.sub(r"current: \d+", "current: N", value)
    return value


def _covers(recorded: Any, answered: Any, path: str = "") -> list[str]:
    """Where a trimmed recording is not contained in the answer."""
    if isinstance(recorded, dict):
        missing = [f"{path}.{k}" for k in recorded if k not in answered]
        found = [
            p
            for k, v in recorded.items()
            if k in answered
            for p in _covers(v, answered[k], f"{path}.{k}")
        ]
        return missing + found
    if isinstance(recorded, list) and recorded and isinstance(recorded[0], dict):

        def name(row: Any) -> Any:
            return (
                row.get("name")
                or row.get("version")
                or row.get("resource")
                or row.get("subresource")
                or (row.get("metadata") or {}).get("name")
            )

        rows = {name(row): row for row in answered}
        return [
            p
            for row in recorded
            for p in (
                [f"{path}[{name(row)}]"]
                if name(row) not in rows
                else _covers(row, rows[name(row)], f"{path}[{name(row)}]")
            )
        ]
    return [] if recorded == answered else [f"{path}: {recorded!r} != {answered!r}"]


def _request_body(case: Any) -> Any:
    body = case["request"].get("body")
    size = {"create-huge-2MiB": 2_000_000, "create-annotations-300KiB": 300_000}.get(case["id"])
    if size is not None:
        return _widget("big", meta={"annotations": {"x": "x" * size}})
    return body


async def _watch(replay: Replay, case: Any) -> tuple[int, list[Any]]:
    """The events of a recorded watch, as this server sends them."""
    params = replay.here(dict(case["request"]["params"]))
    version = params.get("resourceVersion", "")
    if case["id"] == "watch-from-rv" or version == "2340":
        params["resourceVersion"] = replay.listed
    params.setdefault("timeoutSeconds", "1")
    accept = TABLE if case["id"] == "watch-table" else "application/json"
    response = await replay.send(
        "GET", case["request"]["path"], None, params=params, headers={"Accept": accept}
    )
    for method, path, body, *kind in DURING.get(case["id"], []):
        await (await replay.send(method, path, body, *kind)).read()
    lines = (await response.text()).splitlines()
    return response.status, [json.loads(line) for line in lines]


async def _same(replay: Replay, case: Any) -> list[str]:
    """How this server's answer differs from the recorded one."""
    for method, path, body, *kind in BEFORE.get(case["id"], []):
        response = await replay.send(method, path, body, *kind)
        await response.read()
        assert response.status < 300, (case["id"], path, await response.text())
    request = case["request"]
    if request.get("watch"):
        status, events = await _watch(replay, case)
        same = _plain(events) == _plain(case["events"])
        return [] if status == case["status"] and same else [f"{status} {events}"]
    params = dict(request.get("params") or {})
    if "continue" in params:
        params["continue"] = replay.token
    headers = {k: v for k, v in (request.get("headers") or {}).items() if k != "content-type"}
    kind = (request.get("headers") or {}).get("content-type", "application/json")
    response = await replay.send(
        request["method"],
        request["path"],
        replay.here(_request_body(case)),
        kind,
        params=params,
        headers=headers,
        token=case["id"] != "anonymous",
    )
    text = await response.text()
    answered = json.loads(text) if isinstance(case["body"], dict) else text
    if isinstance(answered, dict):
        replay.learn(case["body"], answered)
        if case["id"] == "list-all-namespaces":
            replay.listed = answered["metadata"]["resourceVersion"]
    return _differences(case, response, answered)


def _differences(case: Any, response: Any, answered: Any) -> list[str]:
    found = []
    if response.status != case["status"]:
        found.append(f"status {response.status}, not {case['status']}: {answered}")
    for name, value in case.get("headers", {}).items():
        if response.headers.get(name) != value:
            found.append(f"{name}: {response.headers.get(name)}, not {value}")
    recorded = case["body"]
    if case["id"] in _TRIMMED:
        if case["id"] == "version":
            recorded = {k: recorded[k] for k in ("major", "minor", "gitVersion", "platform")}
        return found + _covers(_plain(recorded), _plain(answered))
    if case["id"] == "self-subject":
        del recorded["status"]["userInfo"]["extra"]
    if _plain(recorded) != _plain(answered):
        found.append(f"{json.dumps(_plain(answered))}\n not {json.dumps(_plain(recorded))}")
    return found


@pytest.mark.slow
async def test_recorded_requests_are_answered_as_a_real_server_did():
    """Status, reason, message, details and shape equal the recording; times and ids differ."""
    admin = User(name="admin", groups=("system:masters",))
    server = ApiServer(name="rec", tokens={"t": admin})
    await server.start()
    differences = {}
    async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
        replay = Replay(session)
        for case in RECORDING:
            found = await _same(replay, case)
            if found:
                differences[case["id"]] = found
    await server.stop()

    assert differences == {}
    assert len(RECORDING) == 92
