"""A node dies under a gang: what failed is replaced close to the rest, nothing else is touched."""

import asyncio
import json

import pytest

from global_sched.cli import nodes
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import OUT_OF_SERVICE, RECOVERY
from global_sched.shared.kube.errors import NotFound
from global_sched.view.look import find_job, look
from global_sched.view.losses import loss_lines
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import GPU, pod_template, pytorch_job

CONFIG_MAP = "member-agent-node-trouble"
OFF = {"key": OUT_OF_SERVICE, "value": "nodeshutdown", "effect": "NoExecute"}


async def uids(world):
    """The pods of `train` by name, with uid and node."""
    return {
        pod["metadata"]["name"]: (pod["metadata"]["uid"], pod["spec"].get("nodeName"))
        for pod in await world.pods("m1")
        if pod["metadata"]["name"].startswith("train-")
    }


async def running(world):
    """How many pods of `train` run and are not asked to go."""
    return sum(
        pod["status"]["phase"] == "Running" and "deletionTimestamp" not in pod["metadata"]
        for pod in await world.pods("m1")
        if pod["metadata"]["name"].startswith("train-")
    )


async def trouble(world):
    """What the agent has written of the nodes, None before the first time."""
    client = world.federation.member_client("m1")
    try:
        found = await client.get(kinds.CONFIGMAPS, CONFIG_MAP, namespace="global-sched")
    except NotFound:
        return None
    finally:
        await client.close()
    return json.loads(found["data"]["nodes"])


async def taint(world, node, taints):
    """What an administrator does with a node's taints."""
    client = world.federation.member_client("m1")
    await client.patch(kinds.NODES, node, {"spec": {"taints": taints}})
    await client.close()


async def kill_under(world):
    """A running gang of four in a rack of five, and the node of its last pod, silent."""
    await world.submit(gang("train", pods=4, tier=1, seconds=36_000))
    await world.until_phase("train", "Running")
    before = await uids(world)
    node = before["train-worker-3"][1]
    await world.federation.running_member("m1").silence_node(node)
    return before, node


@pytest.mark.slow
@virtual_time
async def test_a_dead_machine_and_its_replacement(tmp_path):
    """With the taint out-of-service the gang is whole in two seconds, three of four undisturbed."""
    async with whole(tmp_path, member("m1", racks=2, nodes=5)) as world:
        before, node = await kill_under(world)
        decision = (await world.decision("train"))["id"]
        assert await trouble(world) is None
        await asyncio.sleep(100)
        standing = await trouble(world)
        report = await world.report("m1")
        stuck = await uids(world)
        await taint(world, node, [OFF])
        await asyncio.sleep(4)
        after, alive = await uids(world), await running(world)

        assert standing[node]["standing"] is True
        assert standing[node]["cause"] == "NodeNotReady"
        [told] = report["trouble"]
        assert (told["node"], told["state"], told["cause"]) == (node, "trouble", "NodeNotReady")
        assert report["nodes"]["troubled"] == 1
        assert stuck == before
        assert alive == 4
        same = [name for name in before if after[name] == before[name]]
        assert same == ["train-worker-0", "train-worker-1", "train-worker-2"]
        assert after["train-worker-3"][1] != node
        assert {on.rpartition("-")[0] for _, on in after.values()} == {node.rpartition("-")[0]}
        assert (await world.decision("train"))["id"] == decision


@pytest.mark.slow
@virtual_time
async def test_a_machine_that_is_back_is_on_probation_across_agents(tmp_path):
    """The next agent knows it from the ConfigMap, and the leader counts the node last.

    A gang that needs every free node of the member gets it, too.
    """
    async with whole(tmp_path, member("m1", racks=2, nodes=5)) as world:
        _, node = await kill_under(world)
        await asyncio.sleep(70)
        await taint(world, node, [OFF])
        await asyncio.sleep(10)
        await world.federation.running_member("m1").recover_node(node)
        await asyncio.sleep(10)
        await taint(world, node, None)
        await asyncio.sleep(20)
        known = await trouble(world)
        await world.kill("m1")
        await world.start_agent("m1")
        await asyncio.sleep(12)
        report = await world.report("m1")

        assert (known[node].get("standing", False), known[node]["cause"]) == (False, "OutOfService")
        [told] = report["trouble"]
        assert (told["node"], told["state"], report["nodes"]["probation"]) == (node, "probation", 1)
        assert world.agents["m1"].health().last_resort == {node}
        await world.submit(gang("every", pods=6, tier=None, seconds=36_000))
        await world.until_phase("every", "Running")
        every = {
            pod["spec"]["nodeName"]
            for pod in await world.pods("m1")
            if pod["metadata"]["name"].startswith("every-")
        }
        assert (len(every), node in every) == (6, True)

        member_client = world.federation.member_client("m1")
        await nodes.ask_to_clear(member_client, "global-sched", [node, "no-such-node"])
        await member_client.close()
        shown = list(nodes.rows_of(await nodes.first_slice(world.admin, "m1")))
        await asyncio.sleep(45)
        after = list(nodes.rows_of(await nodes.first_slice(world.admin, "m1")))

        assert [(row["node"], row["state"]) for row in shown] == [(node, "probation")]
        assert (after, await trouble(world)) == ([], {})


