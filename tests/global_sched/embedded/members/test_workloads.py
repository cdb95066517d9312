"""Deployments, StatefulSets and batch Jobs beyond the recorded moment."""

import asyncio

import pytest

from global_sched.shared.api.names import EXIT_CODE, FAIL_ONCE, RUN_SECONDS
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    DEPLOYMENTS,
    EVENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from tests.global_sched.embedded.members.member_world import TEAM, member, template
from tests.virtual_time import virtual_time


def app(name, replicas, *, image="registry.example/t:1", **spec):
    """A Deployment or StatefulSet of one container."""
    pods = template(labels={"app": name})
    pods["spec"]["containers"][0]["image"] = image
    return {
        "metadata": {"name": name},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": pods,
            **spec,
        },
    }


def job(name="sweep", *, annotations=None, restart="Never", **spec):
    """A batch Job."""
    pods = template(annotations=annotations, restartPolicy=restart)
    return {"metadata": {"name": name}, "spec": {"template": pods, **spec}}


async def patch(one, resource, name, spec):
    """Edit a spec."""
    return await one.client.patch(resource, name, {"spec": spec}, namespace=TEAM)


def conditions(obj):
    """Condition types that are True."""
    return [c["type"] for c in obj["status"].get("conditions", ()) if c["status"] == "True"]


@virtual_time
async def test_a_rolling_update_keeps_its_bounds():
    """Never more than replicas + surge, never fewer available than replicas - unavailable."""
    async with member() as one:
        await one.add(DEPLOYMENTS, app("web", 4))
        await asyncio.sleep(3)
        pods = app("web", 4, image="registry.example/t:2")["spec"]["template"]
        await patch(one, DEPLOYMENTS, "web", {"template": pods})
        seen = []
        for _ in range(60):
            await asyncio.sleep(0.1)
            status = (await one.get(DEPLOYMENTS, "web"))["status"]
            seen.append((status.get("replicas", 0), status.get("availableReplicas", 0)))
        deployment = await one.get(DEPLOYMENTS, "web")
        sets = (await one.client.list(REPLICA_SETS, namespace=TEAM)).items
        images = {p["spec"]["containers"][0]["image"] for p in (await one.pods()).values()}

    assert max(total for total, _ in seen) <= 5
    assert min(available for _, available in seen) >= 3
    assert images == {"registry.example/t:2"}
    assert sorted(one["spec"]["replicas"] for one in sets) == [0, 4]
    assert deployment["metadata"]["annotations"]["deployment.kubernetes.io/revision"] == "2"
    assert deployment["status"]["conditions"][-1]["reason"] == "NewReplicaSetAvailable"


@virtual_time
async def test_scaling_a_deployment():
    """Up and down: the ReplicaSet follows, and so does its max-replicas annotation."""
    async with member() as one:
        await one.add(DEPLOYMENTS, app("web", 2))
        await asyncio.sleep(2)
        await patch(one, DEPLOYMENTS, "web", {"replicas": 5})
        await asyncio.sleep(2)
        up = len(await one.pods())
        await patch(one, DEPLOYMENTS, "web", {"replicas": 1})
        await asyncio.sleep(2)
        down = len(await one.pods())
        notes = (await one.client.list(REPLICA_SETS, namespace=TEAM)).items[0]["metadata"]

    assert (up, down) == (5, 1)
    assert notes["annotations"]["deployment.kubernetes.io/max-replicas"] == "2"


@virtual_time
async def test_a_lost_pod_is_replaced_and_a_deployment_goes_with_all_it_owns():
    """Self-healing, and cascading deletion through the garbage collector."""
    async with member() as one:
        await one.add(DEPLOYMENTS, app("web", 2))
        await asyncio.sleep(2)
        victim = min(await one.pods())
        await one.client.delete(PODS, victim, namespace=TEAM)
        await asyncio.sleep(2)
        healed = await one.phases()
        await one.client.delete(DEPLOYMENTS, "web", namespace=TEAM)
        await asyncio.sleep(3)
        left = await one.pods()

    assert victim not in healed
    assert list(healed.values()) == ["Running", "Running"]
    assert left == {}


@virtual_time
async def test_an_unknown_priority_class_is_refused():
    """The pods are never made; the ReplicaSet's events say why."""
    async with member() as one:
        body = app("web", 1)
        body["spec"]["template"]["spec"]["priorityClassName"] = "nobody"
        await one.add(DEPLOYMENTS, body)
        await asyncio.sleep(5)
        events = (await one.client.list(EVENTS, namespace=TEAM)).items
        pods = await one.pods()

    assert pods == {}
    assert events[0]["reason"] == "FailedCreate"
    assert "no PriorityClass with name nobody was found" in events[0]["note"]


