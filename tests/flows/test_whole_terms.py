"""Terms of leaders: a Lease that is lost, epochs that none gave, and decisions that come late."""

import asyncio
import json
from contextlib import suppress

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import BINDING_ID, DECISION, MANAGED_NAMESPACE, WAITING_LIST
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.faults import Fault, FaultKind
from global_sched.shared.model.decision import Decision, Grant, decision_id
from global_sched.shared.model.decision_text import render_decision
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.instant import SECOND, Instant
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import GPU, placement, queue


async def lease(world):
    found = await world.admin.get(kinds.LEASES, "global-sched", namespace="karmada-system")
    return found["spec"]


async def later(world, epoch):
    with suppress(NotFound):
        return (await lease(world))["leaseTransitions"] > epoch


async def decided_anew(world, name, epoch):
    said = condition(await world.binding(name), "DecisionNotBelieved")
    return said is not None and (await world.decision(name))["epoch"] != epoch


async def placed(world, *names):
    """What each job was given, and the node of each of its pods."""
    found = {}
    for name in names:
        await world.until_phase(name, "Running", seconds=90)
        [cluster] = await world.clusters(name)
        nodes = await world.bound(cluster, name)
        assert len(nodes) == 4
        found[name] = (cluster, (await world.decision(name))["grants"], nodes)
    return found


async def rewrite(world, name, **fields):
    """Another writer changes fields of a decision; its id still matches what the id is made of."""
    decision = await world.decision(name) | fields
    await world.admin.patch(
        kinds.RESOURCE_BINDINGS,
        f"{name}-job",
        {"metadata": {"annotations": {DECISION: json.dumps(decision)}}},
        namespace=TEAM,
    )


def condition(binding, kind):
    found = (binding.get("status") or {}).get("conditions") or ()
    return next((one for one in found if one["type"] == kind), None)


def scraped(world):
    world.scheduler.metrics.refresh()
    return world.scheduler.metrics.render().decode()


async def events(world, reason):
    """The Events of bindings with that reason; the same ones stand on the jobs."""
    found = (await world.admin.list(kinds.EVENTS, namespace=TEAM)).items
    bindings = [one for one in found if one["regarding"]["kind"] == "ResourceBinding"]
    return [one for one in bindings if one.get("reason") == reason]


@virtual_time
async def test_a_deleted_lease_takes_nothing_from_what_runs(tmp_path):
    """The next term is above all earlier ones: every decision stays, and agents follow."""
    async with whole(tmp_path, member("m1", racks=2), member("m2")) as world:
        await world.submit(gang("a"), gang("b"))
        before = await placed(world, "a", "b")
        epoch, version = (await lease(world))["leaseTransitions"], await world.bindings_version()

        await world.admin.delete(kinds.LEASES, "global-sched", namespace="karmada-system")
        await world.until(lambda: later(world, epoch), "a new leader", seconds=60)
        await world.submit(gang("c"))
        after = await placed(world, "a", "b", "c")

        assert {name: after[name] for name in before} == before
        for name in before:
            for one in await world.bindings_since(version, name):
                assert one["spec"].get("gracefulEvictionTasks") is None
                assert condition(one, "DecisionNotBelieved") is None
        now = (await lease(world))["leaseTransitions"]
        assert (await world.decision("c"))["epoch"] == now > epoch
        told = await world.admin.list(kinds.DIRECTIVES)
        assert {one["spec"]["epoch"] for one in told.items} == {now}


@pytest.mark.parametrize(
    "epoch", [pytest.param(2**62, id="2^62"), pytest.param(2**31 - 1, id="2^31 - 1")]
)
def test_an_epoch_that_no_lease_gave_decides_nothing(tmp_path, epoch):
    """The binding says so and is decided anew; what runs goes on, and elections do, too."""

    @virtual_time
    async def run():
        async with whole(tmp_path, member("m1", racks=2), member("m2")) as world:
            await world.submit(gang("a"), gang("b"))
            before = await placed(world, "a", "b")
            version = await world.bindings_version()
            await rewrite(world, "a", epoch=epoch)

            await world.until(lambda: decided_anew(world, "a", epoch), "decided anew", seconds=10)
            term = (await lease(world))["leaseTransitions"]
            assert (await world.decision("a"))["epoch"] == term
            said = condition(await world.binding("a"), "DecisionNotBelieved")
            assert said is not None
            assert said["status"] == "True"
            assert f"its term {epoch} is one that the Lease has not given" in said["message"]
            assert len(await events(world, "DecisionNotBelieved")) == 1

            await world.kill("global-sched")
            await rewrite(world, "b", epoch=epoch)
            await world.start_scheduler()
            await world.until(lambda: decided_anew(world, "b", epoch), "decided anew", seconds=10)
            after = await placed(world, "a", "b")

            for name in before:
                assert (after[name][0], after[name][2]) == (before[name][0], before[name][2])
                for one in await world.bindings_since(version, name):
                    assert one["spec"].get("gracefulEvictionTasks") is None
                    assert len(one["spec"]["clusters"]) == 1

    run()


