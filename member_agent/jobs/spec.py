"""A Job's spec with every default filled in, or the reason why it cannot run.

Where no Volcano controller runs, no Volcano webhook defaults and checks Jobs either.

Source:  Volcano's job admission (defaults and checks); docs/volcano-jobs.md lists what differs.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from graphlib import CycleError, TopologicalSorter
from typing import Final

from global_sched.shared.api.base import JsonMap
from global_sched.shared.api.names import DEFAULT_QUEUE
from global_sched.shared.api.volcano import LifecyclePolicy, NetworkTopology, PartitionPolicy
from global_sched.shared.model.instant import SECOND
from member_agent.jobs.wire import RunJob, RunTask

PODS_LIMIT: Final = 100_000
"""Pods that one Job may have in one member; a number beyond it is a mistake or an attack."""
MAX_RETRY: Final = 3
PLUGINS: Final = ("env", "svc")
"""Plugins that are implemented; a Job that names another would run without what it relies on."""

_DURATION = re.compile(r"(\d+(?:\.\d*)?|\.\d+)(ns|us|µs|ms|s|m|h)")
_UNITS = {"ns": 1e-3, "us": 1, "µs": 1, "ms": 1e3, "s": 1e6, "m": 60e6, "h": 3600e6}


class Action(StrEnum):
    """What a policy may ask for, widest last."""

    RESTART_POD = "RestartPod"
    RESTART_PARTITION = "RestartPartition"
    RESTART_TASK = "RestartTask"
    RESTART_JOB = "RestartJob"
    ABORT_JOB = "AbortJob"
    TERMINATE_JOB = "TerminateJob"
    COMPLETE_JOB = "CompleteJob"
    RESUME_JOB = "ResumeJob"
    """Only a command may ask for it; in a policy it does nothing."""


class PolicyEvent(StrEnum):
    """What a policy may wait for."""

    POD_FAILED = "PodFailed"
    POD_EVICTED = "PodEvicted"
    POD_PENDING = "PodPending"
    UNKNOWN = "Unknown"
    TASK_COMPLETED = "TaskCompleted"
    TASK_FAILED = "TaskFailed"
    JOB_UPDATED = "JobUpdated"
    ANY = "*"


class JobRefusedError(ValueError):
    """The Job cannot run: the text names the field, the reason and what would help."""

    def __init__(self, field: str, why: str, remedy: str) -> None:
        super().__init__(f"{field}: {why}; {remedy}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """One policy: any of the events, or the exit code, leads to the action.

    `timeout` (µs) None acts at once; else only when it still holds after that time.
    """

    action: Action
    events: tuple[PolicyEvent, ...] = ()
    exit_code: int | None = None
    timeout: int | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class TaskSpec:
    """One task with its defaults."""

    name: str
    replicas: int
    minimum: int
    template: JsonMap
    rules: tuple[Rule, ...]
    max_retry: int
    depends_on: tuple[str, ...]
    depends_on_any: bool
    partition: PartitionPolicy | None
    topology_policy: str

    def partition_of(self, index: int) -> int | None:
        """The partition of a pod, None without partitions."""
        return None if self.partition is None else index // self.partition.partition_size


@dataclass(frozen=True, slots=True, kw_only=True)
class JobSpec:
    """A Job with its defaults."""

    tasks: tuple[TaskSpec, ...]
    minimum: int
    min_success: int | None
    max_retry: int
    rules: tuple[Rule, ...]
    ttl: int | None
    """Seconds after the end until the Job is deleted."""
    queue: str
    priority_class: str
    scheduler_name: str
    topology: NetworkTopology | None
    plugins: tuple[tuple[str, tuple[str, ...]], ...]
    """Name and arguments, by name."""
    volumes: tuple[tuple[str, str], ...]
    """(mount path, claim)."""

    def task(self, name: str) -> TaskSpec | None:
        """The task of that name."""
        return next((task for task in self.tasks if task.name == name), None)

    def pods(self) -> int:
        """All pods; none when the Job is paused."""
        return sum(task.replicas for task in self.tasks)


def read_spec(job: RunJob) -> JobSpec:
    """The spec of a Job, defaulted and checked. Raises JobRefusedError."""
    spec = job.spec
    if not spec.tasks:
        raise JobRefusedError("spec.tasks", "is empty", "a Job needs at least one task")
    paused = all(task.replicas in (None, 0) for task in spec.tasks)
    tasks = tuple(_task(task, i, paused=paused) for i, task in enumerate(spec.tasks))
    _check_tasks(tasks)
    pods = sum(task.replicas for task in tasks)
    if pods > PODS_LIMIT:
        raise JobRefusedError(
            "spec.tasks[*].replicas", f"add up to {pods} pods", f"use at most {PODS_LIMIT}"
        )
    minimum = _number(spec.min_available, "spec.minAvailable", default=0)
    minimum = 0 if paused else minimum or sum(task.minimum for task in tasks)
    if minimum > pods:
        raise JobRefusedError(
            "spec.minAvailable", f"is {minimum}, the tasks have {pods} pods", "lower it"
        )
    topology = spec.network_topology
    return JobSpec(
        tasks=tasks,
        minimum=minimum,
        min_success=None
        if spec.min_success is None
        else _number(spec.min_success, "spec.minSuccess", default=1, least=1),
        max_retry=_number(spec.max_retry, "spec.maxRetry", default=MAX_RETRY) or MAX_RETRY,
        rules=_rules(spec.policies, "spec.policies"),
        ttl=None
        if spec.ttl_seconds_after_finished is None
        else _number(spec.ttl_seconds_after_finished, "spec.ttlSecondsAfterFinished", default=0),
        queue=spec.queue or DEFAULT_QUEUE,
        priority_class=spec.priority_class_name,
        scheduler_name=spec.scheduler_name,
        topology=topology,
        plugins=_plugins(spec.plugins),
        volumes=_volumes(job),
    )


def _task(task: RunTask, position: int, *, paused: bool) -> TaskSpec:
    """A task; in a paused Job its minimum and its partitions say nothing."""
    field = f"spec.tasks[{position}]"
    name = task.name or f"default{position}"
    replicas = _number(task.replicas, f"{field}.replicas", default=0)
    partition = None if paused else task.partition_policy
    default = replicas
    if partition is not None:
        size, total = partition.partition_size, partition.total_partitions
        if size < 1 or total * size != replicas or not 0 <= partition.min_partitions <= total:
            raise JobRefusedError(
                f"{field}.partitionPolicy",
                f"{total} partitions of {size} (at least {partition.min_partitions}) do not make "
                f"{replicas} replicas",
                "make them agree",
            )
        default = partition.min_partitions * size or replicas
    minimum = _number(task.min_available, f"{field}.minAvailable", default=default)
    minimum = 0 if paused else minimum
    if minimum > replicas:
        raise JobRefusedError(
            f"{field}.minAvailable", f"is {minimum} of {replicas} replicas", "lower it"
        )
    depends = task.depends_on
    return TaskSpec(
        name=name,
        replicas=replicas,
        minimum=minimum,
        template=_template(task.template, f"{field}.template"),
        rules=_rules(task.policies, f"{field}.policies"),
        max_retry=task.max_retry or MAX_RETRY,
        depends_on=tuple(depends.name or ()) if depends is not None else (),
        depends_on_any=depends is not None and depends.iteration == "any",
        partition=partition,
        topology_policy=task.topology_policy,
    )


def _template(template: JsonMap | None, field: str) -> JsonMap:
    """A template whose parts have the right shape; what they say is the API server's business."""
    spec = (template or {}).get("spec")
    if template is None or not isinstance(spec, dict):
        raise JobRefusedError(f"{field}.spec", "is missing", "describe the task's pod")
    for key, needed in (("containers", True), ("initContainers", False)):
        listed = spec.get(key) or []
        if not isinstance(listed, list) or not all(isinstance(one, dict) for one in listed):
            raise JobRefusedError(f"{field}.spec.{key}", "is no list of containers", "correct it")
        if needed and not listed:
            raise JobRefusedError(f"{field}.spec.{key}", "is empty", "add one with an image")
    return template


