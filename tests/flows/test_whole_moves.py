"""A gang that its member cannot hold moves to another one, never twice at once, or says why not."""

import asyncio
import json

import pytest

from global_sched.core import explain_workload
from global_sched.embedded.members import MemberOptions
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import BINDING_ID as ID
from global_sched.shared.api.names import CHECKPOINT_GRACE, RECOVERY
from global_sched.view.explain import screen_of
from global_sched.view.look import find_job, look
from tests.flows.federation import TEAM, gang, member, whole
from tests.flows.test_whole_leaving import ORDERED, scheduled, tasks
from tests.flows.test_whole_recovery import OFF
from tests.virtual_time import virtual_time
from tests.wire import placement

RULES = {"scopes": ["pod", "cluster"], "hold": "1m"}


def movable(name="train", *, rules=RULES, pods=4, **fields):
    """A gang that needs every node of a member, and that may move after a minute."""
    job = gang(name, pods=pods, seconds=36_000, **fields)
    job["metadata"].setdefault("annotations", {})[RECOVERY] = json.dumps(rules)
    return job


async def lose(world, node="m1-0-0", cluster="m1"):
    """The machine is off for good, as an administrator says with the taint out-of-service."""
    await world.federation.running_member(cluster).silence_node(node)
    client = world.federation.member_client(cluster)
    await asyncio.sleep(50)
    await client.patch(kinds.NODES, node, {"spec": {"taints": [OFF]}})
    await client.close()


async def copies(world, seconds, *, ending=True):
    """Where pods of any job are, second by second; those that are asked to go count as `ending`."""
    seen = []
    for _ in range(seconds):
        lists = {one: await world.pods(one) for one in ("m1", "m2")}
        found = tuple(
            name
            for name, pods in lists.items()
            if any(ending or "deletionTimestamp" not in pod["metadata"] for pod in pods)
        )
        if not seen or seen[-1] != found:
            seen.append(found)
        await asyncio.sleep(1)
    return seen


async def recovering(world, name="train"):
    """What the condition of the binding says: its status, and the message."""
    found = (await world.binding(name))["status"]["conditions"]
    return next(
        ((one["status"], one["message"]) for one in found if one["type"] == "Recovering"), None
    )


async def events(world, reason):
    """The notes of these Events on the control plane, by the kind of the object."""
    return {
        one["regarding"]["kind"]: one["note"]
        for one in (await world.admin.list(kinds.EVENTS)).items
        if one["reason"] == reason
    }


def shown(world, metric, value):
    """The labels under which the leader shows this value of a metric."""
    lines = world.scheduler.metrics.render().decode().splitlines()
    start = f"gsched_{metric}{{"
    return sorted(
        one.removeprefix(start).partition("}")[0]
        for one in lines
        if one.startswith(start) and one.endswith(f"}} {value}")
    )


async def explained(world, name="train"):
    """What `gsched explain` shows."""
    view = await look(world.admin, world.clock)
    job = find_job(view.state, name, TEAM)
    found = explain_workload(view.state.snapshot(), view.policy, view.now, job.key)
    return screen_of(job, found, view)


async def verdict(world, name="train"):
    """Its answer."""
    return (await explained(world, name)).answer


