"""CustomResourceDefinitions: served at once, validated, pruned, filled in, in several versions."""

import pytest

from tests.global_sched.embedded.apiserver.conftest import team_world
from tests.global_sched.embedded.apiserver.widgets import CRDS, WIDGETS, definition, widget
from tests.virtual_time import virtual_time

MERGE = "application/merge-patch+json"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"

SIZED = {
    "type": "object",
    "properties": {
        "size": {"type": "integer"},
        "name": {"type": "string", "default": "x"},
        "when": {"type": "string", "format": "date-time"},
        "inner": {
            "type": "object",
            "default": {},
            "properties": {"on": {"type": "boolean", "default": True}},
        },
        "parts": {
            "type": "array",
            "x-kubernetes-list-type": "map",
            "x-kubernetes-list-map-keys": ["key"],
            "items": {
                "type": "object",
                "required": ["key"],
                "properties": {"key": {"type": "string"}, "n": {"type": "integer"}},
            },
        },
        "limits": {"type": "object", "additionalProperties": {"x-kubernetes-int-or-string": True}},
    },
}


async def test_a_definition_is_served_at_once(team):
    """Conditions say so, discovery lists it, objects can be made; deleting it ends all that."""
    await team("POST", CRDS, definition())
    stored = (await team("GET", f"{CRDS}/widgets.example.test")).obj
    listed = (await team("GET", "/apis/example.test/v1")).obj
    made = await team("POST", WIDGETS, widget())
    await team("DELETE", f"{CRDS}/widgets.example.test")

    conditions = {c["type"]: c["status"] for c in stored["status"]["conditions"]}
    assert conditions == {"NamesAccepted": "True", "Established": "True"}
    assert stored["status"]["acceptedNames"]["listKind"] == "WidgetList"
    assert [r["name"] for r in listed["resources"]] == ["widgets", "widgets/status"]
    assert made.code == 201
    assert (await team("GET", WIDGETS)).code == 404


async def test_objects_go_with_their_definition(server, team):
    """A definition that is made again starts empty."""
    server.install_crd(definition())
    await team("POST", WIDGETS, widget())
    await team("DELETE", f"{CRDS}/widgets.example.test")
    server.install_crd(definition())

    assert (await team("GET", WIDGETS)).obj["items"] == []


async def test_installing_twice_changes_nothing(server, team):
    """The same definition again leaves even its version."""
    server.install_crd(definition())
    first = (await team("GET", f"{CRDS}/widgets.example.test")).text
    server.install_crd(definition())

    assert (await team("GET", f"{CRDS}/widgets.example.test")).text == first


async def test_objects_are_pruned_and_filled_in(server, team):
    """Unknown fields go, with a warning; absent ones get their defaults, nested ones too."""
    server.install_crd(definition(SIZED))

    reply = await team("POST", WIDGETS, widget(spec={"size": 1, "zzz": 1, "inner": {"y": 2}}))

    assert reply.obj["spec"] == {"size": 1, "name": "x", "inner": {"on": True}}
    assert reply.headers.getall("Warning") == [
        '299 - "unknown field \\"spec.inner.y\\""',
        '299 - "unknown field \\"spec.zzz\\""',
    ]


@pytest.mark.parametrize(
    ("spec", "want_message"),
    [
        pytest.param(
            {"when": "noon"},
            'spec.when: Invalid value: "noon": spec.when in body must be of type date-time: "noon"',
            id="formats are checked",
        ),
        pytest.param(
            {"parts": [{"key": "a"}, {"key": "a"}]},
            'spec.parts[1]: Duplicate value: {"key":"a"}',
            id="keys are unique",
        ),
        pytest.param(
            {"parts": [{"n": 1}]},
            "spec.parts[0].key: Required value",
            id="keys are required",
        ),
        pytest.param(
            {"limits": {"cpu": True}},
            'spec.limits.cpu: Invalid value: "boolean": spec.limits.cpu in body must be of type'
            ' integer,string: "boolean"',
            id="an amount is a number or a text",
        ),
        pytest.param(
            {"size": 1.5},
            'spec.size: Invalid value: "number": spec.size in body must be of type integer:'
            ' "number"',
            id="a fraction is no integer",
        ),
    ],
)
async def test_refused_objects(server, team, spec, want_message):
    """What breaks the schema is refused by field."""
    server.install_crd(definition(SIZED))

    reply = await team("POST", WIDGETS, widget(spec=spec))

    assert reply.code == 422
    assert reply.obj["message"] == f'Widget.example.test "w" is invalid: {want_message}'


async def test_invalid_fields_may_stay_as_they_are(server, team):
    """A stricter schema refuses new wrong values, not old ones that a write leaves alone."""
    server.install_crd(definition())
    await team("POST", WIDGETS, widget(spec={"size": "wrong"}))
    server.install_crd(definition(SIZED))

    other = await team("PATCH", f"{WIDGETS}/w", {"spec": {"name": "y"}}, kind=MERGE)
    worse = await team("PATCH", f"{WIDGETS}/w", {"spec": {"size": "worse"}}, kind=MERGE)

    assert (other.code, worse.code) == (200, 422)


RULED = {
    "type": "object",
    "properties": {
        "replicas": {"type": "integer"},
        "most": {"type": "integer"},
        "queue": {
            "type": "string",
            "x-kubernetes-validations": [
                {"rule": "self == oldSelf", "message": "queue is immutable"}
            ],
        },
    },
    "x-kubernetes-validations": [
        {
            "rule": "self.replicas <= self.?most.orValue(10)",
            "messageExpression": "'no more than ' + string(self.?most.orValue(10))",
        }
    ],
}


