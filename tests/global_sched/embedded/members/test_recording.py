"""Workloads and their pods, compared with what a real cluster made of the same objects."""

import asyncio
import copy
import re
from collections.abc import Mapping
from typing import Any

import pytest

from global_sched.embedded.members.racks import NodePlan, node
from global_sched.shared.api import yaml_text
from global_sched.shared.api.resource import (
    BATCH_JOBS,
    DEPLOYMENTS,
    PODS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from tests.global_sched.embedded.members.member_world import ROOT, TEAM, member
from tests.virtual_time import virtual_time

RECORDED = ROOT / "tests/data/karmada-1.18.2/2-scheduled"
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ")
_HASH = re.compile(r"\b(web|db)-[a-z0-9]{8,10}(-[a-z0-9]{5})?\b")
_LEFT_OUT = {"uid", "resourceVersion", "generation", "managedFields", "creationTimestamp"}
_LABELS = {"pod-template-hash": "HASH"}
PLAN = NodePlan(nodes=tuple(node(f"m1-{i}", labels={"type": "kwok"}) for i in range(8)))


def recorded(member_name: str, kind: str, name: str) -> dict[str, Any]:
    """One recorded object."""
    items = yaml_text.read((RECORDED / f"{member_name}-objects.yaml").read_text())["items"]
    return next(
        item
        for item in items
        if (item["kind"], item["metadata"]["name"]) == (kind, name)
        and not item["apiVersion"].startswith("batch.volcano")
    )


def normal(value: Any) -> Any:
    """Without ids, times, versions, and the hashes of pod templates."""
    if isinstance(value, Mapping):
        left = {k: _LABELS.get(k) or normal(v) for k, v in value.items() if k not in _LEFT_OUT}
        return {k: v for k, v in left.items() if v not in ({}, None)}
    if isinstance(value, list):
        return [normal(one) for one in value]
    if not isinstance(value, str):
        return value
    return _HASH.sub(r"\1-HASH", _TIME.sub("TIME", _UID.sub("UID", value)))


def submitted(obj: dict[str, Any]) -> dict[str, Any]:
    """A recorded workload as it was created, before its controllers."""
    whole = copy.deepcopy(obj)
    meta = {k: v for k, v in whole["metadata"].items() if k in ("name", "labels", "annotations")}
    meta["annotations"].pop("deployment.kubernetes.io/revision", None)
    body = {k: whole[k] for k in ("apiVersion", "kind", "spec")}
    return body | {"metadata": meta}


async def first(one: Any, resource: Any, prefix: str) -> dict[str, Any]:
    """The first object of a kind whose name begins so."""
    items = (await one.client.list(resource, namespace=TEAM)).items
    found = next(item for item in items if item["metadata"]["name"].startswith(prefix))
    return {"apiVersion": resource.api_version, "kind": resource.kind, **found}


@virtual_time
async def test_deployment():
    """Deployment, ReplicaSet and pod: annotations, labels, defaults, statuses."""
    async with member(plan=PLAN) as one:
        want = recorded("member1", "Deployment", "web")
        await one.add(DEPLOYMENTS, submitted(want))
        await asyncio.sleep(3)
        deployment = await one.get(DEPLOYMENTS, "web")
        replica_set = await first(one, REPLICA_SETS, "web-")
        pod = await first(one, PODS, "web-")

    assert normal(deployment) == normal(want)
    assert normal(replica_set) == normal(recorded("member1", "ReplicaSet", "web-66c98bc79d"))
    assert same_pod(pod, recorded("member1", "Pod", "web-66c98bc79d-7bccq"))


@virtual_time
async def test_stateful_set():
    """StatefulSet and pod, with revisions, index labels and host names."""
    async with member(plan=PLAN) as one:
        want = recorded("member2", "StatefulSet", "db")
        await one.add(STATEFUL_SETS, submitted(want))
        await asyncio.sleep(4)
        stateful_set = await one.get(STATEFUL_SETS, "db")
        pod = await first(one, PODS, "db-1")

    assert normal(stateful_set) == normal(want)
    assert same_pod(pod, recorded("member2", "Pod", "db-1"))


@virtual_time
async def test_batch_job():
    """Job and pod: completion indexes, selectors by uid, conditions of the end."""
    async with member(plan=PLAN, run_seconds=1) as one:
        want = recorded("member1", "Job", "sweep")
        body = submitted(want)
        for field in ("selector", "manualSelector"):
            body["spec"].pop(field)
        labels = body["spec"]["template"]["metadata"].pop("labels")
        body["metadata"]["labels"] = {
            k: v for k, v in body["metadata"]["labels"].items() if k not in labels
        }
        await one.add(BATCH_JOBS, body)
        await asyncio.sleep(4)
        job = await one.get(BATCH_JOBS, "sweep")
        pod = await first(one, PODS, "sweep-0-")

    assert normal(job["status"]) == normal(want["status"])
    items = yaml_text.read((RECORDED / "member1-objects.yaml").read_text())["items"]
    recorded_pod = next(i for i in items if i["metadata"]["name"].startswith("sweep-0-"))
    recorded_pod["metadata"].pop("name")
    pod["metadata"].pop("name")
    assert same_pod(pod, recorded_pod)


def same_pod(pod: dict[str, Any], want: dict[str, Any]) -> bool:
    """Equal but for node and address; conditions and container states are their kubelet's."""
    for one in (pod, want):
        one["spec"].pop("nodeName")
        status = one["status"]
        phase = {"phase": status["phase"], "qosClass": status["qosClass"]}
        one["status"] = phase
    if normal(pod) != normal(want):
        pytest.fail(f"{normal(pod)}\n!=\n{normal(want)}")
    return True
