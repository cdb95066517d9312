"""A Volcano Job as its controller reads it: with whole pod templates.

`shared.api.volcano` keeps only what decides where a Job goes. Here the templates become pods, so
nothing of them may be lost; what the controller looks at is typed all the same.
"""

from global_sched.shared.api.base import JsonMap, Meta, Wire
from global_sched.shared.api.volcano import (
    DependsOn,
    LifecyclePolicy,
    NetworkTopology,
    PartitionPolicy,
    VolcanoJobStatus,
)


class RunVolume(Wire, frozen=True):
    """A claim that every pod of the Job mounts."""

    mount_path: str = ""
    volume_claim_name: str = ""
    volume_claim: JsonMap | None = None


class RunTask(Wire, frozen=True):
    """One task: equal pods."""

    name: str = ""
    replicas: int | None = None
    min_available: int | None = None
    template: JsonMap | None = None
    policies: list[LifecyclePolicy] | None = None
    topology_policy: str = ""
    max_retry: int | None = None
    depends_on: DependsOn | None = None
    partition_policy: PartitionPolicy | None = None


class RunJobSpec(Wire, frozen=True):
    """The spec with all that a controller acts on."""

    scheduler_name: str = ""
    min_available: int | None = None
    volumes: list[RunVolume] | None = None
    tasks: list[RunTask] | None = None
    policies: list[LifecyclePolicy] | None = None
    plugins: dict[str, list[str] | None] | None = None
    queue: str = ""
    max_retry: int | None = None
    ttl_seconds_after_finished: int | None = None
    priority_class_name: str = ""
    min_success: int | None = None
    network_topology: NetworkTopology | None = None


class RunJob(Wire, frozen=True):
    """batch.volcano.sh/v1alpha1 Job."""

    api_version: str = "batch.volcano.sh/v1alpha1"
    kind: str = "Job"
    metadata: Meta = Meta()
    spec: RunJobSpec = RunJobSpec()
    status: VolcanoJobStatus = VolcanoJobStatus()
