"""Workload kinds: what is filled in, what is fixed, and scale."""

import pytest

from tests.global_sched.embedded.apiserver.conftest import JSON_PATCH, MERGE, STRATEGIC
from tests.global_sched.embedded.apiserver.widgets import WIDGETS, definition, widget

APPS = "/apis/apps/v1/namespaces/team"
JOBS = "/apis/batch/v1/namespaces/team/jobs"


def template(labels=None, **spec):
    containers = [{"name": "c", "image": "registry.example/web:1"}]
    meta = {"labels": labels} if labels else {}
    return {"metadata": meta, "spec": {"containers": containers, **spec}}


def deployment(**spec):
    labels = {"app": "web"}
    body = {"selector": {"matchLabels": labels}, "template": template(labels), **spec}
    return {"metadata": {"name": "web"}, "spec": body}


WANT_POD = {
    "containers": [
        {
            "name": "c",
            "image": "registry.example/web:1",
            "imagePullPolicy": "IfNotPresent",
            "resources": {},
            "terminationMessagePath": "/dev/termination-log",
            "terminationMessagePolicy": "File",
        }
    ],
    "dnsPolicy": "ClusterFirst",
    "restartPolicy": "Always",
    "schedulerName": "default-scheduler",
    "securityContext": {},
    "terminationGracePeriodSeconds": 30,
}


async def test_a_deployment_is_filled_in(team):
    """Every default of a real server is there, and nothing else."""
    reply = await team("POST", f"{APPS}/deployments", deployment())

    assert reply.obj["spec"] == {
        "progressDeadlineSeconds": 600,
        "replicas": 1,
        "revisionHistoryLimit": 10,
        "selector": {"matchLabels": {"app": "web"}},
        "strategy": {
            "type": "RollingUpdate",
            "rollingUpdate": {"maxSurge": "25%", "maxUnavailable": "25%"},
        },
        "template": {"metadata": {"labels": {"app": "web"}}, "spec": WANT_POD},
    }
    assert reply.obj["status"] == {}
    assert reply.obj["metadata"]["generation"] == 1


async def test_a_stateful_set_is_filled_in(team):
    """Every default of a real server is there; its claims say what they are."""
    claim = {"metadata": {"name": "d"}, "spec": {"accessModes": ["ReadWriteOnce"]}}
    body = deployment(serviceName="web", volumeClaimTemplates=[claim])

    spec = (await team("POST", f"{APPS}/statefulsets", body)).obj["spec"]

    assert spec["podManagementPolicy"] == "OrderedReady"
    assert spec["updateStrategy"] == {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}}
    assert spec["persistentVolumeClaimRetentionPolicy"] == {
        "whenDeleted": "Retain",
        "whenScaled": "Retain",
    }
    assert spec["volumeClaimTemplates"] == [
        {
            "kind": "PersistentVolumeClaim",
            "apiVersion": "v1",
            "metadata": {"name": "d"},
            "spec": {
                "accessModes": ["ReadWriteOnce"],
                "resources": {},
                "volumeMode": "Filesystem",
            },
            "status": {"phase": "Pending"},
        }
    ]


async def test_a_job_selects_its_own_pods(team):
    """A job's pods carry its uid, and its selector asks for it."""
    body = {"metadata": {"name": "j"}, "spec": {"template": template(restartPolicy="Never")}}

    job = (await team("POST", JOBS, body)).obj

    uid = job["metadata"]["uid"]
    labels = {
        "batch.kubernetes.io/controller-uid": uid,
        "batch.kubernetes.io/job-name": "j",
        "controller-uid": uid,
        "job-name": "j",
    }
    assert job["spec"].pop("template")["metadata"]["labels"] == labels
    assert job["metadata"]["labels"] == labels
    assert job["spec"] == {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "completions": 1,
        "manualSelector": False,
        "parallelism": 1,
        "podReplacementPolicy": "TerminatingOrFailed",
        "selector": {"matchLabels": {"batch.kubernetes.io/controller-uid": uid}},
        "suspend": False,
    }


