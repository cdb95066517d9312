"""Kinds that users submit, apart from Volcano's: what a reader needs of each."""

from typing import Final

from global_sched.shared.api.base import Condition, LabelSelector, Meta, Wire
from global_sched.shared.api.core import PodTemplate


class DeploymentSpec(Wire, frozen=True):
    """Also a ReplicaSet's and a StatefulSet's."""

    replicas: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()
    service_name: str = ""


class Deployment(Wire, frozen=True):
    """apps/v1 Deployment, ReplicaSet or StatefulSet."""

    api_version: str = "apps/v1"
    kind: str = "Deployment"
    metadata: Meta = Meta()
    spec: DeploymentSpec = DeploymentSpec()


class BatchJobSpec(Wire, frozen=True):
    """How many pods, at once and in all."""

    parallelism: int | None = None
    completions: int | None = None
    completion_mode: str | None = None
    backoff_limit: int | None = None
    suspend: bool | None = None
    active_deadline_seconds: int | None = None
    selector: LabelSelector | None = None
    template: PodTemplate = PodTemplate()


class BatchJobStatus(Wire, frozen=True):
    """Its conditions tell whether it ended."""

    active: int = 0
    succeeded: int = 0
    failed: int = 0
    conditions: list[Condition] | None = None


class BatchJob(Wire, frozen=True):
    """batch/v1 Job."""

    api_version: str = "batch/v1"
    kind: str = "Job"
    metadata: Meta = Meta()
    spec: BatchJobSpec = BatchJobSpec()
    status: BatchJobStatus = BatchJobStatus()


class ReplicaSpec(Wire, frozen=True):
    """One replica type of a training job."""

    replicas: int | None = None
    restart_policy: str = ""
    template: PodTemplate = PodTemplate()


class ElasticPolicy(Wire, frozen=True):
    """The range of workers of an elastic PyTorchJob."""

    min_replicas: int | None = None
    max_replicas: int | None = None


class SchedulingPolicy(Wire, frozen=True):
    """Gang options of the training operator."""

    min_available: int | None = None
    queue: str = ""
    priority_class: str = ""


class RunPolicy(Wire, frozen=True):
    """Only the scheduling part matters."""

    scheduling_policy: SchedulingPolicy | None = None
    suspend: bool | None = None
    active_deadline_seconds: int | None = None


class PyTorchJobSpec(Wire, frozen=True):
    """kubeflow.org/v1 PyTorchJob."""

    pytorch_replica_specs: dict[str, ReplicaSpec] | None = None
    elastic_policy: ElasticPolicy | None = None
    run_policy: RunPolicy | None = None


class PyTorchJob(Wire, frozen=True):
    """kubeflow.org/v1 PyTorchJob."""

    api_version: str = "kubeflow.org/v1"
    kind: str = "PyTorchJob"
    metadata: Meta = Meta()
    spec: PyTorchJobSpec = PyTorchJobSpec()


LEADER_READY: Final = "LeaderReady"
"""The startup policy under which workers are made once their leader is ready."""


class LeaderWorkerTemplate(Wire, frozen=True):
    """One group: a leader, and `size` - 1 workers."""

    leader_template: PodTemplate | None = None
    """None: the leader is like the workers."""
    worker_template: PodTemplate = PodTemplate()
    size: int | None = None
    restart_policy: str = ""


class LeaderWorkerSetSpec(Wire, frozen=True):
    """How many groups, and how they start."""

    replicas: int | None = None
    leader_worker_template: LeaderWorkerTemplate = LeaderWorkerTemplate()
    startup_policy: str = ""


class LeaderWorkerSet(Wire, frozen=True):
    """leaderworkerset.x-k8s.io/v1 LeaderWorkerSet."""

    api_version: str = "leaderworkerset.x-k8s.io/v1"
    kind: str = "LeaderWorkerSet"
    metadata: Meta = Meta()
    spec: LeaderWorkerSetSpec = LeaderWorkerSetSpec()
