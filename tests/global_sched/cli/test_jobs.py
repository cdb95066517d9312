"""`gsched jobs` against a control plane: what is listed, selected by label, and followed."""

import asyncio

import click
import pytest

from global_sched.cli.apply import apply_manifest
from global_sched.cli.jobs import follow, listed
from global_sched.cli.view import Session
from global_sched.cli.where import Where
from global_sched.embedded.federation import Federation, running
from global_sched.shared.api.resource import RESOURCE_BINDINGS, VOLCANO_JOBS
from global_sched.shared.clock import LoopClock
from global_sched.view.job_query import JobQuery, shown
from global_sched.view.own import own_rows
from tests.virtual_time import virtual_time
from tests.wire import batch_job, stripped, vcjob

SELECTORS = [
    {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"},
    {"apiVersion": "batch/v1", "kind": "Job"},
    {"apiVersion": "v1", "kind": "ConfigMap"},
]
POLICY = {
    "apiVersion": "policy.karmada.io/v1alpha1",
    "kind": "PropagationPolicy",
    "metadata": {"name": "all", "namespace": "team"},
    "spec": {"schedulerName": "global-sched", "resourceSelectors": SELECTORS, "placement": {}},
}


def labelled_job(name, **labels):
    """A Volcano Job of namespace team."""
    job = stripped(vcjob(name, namespace="team"))
    job["metadata"]["labels"] = labels
    return job


def manifests():
    """A job that waits, one that is suspended, one that cannot be read, and a plain object."""
    suspended = stripped(batch_job("later", namespace="team"))
    suspended["spec"]["suspend"] = True
    unreadable = labelled_job("broken", app="train")
    unreadable["spec"]["queue"] = "no DNS name"
    plain = {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": "settings", "namespace": "team"},
    }
    return (
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}},
        POLICY,
        suspended,
        labelled_job("train", app="train", size="big"),
        unreadable,
        plain,
    )


async def filled(federation, clock):
    """The objects are there, and Karmada has made a binding of each."""
    admin = federation.client()
    for manifest in manifests():
        await apply_manifest(admin, manifest)
        await clock.sleep(1)  # creation times have whole seconds; within one, random uids decide
    while len((await admin.list(RESOURCE_BINDINGS)).items) < 4:
        await clock.sleep(0.1)
    return admin


@pytest.mark.slow
@virtual_time
async def test_the_jobs_of_a_control_plane(capsys):
    """Held and unreadable jobs come first, plain objects only where asked for; -l is kubectl's."""
    clock = LoopClock()
    federation = Federation([], clock=clock)
    async with running(federation):
        admin = await filled(federation, clock)
        session = Session(admin, clock, "team")

        async def names(output="table", **query):
            rows, note = await listed(session, Where(), JobQuery(**query), output)
            assert note == ""
            return [(row["name"], row["state"]) for row in rows]

        assert await names() == [
            ("broken", "Unreadable"),
            ("later", "Suspended"),
            ("train", "Pending"),
        ]
        assert ("settings", "Pending") in await names("wide")
        assert await names(selector="size in (big, huge)") == [("train", "Pending")]
        assert await names(selector="app=train", states=("Pending",)) == [("train", "Pending")]
        assert await names(selector="app=other") == []
        with pytest.raises(click.ClickException, match="expected: ',' or 'end of string'"):
            await names(selector="a==b==c,(")

        # A tenant's list: the same jobs with the same fields, and no plain objects either.
        platform, _ = await listed(session, Where(), JobQuery(), "wide")
        own = await own_rows(admin, namespace="team", now=clock.now())
        assert {row["name"]: row["state"] for row in shown(own, "table")} == {
            "broken": "Unreadable",
            "later": "Suspended",
            "train": "Pending",
        }
        assert [row.keys() for row in own] == [row.keys() for row in platform]

        task = asyncio.create_task(
            follow(session, Where(), JobQuery(namespace="team"), "table", headers=True)
        )
        await clock.sleep(5)
        first = capsys.readouterr().out
        patch = {"spec": {"queue": "gold"}}
        await admin.patch(VOLCANO_JOBS, "broken", patch, namespace="team")
        await admin.delete(VOLCANO_JOBS, "train", namespace="team")
        await clock.sleep(10)
        task.cancel()
        await asyncio.wait([task])
        later = capsys.readouterr()

    assert [line.split()[0] for line in first.splitlines()] == ["NAME", "broken", "later", "train"]
    assert [line.split()[:3] for line in later.out.splitlines()] == [["broken", "Pending", "gold"]]
    assert later.err == "team/train-job is no longer listed\n"
