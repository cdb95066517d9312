"""Requests whose answers a real API server and the embedded one have in common.

`recorded` are a real server's answers (`make e2e` asks one and compares), `tests/data` keeps them.
"""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from tests.global_sched.embedded.apiserver.conftest import JSON, JSON_PATCH, MERGE, STRATEGIC, Reply
from tests.global_sched.embedded.apiserver.widgets import WIDGETS, definition, widget

FILE: Final = Path(__file__).parents[3] / "data" / "kube-apiserver-1.35.4-answers.json"
CRDS: Final = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
MAPS: Final = "/api/v1/namespaces/team/configmaps"
LEASES: Final = "/apis/coordination.k8s.io/v1/namespaces/team/leases"
TENANT: Final = "ann"
"""A user with a valid token and no rights of its own."""
USERS: Final = ("admin", TENANT, "wrong", "")
_SCALE: Final = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
_PROTOBUF: Final = "application/vnd.kubernetes.protobuf"

Ask = Callable[..., Awaitable[Reply]]


@dataclass(frozen=True, kw_only=True)
class Request:
    """One request; `who` is one of USERS, "" sends no credential, "wrong" one without a user."""

    id: str
    method: str = "GET"
    path: str
    body: Any = None
    kind: str = JSON
    who: str = "admin"
    headers: Mapping[str, str] = field(default_factory=dict)


def _accept(id_: str, path: str, accept: str, **more: Any) -> Request:
    return Request(id=id_, path=path, headers={"Accept": accept}, **more)


def _scale(id_: str, patch: Any, kind: str = MERGE, name: str = "bare") -> Request:
    path = f"{WIDGETS}/{name}/scale"
    return Request(id=id_, method="PATCH", path=path, body=patch, kind=kind)


def _put(id_: str, path: str, body: Any) -> Request:
    parts = [one for one in path.split("/") if one not in {"status", "scale"}]
    meta = {"name": parts[-1], "namespace": "team", "uid": "other"}
    return Request(id=id_, method="PUT", path=path, body={"metadata": meta, **body})


_REPLICAS: Final = "/spec/replicas"
_WIDGET: Final = {"apiVersion": "example.test/v1", "kind": "Widget"}
_AUTOSCALING: Final = {"apiVersion": "autoscaling/v1", "kind": "Scale"}
REQUESTS: Final = (
    # The scale of a custom resource; `bare` has no replicas.
    Request(id="scale without replicas", path=f"{WIDGETS}/bare/scale"),
    _scale("scale: nothing about replicas", {"metadata": {"labels": {"a": "b"}}}),
    _scale("scale: JSON patch fails a test", [{"op": "test", "path": _REPLICAS, "value": 9}],
           JSON_PATCH, "two"),
    _scale("scale: JSON patch removes what is not there", [{"op": "remove", "path": "/spec/none"}],
           JSON_PATCH, "two"),
    _scale("scale: JSON patch removes replicas", [{"op": "remove", "path": _REPLICAS}],
           JSON_PATCH, "two"),
    _scale("scale: strategic merge patch", {"spec": {"replicas": 5}}, STRATEGIC),
    _scale("scale: text for replicas", {"spec": {"replicas": "x"}}, MERGE, "two"),
    _scale("scale: negative replicas", {"spec": {"replicas": -1}}, MERGE, "two"),
    _scale("scale: a list for an object", [1], MERGE, "two"),
    _scale("scale: no JSON", "{", MERGE, "two"),
    _scale("scale: an unknown field", {"more": 1, "spec": {"replicas": 2}}, MERGE, "two"),
    _scale("scale: an old version", {"metadata": {"resourceVersion": "1"}}, MERGE, "two"),
    _scale("scale: of nothing", {"spec": {"replicas": 5}}, MERGE, "gone"),
    _scale("scale: replicas that were not there", {"spec": {"replicas": 5}}),
    _scale("scale: no spec any more", {"spec": None}, MERGE, "two"),
    # Bodies of patches that cannot be read.
    *(
        Request(id=f"patch of {path[-6:]}: {name}", method="PATCH", path=path, body=body, kind=kind)
        for path in (f"{WIDGETS}/two", f"{MAPS}/map")
        for name, body, kind in (
            ("a list", [1], MERGE),
            ("cut off", "{", MERGE),
            ("no list", {"op": "add"}, JSON_PATCH),
            ("cut off, JSON patch", "[{", JSON_PATCH),
            ("text", '"x"', MERGE),
            ("a number", 3, MERGE),
        )
    ),
    # Forms that are not served by both.
    _accept("list as text", MAPS, "text/plain"),
    _accept("object as text", f"{MAPS}/map", "text/plain"),
    _accept("watch as text", f"{MAPS}?watch=1", "text/plain"),
    _accept("discovery as text", "/apis", "text/plain"),
    _accept("resources as text", "/apis/apps/v1", "text/plain"),
    _accept("a table of an unknown version", MAPS, "application/json;as=Table;v=v9;g=meta.k8s.io"),
    _accept("text, or else anything", f"{MAPS}/map", "text/html, */*;q=0.2"),
    _accept("protobuf or JSON of a custom resource", f"{WIDGETS}/two", f"{_PROTOBUF},{JSON}"),
    _accept("create as text", MAPS, "text/plain", method="POST",
            body={"metadata": {"name": "never"}}),
    Request(id="what was not created", path=f"{MAPS}/never"),
    # The UID in the body of an update is a precondition.
    _put("uid: a built-in kind", f"{MAPS}/map", {}),
    _put("uid: gone", f"{MAPS}/gone", {}),
    _put("uid: gone, of a kind that an update creates", f"{LEASES}/gone", {"spec": {}}),
    _put("uid: a custom resource", f"{WIDGETS}/two", {**_WIDGET, "spec": {"replicas": 2}}),
    _put("uid: a status", f"{WIDGETS}/two/status", {**_WIDGET, "status": {}}),
    _put("uid: a scale", f"{WIDGETS}/two/scale", {**_AUTOSCALING, "spec": {"replicas": 2}}),
    # Who may ask.
    *(
        Request(id=f"{who or 'nobody'}: {path}", path=path, who=who)
        for who in (TENANT, "wrong", "")
        for path in ("/api", "/apis/apps/v1", "/openapi/v3", "/version", "/readyz", MAPS)
    ),
    # Kinds that are not there.
    Request(id="an unknown resource", path="/apis/example.test/v1/namespaces/team/gadgets"),
    Request(id="an unknown group", path="/apis/nowhere.test/v1"),
    Request(id="an unknown kind, applied", method="PATCH", kind="application/apply-patch+yaml",
            path="/apis/nowhere.test/v1/namespaces/team/gadgets/g?fieldManager=kubectl",
            body={"apiVersion": "nowhere.test/v1", "kind": "Gadget", "metadata": {"name": "g"}}),
)  # fmt: skip


