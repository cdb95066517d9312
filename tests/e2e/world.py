"""The running federation for one who looks and submits, in the words of tests."""

import json
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from global_sched.cli.apply import apply_manifest
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import DECISION, execution_namespace
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import AlreadyExists, NotFound
from tests.e2e.waiting import CEILING, until
from tests.wire import GPU, Object, placement, pod_template, stripped, task, vcjob
from tools.local_karmada.federation import Federation
from tools.local_karmada.programs import Programs


def gang(
    name: str,
    namespace: str,
    *,
    pods: int = 2,
    gpus: int = 1,
    tier: int | None = 1,
    seconds: float = 600,
    **more: Any,
) -> Object:
    """A Volcano Job of equal workers that run for so many seconds."""
    run = {"federation.global-sched.io/run-seconds": f"{seconds:g}"}
    template = pod_template(annotations=run, restartPolicy="Never")
    template["spec"]["containers"][0]["resources"] = {"limits": {"cpu": "1", GPU: str(gpus)}}
    return vcjob(
        name, task("worker", pods, template=template), tier=tier, namespace=namespace, **more
    )


class World:
    """Clients of every server, and what tests ask and do with them."""

    def __init__(self, federation: Federation, programs: Programs) -> None:
        self.federation = federation
        self.programs = programs
        self.admin: Client
        self._members: dict[str, Client] = {}

    async def open(self) -> None:
        """Connect to the control plane."""
        self.admin = await self.federation.client()

    async def close(self) -> None:
        """Close every client."""
        for client in (self.admin, *self._members.values()):
            await client.close()

    async def member(self, name: str) -> Client:
        """A client of a member as its administrator."""
        if name not in self._members:
            self._members[name] = await self.federation.client(name)
        return self._members[name]

    async def apply(self, *objects: Object) -> None:
        """Create objects on the control plane, or give those that are there these fields."""
        for obj in objects:
            await apply_manifest(self.admin, stripped(obj))

    async def namespace(self, name: str) -> None:
        """Make a namespace on the control plane."""
        with suppress(AlreadyExists):
            await self.admin.create(kinds.NAMESPACES, {"metadata": {"name": name}})

    async def submit(
        self, *jobs: Object, where: Object | None = None, scheduler: str = "global-sched"
    ) -> None:
        """Objects with a policy of their own each; their namespaces have to be there."""
        for job in jobs:
            await self.apply(policy(job, where=where, scheduler=scheduler), job)

    async def get(self, resource: Resource, name: str, namespace: str = "") -> Object:
        """An object of the control plane, empty while there is none."""
        try:
            return await self.admin.get(resource, name, namespace=namespace or None)
        except NotFound:
            return {}

    async def binding(self, namespace: str, name: str, kind: str = "Job") -> Object:
        """The binding of an object, empty while there is none."""
        return await self.get(kinds.RESOURCE_BINDINGS, f"{name}-{kind}".lower(), namespace)

    async def clusters(self, namespace: str, name: str, kind: str = "Job") -> dict[str, int]:
        """Where an object is: replicas by cluster, 0 where none are said."""
        return clusters_of(await self.binding(namespace, name, kind))

    async def decision(self, namespace: str, name: str, kind: str = "Job") -> Object:
        """The decision annotation of an object's binding."""
        found = await self.binding(namespace, name, kind)
        text = (found.get("metadata", {}).get("annotations") or {}).get(DECISION)
        return json.loads(text) if text else {}

    async def condition(self, namespace: str, name: str, kind: str = "Job") -> Object:
        """The Scheduled condition of an object's binding, empty while there is none."""
        found = await self.binding(namespace, name, kind)
        listed = found.get("status", {}).get("conditions") or ()
        return next((one for one in listed if one["type"] == "Scheduled"), {})

    async def works(self, cluster: str) -> list[Object]:
        """The Works of a member."""
        space = execution_namespace(cluster)
        return (await self.admin.list(kinds.WORKS, namespace=space)).items

    async def pods(self, cluster: str, namespace: str) -> list[Object]:
        """The pods of a member's namespace, those that are going left out."""
        client = await self.member(cluster)
        found = (await client.list(kinds.PODS, namespace=namespace)).items
        return [one for one in found if not one["metadata"].get("deletionTimestamp")]

    async def nodes_of(self, cluster: str, namespace: str, name: str) -> dict[str, str]:
        """Pod to node, of the pods of a member whose names begin with the job's."""
        return {
            one["metadata"]["name"]: one["spec"]["nodeName"]
            for one in await self.pods(cluster, namespace)
            if one["metadata"]["name"].startswith(f"{name}-") and one["spec"].get("nodeName")
        }

    async def phase(self, namespace: str, name: str) -> str:
        """A Volcano Job's phase as its owner sees it on the control plane."""
        found = await self.get(kinds.VOLCANO_JOBS, name, namespace)
        return str(((found.get("status") or {}).get("state") or {}).get("phase", ""))

    async def until(self, check: Callable[[], Any], what: str, *, seconds: float = CEILING) -> Any:
        """The first true answer of a check; see `waiting.until`."""
        return await until(check, what, seconds=seconds)

    async def until_phase(
        self, namespace: str, name: str, phase: str, *, seconds: float = CEILING
    ) -> None:
        """Until a Volcano Job is in that phase; the message shows its binding."""

        async def there() -> bool:
            return await self.phase(namespace, name) == phase

        try:
            await self.until(there, f"{namespace}/{name} is {phase}", seconds=seconds)
        except AssertionError as error:
            found = await self.binding(namespace, name)
            state = {"spec": found.get("spec"), "status": found.get("status")}
            raise AssertionError(f"{error}; its binding: {json.dumps(state)}") from None


def clusters_of(binding: Object) -> dict[str, int]:
    """Where a binding puts its object: replicas by cluster, 0 where none are said."""
    targets = binding.get("spec", {}).get("clusters") or ()
    return {one["name"]: one.get("replicas", 0) for one in targets}


def policy(obj: Object, *, where: Object | None = None, scheduler: str = "global-sched") -> Object:
    """A PropagationPolicy for one object alone."""
    name, kind = obj["metadata"]["name"], obj["kind"]
    selector = {"apiVersion": obj["apiVersion"], "kind": kind, "name": name}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": f"{name}-{kind}".lower(), "namespace": obj["metadata"]["namespace"]},
        "spec": {
            "schedulerName": scheduler,
            "resourceSelectors": [selector],
            "placement": where or placement(),
        },
    }