def _check_tasks(tasks: Sequence[TaskSpec]) -> None:
    names = [task.name for task in tasks]
    if len(set(names)) < len(names):
        raise JobRefusedError("spec.tasks", "has two tasks of one name", "give each its own name")
    for i, task in enumerate(tasks):
        if unknown := [name for name in task.depends_on if name not in names]:
            raise JobRefusedError(
                f"spec.tasks[{i}].dependsOn",
                f"names {unknown[0]!r}, which is no task",
                "correct it",
            )
    try:
        TopologicalSorter({task.name: task.depends_on for task in tasks}).prepare()
    except CycleError as error:
        circle = " → ".join(error.args[1])
        raise JobRefusedError(
            "spec.tasks[*].dependsOn", f"goes in a circle: {circle}", "cut it"
        ) from error


def _rules(policies: Sequence[LifecyclePolicy] | None, field: str) -> tuple[Rule, ...]:
    rules = tuple(_rule(policy, f"{field}[{i}]") for i, policy in enumerate(policies or ()))
    events = [event for rule in rules for event in rule.events]
    if len(set(events)) < len(events) or (PolicyEvent.ANY in events and len(events) > 1):
        raise JobRefusedError(
            field, "names an event twice, or others beside `*`", "name every event once"
        )
    return rules


