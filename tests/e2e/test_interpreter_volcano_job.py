"""Karmada's handling of Volcano Jobs once our customization is there."""

import copy

import pytest

from tests.e2e.interpreting import Interpreter


@pytest.fixture
def interpret(karmadactl, tmp_path):
    return Interpreter(karmadactl, tmp_path, "volcano-job.yaml")


def job(*tasks, **spec):
    """A Volcano Job of tasks."""
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": "train", "namespace": "team"},
        "spec": {"tasks": list(tasks), **spec},
    }


def task(name, replicas, pod=None, **more):
    """A task of equal pods that ask for one CPU."""
    container = {"name": "main", "image": "i", "resources": {"requests": {"cpu": "1"}}}
    pod = {"containers": [container], **(pod or {})}
    return {"name": name, "replicas": replicas, "template": {"spec": pod}, **more}


def item(cluster, **status):
    """What Karmada collected of one copy."""
    return {"clusterName": cluster, "applied": True, "health": "Healthy", "status": status}


def test_only_these_operations_are_ours(interpret):
    """No replicas are read or set: a gang goes whole to one cluster."""
    found = interpret.check()

    assert {name for name, verdict in found.items() if verdict == "PASS"} == {
        "Retain",
        "InterpretComponent",
        "AggregateStatus",
        "InterpretDependency",
    }
    assert {name for name, verdict in found.items() if verdict == "UNSET"} == {
        "InterpretReplica",
        "ReviseReplica",
        "InterpretStatus",
        "InterpretHealth",
    }


@pytest.mark.parametrize(
    ("more", "want"),
    [
        pytest.param({}, 4, id="a task without a minimum needs all of its pods"),
        pytest.param({"minAvailable": 3}, 3, id="the minimum that it says"),
        pytest.param({"minAvailable": 0}, 0, id="none of its pods must start with the others"),
        pytest.param(
            {
                "partitionPolicy": {
                    "totalPartitions": 2,
                    "partitionSize": 2,
                    "minPartitions": 1,
                }
            },
            2,
            id="the partitions that it needs",
        ),
    ],
)
def test_components_count_what_must_start(interpret, more, want):
    """A component's replicas are the task's minimum, with Volcano's default."""
    pod = {"nodeSelector": {"gpu": "h100"}}
    (component,) = interpret("InterpretComponent", observed=job(task("worker", 4, pod, **more)))

    assert component == {
        "name": "worker",
        "replicas": want,
        "replicaRequirements": {
            "nodeClaim": {"nodeSelector": {"gpu": "h100"}},
            "resourceRequest": {"cpu": "1"},
        },
    }


def test_an_unnamed_task_has_the_name_that_volcano_gives_it(interpret):
    """Names of components must be unique."""
    first, second = task("", 1), task("worker", 1)
    components = interpret("InterpretComponent", observed=job(first, second))

    assert [one["name"] for one in components] == ["default0", "worker"]