@pytest.mark.slow
@virtual_time
async def test_a_gang_moves_when_its_member_has_too_few_nodes_left(tmp_path):
    """After its hold, once, with room kept for it in the new member, and never two copies."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await world.submit(movable(), where=ORDERED)
        await world.until_phase("train", "Running")
        await lose(world)
        stays = await copies(world, 55)
        assert (stays, await world.clusters("train")) == ([("m1",)], ["m1"])
        assert (await verdict(world)).startswith("in place; below its minimum in m1 since 2026-")
        assert (await verdict(world)).endswith("Z, and moves then where another cluster has room")
        [lost] = [text for label, text in (await explained(world)).facts if label == "lost"]
        assert lost.startswith("1 pod within 24 h, the last at 2026-")
        assert lost.endswith("train-worker-0 on m1-0-0 in m1: OutOfService")
        assert shown(world, "gangs_not_whole", "1.0") == ['stays="Hold"']

        before = await world.bindings_version()
        seen = await copies(world, 12)
        assert seen == [("m1",), (), ("m2",)]
        await world.until_phase("train", "Running")
        assert (await world.clusters("train"), await tasks(world, "train")) == (["m2"], [])

        said = [
            (one["status"], one["message"])
            for binding in await world.bindings_since(before, "train")
            for one in binding["status"]["conditions"]
            if one["type"] == "Recovering"
        ]
        assert [status for status, _ in dict.fromkeys(said)] == ["True", "False"]
        start = "scope cluster, attempt 1: below its minimum in m1 since 2026-"
        assert said[0][1].startswith(start)
        assert "train-worker-0 was lost: OutOfService" in said[0][1]
        assert "; it moves to m2 m2-0, where room is kept for it until 2026-" in said[0][1]
        assert said[0][1].endswith("; next: m1 shows that it is gone")
        assert await recovering(world) == ("False", "admitted again")
        told = await events(world, "CannotBeWhole")
        assert sorted(told) == ["Job", "ResourceBinding"]
        assert shown(world, "moves_total", "1.0") == ['cluster="m1",outcome="moved"']
        phases = shown(world, "move_seconds_count", "1.0")
        assert phases == [f'phase="{name}"' for name in ("below", "gone", "placed")]
        assert shown(world, "gangs_not_whole", "1.0") == []


CARRY = [
    {"label": "team.example/ready", "jsonPath": "{.status.running}"},
    {"label": "team.example/step", "jsonPath": "{.status.step}"},
]


@pytest.mark.slow
@virtual_time
async def test_labels_travel_to_the_pods_and_stay_for_later_restarts(tmp_path):
    """The task with the labels stays until the Work has them; what is missing is left out."""
    async with whole(tmp_path, member("m1"), member("m2", nodes=5)) as world:
        await world.submit(movable(rules=RULES | {"carry": CARRY}), where=ORDERED)
        await world.until_phase("train", "Running")
        await lose(world)
        before = await world.bindings_version()
        await asyncio.sleep(70)
        await world.until_phase("train", "Running")

        seen = [
            [
                (
                    bool(binding["spec"].get("clusters")),
                    task["producer"],
                    task.get("preservedLabelState"),
                    task.get("clustersBeforeFailover"),
                )
                for task in binding["spec"].get("gracefulEvictionTasks") or ()
            ]
            for binding in await world.bindings_since(before, "train")
        ]
        state = ({"team.example/ready": "3"}, ["m1"])
        assert [one for at, one in enumerate(seen) if one and one != seen[at - 1]] == [
            [(False, "global-sched", *state)],
            [(False, "global-sched-labels", *state)],
            [(True, "global-sched-labels", *state)],
        ]
        assert (await world.clusters("train"), await tasks(world, "train")) == (["m2"], [])
        told = await events(world, "CannotBeWhole")
        dropped = "; labels that do not travel: team.example/step: {.status.step} is no text or "
        assert [note.endswith(f"{dropped}whole number there") for note in told.values()] == [
            True,
            True,
        ]
        said = {
            one["message"]
            for binding in await world.bindings_since(before, "train")
            for one in binding["status"]["conditions"]
            if one["type"] == "Recovering" and one["status"] == "True"
        }
        assert [f"scope cluster, attempt 1: {note}" for note in told.values()] == [*said, *said]

        async def carried():
            return {
                (
                    pod["metadata"]["labels"].get("team.example/ready"),
                    *(
                        one["value"]
                        for one in pod["spec"]["containers"][0].get("env") or ()
                        if one["name"] == "CARRIED_TEAM_EXAMPLE_READY"
                    ),
                )
                for pod in await world.pods("m2")
            }

        assert await carried() == {("3", "3")}
        await world.delete_pod("m2", "train-worker-1")
        await asyncio.sleep(20)
        assert (await carried(), len(await world.pods("m2"))) == ({("3", "3")}, 4)
        [job] = await world.member_list("m2", kinds.VOLCANO_JOBS)
        kept = job["status"]["controlledResources"]
        assert kept["carried-team.example/ready"] == "3"


@pytest.mark.slow
@virtual_time
async def test_the_old_member_falls_silent_in_the_middle_of_a_move(tmp_path):
    """Nothing starts in the new one, and its room goes to no rival; once it answers, it goes on."""
    slow = MemberOptions(stop_seconds=20.0)
    async with whole(tmp_path, member("m1", options=slow), member("m2")) as world:
        await world.submit(movable(), where=ORDERED)
        await world.until_phase("train", "Running")
        await lose(world)

        async def leaves():
            return await tasks(world, "train") == ["m1"]

        await world.until(leaves, "train is leaving m1", seconds=90)
        await world.silence("m1")
        await world.submit(gang("rival", pods=1, seconds=9999), where=placement("m2"))
        await asyncio.sleep(180)
        assert await world.clusters("train") == await world.clusters("rival") == []
        assert await world.pods("m2") == []
        assert "it was withdrawn from m1 since " in await scheduled(world, "train")
        held = [(one["held"], one["leaving"]) for one in await world.entries("m2")]
        assert held == [({"worker": 4}, [(await world.binding("train"))["metadata"]["labels"][ID]])]

        await world.answer("m1")
        await world.until_phase("train", "Running", seconds=120)
        assert await world.clusters("train") == ["m2"]
        assert await world.pods("m1") == []


@pytest.mark.slow
@virtual_time
async def test_a_gang_that_fits_nowhere_stays_or_gives_its_place_back(tmp_path):
    """It says why it stays; asked for a release by its annotation, it waits in its queue."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        await world.submit(movable(), where=placement("m1", "m2"))
        await world.until_phase("train", "Running")
        home, other = await world.clusters("train"), {"m1": "m2", "m2": "m1"}
        [home] = home
        await world.submit(gang("full", pods=1, seconds=9999), where=placement(other[home]))
        await world.until_phase("full", "Running")
        await lose(world, f"{home}-0-0", home)
        await asyncio.sleep(80)
        assert await world.clusters("train") == [home]
        assert f"; no other cluster takes it now: {other[home]}: " in await verdict(world)

        rules = json.dumps(RULES | {"minimum": "release"})
        body = {"metadata": {"annotations": {RECOVERY: rules}}}
        await world.admin.patch(kinds.VOLCANO_JOBS, "train", body, namespace=TEAM)
        await asyncio.sleep(30)
        assert (await world.clusters("train"), await world.pods(home)) == ([], [])
        status, message = await recovering(world)
        assert (status, message[-38:]) == ("True", "; it gives its place back, as it asked")
        created = (await world.binding("train"))["metadata"]["creationTimestamp"]
        assert created < (await world.binding("full"))["metadata"]["creationTimestamp"]


