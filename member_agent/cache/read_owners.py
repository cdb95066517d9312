"""Objects that control pods: what of them makes a minimum, and whose they are."""

from global_sched.shared.api import names
from global_sched.shared.api.base import KubeObject, Meta, Wire
from global_sched.shared.api.volcano import DependsOn
from global_sched.shared.api.workloads import LEADER_READY, ElasticPolicy
from global_sched.shared.model.gang import Amounts
from global_sched.shared.model.ids import MAIN, PodSetName
from member_agent.cache.reading import ReadError, binding_of, count, notes_of, owner_ref
from member_agent.cache.records import GroupsRecord, OwnerRecord, TaskRecord


class ReplicaCount(Wire, frozen=True):
    """How many pods of one replica type."""

    replicas: int | None = None


class GroupSize(Wire, frozen=True):
    """How many pods a group of a LeaderWorkerSet has."""

    size: int | None = None


class OwnerTask(Wire, frozen=True):
    """A task of a Volcano Job, without its template."""

    name: str = ""
    replicas: int | None = None
    depends_on: DependsOn | None = None


class OwnerSpec(Wire, frozen=True):
    """The fields of owners that say what must run together."""

    tasks: list[OwnerTask] | None = None
    parallelism: int | None = None
    completions: int | None = None
    pytorch_replica_specs: dict[str, ReplicaCount] | None = None
    elastic_policy: ElasticPolicy | None = None
    replicas: int | None = None
    leader_worker_template: GroupSize | None = None
    startup_policy: str = ""


class OwnerObject(Wire, frozen=True):
    """An object that controls pods: its metadata, and what of its spec makes a minimum."""

    api_version: str = ""
    kind: str = ""
    metadata: Meta = Meta()
    spec: OwnerSpec = OwnerSpec()


def read_owner(obj: OwnerObject | KubeObject, api_version: str, kind: str) -> OwnerRecord:
    """The record of an object that controls pods.

    Raises:  ReadError for counts out of range.
    """
    meta = obj.metadata
    return OwnerRecord(
        uid=meta.uid,
        api_version=api_version,
        kind=kind,
        namespace=meta.namespace,
        name=meta.name,
        resource_version=meta.resource_version,
        deleting=meta.deletion_timestamp is not None,
        owner=owner_ref(meta.controller()),
        binding=binding_of(meta),
        minimum=_minimum_of(obj, f"{api_version}/{kind}") if isinstance(obj, OwnerObject) else None,
        tasks=_tasks_of(obj) if isinstance(obj, OwnerObject) else (),
        notes=notes_of(meta),
        groups=_groups_of(obj) if isinstance(obj, OwnerObject) else None,
    )


def _groups_of(owner: OwnerObject) -> GroupsRecord | None:
    """The groups of a LeaderWorkerSet; None for other kinds."""
    template, spec = owner.spec.leader_worker_template, owner.spec
    if template is None:
        return None
    size = count(1 if template.size is None else template.size, "spec.leaderWorkerTemplate.size")
    groups = count(1 if spec.replicas is None else spec.replicas, "spec.replicas")
    asked = owner.metadata.annotation(names.MIN_GROUPS)
    return GroupsRecord(
        size=max(1, size),
        least=min(groups, _asked(asked, names.MIN_GROUPS)) if asked else groups,
        late=spec.startup_policy == LEADER_READY,
    )


def _tasks_of(owner: OwnerObject) -> tuple[TaskRecord, ...]:
    return tuple(
        TaskRecord(
            name=PodSetName(task.name),
            replicas=count(1 if task.replicas is None else task.replicas, f"task {task.name}"),
            depends=bool(task.depends_on and task.depends_on.name),
        )
        for task in owner.spec.tasks or ()
    )


def _minimum_of(owner: OwnerObject, kind: str) -> Amounts | None:
    if kind == "batch/v1/Job":
        return Amounts.of({MAIN: _job_minimum(owner)})
    if kind.endswith("/PyTorchJob"):
        return _training_minimum(owner.spec)
    return None


def _job_minimum(owner: OwnerObject) -> int:
    asked = owner.metadata.annotation(names.MIN_PARALLELISM)
    parallelism = 1 if owner.spec.parallelism is None else owner.spec.parallelism
    at_once = count(parallelism, "spec.parallelism")
    if owner.spec.completions is not None:
        at_once = min(at_once, count(owner.spec.completions, "spec.completions"))
    if not asked:
        return at_once
    return min(at_once, _asked(asked, names.MIN_PARALLELISM))


def _asked(text: str, annotation: str) -> int:
    """How many must start together, as an annotation says."""
    if not (text.isascii() and text.isdigit() and len(text) <= 7 and int(text) >= 1):
        raise ReadError(f"annotation {annotation} is {text[:40]!r}, not a whole number")
    return int(text)


def _training_minimum(spec: OwnerSpec) -> Amounts:
    replicas = {
        PodSetName(kind.lower()): count(
            1 if one.replicas is None else one.replicas, f"spec.pytorchReplicaSpecs[{kind}]"
        )
        for kind, one in (spec.pytorch_replica_specs or {}).items()
    }
    elastic = spec.elastic_policy
    worker = PodSetName("worker")
    if elastic is not None and elastic.min_replicas is not None and worker in replicas:
        least = count(elastic.min_replicas, "spec.elasticPolicy.minReplicas")
        replicas[worker] = min(replicas[worker], least)
    return Amounts.of(replicas)
