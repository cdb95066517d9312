"""Every workload kind that is read here, by (apiVersion, kind)."""

from collections.abc import Mapping
from typing import Final

from global_sched.shared.kinds import (
    batch_job,
    deployment,
    leader_worker_set,
    pytorch_job,
    stateful_set,
    volcano_job,
)
from global_sched.shared.kinds.parts.kind import WorkloadKind

KINDS: Final[Mapping[tuple[str, str], WorkloadKind]] = {
    (one.resource.api_version, one.resource.kind): one
    for one in (
        volcano_job.KIND,
        batch_job.KIND,
        deployment.KIND,
        stateful_set.KIND,
        pytorch_job.KIND,
        leader_worker_set.KIND,
    )
}
"""The kinds with a file here."""
