"""First lines: place, reason and remedy are where people look first, for all users.

Measured are the first five lines of `gsched explain`, the table that the API server gives kubectl
for `kubectl get waiting` (heads and first row: two lines), and the newest Event at the job, which
is a line of `kubectl describe`'s section Events. The real kubectl is run in tests/e2e.
"""

import json

import pytest

from global_sched.cli.own import explain_own
from global_sched.core import explain_workload
from global_sched.shared.api import resource as kinds
from global_sched.shared.kube.errors import Forbidden, NotFound, RequestTarget
from global_sched.shared.kube.transport import Request
from global_sched.view.explain import screen_of
from global_sched.view.explain_screen import lines
from global_sched.view.look import find_job, look
from tests.flows.federation import gang, member, whole
from tests.virtual_time import virtual_time

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json"
PLACE, REASON = "1 in queue default", "TopologyDoesNotFit"


async def waiting_world(world):
    """One job runs, one waits, and its list stands."""
    await world.submit(gang("runs", pods=3, namespace="vision"))
    await world.until_phase("runs", "Running", namespace="vision")
    await world.submit(gang("wide", pods=4, namespace="vision"))

    async def listed():
        try:
            return await world.admin.get(kinds.WAITING_LISTS, "waiting", namespace="vision")
        except NotFound:
            return None

    await world.until(listed, "the waiting list stands")


async def table(client):
    """What `kubectl get waiting -n vision` prints: its narrow columns."""
    path = kinds.WAITING_LISTS.path("vision")
    target = RequestTarget(verb="list", resource="waitinglists")
    request = Request(method="GET", path=path, target=target, headers={"Accept": TABLE})
    found = json.loads((await client.transport.send(request)).body)
    narrow = [at for at, one in enumerate(found["columnDefinitions"]) if not one["priority"]]
    heads = [found["columnDefinitions"][at]["name"] for at in narrow]
    return [heads, *([row["cells"][at] for at in narrow] for row in found["rows"])]


async def newest_event(client):
    """The newest Event at the job."""
    found = await client.list(kinds.EVENTS, namespace="vision")
    at_job = [e for e in found.items if e["regarding"].get("kind") == "Job"]
    return max((e for e in at_job if e["regarding"]["name"] == "wide"), key=_when)


def _when(event):
    return event["eventTime"]


@pytest.mark.slow
@virtual_time
async def test_the_first_lines(tmp_path, capsys, monkeypatch):
    """For a platform engineer and for a tenant."""
    monkeypatch.setenv("COLUMNS", "80")
    async with whole(tmp_path, member("m1"), tenants=("vision",)) as world:
        await waiting_world(world)
        view = await look(world.admin, world.clock)
        job = find_job(view.state, "wide", "vision")
        why = explain_workload(view.snapshot, view.policy, view.now, job.key)
        engineer = lines(screen_of(job, why, view), 80)

        tenant = world.federation.client("tenant/vision")
        with pytest.raises(Forbidden) as denied:
            await look(tenant, world.clock)
        capsys.readouterr()
        await explain_own(
            tenant, job="wide", namespace="vision", output="table", denied=denied.value
        )
        own = capsys.readouterr().out.splitlines()
        tables = [await table(client) for client in (world.admin, tenant)]
        events = [await newest_event(client) for client in (world.admin, tenant)]
        await tenant.close()

    for screen, place in ((engineer, "1 of 1 in queue default"), (own, PLACE)):
        first = "\n".join(screen[:5])
        assert place in first
        assert REASON in first
        assert "runs when " in first
    for heads, row in tables:
        shown = dict(zip(heads, row, strict=True))
        assert (shown["FIRST"], shown["QUEUE"], shown["POSITION"]) == ("wide", "default", 1)
        assert shown["REASON"] == REASON
        assert shown["RUNS WHEN"].endswith("with room for 4 pods comes free")
    for event in events:
        assert event["reason"] == REASON
        assert event["note"].startswith(f"place {PLACE}: waits for ")
        assert "; runs when " in event["note"]
        assert event["note"].endswith("with room for 4 pods comes free")
