"""Authorization: tokens, roles, bindings, reviews."""

import base64

import aiohttp
import pytest

from global_sched.embedded.apiserver import ApiServer, User
from tests.global_sched.embedded.apiserver.conftest import Http

RBAC = "/apis/rbac.authorization.k8s.io/v1"
ACCESS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"
PODS = "/api/v1/namespaces/team/pods"
MAPS = "/api/v1/namespaces/team/configmaps"

TOKENS = {
    "root": User(name="root", groups=("system:masters",)),
    "ann": User(name="ann", groups=("tenants",)),
    "bob": User(name="bob"),
}


@pytest.fixture
async def guarded():
    """A server with tokens, and clients of an administrator, two users and no user."""
    server = ApiServer(name="guarded", tokens=TOKENS)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
        clients = {name: Http(session, name) for name in TOKENS}
        clients["nobody"] = Http(session)
        clients["wrong"] = Http(session, "wrong")
        for name in ("team", "other"):
            await clients["root"]("POST", "/api/v1/namespaces", {"metadata": {"name": name}})
        yield clients
    await server.stop()


def rule(verbs, resources, groups=("",), **more):
    return {
        "verbs": verbs.split(","),
        "resources": resources.split(","),
        "apiGroups": list(groups),
        **more,
    }


async def grant(root, *rules, subject=None, namespace="team", cluster_role=False):
    """A role and its binding for ann (or another subject)."""
    subject = subject or {"kind": "User", "name": "ann"}
    if cluster_role or not namespace:
        role, path = "ClusterRole", f"{RBAC}/clusterroles"
    else:
        role, path = "Role", f"{RBAC}/namespaces/{namespace}/roles"
    made = await root("POST", path, {"metadata": {"name": "r"}, "rules": list(rules)})
    assert made.code == 201, made
    kind = f"namespaces/{namespace}/rolebindings" if namespace else "clusterrolebindings"
    body = {
        "metadata": {"name": "b"},
        "roleRef": {"kind": role, "name": "r"},
        "subjects": [subject],
    }
    made = await root("POST", f"{RBAC}/{kind}", body)
    assert made.code == 201, made


@pytest.mark.parametrize(
    "path",
    ["/api", "/api/v1", "/apis", "/apis/apps", "/apis/apps/v1", "/openapi/v2", "/openapi/v3"],
)
@pytest.mark.parametrize(("client", "want_code"), [("ann", 200), ("nobody", 403), ("wrong", 401)])
async def test_discovery_needs_a_token_and_no_rights(guarded, path, client, want_code):
    """A token without any right can discover; without one there is nothing to see."""
    assert (await guarded[client]("GET", path)).code == want_code


async def test_unknown_tokens_are_unauthorized(guarded):
    """A token without a user is 401; no token is the anonymous user, who is denied."""
    wrong = await guarded["wrong"]("GET", PODS)
    nobody = await guarded["nobody"]("GET", PODS)

    assert (wrong.code, wrong.obj["reason"]) == (401, "Unauthorized")
    assert nobody.code == 403
    assert (await guarded["nobody"]("GET", "/readyz")).text == "ok"
    assert (await guarded["nobody"]("GET", "/apis")).code == 403


async def test_anonymous_requests_can_be_turned_off():
    """Without anonymous requests, no token is 401 too."""
    server = ApiServer(tokens=TOKENS, anonymous=False)
    await server.start()
    async with aiohttp.ClientSession(server.url) as session:  # noqa: TID251 - plain HTTP
        reply = await Http(session)("GET", PODS)
    await server.stop()

    assert reply.code == 401


