"""The client's requests and what it makes of answers, over a real socket."""

import asyncio

import pytest

from global_sched.shared.api.base import KubeObject
from global_sched.shared.api.core import Lease
from global_sched.shared.api.resource import CONFIGMAPS, LEASES, NODES, PODS, QUEUES
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client, PatchKind, Propagation
from global_sched.shared.kube.connection import Access, Connection
from global_sched.shared.kube.errors import (
    AlreadyExists,
    ApiError,
    BadRequest,
    Conflict,
    DecodeError,
    ErrorCause,
    Forbidden,
    Gone,
    Invalid,
    MethodNotAllowed,
    NotFound,
    ServerError,
    Throttled,
    TooLarge,
    Unauthorized,
    Unreachable,
    UnsupportedMedia,
)
from global_sched.shared.kube.transport import AiohttpTransport
from tests.global_sched.shared.kube.scripted import (
    fails,
    hangs,
    listing,
    says,
    serving,
    stores,
    thing,
)
from tests.virtual_time import virtual_time


@pytest.mark.parametrize(
    ("call", "want"),
    [
        pytest.param(
            lambda c: c.get(NODES, "n1"), "GET /api/v1/nodes/n1", id="a cluster-scoped object"
        ),
        pytest.param(
            lambda c: c.get(PODS, "p", namespace="ns", subresource="status"),
            "GET /api/v1/namespaces/ns/pods/p/status",
            id="a subresource",
        ),
        pytest.param(
            lambda c: c.create(CONFIGMAPS, {}, namespace="ns", dry_run=True),
            "POST /api/v1/namespaces/ns/configmaps dryRun=All",
            id="a dry run",
        ),
        pytest.param(
            lambda c: c.patch(QUEUES, "q", {}, kind=PatchKind.APPLY, field_manager="m", force=True),
            "PATCH /apis/scheduling.volcano.sh/v1beta1/queues/q fieldManager=m force=true",
            id="a forced server-side apply",
        ),
        pytest.param(
            lambda c: c.replace(QUEUES, "q", {}, subresource="status"),
            "PUT /apis/scheduling.volcano.sh/v1beta1/queues/q/status",
            id="a status update",
        ),
        pytest.param(
            lambda c: c.post_subresource(PODS, "p", "binding", {}, namespace="ns"),
            "POST /api/v1/namespaces/ns/pods/p/binding",
            id="a bind",
        ),
        pytest.param(
            lambda c: c.raw("GET", "/version", params={"a": "b c"}),
            "GET /version a=b c",
            id="a raw request",
        ),
        pytest.param(
            lambda c: c.get(CONFIGMAPS, "a/b c", namespace="ns"),
            "GET /api/v1/namespaces/ns/configmaps/a/b c",
            id="a name with characters that need quoting",
        ),
    ],
)
async def test_requests(call, want):
    """Every verb goes to the path and with the parameters that the API documents."""
    async with serving(stores()) as script:
        client = script.client(user_agent="test/1")
        await call(client)
        await client.close()

    seen = script.seen[0]
    query = "".join(f" {key}={value}" for key, value in sorted(seen.query.items()))
    assert f"{seen.method} {seen.path}{query}" == want
    assert seen.headers["User-Agent"] == "test/1"


async def test_patch_kinds_are_content_types():
    """The kind of a patch is its content type."""
    async with serving(stores()) as script:
        client = script.client()
        for kind in PatchKind:
            await client.patch(QUEUES, "q", [] if kind is PatchKind.JSON else {}, kind=kind)
        await client.close()

    assert [seen.headers["Content-Type"] for seen in script.seen] == [
        "application/merge-patch+json",
        "application/json-patch+json",
        "application/strategic-merge-patch+json",
        "application/apply-patch+yaml",
    ]


async def test_delete_options():
    """Preconditions, grace and propagation travel in the body."""
    async with serving(stores()) as script:
        client = script.client()
        await client.delete(
            PODS,
            "p",
            namespace="ns",
            uid="u",
            resource_version="7",
            grace_seconds=0,
            propagation=Propagation.FOREGROUND,
        )
        await client.close()

    assert script.seen[0].json == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
    }


