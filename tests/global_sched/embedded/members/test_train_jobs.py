"""TrainJobs: the JobSet that their runtime and their own fields make, and the end."""

import asyncio

from global_sched.shared.api.names import RUN_SECONDS
from global_sched.shared.api.resource import (
    CLUSTER_TRAINING_RUNTIMES,
    JOB_SETS,
    TRAIN_JOBS,
    TRAINING_RUNTIMES,
)
from tests.global_sched.embedded.members.member_world import TEAM, member, template
from tests.virtual_time import virtual_time
from tests.wire_templates import stripped, train_job, trainer_part, training_runtime


def runtime(kind="TrainingRuntime", *, code=0):
    """A runtime whose nodes run for three seconds."""
    notes = {RUN_SECONDS: "3", "federation.global-sched.io/exit-code": str(code)}
    pod = template(annotations=notes)
    pod["spec"]["restartPolicy"] = "Never"
    return training_runtime("torch", trainer_part(template=pod), kind=kind, namespace=TEAM)


def job(**spec):
    """A TrainJob of two nodes."""
    return stripped(train_job("fit", 2, kind="TrainingRuntime", namespace=TEAM, spec=spec))


async def said(one):
    """Its conditions and their status."""
    status = (await one.get(TRAIN_JOBS, "fit")).get("status") or {}
    return [(c["type"], c["status"]) for c in status.get("conditions") or ()]


@virtual_time
async def test_it_waits_for_its_runtime_then_runs_to_its_end():
    """The JobSet has the job's name and nodes; its end is the job's."""
    async with member() as one:
        await one.add(TRAIN_JOBS, job())
        await asyncio.sleep(2)
        before = await one.pods()
        await one.client.create(TRAINING_RUNTIMES, runtime(), namespace=TEAM)
        await asyncio.sleep(1)
        made = await one.get(JOB_SETS, "fit")
        pods = await one.pods()
        await asyncio.sleep(10)
        ended = await said(one)
        counts = (await one.get(TRAIN_JOBS, "fit"))["status"]["jobsStatus"]

    [owner] = made["metadata"]["ownerReferences"]
    assert before == {}
    assert (owner["kind"], owner["controller"]) == ("TrainJob", True)
    assert len(pods) == 2
    assert ended == [("Complete", "True")]
    assert [(c["name"], c["succeeded"]) for c in counts] == [("node", 1)]


@virtual_time
async def test_it_fails_with_its_job_set():
    """And a runtime may be one for all namespaces."""
    async with member() as one:
        await one.client.create(
            CLUSTER_TRAINING_RUNTIMES, runtime("ClusterTrainingRuntime", code=1)
        )
        await one.add(TRAIN_JOBS, stripped(train_job("fit", 1, namespace=TEAM)))
        await asyncio.sleep(10)

        assert await said(one) == [("Failed", "True")]


@virtual_time
async def test_suspended_and_resumed():
    """The JobSet is suspended with it."""
    async with member() as one:
        await one.client.create(TRAINING_RUNTIMES, runtime(), namespace=TEAM)
        await one.add(TRAIN_JOBS, job(suspend=True))
        await asyncio.sleep(2)
        held, none = await said(one), await one.pods()
        await one.client.patch(TRAIN_JOBS, "fit", {"spec": {"suspend": False}}, namespace=TEAM)
        await asyncio.sleep(10)

        assert (held, none) == ([("Suspended", "True")], {})
        assert await said(one) == [("Suspended", "False"), ("Complete", "True")]
