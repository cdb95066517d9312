"""Rights in deploy/: they suffice, and none of them is idle without a reason."""

import asyncio
from pathlib import Path

import pytest

from global_sched.embedded.members.racks import hyper_node
from global_sched.shared.api import resource as kinds
from global_sched.shared.api import yaml_text
from global_sched.shared.api.names import DECISION
from tests.flows.federation import TEAM, gang, member, whole
from tests.virtual_time import virtual_time
from tests.wire import (
    batch_job,
    deployment,
    leader_worker_set,
    placement,
    pod_template,
    pytorch_job,
    stripped,
)
from tests.wire_templates import (
    job_set,
    mpi_job,
    ray_cluster,
    ray_job,
    replicated_job,
    train_job,
    trainer_part,
    training_runtime,
    worker_group,
)

DEPLOY = Path(__file__).parents[2] / "deploy"
FILES = (
    "global-sched/rbac.yaml",
    "member-agent/control-plane/access.yaml",
    "member-agent/member.yaml",
    "member-agent/jobs/rbac.yaml",
)
CONTROL, MEMBER = "control-plane", "m1"

IDLE = {
    ("global-sched", CONTROL, "delete", "directives.federation.global-sched.io"): (
        "when a Directive has fewer slices than before"
    ),
    ("member-agent", CONTROL, "delete", "capacityreports.federation.global-sched.io"): (
        "when a report has fewer slices than before"
    ),
    ("member-agent", MEMBER, "update", "jobs.batch.volcano.sh/finalizers"): (
        "asked for by the admission plugin OwnerReferencesPermissionEnforcement, not by a request"
    ),
    ("member-agent", MEMBER, "patch", "pods"): (
        "a gang that has to leave is called for a checkpoint, where it asks for that"
    ),
    ("member-agent", MEMBER, "patch", "replicasets.apps"): (
        "the plan is written on a ReplicaSet without a Deployment"
    ),
}
"""Rights that this day in the life of a federation does not need, and when they are."""


def granted():
    """Every right that a manifest gives: account, server, verb, resource with its group."""
    for file in FILES:
        account = "global-sched" if file.startswith("global-sched") else "member-agent"
        server = MEMBER if file.endswith(("member.yaml", "jobs/rbac.yaml")) else CONTROL
        for obj in yaml_text.read_all((DEPLOY / file).read_text()):
            for rule in obj.get("rules") or ():
                for group in rule["apiGroups"]:
                    for resource in rule["resources"]:
                        for verb in rule["verbs"]:
                            yield account, server, verb, named(resource, group)


def named(resource, group):
    """As messages write it: `jobs.batch/status`."""
    plural, slash, sub = resource.partition("/")
    return (f"{plural}.{group}" if group else plural) + slash + sub


def used(records):
    """The same of what was asked for."""
    for server, one in records:
        sub = f"/{one.subresource}" if one.subresource else ""
        account = one.user.rpartition(":")[2]
        yield account, server, one.verb, named(one.resource + sub, one.group)


def test_no_secrets_and_no_wildcards():
    """No right is for everything, reaches credentials, or gives rights to others."""
    for _, _, verb, resource in granted():
        assert "*" not in verb + resource
        assert not resource.startswith(("secrets", "serviceaccounts", "users", "groups"))
        assert verb not in ("impersonate", "escalate", "bind", "deletecollection")


@pytest.mark.slow
@virtual_time
async def test_every_right_is_used(tmp_path):
    """A day with all kinds of work, mishaps and restarts uses each right, and asks for no other.

    `get` goes with `list`: who may list everything learns nothing more by it.
    """
    members = (member("m1", racks=2), member("m2"))
    async with whole(tmp_path, *members, tenants=(TEAM,), sockets=True) as world:
        await _work_of_all_kinds(world)
        await _cluster_wide_objects(world)
        await _work_without_karmada(world)
        await world.until_phase("train", "Running")
        await world.delete_pod("m1", "train-worker-0")
        await _forge(world, "train")
        await asyncio.sleep(10)
        await _grow(world, "train", 3)
        await asyncio.sleep(40)
        await _work_that_waits(world)
        await world.stop("global-sched")
        await world.start_scheduler(policy={"backoff_seconds": 30})
        await _late(world)
    rights, needed = set(granted()), set(used(world.records))
    lists = {(account, server, name) for account, server, verb, name in rights if verb == "list"}
    idle = {
        one
        for one in rights - needed
        if not (one[2] == "get" and (one[0], one[1], one[3]) in lists)
    }
    assert idle == set(IDLE)


