"""The recorded Job, compared with what real Volcano made of it."""

import asyncio
import re
from collections.abc import Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from global_sched.embedded.apiserver import ApiServer
from global_sched.shared.api import yaml_text
from global_sched.shared.api.resource import (
    CONFIGMAPS,
    NAMESPACES,
    POD_GROUPS,
    PODS,
    PRIORITY_CLASSES,
    SERVICES,
    VOLCANO_JOBS,
)
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connection import Connection
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.kube.events import EventRecorder
from global_sched.shared.kube.transport import AiohttpTransport
from member_agent.jobs.controller import JobController
from member_agent.jobs.status import FIRST_PHASE
from tests.definitions import crds
from tests.virtual_time import virtual_time

ROOT = Path(__file__).parents[3]
RECORDED = ROOT / "tests/data/karmada-1.18.2/2-scheduled/member1-objects.yaml"
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")


def recorded(kind: str, group: str) -> dict[str, dict[str, Any]]:
    """Recorded objects of a kind, by name."""
    items = yaml_text.read(RECORDED.read_text())["items"]
    return {
        item["metadata"]["name"]: item
        for item in items
        if item["kind"] == kind and item["apiVersion"].startswith(group)
    }


def normal(value: Any) -> Any:
    """Without uids, times and versions; a pod's status and node are its kubelet's."""
    if isinstance(value, Mapping):
        left = {k: normal(v) for k, v in value.items() if k not in _LEFT_OUT}
        return {k: v for k, v in left.items() if v not in ({}, None)}
    if isinstance(value, list):
        return [normal(one) for one in value]
    return _TIME.sub("TIME", _UID.sub("UID", value)) if isinstance(value, str) else value


_KIND = {"apiVersion": "v1", "kind": "Pod"}  # items of a list do not say it
_GROUP_KIND = {"apiVersion": "scheduling.volcano.sh/v1beta1", "kind": "PodGroup"}
_LEFT_OUT = {"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"}


@asynccontextmanager
async def controlled():
    """A member with our Job controller; the client of the one who looks."""
    clock = LoopClock()
    server = ApiServer(clock=clock, seed=1)
    await server.start()
    for crd in crds("*.volcano.sh_*.yaml"):
        server.install_crd(crd)
    client = Client(AiohttpTransport(Connection.to(server.url, clock=clock)), clock=clock)
    await client.create(NAMESPACES, {"metadata": {"name": "team-a"}})
    await client.create(PRIORITY_CLASSES, {"metadata": {"name": "train-high"}, "value": 1000})
    recorder = EventRecorder(client, component="member-agent", instance="test", clock=clock)
    controller = JobController(client, clock=clock, recorder=recorder)
    running = [asyncio.create_task(loop()) for loop in (controller.run, recorder.run)]
    try:
        yield client, running
    finally:
        for task in running:
            task.cancel()
        await asyncio.gather(*running, return_exceptions=True)
        await client.close()
        await server.stop()


async def submit(client: Client) -> dict[str, Any]:
    """Create the recorded Job as Karmada's Work would."""
    job = recorded("Job", "batch.volcano.sh")["train"]
    meta = {k: job["metadata"][k] for k in ("name", "namespace", "labels", "annotations")}
    body = {k: job[k] for k in ("apiVersion", "kind", "spec")} | {"metadata": meta}
    return await client.create(VOLCANO_JOBS, body, namespace="team-a")


async def end_pod(client: Client, name: str, phase: str) -> None:
    """Play the kubelet."""
    body: dict[str, Any] = {"status": {"phase": phase}}
    await client.patch(PODS, name, body, namespace="team-a", subresource="status")


@virtual_time
async def test_pods_and_group_are_volcanos():
    """Names, labels, annotations, variables, owner, volumes, minimum: all as recorded."""
    async with controlled() as (client, _):
        await submit(client)
        await asyncio.sleep(FIRST_PHASE + 1)
        pods = (await client.list(PODS, namespace="team-a")).items
        groups = (await client.list(POD_GROUPS, namespace="team-a")).items
        config_map = await client.get(CONFIGMAPS, "train-svc", namespace="team-a")
        service = await client.get(SERVICES, "train", namespace="team-a")

    want = {n: p for n, p in recorded("Pod", "v1").items() if n.startswith("train-")}
    for pod in pods:
        recorded_pod = want.pop(pod["metadata"]["name"])
        recorded_pod["spec"].pop("nodeName")
        recorded_pod.pop("status")
        pod.pop("status")
        assert normal(pod | _KIND) == normal(recorded_pod)
    assert not want
    group = groups[0] | _GROUP_KIND
    (recorded_group,) = recorded("PodGroup", "scheduling.volcano.sh").values()
    assert group.pop("status")["phase"] == recorded_group.pop("status")["phase"] == "Inqueue"
    assert normal(group) == normal(recorded_group)
    assert config_map["data"] == {
        "VC_MASTER_HOSTS": "train-master-0.train",
        "VC_MASTER_NUM": "1",
        "VC_WORKER_HOSTS": "train-worker-0.train,train-worker-1.train",
        "VC_WORKER_NUM": "2",
        "master.host": "train-master-0.train",
        "worker.host": "train-worker-0.train\ntrain-worker-1.train",
    }
    assert service["spec"]["clusterIP"] == "None"
    assert service["spec"]["selector"] == {
        "volcano.sh/job-name": "train",
        "volcano.sh/job-namespace": "team-a",
    }


@virtual_time
async def test_the_status_is_volcanos():
    """At the end: phases, counts by task, duration. Three differences are ours on purpose.

    Volcano counts its version up with each clean-up (6 in the recording) and loses the counts
    of ended pods then; ours rises once, and the counts stay. Which pods ended is remembered.
    """
    async with controlled() as (client, _):
        await submit(client)
        await asyncio.sleep(2)
        for pod in ("train-master-0", "train-worker-0", "train-worker-1"):
            await end_pod(client, pod, "Succeeded")
        await asyncio.sleep(1)
        job = await client.get(VOLCANO_JOBS, "train", namespace="team-a")
        left = (await client.list(PODS, namespace="team-a")).items
        groups = (await client.list(POD_GROUPS, namespace="team-a")).items
        with pytest.raises(NotFound):
            await client.get(CONFIGMAPS, "train-svc", namespace="team-a")
        with pytest.raises(NotFound):
            await client.get(SERVICES, "train", namespace="team-a")

    want = recorded("Job", "batch.volcano.sh")["train"]["status"]
    want.pop("controlledResources")  # gone with the clean-up that follows, as in the recording
    ends = job["status"].pop("controlledResources")
    assert ends == {"succeeded-master": "0", "succeeded-worker": "0-1"}
    assert normal(job["status"]) == normal(want | {"version": 1, "runningDuration": "2s"})
    assert len(left) == 3
    assert groups == []


@virtual_time
async def test_everything_goes_with_the_job():
    """Deleting the Job deletes pods, PodGroup, ConfigMap and Service through their owner."""
    async with controlled() as (client, _):
        await submit(client)
        await asyncio.sleep(1)
        await client.delete(VOLCANO_JOBS, "train", namespace="team-a")
        await asyncio.sleep(2)
        counts = [
            len((await client.list(kind, namespace="team-a")).items)
            for kind in (POD_GROUPS, SERVICES)
        ]
        pods = (await client.list(PODS, namespace="team-a")).items

    assert counts == [0, 0]
    assert all("deletionTimestamp" in pod["metadata"] for pod in pods)
