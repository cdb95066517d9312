"""Discovery: groups, resources, schemas, tables."""

import pytest

from global_sched.embedded.apiserver.kubectl.printers.durations import age
from global_sched.embedded.apiserver.validation.jsonpath import PathError, find, parse_path
from tests.global_sched.embedded.apiserver.widgets import definition

AGGREGATED = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
MERGE = "application/merge-patch+json"


async def test_both_forms_of_discovery_list_the_same(server, http):
    """Every group, version and resource of the old form is in the aggregated one."""
    server.install_crd(definition())
    groups = (await http("GET", "/apis")).obj["groups"]
    aggregated = (await http("GET", "/apis", headers={"Accept": AGGREGATED})).obj["items"]

    old = set()
    for group in groups:
        for version in group["versions"]:
            listed = (await http("GET", f"/apis/{version['groupVersion']}")).obj
            old |= {
                (group["name"], version["version"], resource["name"])
                for resource in listed["resources"]
                if "/" not in resource["name"]
            }
    new = {
        (group["metadata"]["name"], version["version"], resource["resource"])
        for group in aggregated
        for version in group["versions"]
        for resource in version["resources"]
    }
    assert old == new
    assert ("example.test", "v1", "widgets") in new


async def test_openapi_knows_what_kubectl_asks_for(server, http):
    """Schemas carry their kind, writes take fieldValidation, references lead somewhere."""
    server.install_crd(definition())
    index = (await http("GET", "/openapi/v3")).obj["paths"]
    apps = (await http("GET", index["apis/apps/v1"]["serverRelativeURL"])).obj
    own = (await http("GET", index["apis/example.test/v1"]["serverRelativeURL"])).obj

    schemas = apps["components"]["schemas"]
    deployment = schemas["io.k8s.api.apps.v1.Deployment"]
    assert deployment["x-kubernetes-group-version-kind"] == [
        {"group": "apps", "version": "v1", "kind": "Deployment"}
    ]
    patch = apps["paths"]["/apis/apps/v1/namespaces/{namespace}/deployments/{name}"]["patch"]
    assert "fieldValidation" in [parameter["name"] for parameter in patch["parameters"]]
    assert "test.example.v1.Widget" in own["components"]["schemas"]
    for document in (apps, own):
        assert _dangling(document) == []


PODS = "/api/v1/namespaces/default/pods"
PROTOBUF = "application/com.github.proto-openapi.spec.v2@v1.0+protobuf"


@pytest.mark.parametrize(
    ("path", "accept", "want_code"),
    [
        pytest.param(PODS, "application/yaml", 406, id="a list as YAML"),
        pytest.param(PODS, "application/vnd.kubernetes.protobuf", 406, id="a list as protobuf"),
        pytest.param(
            PODS, "application/vnd.kubernetes.protobuf,application/json", 200, id="JSON as well"
        ),
        pytest.param(PODS, "text/html, */*;q=0.2", 200, id="anything else as well"),
        pytest.param(PODS, "application/*", 200, id="any application type"),
        pytest.param(
            PODS, "application/json;as=Table;v=v9;g=meta.k8s.io", 406, id="an unknown table version"
        ),
        pytest.param(f"{PODS}?watch=1", "text/plain", 406, id="a watch as text"),
        pytest.param("/apis", "application/yaml", 406, id="discovery as YAML"),
        pytest.param("/apis/apps/v1", "text/plain", 406, id="discovery of a group as text"),
        pytest.param("/openapi/v2", "text/plain", 406, id="the old document as text"),
        pytest.param("/openapi/v2", PROTOBUF, 200, id="the old document as protobuf"),
        pytest.param("/healthz", "text/plain", 200, id="health as text"),
    ],
)
async def test_a_form_that_is_not_served(http, path, accept, want_code):
    """A request that accepts no form that is served here is refused, with the forms that are."""
    reply = await http("GET", path, headers={"Accept": accept})

    assert reply.code == want_code
    if want_code == 406:
        assert reply.obj["reason"] == "NotAcceptable"
        assert reply.obj["message"].endswith("are accepted: application/json")


async def test_a_write_whose_answer_cannot_be_served_changes_nothing(http):
    """The form of the answer is checked before the write."""
    path = "/api/v1/namespaces"

    reply = await http("POST", path, {"metadata": {"name": "n"}}, headers={"Accept": "text/plain"})

    assert reply.code == 406
    assert (await http("GET", f"{path}/n")).code == 404


def _dangling(document):
    """References that lead nowhere."""
    known = document["components"]["schemas"]
    found = []

    def walk(value):
        if isinstance(value, dict):
            reference = value.get("$ref")
            if isinstance(reference, str) and reference.rsplit("/", 1)[1] not in known:
                found.append(reference)
            for part in value.values():
                walk(part)
        elif isinstance(value, list):
            for part in value:
                walk(part)

    walk(document)
    return found


