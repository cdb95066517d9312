"""Templates that users apply, as API servers hold them: pods and jobs of every kind. See `wire`."""

import copy
from collections.abc import Mapping
from typing import Any, TypeVar

import msgspec

from global_sched.shared.model.instant import SECOND, Instant, format_instant, parse_instant

T = TypeVar("T")
Object = dict[str, Any]

GPU = "nvidia.com/gpu"
NOW = parse_instant("2026-01-31T12:00:00Z")


def decode(obj: Object, kind: type[T]) -> T:
    """The wire type, read exactly as an informer reads it."""
    return msgspec.json.decode(msgspec.json.encode(obj), type=kind)


def stripped(obj: Object) -> Object:
    """The object as a user writes it: without what a server sets, and without status."""
    meta = {
        key: value
        for key, value in obj["metadata"].items()
        if key not in ("uid", "resourceVersion", "creationTimestamp", "generation")
    }
    return {key: value for key, value in obj.items() if key != "status"} | {"metadata": meta}


def meta(
    name: str,
    *,
    namespace: str = "",
    uid: str = "",
    version: str = "1",
    generation: int = 1,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    created: int = 0,
    deleted: bool = False,
) -> Object:
    """Metadata; `created` is in seconds after an hour before NOW."""
    stamp = format_instant(Instant(NOW + (created - 3600) * SECOND))
    found: Object = {
        "name": name,
        "uid": uid or f"uid-{name}",
        "resourceVersion": version,
        "generation": generation,
        "creationTimestamp": stamp,
    }
    if namespace:
        found["namespace"] = namespace
    if labels:
        found["labels"] = dict(labels)
    if annotations:
        found["annotations"] = dict(annotations)
    if deleted:
        found["deletionTimestamp"] = stamp
    return found


def pod_template(
    *,
    gpus: int | str = 0,
    cpu: str = "1",
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **spec: Any,
) -> Object:
    """A pod template with one container."""
    requests = {"cpu": cpu} | ({GPU: str(gpus)} if gpus else {})
    container = {"name": "main", "image": "busybox", "resources": {"requests": requests}}
    template: Object = {"spec": {"containers": [container]} | spec}
    if labels or annotations:
        template["metadata"] = {
            "labels": dict(labels or {}),
            "annotations": dict(annotations or {}),
        }
    return template


def task(
    name: str = "worker", replicas: int | None = 1, *, template: Object | None = None, **fields: Any
) -> Object:
    """A task of a Volcano Job."""
    found: Object = {"name": name, "template": template or pod_template()} | fields
    if replicas is not None:
        found["replicas"] = replicas
    return found


def vcjob(
    name: str,
    *tasks: Object,
    namespace: str = "team-a",
    replicas: int = 1,
    gpus: int = 0,
    queue: str | None = None,
    tier: int | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A Volcano Job; without tasks it has one `worker` task of `replicas` pods."""
    body: Object = {
        "schedulerName": "member-agent",
        "tasks": list(tasks) or [task("worker", replicas, template=pod_template(gpus=gpus))],
    }
    if queue is not None:
        body["queue"] = queue
    if tier is not None:
        body["networkTopology"] = {"mode": "hard", "highestTierAllowed": tier}
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": body | dict(spec or {}),
    }


def batch_job(
    name: str,
    *,
    namespace: str = "team-a",
    template: Object | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A batch/v1 Job."""
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {"template": template or pod_template(restartPolicy="Never")} | dict(spec or {}),
    }


def deployment(
    name: str,
    *,
    kind: str = "Deployment",
    namespace: str = "team-a",
    replicas: int | None = 1,
    template: Object | None = None,
    **more: Any,
) -> Object:
    """A Deployment or StatefulSet."""
    spec: Object = {
        "selector": {"matchLabels": {"app": name}},
        "template": template or pod_template(labels={"app": name}),
    }
    if replicas is not None:
        spec["replicas"] = replicas
    return {
        "apiVersion": "apps/v1",
        "kind": kind,
        "metadata": meta(name, namespace=namespace, **more),
        "spec": spec,
    }


