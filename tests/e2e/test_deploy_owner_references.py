"""The agent's rights suffice where the API server protects owners from being blocked.

With the admission plugin OwnerReferencesPermissionEnforcement, a client that writes
`blockOwnerDeletion` needs `update` on the finalizers of the owner.
"""

import pytest

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.resource import Resource
from global_sched.shared.api.schema import crd
from global_sched.shared.clock import SystemClock
from global_sched.shared.kinds.crds import CRD_KINDS
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.connect import connect
from global_sched.shared.kube.errors import AlreadyExists, Forbidden
from member_agent.jobs.groups import group_spec, make_group
from member_agent.jobs.plugins import companions
from member_agent.jobs.pods import make_pod
from member_agent.jobs.spec import read_spec
from member_agent.jobs.wire import RunJob
from tests.e2e.bare import api_server
from tests.e2e.waiting import until
from tests.wire import stripped, task, vcjob
from tools.local_karmada import access

PLUGIN = "OwnerReferencesPermissionEnforcement"
AGENT = "system:serviceaccount:global-sched:member-agent"
_RBAC = "rbac.authorization.k8s.io"
ROLES = Resource(_RBAC, "v1", "clusterroles", "ClusterRole", namespaced=False)
CRDS = Resource(
    "apiextensions.k8s.io",
    "v1",
    "customresourcedefinitions",
    "CustomResourceDefinition",
    namespaced=False,
)
SERVED = (kinds.VOLCANO_JOBS, kinds.POD_GROUPS)


@pytest.fixture
async def clients(federation, tmp_path):
    clock = SystemClock()
    flag = f"--enable-admission-plugins={PLUGIN}"
    with api_server(federation, tmp_path, flag, users={"agent": AGENT}) as paths:
        found = {}
        for who, path in paths.items():
            transport = await connect(kubeconfig=path, clock=clock)
            found[who] = Client(transport, clock=clock, user_agent="e2e")
        yield found
        for client in found.values():
            await client.close()


async def test_a_jobs_objects_name_their_owner(clients):
    """Pods, PodGroup, ConfigMap and Service are made with the shipped rights, and not without."""
    admin, agent = clients["admin"], clients["agent"]
    job = await until(lambda: _prepared(admin), "the server has the kinds and the Job")
    bodies = _bodies(job)
    assert [resource.kind for resource, _ in bodies] == ["PodGroup", "Pod", "ConfigMap", "Service"]

    async def made():
        return [
            await agent.create(resource, body, namespace="team", dry_run=True)
            for resource, body in bodies
        ]

    assert len(await until(made, "the rights are in force")) == 4

    await _without_the_right(admin)

    async def refused():
        return [await _refusal(agent, resource, body) for resource, body in bodies]

    async def all_refused():
        return all(await refused())

    await until(all_refused, "the right is gone")
    for said in await refused():
        assert "cannot set blockOwnerDeletion" in said


async def _prepared(admin):
    """The Job as the server has it, everything before it made."""
    definitions = [crd(one) for one in CRD_KINDS if one.resource in SERVED]
    wanted = [(CRDS, one) for one in definitions]
    wanted += [
        (kinds.NAMESPACES, {"metadata": {"name": name}}) for name in ("team", "global-sched")
    ]
    for one in (*access.rights(access.AGENT_MEMBER), *access.rights(access.AGENT_JOBS)):
        if one["kind"].startswith("ClusterRole"):
            plural = "clusterroles" if one["kind"] == "ClusterRole" else "clusterrolebindings"
            wanted.append((Resource(_RBAC, "v1", plural, one["kind"], namespaced=False), one))
    for resource, body in wanted:
        await _ensured(admin, resource, body)
    template = {"spec": {"containers": [{"name": "main", "image": "i"}], "restartPolicy": "Never"}}
    body = vcjob("train", task("worker", 1, template=template), namespace="team")
    body["spec"]["plugins"] = {"svc": []}
    await _ensured(admin, kinds.VOLCANO_JOBS, stripped(body), "team")
    return await admin.get(kinds.VOLCANO_JOBS, "train", namespace="team", type=RunJob)


async def _ensured(admin, resource, body, namespace=None):
    try:
        await admin.create(resource, body, namespace=namespace)
    except AlreadyExists:
        return


def _bodies(job):
    """Everything that the agent makes for a Job, by its own code."""
    spec = read_spec(job)
    config, service = companions(job, spec)
    return [
        (kinds.POD_GROUPS, make_group(job, group_spec(spec, [spec.tasks[0].name], {}))),
        (kinds.PODS, make_pod(job, spec, spec.tasks[0], 0, default_scheduler="member-agent")),
        (kinds.CONFIGMAPS, config),
        (kinds.SERVICES, service),
    ]


async def _without_the_right(admin):
    role = await admin.get(ROLES, "member-agent-jobs")
    rules = [one for one in role["rules"] if one["resources"] != ["jobs/finalizers"]]
    assert len(rules) == len(role["rules"]) - 1
    await admin.patch(ROLES, "member-agent-jobs", {"rules": rules})


async def _refusal(agent, resource, body):
    try:
        await agent.create(resource, body, namespace="team", dry_run=True)
    except Forbidden as error:
        return str(error)
    return ""
