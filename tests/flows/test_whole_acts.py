"""`gsched job` and `gsched queue` on a federation, with the rights of a tenant or the platform."""

import asyncio

import click
import pytest

from global_sched.cli.acts import (
    Asked,
    cancel,
    find,
    open_queues,
    prioritize,
    set_queue,
    suspend,
)
from global_sched.cli.view import Session
from global_sched.shared.api import resource as kinds
from tests.flows.federation import TEAM, gang, member, whole
from tests.flows.test_whole_paused import runs, suspendable
from tests.virtual_time import virtual_time
from tests.wire import priority_class, queue


def asked(*names, dry_run=False):
    """What a command line names."""
    return Asked(names=names, namespace=None, dry_run=dry_run)


def session(world, user="tenant/" + TEAM):
    """A command's connection, as a user whose context names the namespace."""
    return Session(world.federation.client(user), world.clock, TEAM)


def said_of(capsys):
    """What the commands printed, without the log lines of the programs beside them."""
    lines = capsys.readouterr().out.splitlines()
    return [line for line in lines if line.startswith(("job.", "queue."))]


async def refused(doing):
    """What a command answers that it does not carry out."""
    with pytest.raises(click.ClickException) as caught:
        await doing
    return caught.value.message


async def created(world, resource, name):
    """Its creation time."""
    found = await world.admin.get(resource, name, namespace=TEAM)
    return found["metadata"]["creationTimestamp"]


@pytest.mark.slow
@virtual_time
async def test_a_tenant_suspends_and_resumes_a_job(tmp_path, capsys):
    """Tried first; its room goes to the next job; resumed it has its old creation time and runs."""
    async with whole(tmp_path, member("m1", nodes=2), tenants=(TEAM,)) as world:
        one, resource, _ = suspendable("Job")
        await world.submit(one)
        await world.until(lambda: runs(world, "m1", "held", 2), "it runs", seconds=60)
        await world.submit(gang("next", pods=2, seconds=60))
        user, born = session(world), await created(world, resource, "held")

        await suspend(user, asked("held", dry_run=True), on=True)
        await asyncio.sleep(5)
        assert await runs(world, "m1", "held", 2)
        await suspend(user, asked("held"), on=True)
        await world.until_phase("next", "Running", seconds=60)
        assert await runs(world, "m1", "held", 0)

        await suspend(user, asked("held"), on=False)
        await world.until(lambda: runs(world, "m1", "held", 2), "it goes on", seconds=150)
        assert await created(world, resource, "held") == born
        await user.client.close()

    assert said_of(capsys) == [
        "job.batch/held suspended (server dry run)",
        "job.batch/held suspended",
        "job.batch/held resumed",
    ]


@pytest.mark.slow
@virtual_time
async def test_a_tenant_changes_and_deletes_a_job_that_waits(tmp_path, capsys):
    """The priority at the template; deleted is what the binding names, and nothing made since."""
    async with whole(tmp_path, member("m1", nodes=2), tenants=(TEAM,)) as world:
        await world.apply(priority_class("urgent", 1000))
        await world.submit(gang("wide", pods=5))
        user = session(world)

        async def known():
            return bool(await world.binding("wide"))

        await world.until(known, "it has a binding")
        job = await find(user.client, "wide", TEAM)
        assert job.uid == (await world.job("wide"))["metadata"]["uid"]
        await prioritize(user, asked("wide"), name="urgent")
        assert (await world.job("wide"))["spec"]["priorityClassName"] == "urgent"
        said = [await refused(suspend(user, asked("wide"), on=True))]
        said.append(await refused(cancel(user, asked("nothing"))))

        await cancel(user, asked("wide", dry_run=True))
        assert not await world.gone(kinds.VOLCANO_JOBS, "wide")
        await cancel(user, asked("wide"))
        await world.until(lambda: world.gone(kinds.VOLCANO_JOBS, "wide"), "it is deleted")
        await user.client.close()

    assert said[0].startswith(
        "cannot suspend job.batch.volcano.sh/wide: a Volcano Job has no field for it"
    )
    assert said[1] == "no job 'nothing' in namespace team-a is scheduled by global-sched"
    assert said_of(capsys) == [
        "job.batch.volcano.sh/wide has PriorityClass urgent",
        "job.batch.volcano.sh/wide deleted (server dry run)",
        "job.batch.volcano.sh/wide deleted",
    ]


@pytest.mark.slow
@virtual_time
async def test_the_platform_closes_opens_and_sets_a_queue(tmp_path, capsys):
    """Jobs of a closed queue wait; a tenant may do none of it; what cannot be read is refused."""
    async with whole(tmp_path, member("m1", nodes=2), tenants=(TEAM,)) as world:
        await world.apply(queue("research"))
        admin, user = Session(world.admin, world.clock, ""), session(world)
        assert "you may not change queue research" in await refused(
            open_queues(user, ["research"], opened=False, dry_run=False)
        )
        assert "you may not change queue research" in await refused(
            set_queue(user, "research", {"weight": 9}, dry_run=False)
        )
        await open_queues(admin, ["research"], opened=False, dry_run=False)
        await world.submit(gang("waits", pods=2, spec={"queue": "research"}))
        await asyncio.sleep(20)
        assert await world.clusters("waits") == []
        await open_queues(admin, ["research"], opened=True, dry_run=False)
        await world.until_phase("waits", "Running", seconds=60)

        assert "would be unusable: spec.weight: is 0" in await refused(
            set_queue(admin, "research", {"weight": 0}, dry_run=False)
        )
        await set_queue(admin, "research", {"weight": 3}, dry_run=True)
        assert (await world.admin.get(kinds.QUEUES, "research"))["spec"]["weight"] == 1
        await set_queue(admin, "research", {"weight": 3}, dry_run=False)
        assert (await world.admin.get(kinds.QUEUES, "research"))["spec"]["weight"] == 3
        await user.client.close()

    assert said_of(capsys) == [
        "queue.scheduling.volcano.sh/research closed",
        "queue.scheduling.volcano.sh/research open",
        "queue.scheduling.volcano.sh/research changed (server dry run)",
        "queue.scheduling.volcano.sh/research changed",
    ]