async def test_a_struct_says_what_it_is():
    """A Struct leaves defaults out, but its kind is always written."""
    async with serving(says(thing("l", 1))) as script:
        client = script.client()
        await client.create(LEASES, Lease(), namespace="ns")
        await client.close()

    assert script.seen[0].json == {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease"}


async def test_typed_reads():
    """`type` decides what comes back; dict is the default."""
    async with serving(says(thing("a", 3, data={"k": "v"}))) as script:
        client = script.client()
        raw = await client.get(CONFIGMAPS, "a", namespace="ns")
        typed = await client.get(CONFIGMAPS, "a", namespace="ns", type=KubeObject)
        await client.close()

    assert raw["data"] == {"k": "v"}
    assert (typed.metadata.name, typed.metadata.resource_version) == ("a", "3")


async def test_lists_follow_pages():
    """A list is the sum of its pages; selectors go with each request."""
    async with serving(
        says(listing(9, thing("a", 1), token="t")), says(listing(9, thing("b", 2)))
    ) as script:
        client = script.client()
        found = await client.list(CONFIGMAPS, type=KubeObject, label_selector="x=y", limit=1)
        await client.close()

    assert [item.metadata.name for item in found.items] == ["a", "b"]
    assert found.resource_version == "9"
    assert [seen.query for seen in script.seen] == [
        {"labelSelector": "x=y", "limit": "1"},
        {"labelSelector": "x=y", "limit": "1", "continue": "t"},
    ]


@pytest.mark.parametrize(
    ("code", "reason", "want"),
    [
        pytest.param(400, "BadRequest", BadRequest, id="a bad request"),
        pytest.param(401, "Unauthorized", Unauthorized, id="no credentials"),
        pytest.param(403, "Forbidden", Forbidden, id="not allowed"),
        pytest.param(404, "NotFound", NotFound, id="not there"),
        pytest.param(405, "MethodNotAllowed", MethodNotAllowed, id="not a verb of it"),
        pytest.param(409, "Conflict", Conflict, id="somebody was faster"),
        pytest.param(409, "AlreadyExists", AlreadyExists, id="the name is taken"),
        pytest.param(410, "Expired", Gone, id="compacted"),
        pytest.param(413, "RequestEntityTooLarge", TooLarge, id="too large"),
        pytest.param(415, "UnsupportedMediaType", UnsupportedMedia, id="a patch type not served"),
        pytest.param(422, "Invalid", Invalid, id="against the schema"),
        pytest.param(429, "TooManyRequests", Throttled, id="slow down"),
        pytest.param(500, "InternalError", ServerError, id="a server error"),
        pytest.param(503, "ServiceUnavailable", ServerError, id="an unavailable server"),
        pytest.param(418, "Teapot", ApiError, id="an unknown status"),
    ],
)
async def test_errors(code, reason, want):
    """Each status becomes its own class, which knows what was asked."""
    async with serving(fails(code, reason)) as script:
        client = script.client()
        with pytest.raises(ApiError) as caught:
            await client.get(QUEUES, "q")
        await client.close()

    error = caught.value
    assert type(error) is want
    assert (error.verb, error.resource, error.name) == ("get", "queues.scheduling.volcano.sh", "q")
    assert str(error) == (f"get queues.scheduling.volcano.sh q: because {reason} ({code} {reason})")


async def test_invalid_names_its_causes():
    """An Invalid carries field by field what is wrong."""
    causes = [{"reason": "FieldValueInvalid", "message": "must be positive", "field": "spec.size"}]
    async with serving(fails(422, "Invalid", details={"causes": causes})) as script:
        client = script.client()
        with pytest.raises(Invalid) as caught:
            await client.create(CONFIGMAPS, {}, namespace="ns")
        await client.close()

    assert caught.value.causes == (
        ErrorCause(reason="FieldValueInvalid", message="must be positive", field="spec.size"),
    )


async def test_a_proxys_answer_is_an_error_too():
    """An answer that is not JSON is quoted, not decoded."""
    async with serving(says(b"<html>\n bad gateway </html>", status=502)) as script:
        client = script.client()
        with pytest.raises(ServerError, match=r"<html> bad gateway </html> \(502\)"):
            await client.get(QUEUES, "q")
        await client.close()


@pytest.mark.parametrize(
    ("headers", "details", "want"),
    [
        pytest.param({"Retry-After": "3"}, None, 3.0, id="by header"),
        pytest.param(None, {"retryAfterSeconds": 4}, 4.0, id="by details"),
        pytest.param({"Retry-After": "Wed, 21 Oct"}, None, None, id="a date is not understood"),
    ],
)
async def test_retry_after(headers, details, want):
    """The server's wish to wait is read wherever it stands."""
    async with serving(fails(429, "TooManyRequests", headers=headers, details=details)) as script:
        client = script.client()
        with pytest.raises(Throttled) as caught:
            await client.get(QUEUES, "q")
        await client.close()

    assert caught.value.retry_after == want


@virtual_time
async def test_silence_is_unreachable():
    """A request that is not answered in time fails with the server's name."""
    async with serving(hangs()) as script:
        client = script.client(timeout=5.0)
        with pytest.raises(Unreachable, match=r"http://127.*did not answer within 5 s"):
            await client.get(QUEUES, "q")
        assert 5 <= asyncio.get_running_loop().time() < 6
        await client.close()


async def test_nobody_listens():
    """A closed port is Unreachable, and transient."""
    clock = LoopClock()
    client = Client(AiohttpTransport(Connection.to("http://127.0.0.1:1", clock=clock)), clock=clock)
    with pytest.raises(Unreachable) as caught:
        await client.get(QUEUES, "q")
    await client.close()

    assert caught.value.transient


async def test_garbage_is_a_decode_error():
    """An answer of the wrong shape says where."""
    async with serving(says({"metadata": {"name": 7}})) as script:
        client = script.client()
        with pytest.raises(DecodeError, match=r"Expected `str`, got `int` - at `\$.metadata.name`"):
            await client.get(QUEUES, "q", type=KubeObject)
        await client.close()


async def test_refused_credentials_are_loaded_once_more():
    """After a 401 the credentials are read again and the request is repeated, once."""

    class Rotating:
        loads = 0

        async def load(self):
            self.loads += 1
            return Access(server=script.url, authorization=f"Bearer {self.loads}")

    async with serving(fails(401, "Unauthorized"), says({}), fails(401, "Unauthorized")) as script:
        clock = LoopClock()
        client = Client(AiohttpTransport(Connection(Rotating(), clock=clock)), clock=clock)
        await client.get(QUEUES, "q")
        with pytest.raises(Unauthorized):
            await client.get(QUEUES, "q")
        await client.close()

    sent = [seen.headers["Authorization"] for seen in script.seen]
    assert sent == ["Bearer 1", "Bearer 2", "Bearer 2", "Bearer 3"]


async def test_the_observer_hears_of_every_request():
    """What was asked, how it was answered, and how long it took."""
    heard = []
    async with serving(says({}), fails(409, "Conflict")) as script:
        client = script.client(observer=lambda *told: heard.append(told))
        await client.get(QUEUES, "q")
        with pytest.raises(Conflict):
            await client.patch(QUEUES, "q", {}, subresource="status")
        await client.close()

    assert [(str(target), status) for target, status, _ in heard] == [
        ("get queues.scheduling.volcano.sh q", 200),
        ("patch queues.scheduling.volcano.sh/status q", 409),
    ]
    assert all(seconds >= 0 for _, _, seconds in heard)


ANSWERS = [
    pytest.param({}, "it names no object", id="empty"),
    pytest.param({"metadata": {"name": "a"}}, "it has no resourceVersion", id="no version"),
    pytest.param(
        {"metadata": {"name": "b", "resourceVersion": "1"}}, "it is 'b'", id="another object"
    ),
    pytest.param(
        {"metadata": {"resourceVersion": "1"}, "items": []}, "it names no object", id="a list"
    ),
]


@pytest.mark.parametrize("type_", [Lease, dict])
@pytest.mark.parametrize(("answer", "why"), ANSWERS)
async def test_an_answer_to_a_write_that_is_not_the_object_is_not_believed(answer, why, type_):
    """No server has stored such an object, and the next write could not build on it."""
    async with serving(says(answer)) as script:
        client = script.client()
        with pytest.raises(DecodeError, match=why):
            await client.replace(LEASES, "a", {}, namespace="ns", type=type_)
        with pytest.raises(DecodeError, match=why):
            await client.patch(LEASES, "a", {}, namespace="ns", type=type_)
        await client.close()


@pytest.mark.parametrize("answer", [{}, {"metadata": {"resourceVersion": "1"}, "items": []}])
async def test_an_answer_of_no_kind_is_not_believed(answer):
    """It shows neither that a pod was bound, nor that one was deleted, nor that there are none."""
    async with serving(says(answer)) as script:
        client = script.client()
        for call in (
            client.post_subresource(PODS, "p", "binding", {}, namespace="ns"),
            client.delete(PODS, "p", namespace="ns"),
            client.list(PODS),
        ):
            with pytest.raises(DecodeError, match="it does not say of which kind it is"):
                await call
        await client.close()


async def test_a_list_in_place_of_a_status_is_not_believed():
    """It does not show that a pod was bound."""
    async with serving(says({"kind": "List", "items": [None]})) as script:
        client = script.client()
        with pytest.raises(DecodeError, match="a List, and no Status"):
            await client.post_subresource(PODS, "p", "binding", {}, namespace="ns")
        await client.close()


async def test_a_list_in_place_of_an_object_is_not_believed():
    """An object without its fields would be believed to have none of them."""
    async with serving(says({"metadata": {"resourceVersion": "1"}, "items": []})) as script:
        client = script.client()
        with pytest.raises(DecodeError, match="a list, and not 'a'"):
            await client.get(CONFIGMAPS, "a", namespace="ns")
        await client.close()
