"""A whole federation in one loop: servers, Karmada, members, and both programs with their rights.

Everything is the real thing over loopback HTTP in virtual time; a test may put faults between a
program and its servers, or kill a program where it stands.
"""

import asyncio
import json
from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import aclosing, asynccontextmanager, suppress
from pathlib import Path
from typing import Any

from global_sched.cli.apply import apply_manifest
from global_sched.embedded.federation import FREE_PORTS, Federation, MemberSpec
from global_sched.embedded.members.racks import rack_plan
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION, execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.clock import LoopClock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from tests.flows.programs import Programs
from tests.wire import GPU, Object, placement, pod_template, stripped, task, vcjob

TEAM = "team-a"


def member(name: str, *, racks: int = 1, nodes: int = 4, **fields: Any) -> MemberSpec:
    """A member of racks with 8 GPUs per node."""
    return MemberSpec(name=name, nodes=rack_plan(name, racks=racks, nodes=nodes), **fields)


def gang(
    name: str,
    *,
    pods: int = 4,
    gpus: int = 8,
    tier: int | None = 1,
    seconds: int = 600,
    **more: Any,
) -> Object:
    """A Volcano Job of equal workers that run for so many seconds."""
    run = {"federation.global-sched.io/run-seconds": str(seconds)}
    template = pod_template(annotations=run, restartPolicy="Never")
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "8", GPU: str(gpus)}}
    return vcjob(name, task("worker", pods, template=template), tier=tier, **more)


