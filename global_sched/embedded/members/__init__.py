"""A member cluster without machines: nodes that are ready, pods that run and end.

One `Member` speaks HTTP to one API server, like the kubelets, the scheduler and the workload
controllers of a real cluster do, and leaves there what they would leave: statuses have the
fields, reasons and messages of the real ones. What may not be in here: anything that global-sched,
Karmada or the member agent decides; a pod whose scheduler is not Kubernetes' own waits for its
own scheduler.

How long a pod runs and how it ends stands in annotations of its template (`shared.api.names`:
RUN_SECONDS, EXIT_CODE, FAIL_ONCE). Nodes may come as objects in the server, or from `racks`.

Read `member.Member` first, then `kubelet.Kubelets`.
"""

from global_sched.embedded.members.member import Member
from global_sched.embedded.members.options import MemberOptions
from global_sched.embedded.members.racks import NodePlan, rack_plan

__all__ = ["Member", "MemberOptions", "NodePlan", "rack_plan"]
