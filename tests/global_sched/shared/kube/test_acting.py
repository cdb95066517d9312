"""A kubeconfig that asks to act as another user, and what servers make of it."""

from contextlib import asynccontextmanager

import pytest
import yaml

from global_sched.embedded.apiserver import ApiServer
from global_sched.embedded.apiserver.http.identity import MASTERS, User
from global_sched.shared.api.resource import NAMESPACES, PODS
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.acting import impersonation
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import ConfigError, Forbidden
from tests.global_sched.shared.kube.test_connect import access_of, write_config
from tests.virtual_time import virtual_time

WHOAMI = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
REVIEW = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param({"token": "t"}, (), id="itself"),
        pytest.param({"as": "", "as-groups": None}, (), id="fields without a value"),
        pytest.param({"as": "ann"}, (("Impersonate-User", "ann"),), id="a user"),
        pytest.param(
            {"as": "ann", "as-groups": ["b", "a"]},
            (("Impersonate-User", "ann"), ("Impersonate-Group", "b"), ("Impersonate-Group", "a")),
            id="in groups of its own",
        ),
        pytest.param(
            {"as": "ann", "as-uid": "u-1", "as-user-extra": {"Reason/Why %": ["x", "y"]}},
            (
                ("Impersonate-User", "ann"),
                ("Impersonate-Uid", "u-1"),
                ("Impersonate-Extra-Reason%2FWhy%20%25", "x"),
                ("Impersonate-Extra-Reason%2FWhy%20%25", "y"),
            ),
            id="UID and extra, whose key is spelled as a header's name",
        ),
    ],
)
async def test_headers(tmp_path, user, want):
    """Each field of the user entry is a header of each request, as kubectl sends it."""
    assert impersonation(user) == want
    assert (await access_of(write_config(tmp_path / "c", user=user))).acting == want


@pytest.mark.parametrize(
    ("user", "want"),
    [
        pytest.param({"as-groups": ["g"]}, "need `as`, the name of the user", id="groups alone"),
        pytest.param({"as-uid": "u"}, "need `as`, the name of the user", id="a UID alone"),
        pytest.param(
            {"as-user-extra": {"k": ["v"]}}, "need `as`, the name of the user", id="extra alone"
        ),
        pytest.param({"as": 7}, "as: expected text without control", id="a number"),
        pytest.param({"as": "a\r\nX: y"}, "as: expected text without control", id="two lines"),
        pytest.param(
            {"as": "a", "as-groups": "g"}, "as-groups: expected a list of texts", id="no list"
        ),
        pytest.param(
            {"as": "a", "as-groups": [""]}, "as-groups: expected text", id="an empty group"
        ),
        pytest.param(
            {"as": "a", "as-user-extra": ["k"]}, "as-user-extra: expected lists", id="no mapping"
        ),
        pytest.param(
            {"as": "a", "as-user-extra": {"k": "v"}},
            "as-user-extra.k: expected a list of texts",
            id="an extra that is no list",
        ),
    ],
)
async def test_what_cannot_be_sent_is_refused(tmp_path, user, want):
    """Never ignored: the request would have the rights of the credentials."""
    path = write_config(tmp_path / "c", user=user)

    with pytest.raises(ConfigError, match=want) as caught:
        await connect(kubeconfig=path, clock=LoopClock())
    assert str(path) in str(caught.value)


@asynccontextmanager
async def acting(tmp_path, **fields):
    """A client with an administrator's token that acts as another user."""
    server = ApiServer(tokens={"t": User(name="root", groups=(MASTERS,))}, clock=LoopClock())
    await server.start()
    path = write_config(tmp_path / "c", server=server.url, user={"token": "t"} | fields)
    clock = LoopClock()
    client = Client(await connect(kubeconfig=path, clock=clock), clock=clock)
    try:
        yield client
    finally:
        await client.close()
        await server.stop()


@virtual_time
async def test_the_server_judges_the_user_that_is_named(tmp_path):
    """Reads, writes and watches have the rights of that user, not of the credentials."""
    async with acting(tmp_path, **{"as": "ann"}) as client:
        with pytest.raises(Forbidden, match='User "ann" cannot list resource "pods"'):
            await client.list(PODS)
        with pytest.raises(Forbidden, match='User "ann" cannot create resource "namespaces"'):
            await client.create(NAMESPACES, {"metadata": {"name": "x"}})
        with pytest.raises(Forbidden, match='User "ann" cannot watch resource "pods"'):
            async for _ in client.watch(PODS, resource_version="1"):
                pass


@virtual_time
async def test_all_of_the_identity_arrives(tmp_path):
    """User, groups, UID and extra, as the server's own review tells them."""
    fields = {
        "as": "ann",
        "as-uid": "u-1",
        "as-groups": ["team-a"],
        "as-user-extra": {"example.org/Why": ["audit", "test"]},
    }
    async with acting(tmp_path, **fields) as client:
        said = yaml.safe_load(await client.raw("POST", WHOAMI, REVIEW))

    assert said["status"]["userInfo"] == {
        "username": "ann",
        "uid": "u-1",
        "groups": ["team-a", "system:authenticated"],
        "extra": {"example.org/why": ["audit", "test"]},
    }
