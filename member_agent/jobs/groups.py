"""A Job's PodGroup: what must run together, and how far its pods have come.

The minimum covers only tasks that may start: a task that waits for others is no part of it until
its dependsOn is met, or the tasks before it would never be bound.

Source:  Volcano's job controller; resource names as Kubernetes' quota evaluator counts a pod.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from global_sched.shared.api.volcano import PartitionPolicy, PodGroup
from global_sched.shared.model.quantity import QuantityError, format_quantity, parse_quantity
from member_agent.jobs.plugins import owner_reference
from member_agent.jobs.pods import group_name
from member_agent.jobs.spec import JobRefusedError, JobSpec, TaskSpec
from member_agent.jobs.wire import RunJob

Json = dict[str, Any]
Amounts = dict[str, int]

WAITING: Final = "Inqueue"
"""The phase of a PodGroup whose pods exist and whose minimum does not run yet."""
_LIMITED = ("cpu", "memory", "ephemeral-storage")
"""Resources of which a quota counts limits, too."""


def group_spec(spec: JobSpec, startable: Iterable[str], gone: Mapping[str, int]) -> Json:
    """The PodGroup's spec when only these tasks may start.

    `gone` are pods by task that succeeded and stand there no more: a scheduler cannot count them,
    so that the minimum goes without them.
    """
    tasks = _of_names(spec, startable)
    members = max(1, _members(spec, tasks) - sum(gone.values()))
    tasks = [
        replace(
            task,
            replicas=task.replicas - gone.get(task.name, 0),
            minimum=max(0, task.minimum - gone.get(task.name, 0)),
        )
        for task in tasks
    ]
    found: Json = {
        "minMember": members,
        "minTaskMember": {task.name: task.minimum for task in tasks},
        "minResources": _min_resources(tasks, members),
        "queue": spec.queue,
    }
    if spec.priority_class:
        found["priorityClassName"] = spec.priority_class
    if spec.topology is not None:
        topology = spec.topology
        found["networkTopology"] = _topology(
            topology.mode, topology.highest_tier_allowed, topology.highest_tier_name
        )
    policies = [_policy(task.name, task.partition) for task in spec.tasks if task.partition]
    if policies:
        found["subGroupPolicy"] = policies
    return found


def make_group(job: RunJob, spec: Json) -> Json:
    """A new PodGroup; it carries the Job's labels and annotations, as Volcano's does."""
    meta: Json = {
        "name": group_name(job),
        "namespace": job.metadata.namespace,
        "ownerReferences": [owner_reference(job)],
    }
    if job.metadata.labels:
        meta["labels"] = dict(job.metadata.labels)
    if job.metadata.annotations:
        meta["annotations"] = dict(job.metadata.annotations)
    return {
        "apiVersion": "scheduling.volcano.sh/v1beta1",
        "kind": "PodGroup",
        "metadata": meta,
        "spec": spec,
    }


def group_phase(group: PodGroup, *, minimum: int, running: int, succeeded: int, pods: int) -> str:
    """The phase to show: Inqueue until the minimum runs, then Running, at the end Completed.

    Unknown, which a scheduler writes, stays until the minimum runs again.
    """
    if pods and succeeded == pods:
        return "Completed"
    if running + succeeded >= max(minimum, 1):
        return "Running"
    return "Unknown" if group.status.phase == "Unknown" else WAITING


def group_minimum(spec: JobSpec, startable: Iterable[str]) -> int:
    """How many pods have to run or to have succeeded when only these tasks may start."""
    return _members(spec, _of_names(spec, startable))


def _of_names(spec: JobSpec, names: Iterable[str]) -> list[TaskSpec]:
    wanted = set(names)
    return [task for task in spec.tasks if task.name in wanted]


def _members(spec: JobSpec, tasks: Sequence[TaskSpec]) -> int:
    """The Job's minimum less what waiting tasks contribute to it."""
    waiting = [task for task in spec.tasks if task not in tasks]
    if not waiting:
        return spec.minimum
    pods = sum(task.replicas for task in tasks)
    if spec.minimum < sum(task.minimum for task in spec.tasks):
        return min(spec.minimum, pods)
    return min(spec.minimum - sum(task.minimum for task in waiting), pods)