@pytest.mark.slow
@virtual_time
async def test_the_cluster_is_removed_in_the_middle_of_a_move(tmp_path):
    """Its member never shows that the old copy is gone: it goes on where room was kept for it."""
    slow = MemberOptions(stop_seconds=20.0)
    async with whole(tmp_path, member("m1", options=slow), member("m2")) as world:
        job = movable()
        await world.submit(job, where=ORDERED)
        failover = {"spec": {"failover": {"application": {"decisionConditions": {}}}}}
        await world.admin.patch(kinds.PROPAGATION_POLICIES, "train-job", failover, namespace=TEAM)
        await world.until_phase("train", "Running")
        await lose(world)

        async def leaves():
            return await tasks(world, "train") == ["m1"]

        await world.until(leaves, "train is leaving m1", seconds=90)
        await world.silence("m1")
        await world.kill("m1")
        await world.admin.patch(
            kinds.CLUSTERS, "m1", {"metadata": {"finalizers": None, "deletionTimestamp": None}}
        )
        await world.admin.delete(kinds.CLUSTERS, "m1")
        await world.until_phase("train", "Running", seconds=120)
        assert await world.clusters("train") == ["m2"]
        assert sorted(await events(world, "FailoverBeside")) == ["Job", "ResourceBinding"]
        assert (await events(world, "LeftUnproved"))["ResourceBinding"].startswith("cluster m1 is ")
        beside = (await events(world, "FailoverBeside"))["ResourceBinding"]
        assert beside.startswith("its policy has spec.failover.application, so Karmada may take it")


TAINTED = {"reason": "TaintUntolerated", "producer": "TaintManager"}
UNHEALTHY = {
    "reason": "ApplicationFailure",
    "producer": "resource-binding-application-failover-controller",
    "preservedLabelState": {"team.example/step": "7"},
    "clustersBeforeFailover": ["m1"],
}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("task", "label"),
    [
        pytest.param(TAINTED, None, id="its taint eviction"),
        pytest.param(UNHEALTHY, "7", id="its application failover, with a label of its own"),
    ],
)
def test_karmada_takes_it_out_before_it_may_move(tmp_path, task, label):
    """It goes on elsewhere, once, and that is no move of ours.

    As Karmada writes it with purgeMode Directly. Pods of the old copy may be ending still.
    """

    @virtual_time
    async def run():
        async with whole(tmp_path, member("m1"), member("m2")) as world:
            await world.submit(movable(rules=RULES | {"carry": CARRY}), where=ORDERED)
            await world.until_phase("train", "Running")
            await lose(world)
            await asyncio.sleep(20)
            task_of_karmada = task | {"fromCluster": "m1", "purgeMode": "Directly"}
            body = {"spec": {"clusters": None, "gracefulEvictionTasks": [task_of_karmada]}}
            await world.admin.patch(kinds.RESOURCE_BINDINGS, "train-job", body, namespace=TEAM)
            seen = await copies(world, 40, ending=False)
            await world.until_phase("train", "Running", seconds=60)

            assert ("m1", "m2") not in seen
            assert (await world.clusters("train"), await world.pods("m1")) == (["m2"], [])
            assert "moved" not in await world.decision("train")
            told = (await events(world, "FailoverBeside"))["Job"]
            assert told.startswith(f"{task['producer']} takes it out of m1, beside the moves that ")
            assert await recovering(world) is None
            labels = [pod["metadata"]["labels"] for pod in await world.pods("m2")]
            assert [one.get("team.example/step") for one in labels] == [label] * 4

    run()


@pytest.mark.slow
@virtual_time
async def test_a_gang_that_may_move_costs_nothing_while_it_is_whole(tmp_path):
    """Without a fault neither program writes anything about it, for ten minutes."""
    async with whole(tmp_path, member("m1"), member("m2")) as world:
        job = movable(rules=RULES | {"carry": CARRY})
        job["metadata"]["annotations"][CHECKPOINT_GRACE] = "60s"
        await world.submit(job, where=ORDERED)
        await world.until_phase("train", "Running")
        await asyncio.sleep(30)
        since = len(world.records)
        await asyncio.sleep(600)
        written = {
            (one.verb, one.resource, one.name)
            for _, one in world.records[since:]
            if one.verb not in ("get", "list", "watch")
            and one.resource not in ("leases", "capacityreports", "nodes", "clusters")
        }
        assert written == set()