@pytest.mark.parametrize(
    ("method", "path", "want_message"),
    [
        pytest.param(
            "GET",
            PODS,
            'pods is forbidden: User "ann" cannot list resource "pods" in API group "" in the'
            ' namespace "team"',
            id="a namespace",
        ),
        pytest.param(
            "GET",
            "/apis/apps/v1/namespaces/team/deployments/web",
            'deployments.apps "web" is forbidden: User "ann" cannot get resource "deployments" in'
            ' API group "apps" in the namespace "team"',
            id="a named object",
        ),
        pytest.param(
            "GET",
            "/api/v1/nodes",
            'nodes is forbidden: User "ann" cannot list resource "nodes" in API group "" at the'
            " cluster scope",
            id="the cluster",
        ),
        pytest.param(
            "POST",
            f"{PODS}/p/binding",
            'pods "p" is forbidden: User "ann" cannot create resource "pods/binding" in API group'
            ' "" in the namespace "team"',
            id="a subresource",
        ),
        pytest.param(
            "GET",
            "/api/v1/namespaces/team",
            'namespaces "team" is forbidden: User "ann" cannot get resource "namespaces" in API'
            ' group "" in the namespace "team"',
            id="a namespace object is in itself",
        ),
    ],
)
async def test_denials_are_worded(guarded, method, path, want_message):
    """A denial names user, verb, resource, group and scope."""
    reply = await guarded["ann"](method, path, {} if method == "POST" else None)

    assert (reply.code, reply.obj["reason"]) == (403, "Forbidden")
    assert reply.obj["message"] == want_message


async def test_a_role_allows_in_its_namespace_only(guarded):
    """What a role allows, it allows there, to its subjects, and to no one else."""
    await grant(guarded["root"], rule("get,list,watch", "pods,configmaps"))

    assert (await guarded["ann"]("GET", PODS)).code == 200
    assert await guarded["ann"].opens(PODS) == 200
    assert (await guarded["ann"]("GET", f"{PODS}/none")).code == 404
    assert (await guarded["ann"]("POST", PODS, {})).code == 403
    assert (await guarded["ann"]("GET", "/api/v1/namespaces/other/pods")).code == 403
    assert (await guarded["ann"]("GET", "/api/v1/pods")).code == 403
    assert (await guarded["bob"]("GET", PODS)).code == 403


async def test_a_cluster_role_bound_in_a_namespace(guarded):
    """A cluster role gives its rules to the namespace of the binding."""
    group = {"kind": "Group", "name": "tenants"}
    await grant(guarded["root"], rule("list", "pods"), subject=group, cluster_role=True)

    assert (await guarded["ann"]("GET", PODS)).code == 200
    assert (await guarded["ann"]("GET", "/api/v1/pods")).code == 403


async def test_a_cluster_binding_allows_everywhere(guarded):
    """A cluster-wide binding reaches every namespace, and what has none."""
    await grant(guarded["root"], rule("list", "pods,nodes"), namespace="")

    for path in (PODS, "/api/v1/pods", "/api/v1/nodes", "/api/v1/namespaces/other/pods"):
        assert (await guarded["ann"]("GET", path)).code == 200


async def test_resource_names_narrow_a_rule(guarded):
    """A rule with names allows those; a list only when it selects one of them."""
    await grant(
        guarded["root"], rule("get,list,watch,update", "configmaps", resourceNames=["mine"])
    )
    ann = guarded["ann"]
    only = {"fieldSelector": "metadata.name=mine"}

    assert (await ann("GET", f"{MAPS}/mine")).code == 404
    assert (await ann("GET", f"{MAPS}/yours")).code == 403
    assert (await ann("GET", MAPS)).code == 403
    assert (await ann("GET", MAPS, params=only)).code == 200
    assert (await ann("GET", MAPS, params={"fieldSelector": "metadata.name=yours"})).code == 403


