"""Volcano Jobs through one member: from their submission to the last bound pod.

The same writes are then made by a bare loop, with the objects that the agent has made: of all Jobs
abreast, and of as many at once as the agent works on.
"""

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final

from bench.peers.audit import Request, Tail, by, counts
from bench.peers.bindings import Obj, clear, in_parallel, namespace, until_none
from bench.peers.processes import used
from bench.peers.site import USER, Site
from bench.peers.waiting import until
from global_sched.shared.api import resource as kinds
from global_sched.shared.api.names import execution_namespace
from global_sched.shared.clock import SystemClock
from global_sched.shared.kube.errors import NotFound
from global_sched.shared.model.instant import SECOND
from tools.local_karmada import volcano
from tools.local_karmada.errors import LocalError

MEMBER: Final = "tiers"
AGENT: Final = f"member-agent-{MEMBER}"
PODS: Final = 8
PATIENCE: Final = 120.0
AT_ONCE: Final = 32
"""As many binds as the agent has in flight."""
IN_TURN: Final = 8
"""As many Jobs as the agent works on at once."""
BARE: Final = "bare loop"
BARE_IN_TURN: Final = "bare loop, Jobs in turn"
_VOLATILE: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "managedFields")
_GROUP: Final = "scheduling.k8s.io/group-name"


@dataclass(frozen=True, slots=True, kw_only=True)
class Gangs:
    """What one system did with the Jobs."""

    system: str
    pods: int
    bound: int
    seconds: float
    apart: int
    """Jobs whose pods are not all in one rack: violations of hard tier 1."""
    writes: dict[str, int]
    cpu: dict[str, float]

    @property
    def rate(self) -> float:
        """Pods bound per second."""
        return self.bound / self.seconds if self.seconds else 0.0


def job(index: int, space: str) -> Obj:
    """Eight workers of one GPU each in one rack, who find each other through a Service."""
    container = {
        "name": "worker",
        "image": "registry.example/train:1",
        "resources": {"limits": {"cpu": "4", "nvidia.com/gpu": "1"}},
    }
    template = {
        "metadata": {"annotations": {"federation.global-sched.io/run-seconds": "3600"}},
        "spec": {"restartPolicy": "Never", "containers": [container]},
    }
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"gang-{index:03d}", "namespace": space},
        "spec": {
            "minAvailable": PODS,
            "schedulerName": "volcano",
            "queue": "default",
            "plugins": {"svc": []},
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": PODS, "template": template}],
        },
    }


async def measure(site: Site, count: int) -> tuple[list[Gangs], str]:
    """Volcano where it is, the agent, both bare loops; and why Volcano is not."""
    found = volcano.find()
    beside = [f"{MEMBER}/{name}" for name in (volcano.CONTROLLERS, volcano.SCHEDULER)]
    done: list[Gangs] = []
    if found.binds:
        done.append((await _watched(site, count, "volcano", "volcano", ""))[0])
        for name in beside:
            await site.federation.stop(name)
    # Writes to bindings of earlier parts are not taken back once global-sched has ended.
    await clear(site.admin, kinds.DIRECTIVES, execution_namespace(MEMBER))
    flags = ("--scheduler-names", "member-agent,volcano", "--run-volcano-jobs")
    await site.agent(MEMBER, flags=flags)
    ours, made = await _watched(site, count, "member-agent", "agents", AGENT)
    done.append(ours)
    done.append(await _bare(site, made, BARE, jobs=count))
    done.append(await _bare(site, made, BARE_IN_TURN, jobs=IN_TURN))
    return done, found.missing()


Made = dict[str, list[Obj]]


async def _watched(
    site: Site, count: int, name: str, space: str, program: str
) -> tuple[Gangs, Made]:
    """Submit, wait until all pods are bound, and take down what was made."""
    member = site.members[MEMBER]

    async def submit(index: int) -> None:
        await site.bare_member.create(kinds.VOLCANO_JOBS, job(index, space), namespace=space)

    async def all_bound() -> bool:
        if program:
            tail.fresh()
            return len(_bound(tail.requests, space)) >= count * PODS
        # Volcano is an administrator here, and the audit log leaves those out.
        pods = (await member.list(kinds.PODS, namespace=space)).items
        bound = sum(1 for one in pods if one["spec"].get("nodeName"))
        return bound >= count * PODS

    await namespace(member, space)
    before, tail = site.look(), Tail(site.federation.audit(MEMBER))
    await in_parallel(range(count), submit, at_once=AT_ONCE)
    with suppress(LocalError):  # what is not bound by then is counted as such
        await until(all_bound, "all pods", seconds=PATIENCE)
    ended = SystemClock().now() / SECOND
    # The last statuses are part of the work, but not of the time.
    await asyncio.sleep(1)
    cpu = used(before, site.look())
    made = await _made(site, space)
    result = _result(name, tail.read(), space, made["pods"], cpu, None if program else ended)
    if program:
        await site.programs.stop(program)
    await _cleared(site, space)
    return result, made


def _bound(requests: list[Request], space: str) -> list[Request]:
    return [
        one
        for one in requests
        if one.written and one.what == "create pods/binding" and one.object_ref.namespace == space
    ]


