"""Six placements for which sums per cluster are not enough, and what each system made of them.

`narrow` has nine free nodes of eight GPUs in racks of three, `wide` four in one rack. Karmada's
detector makes the bindings of real Jobs and policies; dispatching is suspended, so that nothing
of one try is left in a member at the next.
"""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Final

from bench.peers.bindings import Obj, clear, committed, namespace, until_none
from bench.peers.site import OURS, PEER_LIFTED, Site, System
from bench.peers.waiting import now, until
from global_sched.shared.api import resource as kinds

SPACE: Final = "cases"
PATIENCE: Final = 30.0
_SETTLED: Final = 3.0
"""Seconds in which a system that says nothing more has decided."""
_CORDONED: Final = "cordoned"
_FILLED: Final = "filled"
_FILLER_GPUS: Final = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Case:
    """One placement: what is right, as the sorted clusters of the Jobs ("" waits)."""

    name: str
    right: tuple[str, ...]
    pods: int = 4
    state: str = ""
    selector: dict[str, str] = field(default_factory=dict)


CASES: Final = (
    Case(name="M7: a gang of 4 whole nodes in one rack", right=("wide",)),
    Case(name="a gang of 5 in one rack: nowhere, 4 of 5 at best", pods=5, right=("",)),
    Case(name="two gangs of 4 at once, a rack for one", right=("", "wide")),
    Case(
        name="a gang of 4 on nodes with a label",
        right=("wide",),
        selector={"accelerator": "fast"},
    ),
    Case(name="a gang of 2, every node of the larger cluster cordoned", pods=2, state=_CORDONED,
         right=("wide",)),
    Case(name="a gang of 3, no whole node free in the larger cluster", pods=3, state=_FILLED,
         right=("wide",)),
)  # fmt: skip


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What one system did: clusters of each Job, and the last reason of one that waits."""

    case: Case
    system: str
    clusters: tuple[str, ...]
    reason: str

    @property
    def right(self) -> bool:
        """Whether all Jobs are where they can run."""
        return self.clusters == self.case.right


def _job(case: Case, index: int) -> Obj:
    container = {
        "name": "worker",
        "image": "registry.example/train:1",
        "resources": {"limits": {"cpu": "8", "nvidia.com/gpu": "8"}},
    }
    pod: Obj = {"restartPolicy": "Never", "containers": [container]}
    if case.selector:
        pod["nodeSelector"] = case.selector
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": {"name": f"gang-{index}", "namespace": SPACE},
        "spec": {
            "minAvailable": case.pods,
            "schedulerName": "volcano",
            "queue": "default",
            "networkTopology": {"mode": "hard", "highestTierAllowed": 1},
            "tasks": [{"name": "worker", "replicas": case.pods, "template": {"spec": pod}}],
        },
    }


def _policy(job: Obj, scheduler: str) -> Obj:
    """One cluster of the two, whichever the scheduler holds for right."""
    name = job["metadata"]["name"]
    selector = {"apiVersion": job["apiVersion"], "kind": "Job", "name": name}
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": name, "namespace": SPACE},
        "spec": {
            "schedulerName": scheduler,
            "resourceSelectors": [selector],
            "suspension": {"dispatching": True},
            "placement": {
                "clusterAffinity": {"clusterNames": ["narrow", "wide"]},
                "spreadConstraints": [
                    {"spreadByField": "cluster", "minGroups": 1, "maxGroups": 1},
                ],
                "replicaScheduling": {
                    "replicaSchedulingType": "Divided",
                    "replicaDivisionPreference": "Aggregated",
                },
            },
        },
    }


async def answers(site: Site) -> list[Answer]:
    """Every case, asked of both. Each leaves the other's bindings alone, so both run throughout."""
    await namespace(site.admin, SPACE)
    await site.start(OURS)
    await site.start(PEER_LIFTED)
    found: list[Answer] = []
    state = ""
    try:
        for case in CASES:
            if case.state != state:
                await _into(site, case.state)
                state = case.state
            found += [await _ask(site, case, one) for one in (OURS, PEER_LIFTED)]
    finally:
        await site.stop(PEER_LIFTED)
        await site.stop(OURS)
    return found


