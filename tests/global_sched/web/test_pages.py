"""Pages: filters, links and trials, and that names of others are never markup."""

import pytest

from global_sched.shared.api.resource import RESOURCE_BINDINGS
from global_sched.web import pages
from tests.global_sched.web.site import Parts, site
from tests.virtual_time import virtual_time
from tests.wire import binding, cluster_object, report, stripped, vcjob

HOSTILE = "<img src=x onerror=alert(1)>\u202eevil"


@pytest.mark.slow
@virtual_time
async def test_a_hostile_name_stays_text():
    """Any text may be the name of a template or a queue: it is escaped, what misleads is spelt."""
    async with site() as world:
        trap = binding(vcjob("trap", namespace="team-a"))
        trap["spec"]["resource"]["name"] = HOSTILE
        await world.admin.create(RESOURCE_BINDINGS, stripped(trap), namespace="team-a")
        bad = stripped(vcjob("bad", namespace="team-a"))
        bad["spec"]["queue"] = HOSTILE
        await world.apply(bad)
        await world.clock.sleep(1)
        pages = [
            await world.get(path)
            for path in ("/waiting", "/waiting?text=%3Cimg", "/jobs/team-a/trap-job")
        ]

    for status, text in pages:
        assert status == 200
        assert "\u202e" not in text
        assert not any(tag == "img" for tag, _ in Parts(text).tags)
        assert f"{HOSTILE[:-5]}\\u202eevil" in Parts(text).text


@pytest.mark.slow
@virtual_time
async def test_filters_and_links():
    """A filter is an address; a link to a job is its namespace and binding."""
    async with site() as world:
        one = await world.get("/waiting?tenant=ns%2Fteam-b")
        none = await world.get("/waiting?text=no-such-job")
        odd = await world.get("/waiting?state=%27&page=99999999999&queue=%00")
        missing = await world.get("/jobs/team-a/no-such-job")

    links = [attrs["href"] for tag, attrs in Parts(one[1]).tags if tag == "a"]
    assert [link for link in links if link.startswith("/jobs/")] == ["/jobs/team-b/only-team-b-job"]
    assert "No job is like that" in none[1]
    assert odd[0] == 200
    assert (missing[0], "No such job" in missing[1]) == (404, True)


@pytest.mark.slow
@virtual_time
async def test_nodes_in_trouble_are_named(monkeypatch):
    """As the report has them; of too many members on one page none is asked, and that is said."""
    trouble = {"node": "node-7", "state": "Trouble", "cause": "NodeDown", "domain": "rack-0"}
    space = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "karmada-es-east"}}
    async with site(jobs=False) as world:
        found = report("east", at=world.clock.now(), racks=2, nodes=3, trouble=[trouble])
        await world.apply(stripped(cluster_object("east")), space, stripped(found))
        _, named = await world.get("/federation")
        monkeypatch.setattr(pages, "MOST_ASKED", 0)
        _, too_many = await world.get("/federation")

    tags = [attrs.get("aria-label") for tag, attrs in Parts(named).tags if tag == "svg"]
    assert [one for one in tags if one] == ["rack-0: 3 nodes, 3 free", "rack-1: 3 nodes, 3 free"]
    assert "node-7" in named
    assert "NodeDown" in named
    assert "node-7" not in too_many
    assert "Choose a member to see its nodes in trouble." in too_many


@pytest.mark.slow
@virtual_time
async def test_what_if_tries_a_manifest_and_writes_nothing():
    """Where it would go is said, what cannot be read is named; no object is there afterwards."""
    job = """
apiVersion: batch.volcano.sh/v1alpha1
kind: Job
metadata: {name: tried, namespace: team-a}
spec:
  schedulerName: volcano
  minAvailable: 1
  tasks:
  - {name: w, replicas: 1, template: {spec: {containers: [{name: c, image: i}]}}}
"""
    texts = []
    async with site() as world:
        before = len((await world.admin.list(RESOURCE_BINDINGS)).items)
        for manifest in (job, "kind: [", "kind: Namespace\napiVersion: v1\nmetadata: {name: x}"):
            given = world.bearer("admin") | {"Sec-Fetch-Site": "same-origin"}
            data = {"manifest": manifest}
            async with world.client.post("/whatif", data=data, headers=given) as answer:
                texts.append(Parts(await answer.text()).text)
        after = len((await world.admin.list(RESOURCE_BINDINGS)).items)

    assert "team-a/tried" in texts[0]
    assert "Job team-a/tried waits" in texts[0]
    assert "All others fare as they would without it." in texts[0]
    assert "the manifest: not YAML" in texts[1]
    assert "no job that a PropagationPolicy" in " ".join(texts[2].split())
    assert before == after