def _result(
    name: str,
    requests: list[Request],
    space: str,
    pods: list[Obj],
    cpu: dict[str, float],
    ended: float | None = None,
) -> Gangs:
    """From the first Job's arrival to the last binding's answer, or to when it was seen."""
    mine = [one for one in requests if one.written and one.object_ref.namespace == space]
    began = min((one.began for one in mine if one.what == "create jobs"), default=0.0)
    last = max((one.ended for one in _bound(mine, space)), default=began)
    return Gangs(
        system=name,
        pods=PODS * sum(1 for one in mine if one.what == "create jobs"),
        bound=sum(1 for one in pods if one["spec"].get("nodeName")),
        seconds=max(0.0, (last if ended is None else ended) - began),
        apart=_apart(pods),
        writes=dict(counts(mine)),
        cpu=cpu,
    )


def _apart(pods: list[Obj]) -> int:
    """Jobs with pods in more than one rack; the names of nodes begin with their rack's."""
    racks: dict[str, set[str]] = {}
    for pod in pods:
        node = pod["spec"].get("nodeName", "")
        group = pod["metadata"]["annotations"].get(_GROUP, "")
        racks.setdefault(group, set()).add(node.rsplit("-", 1)[0])
    return sum(1 for found in racks.values() if len(found) > 1)


_KINDS: Final = {
    "jobs": kinds.VOLCANO_JOBS,
    "groups": kinds.POD_GROUPS,
    "services": kinds.SERVICES,
    "configmaps": kinds.CONFIGMAPS,
    "pods": kinds.PODS,
}


async def _made(site: Site, space: str) -> Made:
    """What stands in the namespace at the end."""
    member = site.members[MEMBER]
    return {
        name: (await member.list(resource, namespace=space)).items
        for name, resource in _KINDS.items()
    }


async def _cleared(site: Site, space: str) -> None:
    member = site.members[MEMBER]
    for name in ("jobs", "groups", "services"):
        # A collection of Services cannot be deleted at once.
        if name == "services":
            for one in (await member.list(kinds.SERVICES, namespace=space)).items:
                with suppress(NotFound):  # the garbage collector of the member may come first
                    await member.delete(kinds.SERVICES, one["metadata"]["name"], namespace=space)
        else:
            await clear(member, _KINDS[name], space)
    body = {"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0}
    await member.raw("DELETE", kinds.PODS.path(space), body)
    await until_none(member, kinds.PODS, space)


# --- the bare loop --------------------------------------------------------------------------------


def _again(obj: Obj, space: str) -> Obj:
    """The object as its maker has sent it, for another namespace and without an owner."""
    meta = {k: v for k, v in obj["metadata"].items() if k not in _VOLATILE}
    meta.pop("ownerReferences", None)
    meta["namespace"] = space
    fresh = {**obj, "metadata": meta}
    fresh.pop("status", None)
    if "nodeName" in obj["spec"]:
        fresh["spec"] = {k: v for k, v in obj["spec"].items() if k != "nodeName"}
    if obj["spec"].get("clusterIP"):
        fresh["spec"] = {"clusterIP": "None", "selector": obj["spec"]["selector"]}
        fresh["spec"]["ports"] = obj["spec"]["ports"]
    return fresh


async def _bare(site: Site, made: Made, title: str, *, jobs: int) -> Gangs:
    """Job, PodGroup, Service, pods, bindings and two statuses of each Job, and nothing else.

    Of so many Jobs at once. With all abreast no pod is bound before the last one is made, so that
    the nodes' own writes (pods that start) come when most is done; an agent starts the first Jobs
    first.
    """
    space = "bare"
    member, client = site.members[MEMBER], site.bare_member
    await namespace(member, space)
    pods: dict[str, list[Obj]] = {}
    for pod in made["pods"]:
        pods.setdefault(pod["metadata"]["labels"]["volcano.sh/job-name"], []).append(pod)
    services = {one["metadata"]["name"]: one for one in made["services"]}
    groups = dict(zip(sorted(pods), sorted(made["groups"], key=_name), strict=True))
    gate, abreast = asyncio.Semaphore(AT_ONCE), asyncio.Semaphore(jobs)

    async def gated(call: Callable[[], Awaitable[Any]]) -> None:
        async with gate:
            await call()

    async def create(name: str, obj: Obj) -> None:
        body = _again(obj, space)
        await gated(lambda: client.create(_KINDS[name], body, namespace=space))

    async def status(of: Obj, phase: str) -> None:
        body = {"status": {**(of.get("status") or {}), "state": {"phase": phase}}}
        await gated(
            lambda: client.patch(
                kinds.VOLCANO_JOBS, _name(of), body, namespace=space, subresource="status"
            )
        )

    async def bind(pod: Obj) -> None:
        body = {
            "apiVersion": "v1",
            "kind": "Binding",
            "metadata": {"name": _name(pod)},
            "target": {"apiVersion": "v1", "kind": "Node", "name": pod["spec"]["nodeName"]},
        }
        await gated(
            lambda: client.post_subresource(
                kinds.PODS, _name(pod), "binding", body, namespace=space
            )
        )

    async def run(done: Obj) -> None:
        name = _name(done)
        await create("jobs", done)
        async with abreast:
            await asyncio.gather(create("groups", groups[name]), create("services", services[name]))
            await asyncio.gather(*(create("pods", pod) for pod in pods[name]))
            await status(done, "Pending")
            await asyncio.gather(*(bind(pod) for pod in pods[name]))
            await status(done, "Running")

    before, tail = site.look(), Tail(site.federation.audit(MEMBER))
    await asyncio.gather(*(run(done) for done in made["jobs"]))
    cpu = used(before, site.look())
    listed = (await _made(site, space))["pods"]
    result = _result(title, by(tail.read(), {USER}), space, listed, cpu)
    await _cleared(site, space)
    return result


def _name(obj: Obj) -> str:
    return str(obj["metadata"]["name"])
