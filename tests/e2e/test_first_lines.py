"""The first lines on the real Karmada: what kubectl and gsched print, and what acts change."""

import os
import subprocess
import sys

import pytest

from global_sched.embedded.access import DEPLOY
from global_sched.shared.api import resource as kinds
from tests.e2e.admission import MANAGED
from tests.e2e.world import gang
from tests.wire import batch_job, pod_template


def command(federation, kubeconfig=None):
    """`gsched` as a user types it: its answer, standard error included."""

    def run(*words):
        answer = subprocess.run(
            [sys.executable, "-m", "global_sched.cli.main", *words],
            env=os.environ
            | {"KUBECONFIG": str(kubeconfig or federation.kubeconfigs.admin), "COLUMNS": "80"},
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )
        return answer.stdout + answer.stderr

    return run


@pytest.fixture
async def tenant(federation, kubectl, space):
    """The kubeconfig of a person with the shipped tenant's role in the namespace."""
    text = (DEPLOY / "tenants" / "viewer.yaml").read_text(encoding="utf-8")
    kubectl("apply", "-f", "-", stdin=text.replace("NAMESPACE", space))
    return federation.user("bob", groups=[f"tenant:{space}"])


async def test_where_people_look_first(world, federation, kubectl, space, tenant):
    """Place, reason and remedy: the waiting list, the Events of `describe`, `gsched explain`."""
    kubectl("label", "namespace", space, MANAGED)
    await world.submit(gang("wide", space, pods=200))

    async def listed():
        return await world.get(kinds.WAITING_LISTS, "waiting", space)

    await world.until(listed, "the waiting list is written")
    for who in (None, tenant):
        heads, row = kubectl("get", "waiting", "-n", space, kubeconfig=who).splitlines()
        assert heads.split()[:4] == ["NAME", "WAITING", "FIRST", "QUEUE"]
        assert heads.endswith("RUNS WHEN")
        assert row.split()[:5] == ["waiting", "1", "wide", "default", "1"]
        said = kubectl("describe", "vcjob", "wide", "-n", space, kubeconfig=who)
        events = said.partition("\nEvents:")[2].splitlines()
        first = "\n".join(events[:5])
        assert "place 1 in queue default: " in first
        assert "; runs when " in first
        screen = command(federation, who)("explain", "-n", space, "wide").splitlines()
        first = " ".join(" ".join(screen[:5]).split())
        assert "in queue default: " in first
        assert "runs when " in first
        assert len(screen) <= 24

    await world.submit(gang("wider", space, pods=201))

    async def both():
        return (await listed())["total"] == 2

    await world.until(both, "the list is written again", seconds=120)
    kubectl("delete", "vcjob", "wide", "wider", "-n", space)

    async def gone():
        return not await listed()

    await world.until(gone, "the list goes when nothing waits", seconds=120)


async def test_acts_of_a_tenant(world, federation, kubectl, space, tenant):
    """A Job is suspended, resumed and deleted by its owner; the dry run changes nothing."""
    template = pod_template(schedulerName="member-agent", restartPolicy="Never")
    template["metadata"] = {"annotations": {"federation.global-sched.io/run-seconds": "600"}}
    job = batch_job("held", template=template, namespace=space)
    await world.submit(job)
    gsched = command(federation, tenant)

    async def placed():
        return await world.clusters(space, "held")

    await world.until(placed, "it has a cluster")
    words = ("-n", space, "held")

    async def suspended():
        found = await world.get(kinds.BATCH_JOBS, "held", space)
        return bool(found["spec"].get("suspend"))

    assert "suspended (server dry run)" in gsched("job", "suspend", "--dry-run", *words)
    assert not await suspended()
    assert gsched("job", "suspend", *words).strip() == "job.batch/held suspended"
    assert await suspended()
    assert gsched("job", "resume", *words).strip() == "job.batch/held resumed"
    assert not await suspended()
    assert "you may not change queue default" in gsched("queue", "close", "default")
    assert "default closed (server dry run)" in command(federation)(
        "queue", "close", "default", "--dry-run"
    )
    assert gsched("job", "cancel", *words).strip() == "job.batch/held deleted"

    async def gone():
        return not await world.get(kinds.BATCH_JOBS, "held", space)

    await world.until(gone, "the Job is deleted")