async def test_subresources_are_rights_of_their_own(guarded):
    """A right on the object is none on its status, and the other way round."""
    await guarded["root"](
        "POST",
        PODS,
        {"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "image": "i"}]}},
    )
    await grant(guarded["root"], rule("patch", "pods/status"))
    merge = "application/merge-patch+json"
    patch = {"status": {"phase": "Running"}}

    allowed = await guarded["ann"]("PATCH", f"{PODS}/p/status", patch, kind=merge)
    denied = await guarded["ann"]("PATCH", f"{PODS}/p", patch, kind=merge)

    assert (allowed.code, denied.code) == (200, 403)


@pytest.mark.parametrize(
    ("asked", "want"),
    [
        pytest.param({"verb": "list", "resource": "pods", "namespace": "team"}, True, id="allowed"),
        pytest.param({"verb": "list", "resource": "pods"}, False, id="not in the whole cluster"),
        pytest.param(
            {"verb": "delete", "resource": "pods", "namespace": "team"}, False, id="another verb"
        ),
        pytest.param(
            {"verb": "get", "resource": "pods", "subresource": "log", "namespace": "team"},
            True,
            id="a subresource by pattern",
        ),
    ],
)
async def test_access_reviews(guarded, asked, want):
    """A review answers what a request would meet."""
    await grant(guarded["root"], rule("list", "pods"), rule("get", "*/log"))

    reply = await guarded["ann"]("POST", ACCESS, {"spec": {"resourceAttributes": asked}})

    assert reply.obj["status"] == {"allowed": want}


async def test_a_rules_review_lists_the_rules(guarded):
    """A user may list what applies to him in a namespace."""
    await grant(guarded["root"], rule("get,list", "pods"))
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"

    reply = await guarded["ann"]("POST", path, {"spec": {"namespace": "team"}})

    rules = reply.obj["status"]["resourceRules"]
    assert {"verbs": ["get", "list"], "apiGroups": [""], "resources": ["pods"]} in rules


async def test_rights_follow_the_objects(guarded):
    """A deleted binding takes its rights along at once."""
    await grant(guarded["root"], rule("list", "pods"))
    before = (await guarded["ann"]("GET", PODS)).code
    await guarded["root"]("DELETE", f"{RBAC}/namespaces/team/rolebindings/b")

    assert (before, (await guarded["ann"]("GET", PODS)).code) == (200, 403)


async def test_service_account_tokens(guarded, session):
    """A Secret or a token request gives a service account a token of its own."""
    root = guarded["root"]
    await root("POST", "/api/v1/namespaces/team/serviceaccounts", {"metadata": {"name": "robot"}})
    annotations = {"kubernetes.io/service-account.name": "robot"}
    secret = {
        "metadata": {"name": "s", "annotations": annotations},
        "type": "kubernetes.io/service-account-token",
        "data": {"token": base64.b64encode(b"secret-token").decode()},
    }
    await root("POST", "/api/v1/namespaces/team/secrets", secret)
    asked = await root("POST", "/api/v1/namespaces/team/serviceaccounts/robot/token", {})
    account = {"kind": "ServiceAccount", "name": "robot", "namespace": "team"}
    await grant(root, rule("list", "pods"), subject=account)

    for token in ("secret-token", asked.obj["status"]["token"]):
        client = Http(root.session, token)
        who = await client("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})
        assert who.obj["status"]["userInfo"]["username"] == "system:serviceaccount:team:robot"
        assert (await client("GET", PODS)).code == 200
        assert (await client("GET", MAPS)).code == 403


async def test_everybody_is_an_administrator_without_tokens(http):
    """A server without tokens asks for no credential."""
    reply = await http("POST", "/apis/authentication.k8s.io/v1/selfsubjectreviews", {})

    assert "system:masters" in reply.obj["status"]["userInfo"]["groups"]


@pytest.mark.parametrize(
    ("kind", "body", "want_text"),
    [
        pytest.param(
            "clusterroles",
            {"rules": [{"verbs": ["get"], "apiGroups": [""]}]},
            "rules[0].resources: Required value: resource rules must supply at least one resource",
            id="a rule is about resources",
        ),
        pytest.param(
            "clusterroles",
            {"rules": [{"resources": ["pods"], "apiGroups": [""]}]},
            "rules[0].verbs: Required value: verbs must contain at least one value",
            id="a rule has verbs",
        ),
        pytest.param(
            "clusterrolebindings",
            {"roleRef": {"kind": "Role", "name": "r"}},
            'roleRef.kind: Unsupported value: "Role": supported values: "ClusterRole"',
            id="a cluster binding refers to a cluster role",
        ),
    ],
)
async def test_refused_rbac_objects(http, kind, body, want_text):
    """Roles and bindings that could not work are refused."""
    reply = await http("POST", f"{RBAC}/{kind}", {"metadata": {"name": "x"}, **body})

    assert reply.code == 422
    assert want_text in reply.obj["message"]


async def test_acting_as_somebody_else(guarded):
    """Who may impersonate has the other's rights and no more; no other user may try."""
    await grant(guarded["root"], rule("list", "pods"), subject={"kind": "User", "name": "ann"})
    as_ann, as_bob = {"Impersonate-User": "ann"}, {"Impersonate-User": "bob"}
    as_group = as_bob | {"Impersonate-Group": "system:masters"}
    as_account = {"Impersonate-User": "system:serviceaccount:team:default"}

    codes = [
        (await guarded[who]("GET", PODS, headers=headers)).code
        for who in ("root", "ann")
        for headers in (as_ann, as_bob, as_group, as_account)
    ]
    refused = await guarded["ann"]("GET", PODS, headers=as_bob)
    alone = await guarded["root"]("GET", PODS, headers={"Impersonate-Group": "tenants"})

    assert codes == [200, 403, 200, 403, 403, 403, 403, 403]
    assert refused.obj["message"] == (
        'users "bob" is forbidden: User "ann" cannot impersonate resource "users" '
        'in API group "" at the cluster scope'
    )
    assert (alone.code, alone.obj["reason"]) == (500, "InternalError")


@pytest.mark.parametrize(
    ("header", "resource", "right"),
    [
        pytest.param({"Impersonate-Group": "g"}, "groups", ("groups", "g", ""), id="a group"),
        pytest.param(
            {"Impersonate-Uid": "u-1"}, "uids", ("uids", "u-1", "authentication.k8s.io"), id="a UID"
        ),
        pytest.param(
            {"Impersonate-Extra-Why": "x"},
            "userextras/why",
            ("userextras/why", "x", "authentication.k8s.io"),
            id="an extra value",
        ),
    ],
)
async def test_each_part_of_an_identity_needs_a_right_of_its_own(guarded, header, resource, right):
    """Who may act as a user may not give it groups, UIDs or extra values besides."""
    ann = {"kind": "User", "name": "ann"}
    headers = {"Impersonate-User": "ann"} | header
    await grant(guarded["root"], rule("list", "pods"), subject=ann)
    may = rule("impersonate", "users", resourceNames=["ann"])
    await grant(guarded["root"], may, subject={"kind": "User", "name": "bob"}, namespace="")

    refused = await guarded["bob"]("GET", PODS, headers=headers)
    alone = await guarded["root"]("GET", PODS, headers=header)
    plural, name, group = right
    more = rule("impersonate", plural, groups=[group], resourceNames=[name])
    both = {"metadata": {"name": "r"}, "rules": [may, more]}
    assert (await guarded["root"]("PUT", f"{RBAC}/clusterroles/r", both)).code == 200
    allowed = await guarded["bob"]("GET", PODS, headers=headers)

    assert refused.code == 403
    assert f'User "bob" cannot impersonate resource "{resource}"' in refused.obj["message"]
    assert (alone.code, alone.obj["reason"]) == (500, "InternalError")
    assert allowed.code == 200


async def test_the_right_to_act_as_somebody(guarded):
    """It may be given for one user alone."""
    right = rule("impersonate", "users", resourceNames=["ann"])
    await grant(guarded["root"], right, subject={"kind": "User", "name": "bob"}, namespace="")
    await grant(guarded["root"], rule("list", "pods"), subject={"kind": "User", "name": "ann"})

    as_ann = await guarded["bob"]("GET", PODS, headers={"Impersonate-User": "ann"})
    as_root = await guarded["bob"]("GET", PODS, headers={"Impersonate-User": "root"})

    assert (as_ann.code, as_root.code) == (200, 403)
