"""A federation that tests may break: faults by name, and what must be true in spite of them."""

import asyncio
import json
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import Any, Final

from global_sched.shared.api import resource as kinds
from global_sched.shared.api.resource import Resource
from global_sched.shared.kube.errors import KubeError, NotFound
from tests.e2e.requests import GLOBAL_SCHED
from tests.e2e.waiting import PAUSE
from tests.e2e.world import World
from tools.local_karmada.federation import Federation
from tools.local_karmada.programs import Programs
from tools.local_karmada.servers import CONTROL_PLANE

Object = dict[str, Any]
HELD_BACK: Final = "held back by a test"
SHORT: Final = (
    *("--set", "lease_seconds=4"),
    *("--set", "renew_seconds=3"),
    *("--set", "retry_seconds=0.5"),
)
"""Flags of a global-sched whose term ends soon after it was killed."""
ADMINISTRATOR: Final = "system:admin"
_GROUP: Final = "admissionregistration.k8s.io"
_POLICIES: Final = Resource(
    _GROUP, "v1", "validatingadmissionpolicies", "ValidatingAdmissionPolicy", namespaced=False
)
_BINDINGS: Final = Resource(
    _GROUP,
    "v1",
    "validatingadmissionpolicybindings",
    "ValidatingAdmissionPolicyBinding",
    namespaced=False,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """Requests that a server refuses for a while, by admission: rights are not touched."""

    server: str
    group: str
    version: str
    resource: str
    operation: str
    condition: str
    """CEL over the request: which of them."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Write:
    """An accepted write of a binding, from the audit log."""

    user: str
    sub: str


class Faults(World):
    """The federation, a namespace of the test, and both tools."""

    def __init__(
        self,
        federation: Federation,
        programs: Programs,
        space: str,
        *,
        kubectl: Callable[..., str],
        karmadactl: Callable[..., str],
    ) -> None:
        super().__init__(federation, programs)
        self.space = space
        self.kubectl = kubectl
        self.karmadactl = karmadactl

    # --- what runs ------------------------------------------------------------------------------

    async def running(self, cluster: str, name: str) -> dict[str, str]:
        """Pod to uid, of the job's pods that run in a member."""
        try:
            found = await self.pods(cluster, self.space)
        except NotFound:
            return {}
        return {
            one["metadata"]["name"]: one["metadata"]["uid"]
            for one in found
            if one["metadata"]["name"].startswith(f"{name}-")
            and (one.get("status") or {}).get("phase") == "Running"
        }

    async def until_running(
        self, cluster: str, name: str, pods: int, *, seconds: float = 60
    ) -> dict[str, str]:
        """The job's pods once so many run in that member."""

        async def there() -> dict[str, str]:
            found = await self.running(cluster, name)
            return found if len(found) == pods else {}

        try:
            found: dict[str, str] = await self.until(
                there, f"{pods} pods of {name} run in {cluster}", seconds=seconds
            )
        except AssertionError as error:
            binding = await self.binding(self.space, name)
            shown = {"spec": binding.get("spec"), "status": binding.get("status")}
            raise AssertionError(f"{error}; its binding: {json.dumps(shown)}") from None
        return found

    async def until_placed(self, name: str, *clusters: str, kind: str = "Job") -> None:
        """Until the binding names exactly these clusters and its status says so."""

        async def there() -> bool:
            binding = await self.binding(self.space, name, kind)
            names = {one["name"] for one in binding.get("spec", {}).get("clusters") or ()}
            return names == set(clusters) and settled(binding)

        await self.until(there, f"{name} is in {', '.join(clusters)}")

    async def until_placed_whole(self, name: str, pods: int) -> str:
        """The one member in which all pods of a Deployment run."""

        async def there() -> str:
            homes = await self.clusters(self.space, name, "Deployment")
            if list(homes.values()) != [pods]:
                return ""
            (home,) = homes
            return home if len(await self.running(home, name)) == pods else ""

        return str(await self.until(there, f"{name} runs whole in one member"))

    async def until_waits(self, name: str, *words: str, kind: str = "Job") -> str:
        """What the binding says of waiting, once all of these words are in it."""

        async def told() -> str:
            found = await self.condition(self.space, name, kind)
            said = str(found.get("message", ""))
            waits = found.get("status") == "False" and all(word in said for word in words)
            return said if waits else ""

        try:
            return str(await self.until(told, f"{name} waits and says {words}"))
        except AssertionError as error:
            binding = await self.binding(self.space, name, kind)
            raise AssertionError(f"{error}; its binding: {json.dumps(binding)}") from None

    async def tasks(self, name: str, kind: str = "Job") -> list[Object]:
        """The clusters that the binding is leaving."""
        binding = await self.binding(self.space, name, kind)
        return binding.get("spec", {}).get("gracefulEvictionTasks") or []

    async def evicted(self, name: str, kind: str = "Job") -> list[str]:
        """What Karmada's events say of having evicted the object."""
        found = (await self.admin.list(kinds.CORE_EVENTS, namespace=self.space)).items
        return [
            str(one["message"])
            for one in found
            if one["reason"] == "EvictWorkloadFromClusterSucceed"
            and one["involvedObject"]["kind"] == "ResourceBinding"
            and one["involvedObject"]["name"] == f"{name}-{kind}".lower()
        ]

    @asynccontextmanager
    async def never_twice(self, name: str) -> AsyncIterator[None]:
        """At no moment of the block do two members run pods of the job."""
        twice: list[Object] = []
        watching = asyncio.create_task(self._watch_twice(name, twice))
        try:
            yield
        finally:
            watching.cancel()
            with suppress(asyncio.CancelledError):
                await watching
        assert twice == []

    async def _watch_twice(self, name: str, twice: list[Object]) -> None:
        first, second = self.federation.members[:2]
        while True:
            with suppress(KubeError):
                here = await self.running(first, name)
                there = await self.running(second, name) if here else {}
                # Two looks are not one moment: what ran before and after ran between, too.
                again = await self.running(first, name) if there else {}
                both = {pod: uid for pod, uid in here.items() if again.get(pod) == uid}
                if there and both:
                    twice.append({first: both, second: there})
            await asyncio.sleep(PAUSE)

    # --- faults ---------------------------------------------------------------------------------

    async def cluster(self, name: str) -> Object:
        """A member as Karmada sees it, empty when it is none."""
        return await self.get(kinds.CLUSTERS, name)

    async def ready(self, name: str) -> str:
        """The status of a member's Ready condition."""
        listed = ((await self.cluster(name)).get("status") or {}).get("conditions") or ()
        return next((str(one["status"]) for one in listed if one["type"] == "Ready"), "")

    @asynccontextmanager
    async def tainted(self, name: str, effect: str = "NoExecute") -> AsyncIterator[None]:
        """A member with the taint `test=gone`; the taint is there when the block begins."""
        self.karmadactl("taint", "clusters", name, f"test=gone:{effect}")
        try:
            taints = (await self.cluster(name))["spec"]["taints"]
            assert [(one["key"], one["effect"]) for one in taints] == [("test", effect)]
            yield
        finally:
            self.karmadactl("taint", "clusters", name, f"test:{effect}-")

    @asynccontextmanager
    async def refused(
        self, refusal: Refusal, probe: Callable[[], Awaitable[str]]
    ) -> AsyncIterator[None]:
        """The server refuses these requests in the block: `probe` says how it answers one."""
        name = f"{self.space}-refusal"
        client = (
            self.admin if refusal.server == CONTROL_PLANE else await self.member(refusal.server)
        )

        async def in_force() -> bool:
            return HELD_BACK in await probe()

        async def gone() -> bool:
            return HELD_BACK not in await probe()

        for resource, obj in _refusing(name, refusal):
            await client.create(resource, obj)
        try:
            await self.until(in_force, "the requests are refused")
            yield
        finally:
            for resource in (_BINDINGS, _POLICIES):
                await client.delete(resource, name)
            await self.until(gone, "the requests are accepted again")

    # --- who wrote ------------------------------------------------------------------------------

    def writes(self, name: str, kind: str = "Job") -> list[Write]:
        """The accepted writes of an object's binding, oldest first."""
        return list(_writes(self.federation, self.space, f"{name}-{kind}".lower()))

    def placements(self, name: str, kind: str = "Job") -> int:
        """How often global-sched wrote the placement of an object."""
        return self.writes(name, kind).count(Write(user=GLOBAL_SCHED, sub=""))


def settled(binding: Object) -> bool:
    """Whether the scheduler has looked at this very generation of a binding."""
    status = binding.get("status") or {}
    seen = status.get("schedulerObservedGeneration")
    return bool(seen) and seen == binding["metadata"]["generation"]


def _refusing(name: str, refusal: Refusal) -> Iterator[tuple[Resource, Object]]:
    rule = {
        "apiGroups": [refusal.group],
        "apiVersions": [refusal.version],
        "resources": [refusal.resource],
        "operations": [refusal.operation],
    }
    spec = {
        "failurePolicy": "Fail",
        "matchConstraints": {"resourceRules": [rule]},
        "matchConditions": [{"name": "these", "expression": refusal.condition}],
        "validations": [{"expression": "false", "message": HELD_BACK}],
    }
    for resource, body in (
        (_POLICIES, spec),
        (_BINDINGS, {"policyName": name, "validationActions": ["Deny"]}),
    ):
        yield (
            resource,
            {
                "apiVersion": resource.api_version,
                "kind": resource.kind,
                "metadata": {"name": name},
                "spec": body,
            },
        )


def _writes(federation: Federation, namespace: str, name: str) -> Iterator[Write]:
    path = federation.audit(CONTROL_PLANE)
    for part in sorted(path.parent.glob(f"{path.stem}*.log")):
        with part.open(encoding="utf-8") as file:
            for line in file:
                if f'"{name}"' not in line or namespace not in line:
                    continue
                with suppress(ValueError):  # the last line may be half written
                    event = json.loads(line)
                    what = event.get("objectRef") or {}
                    if (
                        what.get("name") == name
                        and what.get("namespace") == namespace
                        and what.get("resource") == "resourcebindings"
                        and event["verb"] in ("patch", "update")
                        and event["responseStatus"]["code"] == 200
                    ):
                        yield Write(user=event["user"]["username"], sub=what.get("subresource", ""))


def writers(federation: Federation, namespace: str, name: str) -> set[str]:
    """Who has written a binding or its status, as users."""
    return {one.user for one in _writes(federation, namespace, name)}
