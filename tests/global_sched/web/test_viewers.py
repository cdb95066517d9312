"""Viewers: their rights, their one watch, its end, and what is said of a leader that is away."""

import asyncio

import pytest

from global_sched.embedded.access import DEPLOY, grant, manifests
from global_sched.shared.api.resource import LEASES
from global_sched.shared.model.instant import SECOND, format_micro
from global_sched.web.viewers import KEPT, MOST
from tests.global_sched.web.site import PAGES, site, tenant_objects
from tests.virtual_time import virtual_time


@pytest.mark.slow
@virtual_time
async def test_a_tenant_sees_a_tenants_world():
    """Own jobs with their own rights; no page names a job of another namespace."""
    async with site() as world:
        own = await world.get("/waiting?namespace=team-a", "tenant/team-a")
        job = await world.get("/jobs/team-a/train-job?namespace=team-a", "tenant/team-a")
        unnamed = await world.get("/waiting", "tenant/team-a")
        others = [
            await world.get(path, "tenant/team-a")
            for path in (
                "/waiting?namespace=team-b",
                "/jobs/team-b/only-team-b-job",
                *(f"{path}?namespace=team-a" for path in PAGES[2:]),
            )
        ]
        whole = await world.get("/waiting")

    assert own[0] == job[0] == 200
    assert "only-team-a" in own[1]
    assert "You may not read the whole federation" in own[1]
    assert "Job team-a/train waits" in job[1]
    assert (unnamed[0], "Name your namespace" in unnamed[1]) == (403, True)
    assert [status for status, _ in others] == [404, 404, 403, 403, 403]
    assert not any("only-team-b" in text for _, text in (own, job, unnamed, *others))
    assert "only-team-b" in whole[1]


@pytest.mark.slow
@virtual_time
async def test_the_role_for_viewers_is_enough_for_every_page():
    """deploy/optional/viewer.yaml lets its group read all that pages show, and write nothing."""
    role = manifests(DEPLOY / "optional/viewer.yaml", {"PLATFORM_GROUP": "tenant:team-a"})
    async with site() as world:
        await grant(world.admin, role)
        pages = [await world.get(path, "tenant/team-a") for path in PAGES]
        job = await world.get("/jobs/team-b/only-team-b-job", "tenant/team-a")

    assert [status for status, _ in (*pages, job)] == [200] * (len(PAGES) + 1)
    assert "only-team-b" in pages[0][1]
    assert {verb for one in role for rule in one.get("rules") or () for verb in rule["verbs"]} == {
        "get",
        "list",
        "watch",
    }


@pytest.mark.slow
@virtual_time
async def test_credentials_that_are_not_accepted_any_more_end_the_watch():
    """Within seconds the page says that the sign-in has expired, and shows nothing of before."""
    async with site() as world:
        before = await world.get("/waiting")
        revoke(world, world.federation._tokens.of("admin"))
        await world.clock.sleep(6)
        after = await world.get("/waiting")
        unknown = await world.get("/waiting", Authorization="Bearer never-valid")

    assert before[0] == 200
    assert [status for status, _ in (after, unknown)] == [401, 401]
    assert "Your sign-in has expired" in after[1]
    assert "train" not in after[1]


def revoke(world, token):
    """The control plane does not know the token from now on."""
    del world.federation.control._authenticator._static[token]


@pytest.mark.slow
@virtual_time
async def test_the_51st_viewer_gets_503_until_another_one_is_gone():
    """A place is free again five minutes after the last request of its viewer."""
    async with site(jobs=False) as world:
        for number in range(MOST):
            await world.viewers.of(f"viewer-{number}", world.bearer("admin")["Authorization"])
        refused = await world.get("/waiting")
        stream = await world.get("/events")
        known = await world.viewers.of("viewer-7", "")
        await world.clock.sleep(KEPT + 30)
        later = await world.get("/waiting")

    assert refused[0] == stream[0] == 503
    assert "All 50 places are taken" in refused[1]
    assert known.failed is None
    assert later[0] == 200


@pytest.mark.slow
@virtual_time
async def test_one_watch_serves_all_pages_of_a_viewer():
    """Whatever is asked for, bindings are listed once."""
    listed = []
    async with site() as world:
        world.federation.control.on_request(
            lambda one: (
                listed.append(one.verb)
                if one.resource == "resourcebindings" and one.verb in ("list", "watch")
                else None
            )
        )
        await asyncio.gather(*(world.get(path) for path in PAGES))
        first = listed.count("watch")
        await world.clock.sleep(2)
        await asyncio.gather(*(world.get(path) for path in PAGES))

    assert (first, listed.count("watch")) == (1, 1)


@pytest.mark.slow
@virtual_time
async def test_a_change_is_told_within_two_seconds():
    """The stream has a number and nothing of the job; the page then has it."""
    async with site() as world:
        await world.get("/waiting")
        headers = world.bearer("admin")
        async with world.client.get("/events?from=1", headers=headers) as events:
            await world.clock.sleep(3)
            start = world.clock.monotonic()
            await world.apply(*tenant_objects("team-b", "newcomer"))
            while "newcomer" not in (await world.get("/waiting"))[1]:
                told = await events.content.readuntil(b"\n\n")
            took = world.clock.monotonic() - start

    assert told.startswith(b"event: look\ndata: ")
    assert told.removeprefix(b"event: look\ndata: ").strip().isdigit()
    assert took <= 2


@pytest.mark.slow
@virtual_time
async def test_a_leader_that_is_away_is_said_on_every_page():
    """By its Lease: old at the first look, or not renewed while we look."""
    async with site() as world:
        renewed = format_micro(world.clock.now())
        spec = {"holderIdentity": "a", "renewTime": renewed, "leaseDurationSeconds": 15}
        where = "karmada-system"
        body = {"metadata": {"name": "global-sched", "namespace": where}, "spec": spec}
        lease = await world.admin.create(LEASES, body, namespace=where)
        there = await world.get("/waiting")
        await world.clock.sleep(40)
        gone = [await world.get(path) for path in PAGES]
        spec = lease["spec"] | {"renewTime": format_micro(world.clock.now() + SECOND)}
        await world.admin.patch(LEASES, "global-sched", {"spec": spec}, namespace=where)
        await world.clock.sleep(7)
        back = await world.get("/waiting")

    assert ["Leader away" in text for _, text in (there, *gone, back)] == [
        False,
        *([True] * len(PAGES)),
        False,
    ]
