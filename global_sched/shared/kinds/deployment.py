"""Deployments: replicas that may be divided over clusters."""

from typing import Final

from global_sched.shared.api.resource import DEPLOYMENTS
from global_sched.shared.api.workloads import Deployment
from global_sched.shared.kinds.parts.kind import WorkloadKind
from global_sched.shared.kinds.parts.replicated import read_replicated

KIND: Final = WorkloadKind(
    resource=DEPLOYMENTS, wire=Deployment, read=lambda app: read_replicated(app, "Deployment")
)