def _rule(policy: LifecyclePolicy, field: str) -> Rule:
    try:
        action = Action(policy.action)
        texts = [*(policy.events or ()), *([policy.event] if policy.event else ())]
        events = tuple(PolicyEvent(text) for text in dict.fromkeys(texts))
    except ValueError as error:
        raise JobRefusedError(field, str(error), "see the Job's API for what there is") from error
    if bool(events) == (policy.exit_code is not None):
        raise JobRefusedError(field, "needs either events or an exitCode", "set one of them")
    if policy.exit_code == 0:
        raise JobRefusedError(f"{field}.exitCode", "is 0, which is no failure", "use 1 to 255")
    timeout = None if policy.timeout is None else parse_duration(policy.timeout, field)
    if PolicyEvent.POD_PENDING in events and timeout is None:
        raise JobRefusedError(f"{field}.timeout", "is missing", "PodPending needs one, such as 10m")
    return Rule(action=action, events=events, exit_code=policy.exit_code, timeout=timeout)


def _plugins(
    plugins: dict[str, list[str] | None] | None,
) -> tuple[tuple[str, tuple[str, ...]], ...]:
    for name in plugins or ():
        if name not in PLUGINS:
            raise JobRefusedError(
                f"spec.plugins.{name}",
                "is not implemented by the member agent",
                f"use {' or '.join(PLUGINS)}, or run Volcano's controllers in this cluster",
            )
    return tuple(sorted((name, tuple(args or ())) for name, args in (plugins or {}).items()))


def _volumes(job: RunJob) -> tuple[tuple[str, str], ...]:
    found = []
    for i, volume in enumerate(job.spec.volumes or ()):
        field = f"spec.volumes[{i}]"
        if not volume.mount_path or not volume.volume_claim_name:
            raise JobRefusedError(
                field,
                "has no mountPath or no volumeClaimName",
                "create the claim and name it: the member agent makes none",
            )
        found.append((volume.mount_path, volume.volume_claim_name))
    return tuple(found)


def _number(value: int | None, field: str, *, default: int, least: int = 0) -> int:
    number = default if value is None else value
    if not least <= number < 2**31:
        raise JobRefusedError(field, f"is {number}", f"use a whole number of at least {least}")
    return number


def parse_duration(text: str, field: str) -> int:
    """Microseconds of a duration as Go writes it: `90s`, `1h30m`. Raises JobRefusedError."""
    parts = _DURATION.findall(text) if len(text) <= 64 else []
    if not parts or "".join(number + unit for number, unit in parts) != text:
        raise JobRefusedError(
            f"{field}.timeout", f"is {text[:40]!r}", "use one such as 90s or 1h30m"
        )
    micros = round(sum(float(number) * _UNITS[unit] for number, unit in parts))
    if micros > 2**53:
        raise JobRefusedError(f"{field}.timeout", f"is {text[:40]!r}", "use less than 280 years")
    return micros


def format_duration(micros: int) -> str:
    """Whole seconds as Go writes them: `2s`, `1m5s`, `1h0m0s`."""
    seconds = micros // SECOND
    hours, rest = divmod(seconds, 3600)
    minutes, rest = divmod(rest, 60)
    if hours:
        return f"{hours}h{minutes}m{rest}s"
    return f"{minutes}m{rest}s" if minutes else f"{rest}s"