@pytest.mark.parametrize(
    ("path", "want_code"),
    [
        pytest.param("/api/v2", 404, id="an unknown version of the core"),
        pytest.param("/apis/none.test", 404, id="an unknown group"),
        pytest.param("/apis/apps/v9", 404, id="an unknown version"),
        pytest.param("/nothing", 404, id="an unknown path"),
        pytest.param("/healthz", 200, id="health"),
        pytest.param("/livez/ping", 200, id="a part of health"),
        pytest.param("/openapi/v2", 200, id="the old document"),
        pytest.param("/", 200, id="the root"),
    ],
)
async def test_paths_that_are_no_resources(http, path, want_code):
    """What is there is answered, what is not is 404."""
    assert (await http("GET", path)).code == want_code


@pytest.mark.parametrize(
    ("method", "path", "want_code"),
    [
        pytest.param("PUT", "/api/v1/namespaces/default/pods", 405, id="a collection has no PUT"),
        pytest.param("POST", "/api/v1/namespaces/default/pods/p", 405, id="an object has no POST"),
        pytest.param("DELETE", "/api/v1/namespaces", 405, id="namespaces go one by one"),
        pytest.param("POST", "/api/v1/pods", 405, id="a pod needs a namespace"),
        pytest.param("GET", "/api/v1/namespaces/default/pods/p/nope", 404, id="no subresource"),
        pytest.param("GET", "/api/v1/namespaces/default/nodes", 404, id="nodes have no namespace"),
    ],
)
async def test_methods_that_do_not_fit(http, method, path, want_code):
    """A path takes the methods of what it names."""
    assert (await http(method, path, {} if method != "GET" else None)).code == want_code


async def test_the_table_of_pods(team):
    """`kubectl get pods` shows readiness, a status word, restarts and age."""
    pods = "/api/v1/namespaces/team/pods"
    containers = [{"name": "c", "image": "i"}]
    await team("POST", pods, {"metadata": {"name": "p"}, "spec": {"containers": containers}})
    waiting = {"waiting": {"reason": "CrashLoopBackOff"}}
    status = {
        "phase": "Running",
        "podIP": "10.0.0.1",
        "containerStatuses": [
            {
                "name": "c",
                "image": "i",
                "imageID": "",
                "ready": False,
                "restartCount": 3,
                "state": waiting,
            }
        ],
    }
    await team("PATCH", f"{pods}/p/status", {"status": status}, kind=MERGE)

    table = (await team("GET", pods, headers={"Accept": TABLE})).obj

    cells = table["rows"][0]["cells"]
    assert cells[:4] == ["p", "0/1", "CrashLoopBackOff", "3"]
    assert cells[5:] == ["10.0.0.1", "<none>", "<none>", "<none>"]
    assert table["rows"][0]["object"]["kind"] == "PartialObjectMetadata"


@pytest.mark.parametrize(
    ("seconds", "want"),
    [
        pytest.param(-5, "<invalid>", id="the future"),
        pytest.param(119, "119s", id="up to two minutes in seconds"),
        pytest.param(200, "3m20s", id="up to ten minutes with seconds"),
        pytest.param(3600, "60m", id="up to three hours in minutes"),
        pytest.param(4 * 3600 + 120, "4h2m", id="up to eight hours with minutes"),
        pytest.param(36 * 3600, "36h", id="up to two days in hours"),
        pytest.param(3 * 86400 + 3600, "3d1h", id="up to eight days with hours"),
        pytest.param(400 * 86400, "400d", id="up to two years in days"),
        pytest.param(800 * 86400, "2y70d", id="then years"),
    ],
)
def test_ages(seconds, want):
    """Ages are as coarse as they are long."""
    assert age(seconds) == want


DOCUMENT = {
    "a": {"b.c": 1, "d": [{"n": "x", "v": 1}, {"n": "y", "v": 2}]},
    "labels": {"app.io/name": "z"},
}


@pytest.mark.parametrize(
    ("path", "want"),
    [
        pytest.param(".a.d[0].n", ["x"], id="an index"),
        pytest.param(".a.d[-1].v", [2], id="an index from the end"),
        pytest.param(".a.d[*].v", [1, 2], id="all items"),
        pytest.param('.a.d[?(@.n=="y")].v', [2], id="items that match"),
        pytest.param(".a.d[?(@.v>1)].n", ["y"], id="items that are greater"),
        pytest.param(".a['b.c']", [1], id="a quoted key"),
        pytest.param(".a.b\\.c", [1], id="an escaped dot"),
        pytest.param(".labels.app\\.io/name", ["z"], id="a label"),
        pytest.param("{.a.d[0:1].n}", ["x"], id="a slice"),
        pytest.param("..v", [1, 2], id="anywhere"),
        pytest.param(".none.at.all", [], id="nowhere"),
    ],
)
def test_json_paths(path, want):
    """The paths that definitions use lead to their values."""
    assert find(parse_path(path), DOCUMENT) == want


def test_a_path_that_is_none():
    """A text that is no path is refused."""
    with pytest.raises(PathError):
        parse_path(".a[")
