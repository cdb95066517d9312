"""The same worlds as JSON, as API servers send it: templates, bindings, reports and the rest.

Made one at a time from an index, so that 100,000 of them are never held at once.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, Final

import msgspec

from bench.worlds import GPU, Size, core_world, openb_pods_once, philly_gpus_once
from global_sched.shared.api import names
from global_sched.shared.api.federation import CapacityReportSpec, ReportNodes, ReportWorkload
from global_sched.shared.model.cluster import Cluster
from global_sched.shared.model.instant import Instant, format_instant
from member_agent.report.build import Limits, Observation, ReportHeader, slices_of

Obj = dict[str, Any]
WORDY: Final = 1500
"""Bytes of a binding that no decision looks at: managedFields and other tools' annotations."""
PLACEMENT: Final[Obj] = {"clusterAffinity": {}, "clusterTolerations": []}
_TIERS = (None, None, None, 1, 2, 3)


class Jobs:
    """Volcano Jobs with Philly's GPU counts and openb's sizes per GPU, and their bindings."""

    def __init__(self, size: Size, created: Instant, *, prefix: str = "job") -> None:
        self._size = size
        self._stamp = format_instant(created)
        self._prefix = prefix
        draw = random.Random(size.seed)
        per_gpu = [(c // g, m // g) for c, m, g in openb_pods_once() if g and c and m]
        self._shapes = [draw.choice(per_gpu) for _ in range(size.shapes)]

    def _meta(self, name: str, index: int, kind: str) -> Obj:
        return {
            "name": name,
            "namespace": self.namespace(index),
            "uid": f"{kind}-{self._prefix}-0000-4000-8000-{index:012d}",
            "resourceVersion": str(index + 1),
            "generation": 1,
            "creationTimestamp": self._stamp,
        }

    def namespace(self, index: int) -> str:
        """The tenant's namespace."""
        return f"tenant-{index % self._size.tenants:03d}"

    def template(self, index: int) -> Obj:
        """The Volcano Job: equal pods of at most 8 GPUs, a hard tier for half of them."""
        draw = random.Random(index)
        gpus = draw.choice(philly_gpus_once())
        cpu, memory = draw.choice(self._shapes)
        each = min(gpus, 8)
        requests = {"cpu": f"{cpu * each}m", "memory": f"{memory * each}Mi", GPU: str(each)}
        pods = -(-gpus // each)
        container = {
            "name": "main",
            "image": "registry.example/train:1.4.2",
            "command": ["python", "-m", "train"],
            "resources": {"requests": requests, "limits": {GPU: str(each)}},
        }
        spec: Obj = {
            "schedulerName": "volcano",
            "minAvailable": pods,
            "queue": f"queue-{draw.randrange(self._size.queues):03d}",
            "tasks": [
                {
                    "name": "worker",
                    "replicas": pods,
                    "template": {"spec": {"containers": [container], "restartPolicy": "Never"}},
                }
            ],
        }
        tier = draw.choice(_TIERS)
        if tier is not None:
            spec["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
        return {
            "apiVersion": "batch.volcano.sh/v1alpha1",
            "kind": "Job",
            "metadata": self._meta(f"{self._prefix}-{index:06d}", index, "template"),
            "spec": spec,
        }

    def binding(self, index: int) -> Obj:
        """Its binding, as Karmada's detector makes it."""
        template = f"{self._prefix}-{index:06d}"
        meta = self._meta(f"{template}-job", index, "binding")
        meta["labels"] = {
            names.BINDING_ID: f"{self._prefix}-0000-4000-8000-{index:012d}",
            "propagationpolicy.karmada.io/permanent-id": "9bdab545-de50-4b58-876b-43ccd57bab46",
        }
        meta["annotations"] = {
            "propagationpolicy.karmada.io/name": "all",
            "propagationpolicy.karmada.io/namespace": self.namespace(index),
            "example.com/note": "x" * WORDY,
        }
        reference = self._meta(template, index, "template")
        return {
            "apiVersion": "work.karmada.io/v1alpha2",
            "kind": "ResourceBinding",
            "metadata": meta,
            "spec": {
                "placement": PLACEMENT,
                "replicas": 1,
                "resource": {
                    "apiVersion": "batch.volcano.sh/v1alpha1",
                    "kind": "Job",
                    "name": template,
                    "namespace": reference["namespace"],
                    "uid": reference["uid"],
                    "resourceVersion": reference["resourceVersion"],
                },
                "schedulerName": names.GLOBAL_SCHEDULER,
            },
            "status": {},
        }


def clusters(size: Size) -> tuple[Cluster, ...]:
    """The members of such a world."""
    return core_world(replace(size, pending=0)).clusters


def cluster_object(cluster: Cluster) -> Obj:
    """A member that is ready and serves Volcano Jobs."""
    enabled = {"groupVersion": "batch.volcano.sh/v1alpha1"}
    return {
        "apiVersion": "cluster.karmada.io/v1alpha1",
        "kind": "Cluster",
        "metadata": {"name": cluster.name, "uid": f"uid-{cluster.name}", "resourceVersion": "1"},
        "spec": {"syncMode": "Push"},
        "status": {
            "apiEnablements": [{**enabled, "resources": [{"kind": "Job", "name": "jobs"}]}],
            "conditions": [{"type": "Ready", "status": "True", "reason": "ClusterReady"}],
        },
    }


def report_objects(
    cluster: Cluster,
    now: Instant,
    generation: int = 1,
    workloads: Sequence[ReportWorkload] = (),
) -> Iterator[Obj]:
    """Its agent's report, every slice, as the agent builds it."""
    assert cluster.capacity is not None
    count = sum(leaf.count for leaf in cluster.capacity.topology.leaves)
    seen = Observation(
        cluster=cluster.name,
        generation=generation,
        observed=now,
        topology=cluster.capacity.topology,
        header=ReportHeader(scheduler_names=("volcano",)),
        workloads=tuple(workloads),
        nodes=ReportNodes(
            total=count,
            ready=count,
            schedulable=count,
            allocatable=dict(cluster.capacity.total.entries),
        ),
    )
    for at, spec in enumerate(slices_of(seen, Limits())):
        yield report_object(cluster.name, spec, at)


def report_object(cluster: str, spec: CapacityReportSpec, at: int) -> Obj:
    """One slice as an object."""
    return {
        "apiVersion": "federation.global-sched.io/v1alpha1",
        "kind": "CapacityReport",
        "metadata": {
            "name": "capacity" if at == 0 else f"capacity-{at}",
            "namespace": names.execution_namespace(cluster),
            "uid": f"uid-report-{cluster}-{at}",
            "resourceVersion": str(spec.generation + 1),
        },
        "spec": msgspec.to_builtins(spec),
    }


def queue_objects(size: Size) -> Iterator[Obj]:
    """All queues, without limits."""
    draw = random.Random(size.seed)
    for index in range(size.queues):
        name = f"queue-{index:03d}"
        yield {
            "apiVersion": "scheduling.volcano.sh/v1beta1",
            "kind": "Queue",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
            "spec": {"weight": draw.randint(1, 4), "priority": draw.choice((0, 0, 0, 10))},
            "status": {"state": "Open"},
        }


def tenant_objects(size: Size) -> Iterator[Obj]:
    """All tenants, one namespace each."""
    draw = random.Random(size.seed)
    for index in range(size.tenants):
        name = f"tenant-{index:03d}"
        yield {
            "apiVersion": "federation.global-sched.io/v1alpha1",
            "kind": "Tenant",
            "metadata": {"name": name, "uid": f"uid-{name}", "resourceVersion": "1"},
            "spec": {"weight": draw.randint(1, 4), "namespaces": [name]},
        }


def decoded(obj: Obj, kind: type[Any]) -> Any:
    """The wire type, read as an informer reads it."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=kind)
