"""JobSets: their Jobs, the order of them, restarts, suspension and the end."""

import asyncio

import pytest

from global_sched.shared.api.names import EXIT_CODE, RUN_SECONDS
from global_sched.shared.api.resource import BATCH_JOBS, JOB_SETS, SERVICES
from tests.global_sched.embedded.members.member_world import TEAM, member, template
from tests.virtual_time import virtual_time


def part(name, replicas=1, *, pods=1, notes=None, **more):
    """A replicated job."""
    pod = template(annotations=notes or {RUN_SECONDS: "3"})
    pod["spec"]["restartPolicy"] = "Never"
    spec = {"parallelism": pods, "completions": pods, "backoffLimit": 0, "template": pod}
    return {"name": name, "replicas": replicas, "template": {"spec": spec}, **more}


def job_set(*parts, **spec):
    """A JobSet named `set`."""
    return {"metadata": {"name": "set"}, "spec": {"replicatedJobs": list(parts), **spec}}


async def jobs(one):
    """Names of its Jobs."""
    return sorted(
        job["metadata"]["name"] for job in (await one.client.list(BATCH_JOBS, namespace=TEAM)).items
    )


@virtual_time
async def test_jobs_pods_and_labels():
    """Each replica is a Job; pods carry the part, the Job's place and their own."""
    async with member() as one:
        await one.add(JOB_SETS, job_set(part("a", 2, pods=2)))
        await asyncio.sleep(1)
        found = await jobs(one)
        pods = await one.pods()
        services = (await one.client.list(SERVICES, namespace=TEAM)).items
        await asyncio.sleep(10)
        done = (await one.get(JOB_SETS, "set"))["status"]

    places = sorted(
        (
            pod["metadata"]["labels"]["jobset.sigs.k8s.io/replicatedjob-name"],
            pod["metadata"]["labels"]["jobset.sigs.k8s.io/job-index"],
            pod["metadata"]["labels"]["batch.kubernetes.io/job-completion-index"],
        )
        for pod in pods.values()
    )
    assert found == ["set-a-0", "set-a-1"]
    assert places == [("a", "0", "0"), ("a", "0", "1"), ("a", "1", "0"), ("a", "1", "1")]
    assert [one["metadata"]["name"] for one in services] == ["set"]
    assert done["terminalState"] == "Completed"
    assert [(c["type"], c["reason"]) for c in done["conditions"]] == [
        ("Completed", "AllJobsCompleted")
    ]


@pytest.mark.parametrize(
    ("spec", "needs", "want"),
    [
        pytest.param(
            {}, [{"name": "a", "status": "Complete"}], ["set-a-0"], id="waits for its end"
        ),
        pytest.param(
            {},
            [{"name": "a", "status": "Ready"}],
            ["set-a-0", "set-b-0"],
            id="waits for it to be ready",
        ),
        pytest.param(
            {"startupPolicy": {"startupPolicyOrder": "InOrder"}},
            [],
            ["set-a-0", "set-b-0"],
            id="in order: one after the other is ready",
        ),
    ],
)
@virtual_time
async def test_order(spec, needs, want):
    """While the first part runs, the second is there or not."""
    second = part("b", **({"dependsOn": needs} if needs else {}))
    first = part("a", notes={RUN_SECONDS: "20"})
    async with member() as one:
        await one.add(JOB_SETS, job_set(first, second, **spec))
        await asyncio.sleep(5)

        assert await jobs(one) == want


@pytest.mark.parametrize(
    ("limit", "want_reason"),
    [
        pytest.param(0, "FailedJobs", id="no restart: a failed Job ends the set"),
        pytest.param(2, "ReachedMaxRestarts", id="twice all Jobs start anew"),
    ],
)
@virtual_time
async def test_failure(limit, want_reason):
    """A failure starts all Jobs anew while the policy has restarts left."""
    notes = {RUN_SECONDS: "2", EXIT_CODE: "1"}
    async with member() as one:
        policy = {"maxRestarts": limit}
        await one.add(JOB_SETS, job_set(part("a", notes=notes), part("b"), failurePolicy=policy))
        await asyncio.sleep(30)
        status = (await one.get(JOB_SETS, "set"))["status"]

    assert (status["terminalState"], status["restarts"]) == ("Failed", limit)
    assert [(c["type"], c["reason"]) for c in status["conditions"]] == [("Failed", want_reason)]


@virtual_time
async def test_suspended_and_resumed():
    """Its Jobs are suspended with it; resumed, they run to their end."""
    async with member() as one:
        await one.add(JOB_SETS, job_set(part("a"), suspend=True))
        await asyncio.sleep(3)
        held = await one.pods()
        said = (await one.get(JOB_SETS, "set"))["status"]["conditions"]
        await one.client.patch(JOB_SETS, "set", {"spec": {"suspend": False}}, namespace=TEAM)
        await asyncio.sleep(15)
        status = (await one.get(JOB_SETS, "set"))["status"]

    assert held == {}
    assert [(c["type"], c["status"]) for c in said] == [("Suspended", "True")]
    assert status["terminalState"] == "Completed"
