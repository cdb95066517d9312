"""From a task's template to a pod, with Volcano's names, labels, annotations and variables."""

import copy
import re
from collections.abc import Mapping
from typing import Any, Final

from global_sched.shared.api import names
from global_sched.shared.api.base import Meta
from global_sched.shared.api.core import Pod
from member_agent.jobs.plugins import decorate, owner_reference, pod_name, set_variables
from member_agent.jobs.spec import JobSpec, TaskSpec
from member_agent.jobs.wire import RunJob

Json = dict[str, Any]

_COPIED: Final = (
    names.PREEMPTABLE,
    "volcano.sh/cooldown-time",
    "volcano.sh/revocable-zone",
    "volcano.sh/jdb-min-available",
    "volcano.sh/jdb-max-unavailable",
)
"""Annotations of a Job that Volcano's scheduler reads on its pods."""
_COPIED_LABELS: Final = (names.PREEMPTABLE, "volcano.sh/cooldown-time")
_NUMA: Final = "volcano.sh/numa-topology-policy"


def group_name(job: RunJob) -> str:
    """The name of a Job's PodGroup."""
    return f"{job.metadata.name}-{job.metadata.uid}"


def make_pod(
    job: RunJob,
    spec: JobSpec,
    task: TaskSpec,
    index: int,
    *,
    default_scheduler: str,
    carried: Mapping[str, str] | None = None,
) -> Json:
    """One pod of a task, ready to be created; `carried` are labels that travelled with the Job."""
    pod: Json = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": _metadata(job, spec, task, index),
        "spec": copy.deepcopy(task.template["spec"]),
    }
    pod_spec = pod["spec"]
    pod_spec["schedulerName"] = (
        pod_spec.get("schedulerName") or spec.scheduler_name or default_scheduler
    )
    if spec.priority_class and not pod_spec.get("priorityClassName"):
        pod_spec["priorityClassName"] = spec.priority_class
    _mount_volumes(pod_spec, job, spec)
    decorate(pod, job=job, spec=spec, index=index)
    if carried:
        pod["metadata"]["labels"] = dict(carried) | pod["metadata"]["labels"]
        set_variables(pod, {variable_of(label): value for label, value in carried.items()})
    return pod


def variable_of(label: str) -> str:
    """The variable of a carried label: `team.example/step` is `CARRIED_TEAM_EXAMPLE_STEP`."""
    return f"CARRIED_{re.sub('[^A-Za-z0-9]', '_', label).upper()}"


def _metadata(job: RunJob, spec: JobSpec, task: TaskSpec, index: int) -> Json:
    meta = job.metadata
    labels = _strings(task, "labels") | {
        names.JOB_NAME: meta.name,
        names.JOB_NAMESPACE: meta.namespace,
        names.QUEUE_NAME: spec.queue,
        names.TASK_SPEC: task.name,
        names.TASK_INDEX: str(index),
    }
    if (partition := task.partition_of(index)) is not None:
        labels[names.PARTITION_ID] = str(partition)
    labels |= _present(meta.labels, _COPIED_LABELS)
    annotations = _strings(task, "annotations") | {
        names.GROUP_NAME: group_name(job),
        names.JOB_NAME: meta.name,
        names.JOB_VERSION: str(job.status.version),
        names.JOB_RETRY_COUNT: str(job.status.retry_count),
        names.QUEUE_NAME: spec.queue,
        names.TASK_SPEC: task.name,
        names.TASK_INDEX: str(index),
        names.TEMPLATE_UID_VOLCANO: f"{meta.name}-{task.name}",
    }
    if task.topology_policy:
        annotations[_NUMA] = task.topology_policy
    annotations |= _present(meta.annotations, _COPIED)
    return {
        "name": pod_name(meta.name, task.name, index),
        "namespace": meta.namespace,
        "labels": labels,
        "annotations": annotations,
        "ownerReferences": [owner_reference(job)],
    }


def _mount_volumes(pod_spec: Json, job: RunJob, spec: JobSpec) -> None:
    """Give every container the Job's claims; a claim that is mounted twice is one volume."""
    volumes: dict[str, str] = {}
    for path, claim in spec.volumes:
        if claim not in volumes:
            volumes[claim] = f"{job.metadata.name}-volume-{len(volumes)}"
            pod_spec.setdefault("volumes", []).append(
                {"name": volumes[claim], "persistentVolumeClaim": {"claimName": claim}}
            )
        for container in pod_spec["containers"]:
            container.setdefault("volumeMounts", []).append(
                {"name": volumes[claim], "mountPath": path}
            )


def _strings(task: TaskSpec, field: str) -> dict[str, str]:
    """Labels or annotations of a template."""
    metadata = task.template.get("metadata")
    found = metadata.get(field) if isinstance(metadata, Mapping) else None
    return {str(k): str(v) for k, v in found.items()} if isinstance(found, Mapping) else {}


def _present(source: Mapping[str, str] | None, keys: tuple[str, ...]) -> dict[str, str]:
    return {key: source[key] for key in keys if key in source} if source else {}


def version_of(pod: Pod) -> int:
    """The Job version under which a pod was made; -1 when it does not say."""
    return _whole(pod.metadata.annotation(names.JOB_VERSION))


def place_of(pod: Pod) -> tuple[str, int]:
    """The (task, index) of a pod; the index is -1 when it does not say."""
    meta: Meta = pod.metadata
    text = meta.annotation(names.TASK_INDEX) or meta.label(names.TASK_INDEX)
    return meta.annotation(names.TASK_SPEC) or meta.label(names.TASK_SPEC), _whole(text)


def _whole(text: str) -> int:
    return int(text) if text.isascii() and text.isdigit() and len(text) < 10 else -1