@pytest.mark.parametrize(
    ("spec", "want_message"),
    [
        pytest.param(
            {"selector": {"matchLabels": {"app": "other"}}},
            'Deployment.apps "web" is invalid: spec.template.metadata.labels: Invalid value:'
            ' {"app":"web"}: `selector` does not match template `labels`',
            id="the selector must select the template",
        ),
        pytest.param(
            {"replicas": -1},
            'Deployment.apps "web" is invalid: spec.replicas: Invalid value: -1: must be greater'
            " than or equal to 0",
            id="there are no negative replicas",
        ),
        pytest.param(
            {"template": template({"app": "web"}, restartPolicy="Never")},
            'Deployment.apps "web" is invalid: spec.template.spec.restartPolicy: Unsupported value:'
            ' "Never": supported values: "Always"',
            id="its pods always restart",
        ),
    ],
)
async def test_refused_deployments(team, spec, want_message):
    """A deployment that could not work is refused with the field and the reason."""
    reply = await team("POST", f"{APPS}/deployments", deployment(**spec))

    assert (reply.code, reply.obj["message"]) == (422, want_message)


async def test_the_selector_is_fixed(team):
    """A deployment keeps its selector for life."""
    await team("POST", f"{APPS}/deployments", deployment())
    labels = {"matchLabels": {"app": "web", "x": "y"}}
    patch = {"spec": {"selector": labels, "template": {"metadata": {"labels": {"x": "y"}}}}}

    reply = await team("PATCH", f"{APPS}/deployments/web", patch, kind=MERGE)

    assert reply.code == 422
    assert reply.obj["message"] == (
        'Deployment.apps "web" is invalid: spec.selector: Invalid value:'
        ' {"matchLabels":{"app":"web","x":"y"}}: field is immutable'
    )


async def test_scale_reads_and_writes_replicas(team):
    """The scale subresource is the number of replicas, and a change of it is a change of spec."""
    await team("POST", f"{APPS}/deployments", deployment(replicas=2))

    before = (await team("GET", f"{APPS}/deployments/web/scale")).obj
    after = await team(
        "PATCH", f"{APPS}/deployments/web/scale", {"spec": {"replicas": 5}}, kind=MERGE
    )
    stored = (await team("GET", f"{APPS}/deployments/web")).obj

    assert before["spec"] == {"replicas": 2}
    assert before["status"] == {"replicas": 0, "selector": "app=web"}
    assert after.obj["spec"] == {"replicas": 5}
    assert (stored["spec"]["replicas"], stored["metadata"]["generation"]) == (5, 2)
    owners = [(e.get("subresource"), e["fieldsV1"]) for e in stored["metadata"]["managedFields"]]
    assert ("scale", {"f:spec": {"f:replicas": {}}}) in owners


def scaled_widgets():
    """A definition of widgets whose replicas can be scaled."""
    scale = {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}
    return definition(subresources={"status": {}, "scale": scale})


@pytest.mark.parametrize(
    ("kind", "patch", "want_code", "want"),
    [
        pytest.param(MERGE, {"spec": {"replicas": 5}}, 200, 5, id="a merge patch sets replicas"),
        pytest.param(
            JSON_PATCH,
            [{"op": "replace", "path": "/spec/replicas", "value": 4}],
            200,
            4,
            id="a JSON patch replaces replicas that the object does not have",
        ),
        pytest.param(
            MERGE, {"metadata": {"labels": {"a": "b"}}}, 400, None, id="a patch without replicas"
        ),
        pytest.param(STRATEGIC, {"spec": {"replicas": 5}}, 415, None, id="a strategic patch"),
    ],
)
async def test_scale_of_a_custom_resource_without_replicas(
    server, team, kind, patch, want_code, want
):
    """A patch of the scale may set replicas that a custom resource does not have yet."""
    server.install_crd(scaled_widgets())
    await team("POST", WIDGETS, widget("w"))

    reply = await team("PATCH", f"{WIDGETS}/w/scale", patch, kind=kind)
    stored = (await team("GET", f"{WIDGETS}/w")).obj

    assert reply.code == want_code
    assert stored["spec"].get("replicas") == want