def pytorch_job(
    name: str,
    replicas: Mapping[str, int | None],
    *,
    namespace: str = "team-a",
    template: Object | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A PyTorchJob with these replica types."""
    specs = {
        kind: {"template": template or pod_template()} | ({} if n is None else {"replicas": n})
        for kind, n in replicas.items()
    }
    return {
        "apiVersion": "kubeflow.org/v1",
        "kind": "PyTorchJob",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {"pytorchReplicaSpecs": specs} | dict(spec or {}),
    }


def leader_worker_set(
    name: str,
    *,
    groups: int | None = 2,
    size: int | None = 3,
    namespace: str = "team-a",
    worker: Object | None = None,
    leader: Object | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A LeaderWorkerSet; without a leader's template the leader is like the workers."""
    template: Object = {"workerTemplate": worker or pod_template()}
    template |= {} if size is None else {"size": size}
    template |= {} if leader is None else {"leaderTemplate": leader}
    counts = {} if groups is None else {"replicas": groups}
    return {
        "apiVersion": "leaderworkerset.x-k8s.io/v1",
        "kind": "LeaderWorkerSet",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {"leaderWorkerTemplate": template} | counts | dict(spec or {}),
    }


def replicated_job(
    name: str = "worker",
    replicas: int | None = 1,
    *,
    pods: int = 1,
    template: Object | None = None,
    labels: Mapping[str, str] | None = None,
    annotations: Mapping[str, str] | None = None,
    **fields: Any,
) -> Object:
    """A part of a JobSet: Jobs of `pods` indexed pods each."""
    spec: Object = {
        "parallelism": pods,
        "completions": pods,
        "completionMode": "Indexed",
        "backoffLimit": 0,
        "template": template or pod_template(restartPolicy="Never"),
    }
    job: Object = {"spec": spec}
    if labels or annotations:
        job["metadata"] = {"labels": dict(labels or {}), "annotations": dict(annotations or {})}
    found: Object = {"name": name, "template": job} | fields
    return found | ({} if replicas is None else {"replicas": replicas})


def job_set(
    name: str,
    *parts: Object,
    namespace: str = "team-a",
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A JobSet of these replicated jobs."""
    return {
        "apiVersion": "jobset.x-k8s.io/v1alpha2",
        "kind": "JobSet",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {"replicatedJobs": list(parts)} | dict(spec or {}),
    }


def training_runtime(
    name: str,
    *parts: Object,
    kind: str = "ClusterTrainingRuntime",
    namespace: str = "team-a",
    policy: Mapping[str, Any] | None = None,
    template: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
) -> Object:
    """A runtime of Kubeflow Trainer with a JobSet of these replicated jobs; or of nodes alone."""
    own = {} if kind == "ClusterTrainingRuntime" else {"namespace": namespace}
    inner = {"replicatedJobs": list(parts or (trainer_part(),))}
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": kind,
        "metadata": {"name": name, **own},
        "spec": {
            "mlPolicy": {"numNodes": 1} | dict(policy or {}),
            "template": {"metadata": dict(template or {}), "spec": inner},
        }
        | dict(spec or {}),
    }


def trainer_part(
    name: str = "node",
    *,
    step: str = "trainer",
    container: str = "node",
    template: Object | None = None,
    **fields: Any,
) -> Object:
    """The replicated job of a runtime that trains, or another step."""
    pod = copy.deepcopy(template or pod_template(restartPolicy="Never"))
    pod["spec"]["containers"][0]["name"] = container
    labels = {"trainer.kubeflow.org/trainjob-ancestor-step": step} if step else {}
    return replicated_job(name, template=pod, labels=labels, **fields)


def train_job(
    name: str,
    nodes: int | None = 2,
    *,
    runtime: str = "torch",
    kind: str = "ClusterTrainingRuntime",
    namespace: str = "team-a",
    trainer: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A TrainJob of a runtime."""
    own = dict(trainer or {}) | ({} if nodes is None else {"numNodes": nodes})
    return {
        "apiVersion": "trainer.kubeflow.org/v1alpha1",
        "kind": "TrainJob",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {"runtimeRef": {"kind": kind, "name": runtime}, "trainer": own} | dict(spec or {}),
    }


def worker_group(
    name: str = "gpu",
    replicas: int | None = 2,
    least: int | None = 1,
    *,
    most: int | None = 10,
    hosts: int | None = None,
    template: Object | None = None,
    **fields: Any,
) -> Object:
    """A worker group of a RayCluster."""
    counts = {
        "replicas": replicas,
        "minReplicas": least,
        "maxReplicas": most,
        "numOfHosts": hosts,
    }
    found: Object = {"groupName": name, "template": template or pod_template()} | fields
    return found | {key: value for key, value in counts.items() if value is not None}


def ray_cluster(
    name: str,
    *groups: Object,
    namespace: str = "team-a",
    head: Object | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A RayCluster of a head and these worker groups."""
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayCluster",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {
            "headGroupSpec": {"rayStartParams": {}, "template": head or pod_template()},
            "workerGroupSpecs": list(groups),
        }
        | dict(spec or {}),
    }


def ray_job(
    name: str,
    *groups: Object,
    namespace: str = "team-a",
    head: Object | None = None,
    submitter: Object | None = None,
    cluster: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """A RayJob with a cluster of these worker groups."""
    inner = ray_cluster(name, *groups, head=head, spec=cluster)["spec"]
    own = {} if submitter is None else {"submitterPodTemplate": submitter}
    return {
        "apiVersion": "ray.io/v1",
        "kind": "RayJob",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {
            "entrypoint": "python train.py",
            "shutdownAfterJobFinishes": True,
            "rayClusterSpec": inner,
        }
        | own
        | dict(spec or {}),
    }


def mpi_job(
    name: str,
    workers: int | None = 2,
    *,
    namespace: str = "team-a",
    template: Object | None = None,
    launcher: Object | None = None,
    run: Mapping[str, Any] | None = None,
    spec: Mapping[str, Any] | None = None,
    **more: Any,
) -> Object:
    """An MPIJob of a launcher and workers, whose workers go with its end."""
    worker: Object = {"template": template or pod_template()}
    worker |= {} if workers is None else {"replicas": workers}
    return {
        "apiVersion": "kubeflow.org/v2beta1",
        "kind": "MPIJob",
        "metadata": meta(name, namespace=namespace, **more),
        "spec": {
            "runPolicy": {"cleanPodPolicy": "Running"} | dict(run or {}),
            "mpiReplicaSpecs": {
                "Launcher": {"replicas": 1, "template": launcher or pod_template()},
                "Worker": worker,
            },
        }
        | dict(spec or {}),
    }