def _min_resources(tasks: Sequence[TaskSpec], members: int) -> dict[str, str]:
    """What the first `members` pods request: every task's minimum first, then the rest."""
    counts = dict.fromkeys((task.name for task in tasks), 0)
    left = members
    for minimum_only in (True, False):
        for task in tasks:
            most = (task.minimum if minimum_only else task.replicas) - counts[task.name]
            more = max(0, min(left, most))
            counts[task.name] += more
            left -= more
    total: Amounts = {}
    for task in tasks:
        if counts[task.name]:
            for name, amount in _usage(task).items():
                total[name] = total.get(name, 0) + amount * counts[task.name]
    return {name: format_quantity(amount, _plain(name)) for name, amount in sorted(total.items())}


def _usage(task: TaskSpec) -> Amounts:
    """What a quota would count for one pod of the task."""
    spec = task.template.get("spec")
    pod = spec if isinstance(spec, Mapping) else {}
    where = f"the template of task {task.name}"
    requests, limits = (_pod_total(pod, part, where) for part in ("requests", "limits"))
    usage: Amounts = {"pods": 1, "count/pods": 1}
    for name, amount in requests.items():
        usage[name] = usage[f"requests.{name}"] = amount
    for name in _LIMITED:
        if name in limits:
            usage[f"limits.{name}"] = limits[name]
    return usage


def _pod_total(pod: Mapping[str, Any], part: str, where: str) -> Amounts:
    """Requests or limits of a pod: its containers together, or the largest init container."""
    total: Amounts = {}
    largest: Amounts = {}
    for container in pod.get("containers") or ():
        for name, amount in _amounts(container, part, where).items():
            total[name] = total.get(name, 0) + amount
    for container in pod.get("initContainers") or ():
        target = total if container.get("restartPolicy") == "Always" else largest
        for name, amount in _amounts(container, part, where).items():
            if target is total:
                total[name] = total.get(name, 0) + amount
            else:
                largest[name] = max(largest.get(name, 0), amount)
    for name, amount in largest.items():
        total[name] = max(total.get(name, 0), amount)
    for name, amount in _quantities(pod.get("overhead"), where).items():
        if part == "requests" or name in total:
            total[name] = total.get(name, 0) + amount
    return total


def _amounts(container: Mapping[str, Any], part: str, where: str) -> Amounts:
    resources = container.get("resources")
    return _quantities(resources.get(part), where) if isinstance(resources, Mapping) else {}


def _quantities(listed: object, where: str) -> Amounts:
    if not isinstance(listed, Mapping):
        return {}
    try:
        return {str(name): parse_quantity(str(text), str(name)) for name, text in listed.items()}
    except QuantityError as error:
        raise JobRefusedError(where, str(error), "correct the quantity") from error


def _plain(name: str) -> str:
    """The resource that a quota name is about."""
    return name.removeprefix("requests.").removeprefix("limits.")


def _topology(mode: str, tier: int | None, tier_name: str) -> Json:
    found: Json = {"mode": mode or "hard"}
    if tier is not None:
        found["highestTierAllowed"] = tier
    if tier_name:
        found["highestTierName"] = tier_name
    return found


def _policy(task: str, partition: PartitionPolicy) -> Json:
    """The partitions of a task as subgroups."""
    found: Json = {
        "name": task,
        "subGroupSize": partition.partition_size,
        "minSubGroups": partition.min_partitions,
        "labelSelector": {"matchLabels": {"volcano.sh/task-spec": task}},
        "matchLabelKeys": ["volcano.sh/partition-id"],
    }
    if (topology := partition.network_topology) is not None:
        found["networkTopology"] = _topology(
            topology.mode, topology.highest_tier_allowed, topology.highest_tier_name
        )
    return found