class Whole(Programs):
    """The running federation and its programs, for one who looks and submits."""

    admin: Client
    allowed: tuple[str, ...] = ()
    """Parts of the violations that a test brings about itself."""

    async def apply(self, *objects: Object) -> None:
        """What `kubectl apply` does with them, on the control plane."""
        for obj in objects:
            await apply_manifest(self.admin, stripped(obj))

    async def submit(self, *jobs: Object, where: Object | None = None) -> None:
        """Jobs with a policy of their own each, their namespace included."""
        for job in jobs:
            name, space = job["metadata"]["name"], job["metadata"]["namespace"]
            with suppress(AlreadyExists):
                await self.admin.create(kinds.NAMESPACES, {"metadata": {"name": space}})
            kind = job["kind"]
            selector = {"apiVersion": job["apiVersion"], "kind": kind, "name": name}
            await self.apply(
                {
                    "apiVersion": "policy.karmada.io/v1alpha1",
                    "kind": "PropagationPolicy",
                    "metadata": {"name": f"{name}-{kind}".lower(), "namespace": space},
                    "spec": {
                        "schedulerName": "global-sched",
                        "resourceSelectors": [selector],
                        "placement": where or placement(),
                    },
                },
                job,
            )

    async def binding(self, name: str, namespace: str = TEAM) -> Object:
        """The binding of a Volcano Job, empty while there is none."""
        try:
            return await self.admin.get(kinds.RESOURCE_BINDINGS, f"{name}-job", namespace=namespace)
        except NotFound:
            return {}

    async def bindings_version(self) -> str:
        """Where a watch of bindings starts that shows what happens from now on."""
        return (await self.admin.list(kinds.RESOURCE_BINDINGS)).resource_version

    async def bindings_since(self, version: str, name: str) -> list[Object]:
        """Every version of a Volcano Job's binding since then, deletions left out."""
        found: list[Object] = []
        stream = self.admin.watch(kinds.RESOURCE_BINDINGS, resource_version=version)
        async with aclosing(stream):
            with suppress(TimeoutError):
                async with asyncio.timeout(0.2):
                    async for event in stream:
                        if event.identity.key.name == f"{name}-job" and event.type != "DELETED":
                            assert isinstance(event.object, dict)
                            found.append(event.object)
        return found

    async def clusters(self, name: str, namespace: str = TEAM) -> list[str]:
        """Where a Volcano Job is."""
        found = await self.binding(name, namespace)
        return [one["name"] for one in found.get("spec", {}).get("clusters") or ()]

    async def decision(self, name: str, namespace: str = TEAM) -> Object:
        """The decision annotation of a Volcano Job."""
        found = await self.binding(name, namespace)
        text = (found.get("metadata", {}).get("annotations") or {}).get(DECISION)
        return json.loads(text) if text else {}

    async def member_list(self, cluster: str, resource: Resource) -> list[Object]:
        """All objects of a kind in a member."""
        client = self.federation.member_client(cluster)
        found = (await client.list(resource)).items
        await client.close()
        return found

    async def pods(self, cluster: str, namespace: str = TEAM) -> list[Object]:
        """The pods of a member's namespace."""
        found = await self.member_list(cluster, kinds.PODS)
        return [one for one in found if one["metadata"]["namespace"] == namespace]

    async def bound(self, cluster: str, name: str, namespace: str = TEAM) -> dict[str, str]:
        """Pod to node, of one Volcano Job in one member."""
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in await self.pods(cluster, namespace)
            if one["metadata"]["name"].startswith(f"{name}-") and one["spec"].get("nodeName")
        }

    async def job(self, name: str, namespace: str = TEAM) -> Object:
        """A Volcano Job's template with the status that came back."""
        return await self.admin.get(kinds.VOLCANO_JOBS, name, namespace=namespace)

    async def phase(self, name: str, namespace: str = TEAM) -> str:
        """A Volcano Job's phase as its owner sees it."""
        found = (await self.job(name, namespace)).get("status") or {}
        return str((found.get("state") or {}).get("phase", ""))

    async def report(self, cluster: str) -> Object:
        """The spec of the first slice of a member's report."""
        found = await self.admin.get(
            kinds.CAPACITY_REPORTS, cluster, namespace=execution_namespace(cluster)
        )
        spec: Object = found["spec"]
        return spec

    async def entries(self, cluster: str) -> list[Object]:
        """The entries of a member's Directive."""
        listing = await self.admin.list(kinds.DIRECTIVES, namespace=execution_namespace(cluster))
        return [one for item in listing.items for one in item["spec"].get("entries") or ()]

    async def silence(self, cluster: str) -> None:
        """The member's API server does not answer from now on; its nodes and pods go on."""
        await self.federation.members[cluster].close()

    async def answer(self, cluster: str) -> None:
        """It answers again, at the same address."""
        await self.federation.members[cluster].open()

    async def cordon(self, cluster: str, names: Iterable[str], *, on: bool = True) -> None:
        """What `kubectl cordon` does."""
        client = self.federation.member_client(cluster)
        for name in names:
            await client.patch(kinds.NODES, name, {"spec": {"unschedulable": on or None}})
        await client.close()

    async def delete_pod(self, cluster: str, name: str, namespace: str = TEAM) -> None:
        """What `kubectl delete pod` does in a member."""
        client = self.federation.member_client(cluster)
        await client.delete(kinds.PODS, name, namespace=namespace)
        await client.close()

    async def gone(self, resource: Resource, name: str, namespace: str = TEAM) -> bool:
        """Whether the control plane has no such object."""
        try:
            await self.admin.get(resource, name, namespace=namespace)
        except NotFound:
            return True
        return False

    async def until_phase(
        self, name: str, phase: str, *, namespace: str = TEAM, seconds: float = 120.0
    ) -> None:
        """Until a Volcano Job is in that phase."""

        async def there() -> bool:
            return await self.phase(name, namespace) == phase

        try:
            await self.until(there, f"{name} is {phase}", seconds=seconds)
        except AssertionError as error:
            found = await self.binding(name, namespace)
            state = {"spec": found.get("spec"), "status": found.get("status")}
            raise AssertionError(f"{error}; its binding: {json.dumps(state)}") from None


@asynccontextmanager
async def whole(
    tmp_path: Path,
    *members: MemberSpec,
    start: bool = True,
    tenants: Sequence[str] = (),
    lease_seconds: float = 15.0,
    period: int = 10,
    sockets: bool = False,
) -> AsyncIterator[Whole]:
    """A federation with its programs; at the end nothing of theirs may have been denied.

    period: seconds between two reports of an agent.
    sockets: requests go over HTTP, as outside of tests; else they stay in this process, which costs
        a third of the time.
    """
    clock = LoopClock()
    specs = members or (member("m1"),)
    federation = Federation(
        specs, clock=clock, state=tmp_path, tenants=tenants, ports=FREE_PORTS if sockets else None
    )
    await federation.start()
    world = Whole(federation, clock)
    world.lease_seconds, world.period = lease_seconds, period
    try:
        await federation.ready()
        world.admin = federation.client()
        try:
            if start:
                await world.start()
            yield world
        finally:
            await world.close()
    finally:
        await federation.stop()
    found = [one for one in world.violations() if not any(part in one for part in world.allowed)]
    assert found == [], "\n".join(found)
    assert world.denied() == []
    assert world.hot_objects() == {}