@pytest.mark.slow
@virtual_time
async def test_a_missed_lease_frees_the_name_where_the_admin_says_so(tmp_path):
    """With `fencing: lease` the gang is whole within 170 s of the death; no eviction is awaited."""
    async with whole(tmp_path, member("m1", racks=2, nodes=5), start=False) as world:
        await world.start_agent("m1", fencing="lease")
        await world.start_scheduler()
        before, node = await kill_under(world)
        await asyncio.sleep(170)
        after, alive = await uids(world), await running(world)

        assert alive == 4
        assert [name for name in before if after[name] != before[name]] == ["train-worker-3"]
        assert after["train-worker-3"][1] not in {node, *(on for _, on in before.values())}
        assert await world.gone(kinds.VOLCANO_JOBS, "train", TEAM) is False


@pytest.mark.slow
@virtual_time
async def test_a_ladder_with_the_timers_of_the_policy(tmp_path):
    """A crash costs its pod; a replacement without room costs the whole job after `step`."""
    rules = json.dumps({"scopes": ["pod", "job"], "budget": {"losses": 3, "window": "1h"}})
    async with whole(tmp_path, member("m1", racks=1, nodes=4), start=False) as world:
        await world.start_agent("m1")
        await world.start_scheduler(policy={"recovery_step_seconds": 30})
        job = gang("train", pods=3, tier=1, seconds=36_000)
        job["metadata"].setdefault("annotations", {})[RECOVERY] = rules
        await world.submit(job)
        await world.until_phase("train", "Running")
        machine = world.federation.running_member("m1")
        before = await uids(world)
        await machine.crash_pod(TEAM, "train-worker-1", 3)
        await asyncio.sleep(10)
        crashed = await uids(world)
        nodes_ = [f"m1-0-{at}" for at in range(4)]
        await world.cordon("m1", nodes_)
        await world.delete_pod("m1", "train-worker-2")
        await asyncio.sleep(25)
        held = await uids(world)
        await asyncio.sleep(10)
        await world.cordon("m1", nodes_, on=False)
        await asyncio.sleep(20)
        after, alive = await uids(world), await running(world)

        progress = (await world.report("m1"))["workloads"]
        [lost] = [one["losses"] for one in progress if one.get("losses")]
        member_client = world.federation.member_client("m1")
        events = (await member_client.list(kinds.EVENTS, namespace=TEAM)).items
        await member_client.close()
        view = await look(world.admin, world.clock)
        lines = list(loss_lines(find_job(view.state, "train", TEAM)))

        assert [(one["pod"], one["cause"], one["detail"]) for one in lost] == [
            ("train-worker-1", "ExitCode", "3")
        ]
        assert lines[0] == "Losses within 24 h"
        assert lines[1].endswith(f"train-worker-1 on {lost[0]['node']} in m1: ExitCode 3")
        assert [e["note"] for e in events if e["reason"] == "PodLost"] == [
            f"pod train-worker-1 on node {lost[0]['node']} was lost: ExitCode 3"
        ]
        assert [name for name in before if crashed[name] != before[name]] == ["train-worker-1"]
        assert [name for name in held if held[name] != crashed[name]] == ["train-worker-2"]
        assert not {uid for uid, _ in after.values()} & {uid for uid, _ in held.values()}
        assert alive == 3


