"""The agent among everything else that lives in a member."""

import asyncio

import pytest

from global_sched.shared.api.names import execution_namespace
from global_sched.shared.api.resource import (
    CAPACITY_REPORTS,
    CONFIGMAPS,
    CRDS,
    EVENTS,
    HYPER_NODES,
    LEASES,
    NAMESPACES,
    POD_GROUPS,
    PODS,
    VOLCANO_JOBS,
)
from global_sched.shared.kube.errors import ConfigError
from global_sched.shared.kube.faults import Fault, FaultKind
from global_sched.shared.model.instant import format_micro
from tests.builders import gang
from tests.builders import pod_set as model_pod_set
from tests.deep import SETTLED_SECONDS
from tests.flows.agent_world import CLUSTER, agent_world
from tests.member_agent.directives import directive, entry
from tests.member_agent.member import gang_objects, hyper_node, pod, pod_group, racks, volcano_job
from tests.virtual_time import virtual_time


@virtual_time
async def test_poison_does_not_stop_the_others():
    """Bad HyperNodes and PodGroups get an Event or a condition; sound gangs are bound."""
    objects = [
        *racks(1, 2),
        hyper_node("a", 3, children=["b"]),
        hyper_node("b", 4, children=["a"]),
        pod_group("absurd", minimum=10**9),
        pod("lost", group="absurd"),
        *gang_objects("g", pods=2, tier=1),
    ]
    async with agent_world(objects) as world, world.agent():
        await asyncio.sleep(15)

        assert sorted(await world.nodes_of_pods()) == ["g-worker-0", "g-worker-1"]
        bad = await world.member.get(HYPER_NODES, "a")
        [condition] = bad["status"]["conditions"]
        assert (condition["type"], condition["status"]) == ("TreeValid", "False")
        assert "cycle" in condition["message"]
        told = {o.what: o.reason for o in (await world.report()).spec.omitted}
        assert "cycle" in told["HyperNode a"]
        assert told["PodGroup team/absurd"].startswith("spec.minMember is 1000000000")
        events = (await world.member.list(EVENTS, namespace="team")).items
        [event] = [e for e in events if e["regarding"]["name"] == "absurd"]
        assert (event["reason"], event["type"]) == ("SetAside", "Warning")

        await world.member.delete(HYPER_NODES, "b")
        await asyncio.sleep(15)
        mended = await world.member.get(HYPER_NODES, "a")
        # Its member is still missing, which is another problem than a cycle.
        assert "does not exist" in mended["status"]["conditions"][0]["message"]


@virtual_time
async def test_a_refusal_by_the_agent_stands_in_the_report():
    """A directed gang that does not fit says why, for the leader to withdraw it."""
    needs = gang(model_pod_set("worker", pods=3, gpus=8, cpu=1))
    objects = [*racks(1, 2), *gang_objects("g", pods=3, binding="b")]
    told = directive(entry("b", {"worker": 3}, gang=needs))
    async with agent_world(objects, told) as world, world.agent():
        await asyncio.sleep(5)

        seen = await world.reported("b")
        assert (seen.bound, seen.minimum_reached) == (None, False)
        assert seen.reason == "the cluster has room for 2 of 3 pods"


@virtual_time
async def test_report_before_bind():
    """The entry is answered before the first pod exists; bound pods follow in a later report."""
    needs = gang(model_pod_set("worker", pods=2, gpus=8, cpu=1))
    told = directive(entry("b", {"worker": 2}, gang=needs))
    async with agent_world(racks(1, 2), told) as world, world.agent():
        await asyncio.sleep(3)
        before = await world.reported("b")
        assert (before.decision, before.bound) == ("decision-b", None)

        await world.apply([pod("thief", gpus=8)])
        await world.apply(gang_objects("g", pods=2, binding="b"))
        await asyncio.sleep(5)

        assert sorted(await world.nodes_of_pods()) == ["g-worker-0", "g-worker-1"]
        assert (await world.reported("b")).bound == {"worker": 2}