async def _ask(site: Site, case: Case, system: System) -> Answer:
    admin, count = site.admin, len(case.right)
    for index in range(count):
        job = _job(case, index)
        policy = _policy(job, system.scheduler)
        await admin.create(kinds.PROPAGATION_POLICIES, policy, namespace=SPACE)
        await admin.create(kinds.VOLCANO_JOBS, job, namespace=SPACE)
    bindings: list[Obj] = []
    placed, since = "", now()
    end = since + PATIENCE
    while now() < end:
        bindings = (await admin.list(kinds.RESOURCE_BINDINGS, namespace=SPACE)).items
        said = str([(_cluster(one), _reason(one)) for one in bindings])
        if said != placed:
            placed, since = said, now()
        answered = len(bindings) == count and all(_reason(one) for one in bindings)
        settled = now() - since >= _SETTLED
        if answered and (settled or all(map(committed, bindings))):
            break
        await asyncio.sleep(0.25)
    await clear(admin, kinds.VOLCANO_JOBS, SPACE)
    await clear(admin, kinds.PROPAGATION_POLICIES, SPACE)
    await until_none(admin, kinds.RESOURCE_BINDINGS, SPACE)
    waits = [_reason(one) for one in bindings if not committed(one)]
    return Answer(
        case=case,
        system=system.scheduler if system.program == OURS.program else "karmada-scheduler",
        clusters=tuple(sorted(map(_cluster, bindings))),
        reason=waits[0] if waits else "",
    )


def _cluster(item: Obj) -> str:
    """Where a binding is: names joined; empty while it waits."""
    return "+".join(sorted(one["name"] for one in item["spec"].get("clusters") or ()))


def _reason(item: Obj) -> str:
    """The message of the condition Scheduled."""
    listed = (item.get("status") or {}).get("conditions") or ()
    return next((one["message"] for one in listed if one["type"] == "Scheduled"), "")


# --- states of the larger cluster -----------------------------------------------------------------


async def _into(site: Site, state: str) -> None:
    """Cordon `narrow`, or put pods on each of its nodes; back to how it was first."""
    member = site.members["narrow"]
    await namespace(member, SPACE)
    nodes = [one["metadata"]["name"] for one in (await member.list(kinds.NODES)).items]
    for name in nodes:
        cordoned = {"spec": {"unschedulable": True if state == _CORDONED else None}}
        await member.patch(kinds.NODES, name, cordoned)
        if state == _FILLED:
            await member.create(kinds.PODS, _filler(name), namespace=SPACE)
    open_nodes = 0 if state == _CORDONED else len(nodes)
    used = _FILLER_GPUS * len(nodes) if state == _FILLED else 0
    await _until(lambda report, _: _schedulable(report) == open_nodes, site)
    await _until(lambda report, status: _gpus_used(status) == used and _shows(report, used), site)


def _filler(node: str) -> Obj:
    container = {
        "name": "filler",
        "image": "registry.example/filler:1",
        "resources": {"limits": {"cpu": "1", "nvidia.com/gpu": str(_FILLER_GPUS)}},
    }
    return {
        "metadata": {"name": f"filler-{node}", "namespace": SPACE},
        "spec": {"nodeName": node, "containers": [container], "restartPolicy": "Always"},
    }


async def _until(check: Callable[[Obj, Obj], bool], site: Site) -> None:
    """Until the agent's report and Karmada's Cluster show the state."""

    async def shown() -> bool:
        report = await site.report("narrow")
        cluster = await site.admin.get(kinds.CLUSTERS, "narrow")
        return check(report.get("spec") or {}, cluster.get("status") or {})

    await until(shown, "the new state of narrow in its report and its Cluster")


def _schedulable(report: Obj) -> int:
    return int((report.get("nodes") or {}).get("schedulable") or 0)


def _gpus_used(status: Obj) -> int:
    allocated: dict[str, Any] = (status.get("resourceSummary") or {}).get("allocated") or {}
    return int(allocated.get("nvidia.com/gpu") or 0)


def _shows(report: Obj, used: int) -> bool:
    """Whether the report's free vectors are those with the fillers."""
    axis = report.get("axis") or []
    if "nvidia.com/gpu" not in axis:
        return False
    at = axis.index("nvidia.com/gpu")
    most = max((vector[at] for vector in report.get("free") or ()), default=0)
    return bool(most == 8 - (_FILLER_GPUS if used else 0))