@pytest.mark.parametrize(
    ("path", "body"),
    [
        pytest.param("/api/v1/namespaces/team/configmaps/c", {}, id="a built-in kind"),
        pytest.param(
            "/apis/coordination.k8s.io/v1/namespaces/team/leases/gone",
            {"spec": {}},
            id="a kind that an update may create",
        ),
        pytest.param(f"{WIDGETS}/w", {"spec": {"replicas": 2}}, id="a custom resource"),
        pytest.param(f"{WIDGETS}/w/status", {"status": {}}, id="a status"),
        pytest.param(f"{WIDGETS}/w/scale", {"spec": {"replicas": 2}}, id="a scale"),
    ],
)
async def test_an_update_of_another_uid_is_a_conflict(server, team, path, body):
    """The UID in the body of an update is a precondition, before all others."""
    server.install_crd(scaled_widgets())
    await team("POST", WIDGETS, widget("w", {"replicas": 1}))
    await team("POST", "/api/v1/namespaces/team/configmaps", {"metadata": {"name": "c"}})
    name = path.removesuffix("/status").removesuffix("/scale").rpartition("/")[2]

    reply = await team("PUT", path, {"metadata": {"name": name, "uid": "old"}, **body})

    assert reply.code == 409
    assert "UID in precondition: old" in reply.obj["message"]


async def test_generation_counts_changes_of_the_spec(team):
    """Labels and status leave the generation; a change of spec counts, a write of the same not."""
    path = f"{APPS}/deployments/web"
    await team("POST", f"{APPS}/deployments", deployment())

    seen = []
    for patch, sub in (
        ({"metadata": {"labels": {"a": "b"}}}, ""),
        ({"status": {"replicas": 1}}, "/status"),
        ({"spec": {"replicas": 1}}, ""),
        ({"spec": {"replicas": 3}}, ""),
    ):
        reply = await team("PATCH", path + sub, patch, kind=MERGE)
        seen.append(reply.obj["metadata"]["generation"])

    assert seen == [1, 1, 1, 2]


async def test_generation_of_a_deployment_counts_annotations(team):
    """Of all kinds only Deployments do; Karmada's claim of one makes it the second generation."""
    note = {"metadata": {"annotations": {"a": "b"}}}
    await team("POST", f"{APPS}/deployments", deployment())
    await team("POST", f"{APPS}/statefulsets", deployment() | {"kind": "StatefulSet"})

    changed = await team("PATCH", f"{APPS}/deployments/web", note, kind=MERGE)
    again = await team("PATCH", f"{APPS}/deployments/web", note, kind=MERGE)
    other = await team("PATCH", f"{APPS}/statefulsets/web", note, kind=MERGE)

    assert changed.obj["metadata"]["generation"] == 2
    assert again.obj["metadata"]["generation"] == 2
    assert other.obj["metadata"]["generation"] == 1


async def test_a_write_that_changes_nothing_is_none(team):
    """The version stays when nothing changed."""
    path = f"{APPS}/deployments/web"
    made = await team("POST", f"{APPS}/deployments", deployment())

    reply = await team("PATCH", path, {"spec": {"replicas": 1}}, kind=MERGE)

    assert reply.obj == made.obj


EVENTS = "/apis/events.k8s.io/v1/namespaces/team/events"


async def test_of_an_event_only_the_series_changes(team):
    """A note stays what it was; who has another one to tell makes another Event."""
    event = {
        "metadata": {"name": "e"},
        "eventTime": "2026-01-31T12:00:00.000000Z",
        "reportingController": "c",
        "reportingInstance": "c-0",
        "action": "Scheduling",
        "reason": "Waiting",
        "regarding": {"kind": "Pod", "namespace": "team", "name": "p"},
        "note": "no room",
        "type": "Normal",
    }
    await team("POST", EVENTS, event)
    series = {"count": 2, "lastObservedTime": "2026-01-31T12:01:00.000000Z"}

    counted = await team("PATCH", f"{EVENTS}/e", {"series": series}, kind=MERGE)
    changed = await team("PATCH", f"{EVENTS}/e", {"note": "no quota"}, kind=MERGE)

    assert (counted.code, counted.obj["series"]["count"]) == (200, 2)
    assert changed.code == 422
    want = 'is invalid: message: Invalid value: "no quota": field is immutable'
    assert changed.obj["message"].endswith(want)