@virtual_time
async def test_growth_is_directed_and_joins():
    """Pods beyond the admitted amount start when a new decision admits them."""
    objects = [*racks(1, 3), *gang_objects("g", pods=3, minimum=1, binding="b")]
    async with agent_world(objects, directive(entry("b", {"worker": 2}))) as world, world.agent():
        await asyncio.sleep(3)
        assert len(await world.nodes_of_pods()) == 2

        await world.direct(directive(entry("b", {"worker": 3}, decision="grown", at=9)))
        await asyncio.sleep(5)
        assert len(await world.nodes_of_pods()) == 3
        seen = await world.reported("b")
        assert (seen.decision, seen.minimum_reached, seen.bound) == ("grown", True, {"worker": 3})


@virtual_time
async def test_volcano_is_found():
    """Its scheduler by Lease, its topology plugin by its configuration."""
    async with agent_world(racks(1, 1)) as world:
        await world.member.create(NAMESPACES, {"metadata": {"name": "volcano-system"}})
        spec = {
            "holderIdentity": "vc-0",
            "renewTime": format_micro(world.clock.now()),
            "leaseDurationSeconds": 15,
        }
        await world.member.create(
            LEASES, {"metadata": {"name": "vc-scheduler"}, "spec": spec}, namespace="volcano-system"
        )
        async with world.agent():
            told = (await world.report()).spec
            assert (told.volcano_scheduler, told.volcano_topology) == (True, False)
        data = {"volcano-scheduler.conf": "tiers:\n- plugins:\n  - name: network-topology-aware\n"}
        await world.member.create(
            CONFIGMAPS,
            {"metadata": {"name": "volcano-scheduler-configmap"}, "data": data},
            namespace="volcano-system",
        )
        async with world.agent():
            assert (await world.report()).spec.volcano_topology
        async with world.agent(volcano_scheduler=False, volcano_topology=False):
            assert not (await world.report()).spec.volcano_scheduler
        # One that may not be read is as good as none, unless the server refuses everything yet.
        lease = ("get", "leases.coordination.k8s.io")
        world.faults.add(Fault(*lease, kind=FaultKind.FORBIDDEN, times=1, name="vc-scheduler"))
        world.faults.add(Fault("get", "/readyz", kind=FaultKind.FORBIDDEN, times=1))
        async with world.agent():
            assert (await world.report()).spec.volcano_scheduler


@virtual_time
async def test_volcano_jobs_are_not_run_twice():
    """Where Volcano's controllers hold their Lease, run_volcano_jobs is refused."""
    async with agent_world() as world:
        spec = {"holderIdentity": "vc-0", "renewTime": format_micro(world.clock.now())}
        await world.member.create(
            LEASES,
            {"metadata": {"name": "vc-controller-manager"}, "spec": spec},
            namespace="kube-system",
        )
        with pytest.raises(ConfigError, match="Volcano's controllers run here"):
            async with world.agent(run_volcano_jobs=True):
                pass