async def prepare(ask: Ask) -> None:
    """What the requests are about; the custom resource is served when this returns."""
    await ask("POST", "/api/v1/namespaces", {"metadata": {"name": "team"}})
    await ask("POST", CRDS, definition(subresources={"status": {}, "scale": _SCALE}))
    await ask("POST", MAPS, {"metadata": {"name": "map"}})
    for name, spec in (("bare", {"size": 1}), ("two", {"size": 1, "replicas": 2})):
        for _ in range(100):  # the real server needs a moment to serve a new kind
            made = await ask("POST", WIDGETS, widget(name, spec))
            if made.code != 404:
                break
            await asyncio.sleep(0.1)
        assert made.code == 201, made


async def answers(asks: Mapping[str, Ask]) -> dict[str, Any]:
    """The answers by request: the code, and what a refusal says."""
    found: dict[str, Any] = {}
    for one in REQUESTS:
        ask = asks[one.who]
        reply = await ask(one.method, one.path, one.body, kind=one.kind, headers=one.headers)
        found[one.id] = told(reply)
    return found


_DIFFERS: Final = re.compile(
    r"[0-9a-f]{8}-[0-9a-f-]{27}|\d{4}-\d\d-\d\dT[\d:]+Z|resourceVersion\W+\d+|(?<=Key: /)[^/]+"
)
"""Ids, times, versions, and the prefix of all keys in etcd."""


def told(reply: Reply) -> dict[str, Any]:
    """Code, reason, message and details of a refusal; of any other answer the code alone.

    Of a form that is not served (406) neither message nor details: they list those that are.
    """
    try:
        status = json.loads(reply.text)
    except ValueError:
        status = None
    if not isinstance(status, dict) or status.get("kind") != "Status":
        return {"code": reply.code}
    keys = ("reason",) if reply.code == 406 else ("reason", "message", "details")
    text = json.dumps({key: status[key] for key in keys if key in status})
    return {"code": reply.code, **json.loads(_DIFFERS.sub("X", text))}


def recorded() -> dict[str, Any]:
    """What the real server answered."""
    content: dict[str, Any] = json.loads(FILE.read_text(encoding="utf-8"))
    return content