async def _work_of_all_kinds(world):
    """Every kind that has a reader, bound by the agent."""
    plugins = {"svc": [], "env": []}
    policies = [{"event": "PodEvicted", "action": "RestartJob"}]
    train = gang("train", pods=2, seconds=30, spec={"plugins": plugins, "policies": policies})
    template = pod_template(schedulerName="member-agent", restartPolicy="Never")
    web, db = (pod_template(schedulerName="member-agent", labels={"app": n}) for n in ("web", "db"))
    await world.submit(
        train,
        batch_job("batch", template=template),
        deployment("web", template=web),
        deployment("db", kind="StatefulSet", template=db),
        pytorch_job("torch", {"Master": 1, "Worker": 1}, template=template),
        leader_worker_set(
            "llm", groups=1, size=2, worker=pod_template(schedulerName="member-agent")
        ),
        job_set("steps", replicated_job("only", 1, pods=1, template=template)),
        mpi_job("ring", 1, template=template, launcher=template),
        ray_cluster("ray", worker_group(template=web), head=web),
        ray_job("tune", worker_group(template=web), head=web, submitter=template),
        training_runtime(
            "torch", trainer_part(template=template), kind="TrainingRuntime", namespace=TEAM
        ),
        train_job("fit", 1, kind="TrainingRuntime", namespace=TEAM),
        where=placement("m1"),
    )


async def _work_that_waits(world):
    """A waiting list comes, changes and goes."""
    for name in ("wide", "wider"):
        await world.submit(gang(name, pods=9), where=placement("m1"))
        await asyncio.sleep(35)
    for name in ("wide", "wider"):
        await world.admin.delete(kinds.VOLCANO_JOBS, name, namespace=TEAM)
    await asyncio.sleep(35)


async def _cluster_wide_objects(world):
    """PriorityClasses for all members, a Tenant, and a HyperNode that says nonsense."""
    for policy in yaml_text.read_all((DEPLOY / "policies/priority-classes.yaml").read_text()):
        await world.apply(policy)
    label = {"federation.global-sched.io/propagate": "true"}
    await world.apply(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": "urgent", "labels": label},
            "value": 7,
        },
        {
            "apiVersion": "federation.global-sched.io/v1alpha1",
            "kind": "Tenant",
            "metadata": {"name": "team"},
            "spec": {"namespaces": [TEAM]},
        },
    )
    client = world.federation.member_client("m1")
    lost = hyper_node("lost", 3, "", "HyperNode", ["nowhere"])
    await client.create(kinds.HYPER_NODES, lost)
    await client.close()


async def _work_without_karmada(world):
    """Jobs that were made in the member: one that ends and is cleaned, one too large."""
    client = world.federation.member_client("m1")
    await client.create(kinds.NAMESPACES, {"metadata": {"name": "local"}})
    for job in (
        gang("short", pods=1, seconds=1, spec={"ttlSecondsAfterFinished": 2}, namespace="local"),
        gang("large", pods=9, namespace="local"),
    ):
        await client.create(kinds.VOLCANO_JOBS, stripped(job), namespace="local")
    await client.close()


async def _forge(world, name):
    """An edit of what only global-sched writes."""
    body = {"metadata": {"annotations": {DECISION: "{}"}}}
    await world.admin.patch(kinds.RESOURCE_BINDINGS, f"{name}-job", body, namespace=TEAM)


async def _grow(world, name, pods):
    """A Volcano Job asks for more pods."""
    tasks = (await world.job(name))["spec"]["tasks"]
    tasks[0]["replicas"] = pods
    body = {"spec": {"tasks": tasks}}
    await world.admin.patch(kinds.VOLCANO_JOBS, name, body, namespace=TEAM)


async def _late(world):
    """A job that its member cannot place is taken back."""
    world.hold("m2", "patch", "capacityreports*")
    await world.cordon("m2", [f"m2-0-{at}" for at in range(4)])
    await world.submit(gang("late"), where=placement("m2"))
    await asyncio.sleep(10)
    world.plan("m2").clear()
    await asyncio.sleep(125)
    assert await world.clusters("late") == []