@virtual_time
async def test_a_volcano_job_runs_from_job_to_nodes():
    """With run_volcano_jobs the agent makes PodGroup and pods, and places them."""
    job = volcano_job("train", binding="b")
    container = {"name": "c", "image": "registry.example/t:1"}
    container["resources"] = {"requests": {"cpu": "1"}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    job["spec"] = {"tasks": [{"name": "worker", "replicas": 2, "template": template}]}
    told = directive(entry("b", {"worker": 2}, domain="r1", tier=1))
    async with agent_world(racks(2, 2), told) as world, world.agent(run_volcano_jobs=True):
        await world.apply([job])
        await asyncio.sleep(10)

        nodes = await world.nodes_of_pods()
        assert sorted(nodes) == ["train-worker-0", "train-worker-1"]
        [group] = (await world.member.list(POD_GROUPS, namespace="team")).items
        assert group["spec"]["minMember"] == 2
        stored = await world.member.get(VOLCANO_JOBS, "train", namespace="team")
        assert stored["status"]["state"]["phase"] in ("Pending", "Running")


@virtual_time
async def test_missing_kinds_are_one_line():
    """A control plane without our kinds is refused at the start, with the way out."""
    async with agent_world() as world:
        await world.control.delete(CRDS, "directives.federation.global-sched.io")
        await asyncio.sleep(1)
        with pytest.raises(ConfigError, match=r"directives.*apply the manifests in crds/"):
            async with world.agent():
                pass


@pytest.mark.deep
@virtual_time
async def test_a_settled_member_makes_no_writes_but_leases_and_reports():
    """Any time with pending, bound and refused pods costs no other write."""
    objects = [
        *racks(1, 2),
        *gang_objects("g", pods=2, binding="b"),
        *gang_objects("stuck", pods=9),
        pod("huge", gpus=99),
    ]
    async with agent_world(objects, directive(entry("b", {"worker": 2}))) as world:
        records = []
        async with world.agent(lease_seconds=60.0):
            await asyncio.sleep(120)
            world.servers["member"].on_request(records.append)
            world.servers["control"].on_request(records.append)
            await asyncio.sleep(SETTLED_SECONDS)

        writes = {(r.verb, r.resource) for r in records if r.verb not in ("get", "list", "watch")}
        assert writes <= {("update", "leases"), ("patch", "capacityreports")}


@virtual_time
async def test_both_servers_may_fail_for_a_while():
    """Cut watches, a busy and a failing server: the agent goes on where it was."""
    async with agent_world(racks(1, 3)) as world, world.agent():
        world.faults.add(
            Fault("watch", "*", kind=FaultKind.CUT, times=12),
            Fault("list", "*", kind=FaultKind.ERROR, times=6),
            Fault("patch", "capacityreports*", kind=FaultKind.ERROR, times=5),
            Fault("update", "leases*", kind=FaultKind.LOST_AFTER),
        )
        await asyncio.sleep(20)
        await world.apply(gang_objects("g", pods=2))
        await asyncio.sleep(60)

        assert len(await world.nodes_of_pods()) == 2
        listed = (await world.member.list(PODS, namespace="team")).items
        assert len(listed) == 2


@virtual_time
async def test_conditions_that_were_not_written_are_tried_again_where_nothing_changes():
    """Attempts of each fail: the bad HyperNode and the pods that wait say why all the same."""
    objects = [
        *racks(1, 2),
        hyper_node("a", 3, children=["b"]),
        hyper_node("b", 4, children=["a"]),
        *gang_objects("g", pods=5, tier=1),
    ]
    async with agent_world(objects) as world:
        world.faults.add(
            Fault("patch", "hypernodes*", kind=FaultKind.ERROR, times=12),
            Fault("patch", "pods*", kind=FaultKind.ERROR, times=3),
        )
        async with world.agent():
            await asyncio.sleep(600)

        assert len(world.faults.fired) == 15
        bad = await world.member.get(HYPER_NODES, "a")
        assert bad["status"]["conditions"][0]["status"] == "False"
        for one in (await world.member.list(PODS, namespace="team")).items:
            [said] = [x for x in one["status"]["conditions"] if x["type"] == "PodScheduled"]
            assert (said["status"], said["reason"]) == ("False", "Unschedulable")


@virtual_time
async def test_a_deleted_report_stands_again_within_a_second():
    """The agent watches its own reports, also after its watches were cut."""
    where = execution_namespace(CLUSTER)
    async with agent_world(racks(1, 1)) as world, world.agent():
        await asyncio.sleep(3)
        for _ in range(2):
            before = (await world.report()).metadata.uid
            await world.control.delete(CAPACITY_REPORTS, CLUSTER, namespace=where)
            await asyncio.sleep(1)
            assert (await world.report()).metadata.uid != before
            world.faults.add(Fault("watch", "*", kind=FaultKind.CUT, times=12))
            await asyncio.sleep(30)
