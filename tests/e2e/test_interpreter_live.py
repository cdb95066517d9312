"""The customizations where they work: in a running Karmada, which has accepted their scripts."""

import json
from contextlib import contextmanager

import pytest

from global_sched.embedded.access import DEPLOY
from global_sched.shared.api import resource as kinds
from tests.e2e.waiting import until
from tests.e2e.world import gang, policy
from tests.wire import placement
from tests.wire_templates import (
    job_set,
    pod_template,
    replicated_job,
    train_job,
    trainer_part,
    training_runtime,
)

INTERPRETER = DEPLOY / "interpreter"


@contextmanager
def customized(kubectl):
    """The shipped customizations installed; Karmada's webhook has read the scripts."""
    kubectl("apply", "--server-side", "-k", str(INTERPRETER))
    try:
        yield
    finally:
        kubectl("delete", "-k", str(INTERPRETER))


async def test_what_a_volcano_job_mounts_goes_with_it(world, federation, kubectl, space):
    """With propagateDeps the ConfigMap of its pods is in the member, and its status is back."""
    with customized(kubectl):
        kubectl("-n", space, "create", "configmap", "hyper", "--from-literal=lr=1")
        train = gang("train", space)
        pod = train["spec"]["tasks"][0]["template"]["spec"]
        pod["volumes"] = [{"name": "hyper", "configMap": {"name": "hyper"}}]
        claim = policy(train, where=placement("east"))
        claim["spec"]["propagateDeps"] = True

        await world.apply(claim, train)
        await world.until_phase(space, "train", "Running")

        east = await world.member("east")

        async def there():
            found = await east.get(kinds.CONFIGMAPS, "hyper", namespace=space)
            return found["data"]

        assert await world.until(there, "the ConfigMap is in the member") == {"lr": "1"}
        binding = await world.binding(space, "train")
        assert "replicas" not in binding["spec"]
        assert "replicaRequirements" not in binding["spec"]


@pytest.mark.parametrize(
    ("resource", "kind"),
    [
        pytest.param(kinds.TRAINING_RUNTIMES, "TrainingRuntime", id="of the namespace"),
        pytest.param(kinds.CLUSTER_TRAINING_RUNTIMES, "ClusterTrainingRuntime", id="of all"),
    ],
)
async def test_the_runtime_of_a_train_job_goes_with_it(world, kubectl, space, resource, kind):
    """With propagateDeps no policy of its own is needed; the job's end is at the template."""
    notes = {"federation.global-sched.io/run-seconds": "2"}
    node = pod_template(annotations=notes, schedulerName="member-agent", restartPolicy="Never")
    name = f"torch-{space}"
    made = training_runtime(name, trainer_part(template=node), kind=kind, namespace=space)
    job = train_job("align", 2, kind=kind, runtime=name, namespace=space)
    claim = policy(job, where=placement("east"))
    claim["spec"]["propagateDeps"] = True
    with customized(kubectl):
        await world.apply(made, claim, job)

        async def ended():
            found = await world.get(kinds.TRAIN_JOBS, "align", space)
            told = (found.get("status") or {}).get("conditions") or ()
            return [one["type"] for one in told if one["status"] == "True"]

        assert await until(ended, "the template says how it ended") == ["Complete"]
        east = await world.member("east")
        scope = space if resource.namespaced else None
        found = await east.get(resource, name, namespace=scope)
        assert found["spec"]["template"]["spec"]["replicatedJobs"][0]["name"] == "node"
        if not resource.namespaced:
            await world.admin.delete(resource, name)


async def test_a_job_set_says_at_its_template_how_it_ended(world, kubectl, space):
    """Karmada has no rule for it: the customization has."""
    notes = {"federation.global-sched.io/run-seconds": "2"}
    pod = pod_template(annotations=notes, schedulerName="member-agent", restartPolicy="Never")
    with customized(kubectl):
        job = job_set("steps", replicated_job("a", template=pod), namespace=space)
        await world.submit(job, where=placement("east"))

        async def ended():
            found = await world.get(kinds.JOB_SETS, "steps", space)
            return (found.get("status") or {}).get("terminalState")

        assert await until(ended, "the template says how it ended") == "Completed"


async def test_karmadas_updates_keep_what_the_member_filled_in(world, kubectl, space):
    """A label of the template travels; the queue that the member's Job got stays."""
    with customized(kubectl):
        train = gang("train", space)
        train["spec"].pop("queue", None)
        await world.submit(train, where=placement("east"))
        await world.until_phase(space, "train", "Running")
        east = await world.member("east")
        filled = {"spec": {"queue": "default", "maxRetry": 3}}
        await east.patch(kinds.VOLCANO_JOBS, "train", filled, namespace=space)

        label = {"metadata": {"labels": {"team": "vision"}}}
        await world.admin.patch(kinds.VOLCANO_JOBS, "train", label, namespace=space)

        async def travelled():
            found = await east.get(kinds.VOLCANO_JOBS, "train", namespace=space)
            return found if found["metadata"]["labels"].get("team") == "vision" else None

        job = await world.until(travelled, "the label is in the member")
        assert (job["spec"]["queue"], job["spec"]["maxRetry"]) == ("default", 3)


async def test_reports_and_directives_are_never_propagated(kubectl, world):
    """Karmada claims nothing in the namespaces of its members."""
    kind = {"apiVersion": "federation.global-sched.io/v1alpha1", "kind": "CapacityReport"}
    everything = {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "ClusterPropagationPolicy",
        "metadata": {"name": "reports"},
        "spec": {"resourceSelectors": [kind], "placement": {}},
    }
    kubectl("apply", "-f", "-", stdin=json.dumps(everything))
    try:
        report = await until(
            lambda: kubectl("-n", "karmada-es-east", "get", "capacityreports", "-o", "name"),
            "the agent has reported",
        )
        assert report
        bindings = kubectl("-n", "karmada-es-east", "get", "resourcebindings", "-o", "name")
        assert bindings == ""
    finally:
        kubectl("delete", "clusterpropagationpolicy", "reports")


def test_a_second_customization_of_one_operation_is_refused(federation, kubectl):
    """Why volcano-global's has to go first."""
    other = {
        "apiVersion": "config.karmada.io/v1alpha1",
        "kind": "ResourceInterpreterCustomization",
        "metadata": {"name": "somebody-elses"},
        "spec": {
            "target": {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
            "customizations": {
                "retention": {"luaScript": "function Retain(d, o)\n  return d\nend"},
            },
        },
    }
    with customized(kubectl), pytest.raises(AssertionError, match="denied the request"):
        kubectl("create", "-f", "-", stdin=json.dumps(other))
