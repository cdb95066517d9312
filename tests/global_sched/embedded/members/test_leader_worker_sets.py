"""LeaderWorkerSets: leaders, workers under each leader, restarts of whole groups, scaling."""

import asyncio

import pytest

from global_sched.shared.api.resource import (
    LEADER_WORKER_SETS,
    NODES,
    PODS,
    SERVICES,
    STATEFUL_SETS,
)
from tests.global_sched.embedded.members.member_world import TEAM, member, template
from tests.virtual_time import virtual_time

PREFIX = "leaderworkerset.sigs.k8s.io"


def serving(*, replicas=2, size=3, scheduler="default-scheduler", **more):
    """A LeaderWorkerSet whose leader has a template of its own."""
    groups = {
        "size": size,
        "leaderTemplate": template(labels={"role": "leader"}, schedulerName=scheduler),
        "workerTemplate": template(labels={"role": "worker"}, schedulerName=scheduler),
    }
    return {
        "metadata": {"name": "llm"},
        "spec": {"replicas": replicas, "leaderWorkerTemplate": groups, **more},
    }


def uids(pods):
    """Uid by pod name."""
    return {name: one["metadata"]["uid"] for name, one in pods.items()}


@virtual_time
async def test_groups_and_their_labels():
    """Names, labels, owners and variables are the LeaderWorkerSet controller's."""
    async with member() as one:
        await one.add(LEADER_WORKER_SETS, serving())
        await asyncio.sleep(3)
        pods = await one.pods()
        sets = {s["metadata"]["name"]: s for s in await items(one, STATEFUL_SETS)}
        services = [s["metadata"]["name"] for s in await items(one, SERVICES)]
        app = await one.get(LEADER_WORKER_SETS, "llm")

    assert sorted(pods) == ["llm-0", "llm-0-1", "llm-0-2", "llm-1", "llm-1-1", "llm-1-2"]
    labels = {name: pod["metadata"]["labels"] for name, pod in pods.items()}
    places = {
        name: (own[f"{PREFIX}/group-index"], own[f"{PREFIX}/worker-index"], own["role"])
        for name, own in labels.items()
    }
    assert places["llm-1"] == ("1", "0", "leader")
    assert places["llm-1-2"] == ("1", "2", "worker")
    assert labels["llm-1"][f"{PREFIX}/group-key"] == labels["llm-1-2"][f"{PREFIX}/group-key"]
    assert pods["llm-1-2"]["metadata"]["annotations"][f"{PREFIX}/size"] == "3"
    [owner] = sets["llm-1"]["metadata"]["ownerReferences"]
    assert (owner["kind"], owner["name"], owner["uid"]) == (
        "Pod",
        "llm-1",
        pods["llm-1"]["metadata"]["uid"],
    )
    values = {v["name"]: v["value"] for v in pods["llm-1-2"]["spec"]["containers"][0]["env"]}
    assert values == {
        "LWS_LEADER_ADDRESS": f"llm-1.llm.{TEAM}",
        "LWS_GROUP_SIZE": "3",
        "LWS_WORKER_INDEX": "2",
    }
    assert services == ["llm"]
    assert (app["status"]["replicas"], app["status"]["readyReplicas"]) == (2, 2)
    assert {c["type"]: c["status"] for c in app["status"]["conditions"]} == {
        "Available": "True",
        "Progressing": "False",
    }


async def items(one, resource):
    """The team's objects of a kind."""
    return (await one.client.list(resource, namespace=TEAM)).items


@virtual_time
async def test_workers_wait_for_a_ready_leader():
    """Under LeaderReady no worker is made before its leader is ready."""
    async with member() as one:
        app = serving(replicas=1, scheduler="nobody", startupPolicy="LeaderReady")
        await one.add(LEADER_WORKER_SETS, app)
        await asyncio.sleep(5)
        assert sorted(await one.pods()) == ["llm-0"]

        await one.bind("llm-0", await first_node(one))
        await asyncio.sleep(5)
        assert sorted(await one.pods()) == ["llm-0", "llm-0-1", "llm-0-2"]


async def first_node(one):
    """The name of a node."""
    return min(n["metadata"]["name"] for n in (await one.client.list(NODES)).items)


@pytest.mark.parametrize(
    ("policy", "want_same"),
    [
        pytest.param(None, {"llm-1", "llm-1-1", "llm-1-2"}, id="the whole group is made anew"),
        pytest.param(
            "None",
            {"llm-0", "llm-0-2", "llm-1", "llm-1-1", "llm-1-2"},
            id="restart policy None makes only the lost pod anew",
        ),
    ],
)
@virtual_time
async def test_a_lost_worker(policy, want_same):
    """A group that loses a pod starts anew as a whole, unless its policy says otherwise."""
    async with member() as one:
        app = serving()
        if policy:
            app["spec"]["leaderWorkerTemplate"]["restartPolicy"] = policy
        await one.add(LEADER_WORKER_SETS, app)
        await asyncio.sleep(3)
        before = uids(await one.pods())
        await one.client.delete(PODS, "llm-0-1", namespace=TEAM)
        await asyncio.sleep(60)
        after = uids(await one.pods())

    assert sorted(after) == sorted(before)
    assert {name for name, uid in after.items() if before[name] == uid} == want_same


@virtual_time
async def test_scaling_down_takes_whole_groups():
    """Fewer replicas: the last groups go, with their workers and StatefulSets."""
    async with member() as one:
        await one.add(LEADER_WORKER_SETS, serving())
        await asyncio.sleep(3)
        change = {"spec": {"replicas": 1}}
        await one.client.patch(LEADER_WORKER_SETS, "llm", change, namespace=TEAM)
        await asyncio.sleep(60)
        sets = [s["metadata"]["name"] for s in await items(one, STATEFUL_SETS)]

        assert sorted(await one.pods()) == ["llm-0", "llm-0-1", "llm-0-2"]
        assert sorted(sets) == ["llm", "llm-0"]


@virtual_time
async def test_a_new_template_rolls_through_the_groups():
    """A changed template replaces group by group, leaders and workers."""
    async with member() as one:
        await one.add(LEADER_WORKER_SETS, serving())
        await asyncio.sleep(3)
        before = uids(await one.pods())
        change = serving()["spec"]["leaderWorkerTemplate"]
        change["workerTemplate"]["metadata"]["labels"]["role"] = "newer"
        change = {"spec": {"leaderWorkerTemplate": change}}
        await one.client.patch(LEADER_WORKER_SETS, "llm", change, namespace=TEAM)
        await asyncio.sleep(200)
        pods = await one.pods()
        app = await one.get(LEADER_WORKER_SETS, "llm")

    roles = {name: pod["metadata"]["labels"]["role"] for name, pod in pods.items()}
    assert roles == {
        "llm-0": "leader",
        "llm-0-1": "newer",
        "llm-0-2": "newer",
        "llm-1": "leader",
        "llm-1-1": "newer",
        "llm-1-2": "newer",
    }
    assert not set(uids(pods).values()) & set(before.values())
    assert app["status"]["updatedReplicas"] == app["status"]["readyReplicas"] == 2