@pytest.mark.parametrize(
    ("spec", "want_message"),
    [
        pytest.param(
            {"replicas": 11},
            "spec: Invalid value: no more than 10",
            id="a rule with a computed message",
        ),
        pytest.param(
            {"replicas": 3, "most": 2},
            "spec: Invalid value: no more than 2",
            id="an optional field that is there",
        ),
        pytest.param(
            {"replicas": 1, "queue": "b"},
            'spec.queue: Invalid value: "b": queue is immutable',
            id="a rule about the change",
        ),
    ],
)
async def test_rules(server, team, spec, want_message):
    """Rules refuse with their message, at their field."""
    server.install_crd(definition(RULED))
    await team("POST", WIDGETS, widget(spec={"replicas": 1, "queue": "a"}))

    reply = await team("PATCH", f"{WIDGETS}/w", {"spec": spec}, kind=MERGE)

    assert reply.code == 422
    assert reply.obj["message"] == f'Widget.example.test "w" is invalid: {want_message}'


async def test_rules_that_hold_are_silent(server, team):
    """A change that keeps the rules passes."""
    server.install_crd(definition(RULED))
    await team("POST", WIDGETS, widget(spec={"replicas": 1, "queue": "a"}))

    reply = await team("PATCH", f"{WIDGETS}/w", {"spec": {"replicas": 10}}, kind=MERGE)

    assert reply.code == 200


@pytest.mark.parametrize(
    ("change", "want_text"),
    [
        pytest.param(
            lambda crd: crd["metadata"].update(name="gadgets.example.test"),
            'must be spec.names.plural+"."+spec.group',
            id="the name says what it defines",
        ),
        pytest.param(
            lambda crd: crd["spec"].update(scope="World"),
            'spec.scope: Unsupported value: "World"',
            id="scopes are two",
        ),
        pytest.param(
            lambda crd: crd["spec"]["versions"][0].pop("schema"),
            "schemas are required",
            id="a version has a schema",
        ),
        pytest.param(
            lambda crd: crd["spec"]["versions"][0].update(storage=False),
            "must have exactly one version marked as storage version",
            id="one version is stored",
        ),
        pytest.param(
            lambda crd: crd["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"][
                "spec"
            ].update({"x-kubernetes-validations": [{"rule": "self.("}]}),
            "compilation failed",
            id="rules are compiled first",
        ),
    ],
)
async def test_refused_definitions(http, change, want_text):
    """A definition that could not be served is refused."""
    crd = definition()
    change(crd)

    reply = await http("POST", CRDS, crd)

    assert reply.code == 422
    assert want_text in reply.obj["message"]


def two_versions(one):
    return [one, {**one, "name": "v1beta1", "storage": False, "deprecated": True}]


@virtual_time
async def test_versions_share_the_objects():
    """An object written in one version is read, listed and watched in the other."""
    async with team_world() as team:
        team.server.install_crd(definition(versions=two_versions))
        old = WIDGETS.replace("/v1/", "/v1beta1/")
        body = {**widget(), "apiVersion": "example.test/v1beta1"}

        made = await team("POST", old, body)
        read = (await team("GET", f"{WIDGETS}/w")).obj
        listed = (await team("GET", old)).obj
        events = await team.watch(old)

        assert made.obj["apiVersion"] == "example.test/v1beta1"
        assert made.headers["Warning"] == '299 - "example.test/v1beta1 Widget is deprecated"'
        assert read["apiVersion"] == "example.test/v1"
        assert listed["items"][0]["apiVersion"] == "example.test/v1beta1"
        assert events[0]["object"]["apiVersion"] == "example.test/v1beta1"


async def test_columns_and_selectable_fields(server, team):
    """A definition says what a table shows, and what can be selected by."""
    columns = [
        {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
        {
            "name": "Ready",
            "type": "string",
            "jsonPath": '.status.conditions[?(@.type=="Ready")].status',
        },
        {"name": "Size", "type": "integer", "jsonPath": ".spec.size", "priority": 1},
    ]
    fields = [{"jsonPath": ".spec.queue"}]
    server.install_crd(definition(additionalPrinterColumns=columns, selectableFields=fields))
    for name in ("a", "b"):
        await team("POST", WIDGETS, widget(name, spec={"queue": f"q-{name}", "size": 3}))
    status = {"phase": "Up", "conditions": [{"type": "Ready", "status": "True"}]}
    await team("PATCH", f"{WIDGETS}/a/status", {"status": status}, kind=MERGE)

    selected = {"fieldSelector": "spec.queue=q-a"}
    table = (await team("GET", WIDGETS, headers={"Accept": TABLE}, params=selected)).obj

    heads = [(column["name"], column["priority"]) for column in table["columnDefinitions"]]
    assert heads == [("Name", 0), ("Phase", 0), ("Ready", 0), ("Size", 1)]
    assert [row["cells"] for row in table["rows"]] == [["a", "Up", "True", 3]]


async def test_cluster_scoped_resources(server, http):
    """A cluster-scoped kind has no namespaces in its paths."""
    server.install_crd(definition(scope="Cluster"))
    made = await http("POST", "/apis/example.test/v1/widgets", widget())

    assert (made.code, "namespace" in made.obj["metadata"]) == (201, False)
    assert (await http("GET", WIDGETS)).code == 404
