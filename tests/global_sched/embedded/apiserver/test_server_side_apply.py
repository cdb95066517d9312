"""Server-side apply: ownership, conflicts, force, what a manager stops naming."""

import json

import pytest

from global_sched.embedded.apiserver.registry.server_side_apply import conflict_failure
from tests.global_sched.embedded.apiserver.widgets import CRDS, WIDGETS, definition, widget

APPLY = "application/apply-patch+yaml"
MERGE = "application/merge-patch+json"
DEPLOYMENTS = "/apis/apps/v1/namespaces/team/deployments"


def owners(obj):
    """Manager, operation and owned paths of every entry."""
    return {
        (entry["manager"], entry["operation"]): entry["fieldsV1"]
        for entry in obj["metadata"]["managedFields"]
    }


def deployment(**spec):
    labels = {"app": "web"}
    containers = [{"name": "c", "image": "i:1"}]
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web"},
        "spec": {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": {"containers": containers}},
            **spec,
        },
    }


async def apply(http, body, manager, force=""):
    query = f"?fieldManager={manager}" + (f"&force={force}" if force else "")
    path = f"{DEPLOYMENTS}/web{query}"
    return await http("PATCH", path, json.dumps(body), kind=APPLY)


async def test_apply_creates_then_changes_nothing(team):
    """The first apply creates; the same again leaves even the version."""
    first = await apply(team, deployment(replicas=2), "one")
    again = await apply(team, deployment(replicas=2), "one")

    assert (first.code, again.code) == (201, 200)
    assert again.obj == first.obj
    owned = owners(first.obj)[("one", "Apply")]
    assert owned["f:spec"]["f:replicas"] == {}
    assert "f:strategy" not in owned["f:spec"]
    assert owned["f:spec"]["f:template"]["f:spec"] == {
        "f:containers": {'k:{"name":"c"}': {".": {}, "f:image": {}, "f:name": {}}}
    }


async def test_a_field_that_is_named_no_more_goes(team):
    """What only this manager owned is removed; a default takes its place."""
    await apply(team, deployment(replicas=4, minReadySeconds=5), "one")

    reply = await apply(team, deployment(), "one")

    assert "minReadySeconds" not in reply.obj["spec"]
    assert reply.obj["spec"]["replicas"] == 1


async def test_a_conflict_names_field_and_owner(team):
    """Another manager's field is not taken without force, and with it changes hands."""
    await apply(team, deployment(replicas=2), "one")

    refused = await apply(team, deployment(replicas=3), "two")
    forced = await apply(team, deployment(replicas=3), "two", force="true")

    assert (refused.code, refused.obj["reason"]) == (409, "Conflict")
    assert refused.obj["message"] == (
        'Apply failed with 1 conflict: conflict with "one": .spec.replicas'
    )
    assert forced.obj["spec"]["replicas"] == 3
    assert "f:replicas" not in owners(forced.obj)[("one", "Apply")]["f:spec"]


async def test_an_update_takes_fields_without_asking(team):
    """A plain update owns what it changed; the applier then conflicts with it."""
    await apply(team, deployment(replicas=2), "one")
    query = "?fieldManager=edit"
    await team("PATCH", f"{DEPLOYMENTS}/web{query}", {"spec": {"replicas": 9}}, kind=MERGE)

    refused = await apply(team, deployment(replicas=2), "one")

    assert refused.obj["message"] == (
        'Apply failed with 1 conflict: conflict with "edit" using apps/v1: .spec.replicas'
    )


async def test_equal_values_are_shared(team):
    """Two managers may own a field together as long as they agree."""
    await apply(team, deployment(replicas=2), "one")
    both = await apply(team, deployment(replicas=2), "two")
    left = await apply(team, deployment(), "one")

    assert "f:replicas" in owners(both.obj)[("two", "Apply")]["f:spec"]
    assert left.obj["spec"]["replicas"] == 2


async def test_apply_takes_yaml(team):
    """A configuration may be YAML."""
    await team("POST", CRDS, definition())
    text = "apiVersion: example.test/v1\nkind: Widget\nmetadata: {name: y}\nspec: {on: yes}\n"

    reply = await team("PATCH", f"{WIDGETS}/y?fieldManager=one", text, kind=APPLY)

    assert (reply.code, reply.obj["spec"]) == (201, {"on": "yes"})


async def test_apply_status(team):
    """The status is applied through its subresource, and owned there."""
    await team("POST", CRDS, definition())
    await team("POST", WIDGETS, widget())
    body = {**widget(), "status": {"phase": "Ready"}, "spec": {"size": 3}}

    path = f"{WIDGETS}/w/status?fieldManager=one"
    reply = await team("PATCH", path, json.dumps(body), kind=APPLY)

    assert reply.obj["status"] == {"phase": "Ready"}
    assert reply.obj["spec"] == {}
    entry = reply.obj["metadata"]["managedFields"][0]
    assert (entry["subresource"], entry["fieldsV1"]) == ("status", {"f:status": {"f:phase": {}}})


@pytest.mark.parametrize(
    ("body", "want_text"),
    [
        pytest.param({"kind": "Widget"}, "Object 'apiVersion' is missing", id="a version"),
        pytest.param(
            {**widget("other")}, "does not match the name on the URL", id="the name of the path"
        ),
        pytest.param(
            {**widget("w", managedFields=[{"manager": "x"}])},
            "metadata.managedFields must be nil",
            id="no ownership of its own making",
        ),
    ],
)
async def test_a_configuration_needs(team, body, want_text):
    """A configuration says what it is, and nothing about ownership."""
    await team("POST", CRDS, definition())

    reply = await team("PATCH", f"{WIDGETS}/w?fieldManager=a", json.dumps(body), kind=APPLY)

    assert reply.code == 400
    assert want_text in reply.obj["message"]


def test_many_conflicts_are_listed_by_manager():
    """Managers come in order, their fields below them."""
    clashes = [
        ({"manager": "b", "operation": "Apply"}, {"f:spec": {"f:x": {}, "f:y": {}}}),
        (
            {"manager": "a", "operation": "Update", "apiVersion": "v1", "subresource": "status"},
            {"f:list": {'k:{"name":"n"}': {"f:port": {}}}},
        ),
    ]

    failure = conflict_failure(clashes)

    assert failure.message == (
        'Apply failed with 3 conflicts: conflicts with "a" with subresource "status" using v1:\n'
        '- .list[name="n"].port\nconflicts with "b":\n- .spec.x\n- .spec.y'
    )