@virtual_time
async def test_a_stateful_set_goes_in_order():
    """Up one by one, down from the highest, and a new template from the highest as well."""
    async with member(start_seconds=2) as one:
        await one.add(STATEFUL_SETS, app("db", 3, serviceName="db"))
        await asyncio.sleep(3)
        early = sorted(await one.pods())
        await asyncio.sleep(5)
        full = await one.phases()
        await patch(one, STATEFUL_SETS, "db", {"replicas": 2})
        await asyncio.sleep(2)
        fewer = sorted(await one.pods())
        pods = app("db", 2, image="registry.example/t:2")["spec"]["template"]
        await patch(one, STATEFUL_SETS, "db", {"template": pods})
        await asyncio.sleep(2)
        images = {n: p["spec"]["containers"][0]["image"] for n, p in (await one.pods()).items()}
        await asyncio.sleep(8)
        status = (await one.get(STATEFUL_SETS, "db"))["status"]

    assert early == ["db-0", "db-1"]
    assert full == {"db-0": "Running", "db-1": "Running", "db-2": "Running"}
    assert fewer == ["db-0", "db-1"]
    assert images == {"db-0": "registry.example/t:1", "db-1": "registry.example/t:2"}
    assert (status["updatedReplicas"], status["readyReplicas"]) == (2, 2)
    assert status["currentRevision"] == status["updateRevision"]


@virtual_time
async def test_a_job_runs_so_many_at_a_time():
    """Parallelism bounds the pods at once; completions end the Job."""
    async with member(run_seconds=2) as one:
        await one.add(BATCH_JOBS, job(parallelism=2, completions=5))
        most = 0
        for _ in range(40):
            await asyncio.sleep(0.5)
            most = max(most, list((await one.phases()).values()).count("Running"))
        found = await one.get(BATCH_JOBS, "sweep")

    assert most == 2
    assert found["status"]["succeeded"] == 5
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]
    assert "completedIndexes" not in found["status"]


@virtual_time
@pytest.mark.parametrize(
    ("annotations", "want_conditions", "want_failed"),
    [
        pytest.param(
            {EXIT_CODE: "1"}, ["FailureTarget", "Failed"], 2, id="the backoff limit is reached"
        ),
        pytest.param(
            {FAIL_ONCE: "true"}, ["SuccessCriteriaMet", "Complete"], 1, id="one failure heals"
        ),
    ],
)
async def test_failures_of_a_job(annotations, want_conditions, want_failed):
    """Failed pods are replaced after a pause, until there were too many."""
    notes = {RUN_SECONDS: "1", **annotations}
    async with member(job_backoff=1) as one:
        await one.add(BATCH_JOBS, job(annotations=notes, backoffLimit=1))
        await asyncio.sleep(12)
        found = await one.get(BATCH_JOBS, "sweep")

    assert conditions(found) == want_conditions
    assert found["status"]["failed"] == want_failed


@virtual_time
async def test_a_suspended_job_holds_no_pods():
    """Suspension takes the pods away and says so; the Job goes on where it stood."""
    async with member(run_seconds=2) as one:
        await one.add(BATCH_JOBS, job(completions=1, suspend=True))
        await asyncio.sleep(2)
        held = await one.get(BATCH_JOBS, "sweep")
        none = await one.pods()
        await patch(one, BATCH_JOBS, "sweep", {"suspend": False})
        await asyncio.sleep(4)
        found = await one.get(BATCH_JOBS, "sweep")

    assert (conditions(held), none) == (["Suspended"], {})
    assert conditions(found) == ["SuccessCriteriaMet", "Complete"]


@virtual_time
async def test_indexes_that_failed_are_done_again():
    """Only a success completes an index; the status lists them as ranges."""
    async with member(job_backoff=1, run_seconds=1) as one:
        body = job(annotations={FAIL_ONCE: "true"}, parallelism=4, completions=4)
        body["spec"]["completionMode"] = "Indexed"
        await one.add(BATCH_JOBS, body)
        await asyncio.sleep(6)
        found = await one.get(BATCH_JOBS, "sweep")

    assert found["status"]["completedIndexes"] == "0-3"
    assert (found["status"]["succeeded"], found["status"]["failed"]) == (4, 1)