@pytest.mark.slow
@virtual_time
async def test_exit_codes_that_blame_a_node(tmp_path):
    """A job's own makes that job avoid the node, one of the Policy warns all.

    And where no node is left, the report says that the ladder waits for the leader.
    """
    rules = json.dumps({"scopes": ["pod", "cluster"], "exitCodes": {"node": [79]}})
    timers = {"recovery_step_seconds": 30, "recovery_node_exit_codes": [91]}
    async with whole(tmp_path, member("m1", racks=1, nodes=5), start=False) as world:
        await world.start_agent("m1")
        await world.start_scheduler(policy=timers)
        job = gang("train", pods=3, tier=1, seconds=36_000)
        job["metadata"].setdefault("annotations", {})[RECOVERY] = rules
        await world.submit(job)
        await world.until_phase("train", "Running")
        machine = world.federation.running_member("m1")
        before = await uids(world)
        await machine.crash_pod(TEAM, "train-worker-0", 79)
        await asyncio.sleep(10)
        avoided, quiet = await uids(world), await trouble(world)
        await machine.crash_pod(TEAM, "train-worker-1", 91)
        await asyncio.sleep(10)
        after, warned = await uids(world), await trouble(world)
        report = await world.report("m1")
        alive = await running(world)
        rack = [f"m1-0-{at}" for at in range(5)]
        await world.cordon("m1", rack)
        await world.delete_pod("m1", "train-worker-2")
        await asyncio.sleep(45)
        [waiting] = (await world.report("m1"))["workloads"]
        await world.cordon("m1", rack, on=False)
        await asyncio.sleep(15)
        [healed] = (await world.report("m1"))["workloads"]

        assert (waiting["waitsAt"], healed.get("waitsAt")) == ("cluster", None)
        own, shared = before["train-worker-0"][1], before["train-worker-1"][1]
        assert avoided["train-worker-0"][1] not in {node for _, node in before.values()}
        assert quiet is None
        assert list(warned) == [shared]
        assert (warned[shared]["cause"], warned[shared].get("standing")) == ("ExitCode", None)
        [told] = report["trouble"]
        assert (told["state"], told["detail"]) == ("probation", "exit code 91")
        assert after["train-worker-1"][1] not in {own, shared}
        assert alive == 3


def whole_again():
    """A PyTorchJob that starts anew as a whole when a worker fails."""
    template = pod_template(
        annotations={"federation.global-sched.io/run-seconds": "36000"}, restartPolicy="ExitCode"
    )
    template["spec"]["containers"][0] |= {
        "name": "pytorch",
        "resources": {"limits": {"cpu": "8", GPU: "8"}},
    }
    job = pytorch_job("train", {"Master": 1, "Worker": 2}, namespace=TEAM, template=template)
    for one in job["spec"]["pytorchReplicaSpecs"].values():
        one["restartPolicy"] = one["template"]["spec"].pop("restartPolicy", "ExitCode")
    job["metadata"].setdefault("annotations", {})[RECOVERY] = '{"scopes": ["job"]}'
    return job


@pytest.mark.slow
@virtual_time
async def test_a_whole_gang_of_another_controller_starts_anew_where_it_asks_for_it(tmp_path):
    """Its controller makes the crashed worker again; ten seconds later the agent takes the rest.

    A second agent, after the first one was killed at that moment, takes nothing more.
    """
    async with whole(tmp_path, member("m1", racks=1, nodes=5)) as world:
        await world.submit(whole_again())
        await asyncio.sleep(20)
        before = await uids(world)
        await world.federation.running_member("m1").crash_pod(TEAM, "train-worker-0", 137)
        await asyncio.sleep(8)
        alone = await uids(world)
        await asyncio.sleep(6)
        await world.kill("m1")
        await world.start_agent("m1")
        await asyncio.sleep(20)
        after, alive = await uids(world), await running(world)
        await asyncio.sleep(60)

        assert [name for name in before if alone[name] != before[name]] == ["train-worker-0"]
        assert sorted(name for name in alone if after[name] != alone[name]) == [
            "train-master-0",
            "train-worker-1",
        ]
        assert alive == 3
        assert await uids(world) == after


@pytest.mark.slow
@virtual_time
async def test_no_pod_is_bound_or_freed_in_a_term_that_has_ended(tmp_path):
    """An agent that has not stopped yet frees and binds none, and forgets no node that is cleared.

    What it makes of a Volcano Job is what any other replica makes, by the same names.
    """
    async with whole(tmp_path, member("m1", racks=2, nodes=5)) as world:
        _, node = await kill_under(world)
        await asyncio.sleep(100)  # the silence is known, and the pods are leaving
        world.records.clear()
        term = world.end_term("m1")
        await taint(world, node, [OFF])
        client = world.federation.member_client("m1")
        await nodes.ask_to_clear(client, "global-sched", [node])
        await client.close()
        await world.submit(gang("new", pods=2))
        await asyncio.sleep(40)
        assert world.agents["m1"]._term is term
        assert world.written("member-agent", "m1") <= {
            "create events",
            "create podgroups",
            "create pods",
            "patch jobs/status",
            "patch podgroups/status",
            "update leases",
        }


@pytest.mark.slow
@virtual_time
async def test_no_gang_starts_anew_in_a_term_that_has_ended(tmp_path):
    """An agent that has not stopped yet leaves the rest of the gang to the one that leads."""
    async with whole(tmp_path, member("m1", racks=1, nodes=5)) as world:
        await world.submit(whole_again())
        await asyncio.sleep(20)
        before = await uids(world)
        world.records.clear()
        world.end_term("m1")
        await world.federation.running_member("m1").crash_pod(TEAM, "train-worker-0", 137)
        await asyncio.sleep(40)
        after = await uids(world)

        assert [name for name in before if after[name] != before[name]] == ["train-worker-0"]
        assert world.written("member-agent", "m1") <= {"create events", "update leases"}