def test_an_update_keeps_what_volcano_filled_in(interpret):
    """Volcano refuses an update of a Job that takes away what its admission put there."""
    desired = job(
        task("", 4, {"hostNetwork": True}),
        task("chief", 1, minAvailable=1),
        plugins={"pytorch": ["--master=chief"]},
        volumes=[{"mountPath": "/data", "volumeClaim": {"accessModes": ["ReadWriteOnce"]}}],
    )
    observed = copy.deepcopy(desired)
    observed["spec"] |= {
        "queue": "default",
        "schedulerName": "volcano",
        "maxRetry": 3,
        "minAvailable": 3,
        "plugins": {"pytorch": ["--master=chief"], "svc": []},
    }
    observed["spec"]["volumes"][0]["volumeClaimName"] = "train-volume-x1"
    first, second = observed["spec"]["tasks"]
    first |= {"name": "default0", "minAvailable": 2, "maxRetry": 3, "replicas": 2}
    first["template"]["spec"]["dnsPolicy"] = "ClusterFirstWithHostNet"
    second |= {"maxRetry": 3}

    retained = interpret("Retain", desired=desired, observed=observed)["spec"]

    worker, chief = retained["tasks"]
    assert {name: retained[name] for name in ("queue", "schedulerName", "maxRetry")} == {
        "queue": "default",
        "schedulerName": "volcano",
        "maxRetry": 3,
    }
    assert retained["minAvailable"] == 5
    assert (worker["name"], worker["replicas"], worker["minAvailable"]) == ("default0", 4, 4)
    assert worker["template"]["spec"]["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert (chief["minAvailable"], chief["maxRetry"]) == (1, 3)
    assert retained["plugins"] == {"pytorch": ["--master=chief"], "svc": []}
    assert retained["volumes"][0]["volumeClaimName"] == "train-volume-x1"


def test_an_update_keeps_nothing_else(interpret):
    """What a member has beyond that goes, and what the template says wins."""
    desired = job(task("worker", 2), queue="research", minAvailable=1)
    observed = job(
        task("worker", 2, minAvailable=2),
        queue="default",
        minAvailable=2,
        ttlSecondsAfterFinished=5,
        plugins={"svc": []},
    )

    retained = interpret("Retain", desired=desired, observed=observed)["spec"]

    assert retained["queue"] == "research"
    assert retained["minAvailable"] == 1
    assert "ttlSecondsAfterFinished" not in retained
    assert "plugins" not in retained


def test_where_the_agent_runs_jobs_an_update_is_the_template(interpret):
    """No webhook fills in defaults there, so none appear."""
    desired = job(task("worker", 3))

    assert interpret("Retain", desired=desired, observed=job(task("worker", 2))) == desired


def test_one_copy_is_the_status(interpret):
    """Its status becomes the template's, as it is."""
    status = {
        "state": {"phase": "Running", "lastTransitionTime": "2026-01-01T00:00:00Z"},
        "minAvailable": 2,
        "running": 2,
        "taskStatusCount": {"worker": {"phase": {"Running": 2}}},
        "conditions": [{"status": "Running"}],
    }

    done = interpret(
        "AggregateStatus", observed=job(task("worker", 2)), status=[item("m1", **status)]
    )

    assert done["status"] == status


def test_copies_that_say_nothing_change_nothing(interpret):
    """The status stays until a member has reported one."""
    observed = job(task("worker", 2)) | {"status": {"running": 2}}
    silent = {"clusterName": "m1", "applied": True}

    assert interpret("AggregateStatus", observed=observed, status=[silent]) == observed


def test_a_job_that_moves_is_what_its_new_copy_says(interpret):
    """The old copy is aborted while the new one runs: the job runs, and counts add up."""
    old = item(
        "m1",
        state={"phase": "Aborted"},
        failed=1,
        version=3,
        retryCount=1,
        runningDuration="10m",
        taskStatusCount={"worker": {"phase": {"Failed": 1}}},
        controlledResources={"plugin-svc": "svc"},
        conditions=[{"status": "Aborted"}],
    )
    new = item(
        "m2",
        state={"phase": "Running"},
        minAvailable=2,
        running=2,
        version=1,
        runningDuration="5s",
        taskStatusCount={"worker": {"phase": {"Running": 2, "Failed": 1}}},
        conditions=[{"status": "Running"}],
    )

    done = interpret("AggregateStatus", observed=job(task("worker", 2)), status=[old, new])

    assert done["status"] == {
        "state": {"phase": "Running"},
        "minAvailable": 2,
        "running": 2,
        "failed": 1,
        "version": 3,
        "retryCount": 1,
        "runningDuration": "5s",
        "taskStatusCount": {"worker": {"phase": {"Running": 2, "Failed": 2}}},
        "controlledResources": {"plugin-svc": "svc"},
        "conditions": [{"status": "Running"}],
    }


@pytest.mark.parametrize(
    ("phases", "want"),
    [
        pytest.param(["Completed", "Completed"], "Completed", id="all have completed"),
        pytest.param(["Completed", "Pending"], "Pending", id="one has yet to start"),
        pytest.param(["Failed", "Completed"], "Completed", id="one made it"),
        pytest.param(["Failed", "Aborted"], "Failed", id="none made it: the first one says why"),
    ],
)
def test_the_state_is_that_of_the_copy_that_matters_most(interpret, phases, want):
    """What runs or may still run comes before what has ended, and success before failure."""
    items = [item(f"m{i}", state={"phase": phase}) for i, phase in enumerate(phases)]

    done = interpret("AggregateStatus", observed=job(task("worker", 2)), status=items)

    assert done["status"]["state"] == {"phase": want}


def test_dependencies_are_what_the_pods_use(interpret):
    """Each once: mounts, variables, pull secrets, accounts; claims that the Job names itself."""
    volumes = [
        {"name": "c", "configMap": {"name": "config"}},
        {"name": "s", "secret": {"secretName": "keys"}},
        {"name": "p", "persistentVolumeClaim": {"claimName": "data"}},
    ]
    pod = {
        "volumes": volumes,
        "imagePullSecrets": [{"name": "pull"}],
        "serviceAccountName": "trainer",
    }
    found = interpret(
        "InterpretDependency",
        observed=job(
            task("worker", 4, pod),
            task("chief", 1, {"volumes": volumes[:1]}),
            volumes=[
                {"mountPath": "/data", "volumeClaimName": "data"},
                {"mountPath": "/out", "volumeClaimName": "out"},
                {"mountPath": "/tmp", "volumeClaim": {}, "volumeClaimName": "made-by-volcano"},
            ],
        ),
    )

    assert {one["namespace"] for one in found} == {"team"}
    assert sorted((one["kind"], one["name"]) for one in found) == [
        ("ConfigMap", "config"),
        ("PersistentVolumeClaim", "data"),
        ("PersistentVolumeClaim", "out"),
        ("Secret", "keys"),
        ("Secret", "pull"),
        ("ServiceAccount", "trainer"),
    ]


@pytest.mark.parametrize("spec", [{}, {"tasks": []}, {"tasks": [{"name": "worker"}]}])
def test_a_job_that_is_not_whole_stops_nothing(interpret, spec):
    """A script that fails would keep Karmada from the Job; an incomplete one has no needs."""
    observed = job() | {"spec": spec}
    count = len(spec.get("tasks", ()))

    assert len(interpret("InterpretComponent", observed=observed) or []) == count
    assert not interpret("InterpretDependency", observed=observed)
    assert interpret("Retain", desired=observed, observed=observed) == observed
