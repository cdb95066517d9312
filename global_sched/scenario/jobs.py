"""Jobs of a scenario as manifests: the Volcano Job and the policy that propagates it."""

import csv
import io

from global_sched.scenario.members import Read, toleration
from global_sched.scenario.world import JobSpec, ScenarioError, TaskSpec, TopologySpec, TraceSpec
from global_sched.shared.api.names import RUN_SECONDS

Manifest = dict[str, object]


def template_of(job: JobSpec) -> Manifest:
    """The Volcano Job."""
    where = f"job {job.namespace}/{job.name}"
    spec: Manifest = {
        "schedulerName": job.scheduler_name,
        "tasks": [_task(task, job, where) for task in job.tasks],
    }
    if job.queue:
        spec["queue"] = job.queue
    if job.priority_class:
        spec["priorityClassName"] = job.priority_class
    if job.min_available is not None:
        spec["minAvailable"] = job.min_available
    if job.topology is not None:
        spec["networkTopology"] = _topology(job.topology)
    metadata: Manifest = {"name": job.name, "namespace": job.namespace}
    if job.labels:
        metadata["labels"] = job.labels
    if job.annotations:
        metadata["annotations"] = job.annotations
    return {
        "apiVersion": "batch.volcano.sh/v1alpha1",
        "kind": "Job",
        "metadata": metadata,
        "spec": spec,
    }


def jobs_of(trace: TraceSpec, read: Read) -> list[JobSpec]:
    """One job per row of a trace file, in its order."""
    lines = [line for line in read(trace.file).splitlines() if not line.startswith("#")]
    rows = list(csv.DictReader(io.StringIO("\n".join(lines))))[: trace.limit]
    found = []
    for number, row in enumerate(rows):
        try:
            nodes, gpus = int(row["nodes"]), int(row["gpus"])
        except (KeyError, ValueError) as error:
            raise ScenarioError(
                f"{trace.file}: row {number + 1} needs a name and whole numbers of nodes and gpus"
            ) from error
        found.append(
            JobSpec(
                name=row["name"],
                namespace=trace.namespace,
                queue=trace.queue,
                clusters=trace.clusters,
                topology=trace.topology,
                scheduler_name=trace.scheduler_name,
                run_seconds=trace.run_seconds,
                tasks=[
                    TaskSpec(replicas=nodes, requests=trace.requests | {"nvidia.com/gpu": gpus})
                ],
            )
        )
    return found


def _topology(topology: TopologySpec) -> Manifest:
    """A networkTopology object."""
    found: Manifest = {"mode": topology.mode}
    if topology.highest_tier_allowed is not None:
        found["highestTierAllowed"] = topology.highest_tier_allowed
    if topology.highest_tier_name:
        found["highestTierName"] = topology.highest_tier_name
    return found


def _task(task: TaskSpec, job: JobSpec, where: str) -> Manifest:
    """One task of the Volcano Job."""
    requests = {k: str(v) for k, v in (task.requests or {"nvidia.com/gpu": 8}).items()}
    pod: Manifest = {
        "restartPolicy": "Never",
        "schedulerName": job.scheduler_name,
        "containers": [
            {
                "name": task.name,
                "image": "registry.example/train:1",
                "resources": {"requests": requests, "limits": requests},
            }
        ],
    }
    if task.node_selector:
        pod["nodeSelector"] = task.node_selector
    if task.tolerations:
        pod["tolerations"] = [toleration(text, where) for text in task.tolerations]
    template: Manifest = {"spec": pod}
    annotations = dict(task.annotations)
    if job.run_seconds is not None:
        annotations[RUN_SECONDS] = str(job.run_seconds)
    metadata = {"labels": task.labels, "annotations": annotations}
    if metadata := {name: value for name, value in metadata.items() if value}:
        template["metadata"] = metadata
    found: Manifest = {"name": task.name, "replicas": task.replicas, "template": template}
    if task.min_available is not None:
        found["minAvailable"] = task.min_available
    if task.partition_policy is not None:
        policy = task.partition_policy
        partition: Manifest = {
            "totalPartitions": policy.total_partitions,
            "partitionSize": policy.partition_size,
            "minPartitions": policy.min_partitions,
        }
        if policy.network_topology is not None:
            partition["networkTopology"] = _topology(policy.network_topology)
        found["partitionPolicy"] = partition
    return found


def policy_of(job: JobSpec, *, every_job: bool = False) -> Manifest:
    """The PropagationPolicy of one job, or of every Volcano Job in its namespace."""
    where = f"job {job.namespace}/{job.name}"
    selector = {"apiVersion": "batch.volcano.sh/v1alpha1", "kind": "Job"}
    if not every_job:
        selector["name"] = job.name
    affinity: Manifest = {}
    if job.clusters:
        affinity["clusterNames"] = job.clusters
    if job.exclude:
        affinity["exclude"] = job.exclude
    placement: Manifest = {"clusterAffinity": affinity} if affinity else {}
    if job.cluster_tolerations:
        placement["clusterTolerations"] = [
            toleration(text, where) for text in job.cluster_tolerations
        ]
    return {
        "apiVersion": "policy.karmada.io/v1alpha1",
        "kind": "PropagationPolicy",
        "metadata": {"name": "jobs" if every_job else job.name, "namespace": job.namespace},
        "spec": {
            "schedulerName": "global-sched",
            "resourceSelectors": [selector],
            "placement": placement,
        },
    }