@virtual_time
async def test_the_late_write_of_an_earlier_leader_is_withdrawn(tmp_path):
    """It breaks a limit with what was decided since: gone at once, and reported; the rest stays."""
    async with whole(tmp_path, member("m1", racks=2), member("m2")) as world:
        await world.apply(queue("capped", capability={GPU: "32"}))
        await world.submit(gang("a", queue="capped"))
        before = await placed(world, "a")
        await world.submit(gang("b", queue="capped"))
        await world.until(lambda: world.binding("b"), "its binding", seconds=10)
        term = (await lease(world))["leaseTransitions"]
        one = await world.binding("b")
        version = await world.bindings_version()

        grants = (Grant(cluster="m2", amounts=Amounts.of({"worker": 4}), domain="m2-0", tier=1),)
        at = Instant(world.clock.now() - SECOND)
        id_ = decision_id(one["metadata"]["labels"][BINDING_ID], grants, at, 0)
        late = Decision(id=id_, epoch=term - 1, at=at, order=0, grants=grants)
        body = {"metadata": {"annotations": {DECISION: render_decision(late)}}}
        body["spec"] = {"clusters": [{"name": "m2"}]}
        await world.admin.patch(kinds.RESOURCE_BINDINGS, "b-job", body, namespace=TEAM)

        async def withdrawn():
            return not await world.clusters("b")

        await world.until(withdrawn, "it is withdrawn", seconds=5)
        await world.until(lambda: events(world, "LateDecision"), "the Event", seconds=5)
        [event] = await events(world, "LateDecision")
        begun = f"(term {term - 1}), whose decision arrived after term {term} had begun"
        assert begun in event["note"]
        assert "nvidia.com/gpu 32 asked, 32 of 32 in use" in event["note"]
        assert await placed(world, "a") == before
        writes = await world.bindings_since(version, "b")
        said = [condition(one, "Scheduled")["message"] for one in writes]
        assert any(text.startswith("WAIT LateDecision, nearest m2: ") for text in said)
        assert not writes[-1]["spec"].get("clusters")


@virtual_time
async def test_a_replica_that_cannot_be_elected_is_not_ready_and_says_why(tmp_path):
    """A Lease that the server refuses: the cause shows, and is over when the Lease is written."""
    async with whole(tmp_path, member("m1"), start=False) as world:
        refused = Fault("create", "leases.coordination.k8s.io", kind=FaultKind.FORBIDDEN, times=99)
        world.plan("global-sched").add(refused)
        await world.start_scheduler(wait=False)

        async def blocked():
            return world.scheduler is not None and world.scheduler.not_ready() is not None

        await asyncio.sleep(30)
        await world.until(blocked, "it is not ready", seconds=5)
        why = world.scheduler.not_ready()
        assert why.startswith("cannot be elected: the Lease karmada-system/global-sched: ")
        assert "403" in why
        assert "gsched_election_blocked 1.0" in scraped(world)

        world.plan("global-sched").clear()
        await world.until(lambda: world.scheduler.loop is not None, "it leads", seconds=10)
        assert world.scheduler.not_ready() is None
        assert "gsched_election_blocked 0.0" in scraped(world)


@pytest.mark.slow
@virtual_time
async def test_nothing_is_written_in_a_term_that_has_ended(tmp_path):
    """Though all loops still run: no decision, status, list, eviction task or default queue."""
    async with whole(tmp_path, member("m1", nodes=8)) as world:
        await world.submit(
            *(gang(name, pods=2, seconds=3600) for name in ("runs", "leaves")),
            gang("wide", pods=99),
        )
        managed = {"metadata": {"labels": {MANAGED_NAMESPACE: "true"}}}
        await world.admin.patch(kinds.NAMESPACES, TEAM, managed)
        await world.until_phase("leaves", "Running", seconds=30)
        await world.until(lambda: there(world, kinds.WAITING_LISTS), "the list is there")
        nowhere = {"spec": {"placement": placement("nowhere")}}
        await world.admin.patch(kinds.PROPAGATION_POLICIES, "leaves-job", nowhere, namespace=TEAM)

        async def withdrawn():
            return not await world.clusters("leaves")

        await world.until(withdrawn, "it has to leave m1", seconds=30)
        term = world.end_term("global-sched")
        await world.admin.delete(kinds.QUEUES, "default")
        await world.admin.delete(kinds.WAITING_LISTS, WAITING_LIST, namespace=TEAM)
        await world.admin.delete(kinds.VOLCANO_JOBS, "runs", namespace=TEAM)
        await world.submit(gang("new"))
        await world.apply(queue("late"))
        await asyncio.sleep(1)  # what was on its way has arrived
        world.records.clear()
        cycles = world.scheduler.loop.cycles
        await asyncio.sleep(180)
        assert world.written("global-sched", "control-plane") <= {"update leases"}
        assert world.scheduler.loop.cycles == cycles

        term.clock = world.clock
        await world.until_phase("new", "Running", seconds=60)
        await world.until(lambda: there(world, kinds.WAITING_LISTS), "the list is there again")
        again = world.written("global-sched", "control-plane")
    assert again >= {"create queues", "patch queues/status", "patch resourcebindings"}


async def there(world, resource):
    """Whether any object of the kind is in the namespace."""
    return (await world.admin.list(resource, namespace=TEAM)).items
