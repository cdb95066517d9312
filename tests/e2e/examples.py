"""The demo's examples on a federation: applied while global-sched is stopped, then decided.

The same steps on the embedded federation and on the real one, so that the first cycle of both
sees the same objects, reports and order of arrival.
"""

import json
from collections.abc import Awaitable, Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any, Final

import yaml

from global_sched.embedded.federation import MemberSpec
from global_sched.scenario import Scenario, parse
from global_sched.scenario.members import hyper_nodes_of, nodes_of
from global_sched.scenario.run import waves
from global_sched.shared.api import resource as kinds
from global_sched.shared.clock import Clock
from global_sched.shared.kube.client import Client
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.model.instant import SECOND, parse_instant

Obj = dict[str, Any]
EXAMPLES: Final = Path(__file__).parents[2] / "examples"
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_SCHEDULED: Final = ("Job", "PyTorchJob", "Deployment")
TEAMS: Final = ("vision", "language", "kalos")


def read(name: str) -> str:
    """The text of a file of the examples."""
    return (EXAMPLES / name).read_text(encoding="utf-8")


def demo() -> Scenario:
    """The scenario that `gsched demo` runs."""
    return parse(read("demo.yaml"), "demo.yaml")


def members(scenario: Scenario) -> list[MemberSpec]:
    """The scenario's clusters as members of an embedded federation."""
    return [
        MemberSpec(
            name=one.name,
            nodes=nodes_of(one, read),
            hyper_nodes=hyper_nodes_of(one, read),
            region=one.region,
        )
        for one in scenario.world.clusters
    ]


def manifests(scenario: Scenario) -> Iterator[Obj]:
    """Every object of the examples in the order of applying."""
    for wave in waves(scenario.world, read):
        yield from wave


def jobs(scenario: Scenario) -> list[Obj]:
    """The objects of the examples that are scheduled."""
    return [one for one in manifests(scenario) if one["kind"] in _SCHEDULED]


async def applied(
    scenario: Scenario, client: Client, clock: Clock, apply: Callable[[Obj], Awaitable[None]]
) -> None:
    """Apply the examples: all else first, then the jobs, each bound in a second of its own.

    Creation times have whole seconds, and within one a random id would decide who came first.
    """
    everything = list(manifests(scenario))
    for one in everything:
        if one["kind"] not in _SCHEDULED:
            await apply(one)
    for one in everything:
        if one["kind"] in _SCHEDULED:
            await apply(one)
            created = await _bound_at(client, clock, one)
            await clock.sleep(max(0.0, (created + SECOND - clock.now()) / SECOND))


async def _bound_at(client: Client, clock: Clock, obj: Obj) -> int:
    """When Karmada made the binding of an object."""
    meta = obj["metadata"]
    name = f"{meta['name']}-{obj['kind']}".lower()
    end = clock.monotonic() + 60
    while True:
        with suppress(NotFound):
            found = await client.get(kinds.RESOURCE_BINDINGS, name, namespace=meta["namespace"])
            return parse_instant(found["metadata"]["creationTimestamp"])
        assert clock.monotonic() < end, f"no binding {meta['namespace']}/{name} after 60 s"
        await clock.sleep(0.1)


def with_last_applied(obj: Obj) -> Obj:
    """The object with the annotation that `kubectl apply` leaves on it."""
    meta = {**obj["metadata"], "annotations": dict(obj["metadata"].get("annotations") or {})}
    text = json.dumps(obj | {"metadata": meta}, sort_keys=True, separators=(",", ":"))
    meta = {**meta, "annotations": meta["annotations"] | {LAST_APPLIED: f"{text}\n"}}
    return obj | {"metadata": meta}


def as_yaml(obj: Obj) -> str:
    """An object as a person would write it."""
    return yaml.safe_dump(obj, sort_keys=False)


async def bindings(client: Client) -> list[Obj]:
    """Every binding of the examples."""
    found = (await client.list(kinds.RESOURCE_BINDINGS)).items
    found += (await client.list(kinds.CLUSTER_RESOURCE_BINDINGS)).items
    return [one for one in found if one["metadata"].get("namespace", TEAMS[0]) in TEAMS]


async def all_bound(client: Client, scenario: Scenario) -> bool:
    """Whether Karmada has made a binding of every example that a policy selects."""
    return len(await bindings(client)) >= len(jobs(scenario)) + 1  # and the PriorityClass


async def reported_since(client: Client, instant: str, names: list[str]) -> bool:
    """Whether every member's report was made after that."""
    found = (await client.list(kinds.CAPACITY_REPORTS)).items
    return set(names) <= {
        one["spec"]["cluster"] for one in found if one["spec"]["observedAt"] > instant
    }


async def unsettled(client: Client) -> list[str]:
    """What was admitted and neither runs nor has ended; what must have ended and has not."""
    bound = {
        (one["metadata"].get("namespace"), one["metadata"]["name"]): one
        for one in await bindings(client)
    }
    found = []
    for resource, state in _STATES.items():
        for one in (await client.list(resource)).items:
            space, name = one["metadata"]["namespace"], one["metadata"]["name"]
            if space not in TEAMS:
                continue
            binding = bound.get((space, f"{name}-{resource.kind}".lower()), {"spec": {}})
            home = binding["spec"].get("clusters")
            told = state(binding if resource == kinds.PYTORCH_JOBS else one)
            wanted = ("Completed",) if space == "kalos" else ("Running", "Completed")
            if (home or space == "kalos") and told not in wanted:
                found.append(f"{space}/{name} in {home} is {told}")
    return found


async def until_settled(client: Client, clock: Clock) -> None:
    """Until every admitted example runs and those of the trace have ended.

    The 60 seconds are counted from the last change for the better: 350 pods start and end here.

    Raises:  AssertionError naming the others.
    """
    best, end = None, clock.monotonic() + 60
    while left := await unsettled(client):
        if best is None or len(left) < best:
            best, end = len(left), clock.monotonic() + 60
        assert clock.monotonic() < end, f"not settled after 60 s: {'; '.join(left)}"
        await clock.sleep(1.0)


def _job(job: Obj) -> str:
    return str(((job.get("status") or {}).get("state") or {}).get("phase", ""))


def _pytorch_job(binding: Obj) -> str:
    """From its binding: Karmada brings no conditions of a PyTorchJob to the template."""
    told = [
        one["type"]
        for copy in (binding.get("status") or {}).get("aggregatedStatus") or ()
        for one in (copy.get("status") or {}).get("conditions") or ()
        if one["status"] == "True"
    ]
    return "Running" if "Running" in told else ", ".join(told)


def _deployment(one: Obj) -> str:
    ready = (one.get("status") or {}).get("readyReplicas", 0)
    return "Running" if ready == one["spec"]["replicas"] else f"{ready} ready"


_STATES: Final = {
    kinds.VOLCANO_JOBS: _job,
    kinds.PYTORCH_JOBS: _pytorch_job,
    kinds.DEPLOYMENTS: _deployment,
}
"""How far an object is, by kind."""
