"""Messages to a user whose API server is not what a program needs."""

import pytest

from global_sched.shared.api.resource import CONFIGMAPS, QUEUES, TENANTS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.kube.preflight import StartupWait, require
from global_sched.shared.kube.transport import AiohttpTransport
from tests.global_sched.shared.kube.scripted import fails, says, serving
from tests.virtual_time import virtual_time

NEEDED = [CONFIGMAPS, QUEUES, TENANTS]
REMEDY = "kubectl apply -f crds/"


def served(*names):
    return says({"kind": "APIResourceList", "resources": [{"name": name} for name in names]})


async def check(client):
    try:
        await require(client, NEEDED, server="control plane", remedy=REMEDY)
    finally:
        await client.close()


async def test_all_is_served():
    """Nothing is said when everything is there."""
    async with serving(served("configmaps"), served("queues"), served("tenants")) as script:
        await check(script.client())

    assert [seen.path for seen in script.seen] == [
        "/api/v1",
        "/apis/scheduling.volcano.sh/v1beta1",
        "/apis/federation.global-sched.io/v1alpha1",
    ]


@pytest.mark.parametrize(
    ("answers", "want"),
    [
        pytest.param(
            [served("configmaps"), fails(404, "NotFound"), served("directives")],
            "the control plane does not serve queues.scheduling.volcano.sh/v1beta1, "
            "tenants.federation.global-sched.io/v1alpha1: kubectl apply -f crds/",
            id="CRDs are missing",
        ),
        pytest.param(
            [fails(401, "Unauthorized")],
            "the control plane does not accept our credentials: because Unauthorized; "
            "check the user of the kubeconfig's context",
            id="unknown credentials",
        ),
        pytest.param(
            [fails(403, "Forbidden")],
            "the control plane does not let us ask what it serves: because Forbidden; "
            "bind the ClusterRole system:discovery to our user",
            id="no discovery",
        ),
        pytest.param(
            [fails(503, "ServiceUnavailable")],
            "the control plane cannot be used: because ServiceUnavailable; check the server "
            "address of the kubeconfig's context, and that it runs",
            id="a server in trouble",
        ),
        pytest.param(
            [says(b"<html>")],
            "what answers as control plane is not a Kubernetes API server: "
            "JSON is malformed: invalid character (byte 0); "
            "check the server address of the kubeconfig's context",
            id="something else",
        ),
    ],
)
async def test_one_line_and_the_way_out(answers, want):
    """Each failure is one line that ends with what would help."""
    async with serving(*answers) as script:
        with pytest.raises(ConfigError) as caught:
            await check(script.client())

    assert str(caught.value) == want


async def test_nobody_is_there():
    """A server that does not run is named with its address."""
    clock = LoopClock()
    transport = AiohttpTransport(Connection.to("http://127.0.0.1:1", clock=clock))

    with pytest.raises(ConfigError, match=r"cannot be used: http://127.0.0.1:1.*that it runs"):
        await check(Client(transport, clock=clock))


@virtual_time
@pytest.mark.parametrize(
    ("status", "reason"),
    [
        pytest.param(500, "InternalError", id="it is broken"),
        pytest.param(503, "ServiceUnavailable", id="it starts"),
        pytest.param(429, "TooManyRequests", id="it is busy"),
    ],
)
async def test_what_passes_is_waited_for(status, reason):
    """Transient answers at the start do not end a program."""
    answers = [fails(status, reason), fails(status, reason), served("configmaps")]
    async with serving(*answers) as script:
        client = script.client()
        patience = StartupWait(clock=LoopClock(), seconds=60)
        await require(client, [CONFIGMAPS], server="member", remedy="", patience=patience)
        await client.close()

    assert len(script.seen) == 3


@virtual_time
@pytest.mark.parametrize(
    ("answer", "asked", "want"),
    [
        pytest.param(fails(503, "ServiceUnavailable"), 10, "(tried for 60 s)", id="too long"),
        pytest.param(fails(401, "Unauthorized"), 1, "does not accept our credentials", id="401"),
        pytest.param(fails(404, "NotFound"), 1, "does not serve configmaps", id="no such kind"),
    ],
)
async def test_what_stays_ends_it(answer, asked, want):
    """Permanent answers are raised at once, lasting transient ones after the patience."""
    async with serving(answer) as script:
        client = script.client()
        patience = StartupWait(clock=LoopClock(), seconds=60)
        with pytest.raises(ConfigError) as told:
            await require(client, [CONFIGMAPS], server="member", remedy="x", patience=patience)
        await client.close()

    assert want in str(told.value)
    assert "\n" not in str(told.value)
    assert (len(script.seen) >= asked) if asked > 1 else (len(script.seen) == 1)


@virtual_time
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(says(b"ok"), id="it is ready"),
        pytest.param(fails(404, "NotFound"), id="it has no such page"),
    ],
)
async def test_a_refusal_by_a_ready_server_ends_it(page):
    """A right that is missing is raised at once."""
    async with serving(fails(403, "Forbidden"), page, fails(403, "Forbidden")) as script:
        client = script.client()
        patience = StartupWait(clock=LoopClock(), seconds=60)
        with pytest.raises(ConfigError, match="does not let us ask"):
            await require(client, [CONFIGMAPS], server="member", remedy="x", patience=patience)
        await client.close()

    assert [one.path for one in script.seen] == ["/api/v1", "/readyz", "/api/v1"]


@virtual_time
async def test_a_server_that_became_ready_is_asked_again():
    """Its refusal was from before; nothing is concluded from it."""
    async with serving(fails(403, "Forbidden"), says(b"ok"), served("configmaps")) as script:
        client = script.client()
        patience = StartupWait(clock=LoopClock(), seconds=60)
        await require(client, [CONFIGMAPS], server="member", remedy="", patience=patience)
        await client.close()

    assert len(script.seen) == 3


@virtual_time
@pytest.mark.parametrize(
    "page",
    [
        pytest.param(fails(403, "Forbidden"), id="its page is refused like all else"),
        pytest.param(fails(500, "InternalError"), id="its page says so"),
    ],
)
async def test_a_refusal_by_a_server_that_starts_is_waited_out(page):
    """An API server that has not read its Roles yet refuses every request."""
    answers = [fails(403, "Forbidden"), page, fails(403, "Forbidden"), page, served("configmaps")]
    async with serving(*answers) as script:
        client = script.client()
        patience = StartupWait(clock=LoopClock(), seconds=60)
        await require(client, [CONFIGMAPS], server="member", remedy="", patience=patience)
        await client.close()

    assert len(script.seen) == len(answers)
